package txn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
	"github.com/aztablekit/aztablekit/verify"
)

// eachCrash runs a test for a program that ends before each of its transactions of the service, of which there are last, and for one that does not end. The time is that
// of a bubble. The write is there, in the end, if the program has ended behind its commit.
func eachCrash(t *testing.T, commit, last int, test func(t *testing.T, before int, committed bool)) {
	for before := 1; before <= last+1; before++ {
		t.Run(fmt.Sprint("before ", before), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, before, before > commit) })
		})
	}
}

// behind returns an account behind a network that is cut off at its n-th transaction of the service.
func behind(t *testing.T, s *storagetest.Service, n int) *account.Account {
	t.Helper()
	acc, err := account.FromTransport(&cutOff{Service: s, n: n}, nil)
	testkit.NoError(t, err)
	return acc
}

// expectOutcome fails unless a program that was cut off knows that its write has happened, or knows that it has not, or does not know.
func expectOutcome(t *testing.T, err error, committed bool) {
	t.Helper()
	if committed {
		testkit.NoError(t, err)
	} else if !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, table.ErrUnreachable) && !errors.Is(err, table.ErrGivenUp) {
		t.Errorf("got %v; want ErrUnknownOutcome, ErrUnreachable or ErrGivenUp", err)
	}
}

// paper has a text in a blob.
type paper struct {
	City string
	ID   int
	Text largeentity.Blob
}

var (
	paperCity = keys.Partition(keys.Text(), func(p *paper) *string { return &p.City })
	paperID   = keys.Row(keys.Digits[int](4), func(p *paper) *int { return &p.ID })
)

type papers struct {
	*aztablekit.Store
	table *table.Table[paper]
	texts *largeentity.Values[paper]
}

func openPapers(acc aztablekit.Account) *papers {
	s := aztablekit.Open(acc, "papers", &aztablekit.Options{Daily: -1})
	texts := largeentity.In[paper]("texts", &largeentity.Options{InlineUpTo: -1})
	return &papers{s, aztablekit.Table(s, "papers", paperCity, paperID, texts), texts}
}

func (p *papers) key(in string) keys.Key { return keys.At(paperCity.Of(in), paperID.Of(1)) }

func (p *papers) write(t *testing.T, in, text string) *paper {
	t.Helper()
	b, err := p.texts.Upload(t.Context(), p.table, p.key(in), strings.NewReader(text), "")
	testkit.NoError(t, err)
	return &paper{in, 1, b}
}

// all returns the texts as readers find them.
func (p *papers) all(t *testing.T) (all string) {
	t.Helper()
	for e, err := range p.table.List(t.Context(), table.Query[paper]{TableScan: true}) {
		testkit.NoError(t, err)
		r, err := p.texts.Open(t.Context(), p.table, e.Value.Text)
		testkit.NoError(t, err)
		text, err := io.ReadAll(r)
		testkit.NoError(t, errors.Join(err, r.Close()))
		all += fmt.Sprintf("%s: %s; ", e.Value.City, text)
	}
	return all
}

// TestLargeValues: entities of all participants keep their old blobs or have their new ones, and what no entity has is deleted.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	eachCrash(t, 4, 7, func(t *testing.T, before int, committed bool) {
		s := storagetest.New(nil)
		others, ctx := openPapers(s), t.Context()
		testkit.NoError(t, others.Ensure(ctx))
		for _, in := range []string{"Bern", "Ulm", "Zug"} {
			_, err := others.table.Insert(ctx, others.write(t, in, "old"))
			testkit.NoError(t, err)
		}
		p := openPapers(behind(t, s, before))
		bern, ulm, rom := p.write(t, "Bern", "new"), p.write(t, "Ulm", "new"), p.write(t, "Rom", "new")
		err := txn.Run(ctx, p, func(tx *txn.Tx) error {
			b, err1 := txn.Get(tx, p.table, p.key("Bern"))
			u, err2 := txn.Get(tx, p.table, p.key("Ulm"))
			z, err3 := txn.Get(tx, p.table, p.key("Zug"))
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			b.Value, u.Value = *bern, *ulm
			tx.Do(p.table.ReplaceOp(b), p.table.ReplaceOp(u), p.table.DeleteOp(z), p.table.InsertOp(rom))
			return nil
		})
		expectOutcome(t, err, committed)
		want := map[bool]string{false: "Bern: old; Ulm: old; Zug: old; ", true: "Bern: new; Rom: new; Ulm: new; "}[committed]
		testkit.Expect(t, "what readers find at once", others.all(t), want)
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, others.Drain(ctx))
		testkit.Expect(t, "what readers find in the end", others.all(t), want)
		testkit.NoError(t, left(s, "papers"))
		time.Sleep(8 * 24 * time.Hour)
		_, err = others.texts.Sweep(ctx, others.table, nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "after a sweep", others.all(t), want)
		testkit.Expect(t, "the blobs", len(s.StoredBlobs("texts")), 3)
	})
}

// member is what a view has of an account.
type member struct{ City, Name string }

var memberName = keys.Row(keys.Text(), func(m *member) *string { return &m.Name })

// TestViews: the view follows each entity of a transaction, whatever its program has come to.
func TestViews(t *testing.T) {
	t.Parallel()
	open := func(acc aztablekit.Account) (*aztablekit.Store, *table.Table[bankAccount], *table.Table[member]) {
		s := aztablekit.Open(acc, "bank", &aztablekit.Options{Daily: -1})
		members := aztablekit.Table(s, "members", keys.OnePartition[member]("all"), memberName)
		view := materialized.New("view", members, func(a *bankAccount, _ keys.Key) (member, bool) {
			return member{a.City, fmt.Sprint(a.City, " ", a.Cents)}, a.Cents > 0
		})
		return s, aztablekit.Table(s, "accounts", city, id, view), members
	}
	eachCrash(t, 3, 5, func(t *testing.T, before int, committed bool) {
		s := storagetest.New(nil)
		others, accounts, members := open(s)
		ctx := t.Context()
		testkit.NoError(t, others.Ensure(ctx))
		for _, in := range []string{"Bern", "Ulm", "Zug"} {
			_, err := accounts.Insert(ctx, &bankAccount{in, 1, 100})
			testkit.NoError(t, err)
		}
		testkit.NoError(t, others.Drain(ctx))
		store, mine, _ := open(behind(t, s, before))
		err := txn.Run(ctx, store, func(tx *txn.Tx) error {
			b, err1 := txn.Get(tx, mine, accountKey("Bern", 1))
			u, err2 := txn.Get(tx, mine, accountKey("Ulm", 1))
			z, err3 := txn.Get(tx, mine, accountKey("Zug", 1))
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			b.Value.Cents, u.Value.Cents = 200, 0
			tx.Do(mine.ReplaceOp(b), mine.ReplaceOp(u), mine.DeleteOp(z))
			return nil
		})
		expectOutcome(t, err, committed)
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, others.Drain(ctx))
		got := ""
		for m, err := range members.List(ctx, table.Query[member]{TableScan: true}) {
			testkit.NoError(t, err)
			got += m.Value.Name + "; "
		}
		testkit.Expect(t, "the view", got, map[bool]string{false: "Bern 100; Ulm 100; Zug 100; ", true: "Bern 200; "}[committed])
		report, err := verify.Check(ctx, accounts, nil)
		if err != nil || len(derived.Kinds(report)) > 0 {
			t.Errorf("got %v, %v; want no faults", report, err)
		}
		testkit.NoError(t, left(s, "accounts"))
	})
}

// TestVerifyPrepared: a verification beside a transaction finds no faults, and one that repairs harms nothing, whether the transaction has committed or not.
func TestVerifyPrepared(t *testing.T) {
	t.Parallel()
	for _, repair := range []bool{false, true} {
		eachCrash(t, 3, 5, func(t *testing.T, before int, committed bool) {
			cents := func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }
			copies := func() []aztablekit.Definition[bankAccount] {
				return []aztablekit.Definition[bankAccount]{
					index.New("copies", keys.Ordered(), cents, nil),
					index.NewLists("lists", keys.Ordered(), cents, nil),
					index.NewSummary("heads", keys.Text().Named("heads"), func(a *bankAccount) (string, bool) { return a.City, true }, nil),
				}
			}
			s, others := newBank(t, copies()...)
			ctx := t.Context()
			b := openBank(behind(t, s, before), &aztablekit.Options{Daily: -1}, copies()...)
			err := txn.Run(ctx, b, func(tx *txn.Tx) error {
				bern, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
				ulm, err2 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
				zug, err3 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
				if err := errors.Join(err1, err2, err3); err != nil {
					return err
				}
				bern.Value.Cents, zug.Value.Cents = 70, 130
				tx.Do(b.accounts.ReplaceOp(bern), b.accounts.DeleteOp(ulm), b.accounts.ReplaceOp(zug))
				return nil
			})
			expectOutcome(t, err, committed)
			want := map[bool]string{false: untouched, true: "Bern 1: 70; Zug 3: 130; "}[committed]
			report, err := verify.Repair(ctx, others.accounts, &verify.Options{Pass: table.Pass{DryRun: !repair}})
			if err != nil || len(derived.Kinds(report)) > 0 {
				t.Errorf("at once: got %v, %v; want no faults", report, err)
			}
			testkit.Expect(t, "accounts", others.cents(t), want)
			time.Sleep(5 * time.Minute) // until the message is visible
			testkit.NoError(t, others.Drain(ctx))
			testkit.Expect(t, "accounts in the end", others.cents(t), want)
			report, err = verify.Check(ctx, others.accounts, nil)
			if err != nil || len(derived.Kinds(report)) > 0 {
				t.Errorf("in the end: got %v, %v; want no faults", report, err)
			}
			testkit.NoError(t, left(s, "accounts"))
		})
	}
}

// TestArchiveBeside: a participant that another program archives is not there when the function is called again, and one that is prepared is archived as the transaction has
// left it, or as it was.
func TestArchiveBeside(t *testing.T) {
	t.Parallel()
	open := func(acc aztablekit.Account) (*bank, *archive.Mover[bankAccount]) {
		s := aztablekit.Open(acc, "bank", &aztablekit.Options{Daily: -1})
		former := archive.Into[bankAccount]("former", archive.ToTable("former", nil))
		return &bank{s, aztablekit.Table(s, "accounts", city, id, former), aztablekit.Table(s, "ledger", ledgerCity, ledgerID)}, former
	}
	begin := func(t *testing.T) (*storagetest.Service, *bank, *archive.Mover[bankAccount]) {
		s := storagetest.New(nil)
		others, former := open(s)
		testkit.NoError(t, others.Ensure(t.Context()))
		for i, in := range []string{"Bern", "Ulm", "Zug"} {
			_, err := others.accounts.Insert(t.Context(), &bankAccount{in, i + 1, 100})
			testkit.NoError(t, err)
		}
		return s, others, former
	}
	archiveZug := func(t *testing.T, others *bank, former *archive.Mover[bankAccount]) {
		e, err := others.accounts.Get(t.Context(), accountKey("Zug", 3))
		testkit.NoError(t, err)
		testkit.NoError(t, former.Archive(t.Context(), others.accounts, e))
	}
	t.Run("before it is prepared", func(t *testing.T) {
		t.Parallel()
		s, others, former := begin(t)
		b, _ := open(s)
		calls := 0
		err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
			bern, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
			zug, err2 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if calls++; calls == 1 {
				archiveZug(t, others, former)
				testkit.NoError(t, others.Drain(t.Context()))
			}
			bern.Value.Cents, zug.Value.Cents = 70, 130
			tx.Do(b.accounts.ReplaceOp(bern), b.accounts.ReplaceOp(zug))
			return nil
		})
		if !errors.Is(err, table.ErrNotFound) || calls != 1 {
			t.Errorf("got %v after %d calls that had read both; want ErrNotFound after 1", err, calls)
		}
		testkit.Expect(t, "accounts", others.cents(t), "Bern 1: 100; Ulm 2: 100; ")
	})
	eachCrash(t, 2, 3, func(t *testing.T, before int, committed bool) {
		s, others, former := begin(t)
		ctx := t.Context()
		b, _ := open(behind(t, s, before))
		expectOutcome(t, b.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, ""), committed)
		archiveZug(t, others, former)
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, others.Drain(ctx))
		e, archived, err := former.Find(ctx, others.accounts, accountKey("Zug", 3))
		testkit.NoError(t, err)
		testkit.Expect(t, "archived", archived, true)
		testkit.Expect(t, "what is archived", e.Value.Cents, map[bool]int{false: 100, true: 130}[committed])
		testkit.Expect(t, "accounts", others.cents(t), map[bool]string{false: "Bern 1: 100; Ulm 2: 100; ", true: "Bern 1: 70; Ulm 2: 100; "}[committed])
		testkit.NoError(t, left(s, "accounts", "former"))
	})
}

// site is stored in several rows.
type site struct {
	City   string
	ID     int
	Visits []int32 `table:"Day,each=250,part=1"`
}

var (
	siteCity = keys.Partition(keys.Text(), func(s *site) *string { return &s.City })
	siteID   = keys.Row(keys.Digits[int](4), func(s *site) *int { return &s.ID })
)

type sites struct {
	*aztablekit.Store
	table *table.Table[site]
}

func openSites(acc aztablekit.Account) *sites {
	s := aztablekit.Open(acc, "sites", &aztablekit.Options{Daily: -1})
	return &sites{s, aztablekit.Table(s, "sites", siteCity, siteID)}
}

func siteKey(in string) keys.Key { return keys.At(siteCity.Of(in), siteID.Of(1)) }

// newSite returns a site with the same number of visits on each day.
func newSite(in string, n int32) *site {
	return &site{in, 1, slices.Repeat([]int32{n}, 250)}
}

// all returns the visits of the first and of the last day of each site.
func (s *sites) all(ctx context.Context, t *testing.T) (all string) {
	t.Helper()
	for e, err := range s.table.List(ctx, table.Query[site]{TableScan: true}) {
		testkit.NoError(t, err)
		all += fmt.Sprintf("%s: %d %d; ", e.Value.City, e.Value.Visits[0], e.Value.Visits[249])
	}
	return all
}

// TestWide: a transaction replaces a wide entity, inserts one and reads one in other partitions, whatever its program comes to.
func TestWide(t *testing.T) {
	t.Parallel()
	eachCrash(t, 3, 5, func(t *testing.T, before int, committed bool) {
		s := storagetest.New(nil)
		others, ctx := openSites(s), t.Context()
		testkit.NoError(t, others.Ensure(ctx))
		for _, in := range []string{"Bern", "Zug"} {
			_, err := others.table.Insert(ctx, newSite(in, 1))
			testkit.NoError(t, err)
		}
		mine := openSites(behind(t, s, before))
		err := txn.Run(ctx, mine, func(tx *txn.Tx) error {
			zug, err1 := txn.Get(tx, mine.table, siteKey("Zug"))
			bern, err2 := txn.Get(tx, mine.table, siteKey("Bern"))
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			bern.Value.Visits = slices.Repeat([]int32{zug.Value.Visits[249] + 1}, 250)
			tx.Do(mine.table.InsertOp(newSite("Rom", 3)), mine.table.ReplaceOp(bern))
			return nil
		})
		expectOutcome(t, err, committed)
		want := map[bool]string{false: "Bern: 1 1; Zug: 1 1; ", true: "Bern: 2 2; Rom: 3 3; Zug: 1 1; "}[committed]
		testkit.Expect(t, "at once", others.all(ctx, t), want)
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, others.Drain(ctx))
		testkit.Expect(t, "in the end", others.all(ctx, t), want)
		testkit.NoError(t, left(s, "sites"))
		_, err = others.table.Update(ctx, siteKey("Zug"), func(s *site) error { s.Visits[249] = 9; return nil })
		testkit.NoError(t, err)
	})
}

// TestWideInTwo: changes of wide entities in two partitions are refused before anything is sent, and those of a deleted one beside an inserted one are not.
func TestWideInTwo(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	b, ctx := openSites(s), t.Context()
	testkit.NoError(t, b.Ensure(ctx))
	for _, in := range []string{"Bern", "Zug"} {
		_, err := b.table.Insert(ctx, newSite(in, 1))
		testkit.NoError(t, err)
	}
	s.Count()
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		bern, err1 := txn.Get(tx, b.table, siteKey("Bern"))
		zug, err2 := txn.Get(tx, b.table, siteKey("Zug"))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		tx.Do(b.table.ReplaceOp(bern), b.table.DeleteOp(zug))
		return nil
	})
	var value *table.ValueError
	if !errors.As(err, &value) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "2 query")
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		bern, err := txn.Get(tx, b.table, siteKey("Bern"))
		if err != nil {
			return err
		}
		tx.Do(b.table.DeleteOp(bern), b.table.InsertOp(newSite("Rom", 5)))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "sites", b.all(ctx, t), "Rom: 5 5; Zug: 1 1; ")
	testkit.NoError(t, errors.Join(b.Drain(ctx), left(s, "sites")))
}
