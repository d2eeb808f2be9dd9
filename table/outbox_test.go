package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// drawer is an outbox in memory that remembers what it was told.
type drawer struct {
	told    []string
	refuses error
	hangs   bool
	last    table.Notification
}

func (d *drawer) Notify(ctx context.Context, a table.Notification) (table.SentNotification, error) {
	d.told, d.last = append(d.told, "hint"), a
	if d.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return slip{d}, d.refuses
}

type slip struct{ d *drawer }

func (s slip) Show(ctx context.Context) error {
	s.d.told = append(s.d.told, "show")
	if s.d.hangs {
		<-ctx.Done()
	}
	return errors.New("nobody sees it")
}

func (s slip) Withdraw(context.Context) error {
	s.d.told = append(s.d.told, "withdraw")
	return errors.New("it stays")
}

// effects is a table of residents with letters and unique addresses.
func effects(t *testing.T, out table.Outbox) (*table.Table[resident], *interposed) {
	t.Helper()
	s := &interposed{Service: storagetest.New(nil)}
	people, err := table.New(serviceOf(s), "people", peopleSchema, quick())
	check(err)
	check(people.Ensure(context.Background()))
	people, err = people.With(out, byEmail{}, letters{})
	check(err)
	s.Count()
	return people, s
}

// TestOutboxRequests: what a write with effects tells the outbox, and when.
func TestOutboxRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &drawer{}
	people, s := effects(t, d)
	after := func(what, told, cost string, err, want error) {
		t.Helper()
		if got := strings.Join(d.told, " "); !errors.Is(err, want) || err != nil && want == nil || got != told || s.Count() != cost {
			t.Errorf("%s: %v; %s", what, err, got)
		}
		d.told = nil
	}
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	after("insert", "hint show", "1 transaction", err, nil)
	if d.last.Table != "people" || d.last.Partition != "S" || d.last.Hidden != time.Minute || len(d.last.OperationID) != 26 {
		t.Errorf("%+v", d.last)
	}
	i, err := people.CommitRecords().Get(ctx, keys.Raw("S"), d.last.OperationID)
	if err != nil || i.State != table.CommitPending || len(i.Effects) != 1 || i.Effects[0].Kind != "letter" || i.Effects[0].Version != 1 || i.Effects[0].RowKey != "p_000001" || !strings.Contains(string(i.Effects[0].Payload), `"Last":"Jones"`) {
		t.Errorf("%+v %v", i, err)
	}
	for range 2 {
		if err := people.CommitRecords().MarkDone(ctx, i); err != nil || i.State != table.CommitDone {
			t.Error(err)
		}
	}
	s.Count()
	e.Value.Email = "b"
	after("no effects", "", "1 transaction", people.Replace(ctx, e), nil)
	stale := *e
	e.Value.Last = "Smith"
	after("replace", "hint show", "1 transaction", people.Replace(ctx, e), nil)
	stale.Value.Last = "Other"
	after("changed", "hint withdraw", "1 transaction", people.Replace(ctx, &stale), table.ErrChanged)
	_, err = people.Insert(ctx, &resident{"S", 2, "Jones", "b"})
	after("taken", "hint withdraw", "1 insert, 1 transaction", err, errTaken) // the marker, for the address might be free when it arrives once more
	d.refuses = errors.New("the queue is full")
	_, err = people.Insert(ctx, &resident{"S", 3, "Jones", "c"})
	after("refused by the outbox", "hint", "none", err, table.ErrOutbox)
	if !errors.Is(err, d.refuses) || !strings.Contains(err.Error(), "the queue is full") {
		t.Error(err)
	}
	d.refuses = nil
	s.SetFaults(storagetest.OfKind("transaction", storagetest.LostResponse()))
	_, err = people.Insert(ctx, &resident{"S", 3, "Jones", "c"})
	after("every reply lost", "hint show", "2 get, 1 insert, 4 transaction", err, nil)
	s.SetFaults(storagetest.First(storagetest.OfKind("transaction", storagetest.LostRequest()), storagetest.OfKind("insert", storagetest.LostRequest())))
	short, cancel := context.WithCancel(ctx)
	n := 0
	s.before = func(*http.Request) {
		if n++; n == 6 {
			cancel()
		}
	}
	_, err = people.Insert(short, &resident{"S", 4, "Jones", "d"})
	if !errors.Is(err, table.ErrUnknownOutcome) || strings.Join(d.told, " ") != "hint" {
		t.Error("what nobody knows stays announced:", err, d.told)
	}
}

// TestOutboxHangs: an outbox that does not answer holds up no call beyond its context, and no write that is done beyond a try.
func TestOutboxHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &drawer{hangs: true}
		people, _ := effects(t, d)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
		if took := time.Since(start); !errors.Is(err, table.ErrOutbox) || !errors.Is(err, context.DeadlineExceeded) || took > 1100*time.Millisecond {
			t.Error(err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &slow{}
		people, _ := effects(t, d)
		start := time.Now()
		_, err := people.Insert(context.Background(), &resident{"S", 1, "Jones", "a"})
		if took := time.Since(start); err != nil || took != table.DefaultAttemptTimeout {
			t.Error(err, took)
		}
	})
}

// slow is an outbox that takes announcements and then does not answer.
type slow struct{ drawer }

func (d *slow) Notify(ctx context.Context, a table.Notification) (table.SentNotification, error) {
	h, err := d.drawer.Notify(ctx, a)
	d.hangs = true
	return h, err
}

// TestOutboxes: which tables may have which.
func TestOutboxes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var none *drawer
	people, s := effects(t, none) // a nil pointer is none
	if _, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"}); !errors.Is(err, table.ErrNoOutbox) || s.Count() != "none" {
		t.Error(err)
	}
	service := serviceOf(s)
	people, err := table.New(service, "people", peopleSchema, quick())
	check(err)
	people, err = people.With(nil, letters{})
	check(err)
	a, b := &drawer{}, &drawer{}
	one, err := people.With(a)
	check(err)
	if _, err := one.With(a); err != nil {
		t.Error(err)
	}
	var ve *table.ValueError
	if _, err := one.With(b); !errors.As(err, &ve) {
		t.Error(err)
	}
	two, err := people.With(b)
	check(err)
	_, err = table.Transact(ctx, one.InsertOp(&resident{"S", 1, "Jones", "a"}), two.InsertOp(&resident{"S", 2, "Jones", "b"}))
	var be *table.BatchError
	if !errors.Is(err, table.ErrOtherOutbox) || !errors.As(err, &be) || be.Index != 1 || s.Count() != "none" {
		t.Error(err)
	}
	// A table without one goes with any.
	rows, err := table.New(service, "people", table.Schema[table.Row]{}, nil)
	check(err)
	if _, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: keys.At(keys.Raw("S"), keys.Raw("x"))}), one.InsertOp(&resident{"S", 1, "Jones", "a"})); err != nil || len(a.told) != 2 {
		t.Error(err, a.told)
	}
	// The options are those of the table that has the outbox.
	unbounded := quick()
	unbounded.WriteTimeout = -1
	rows, err = table.New(service, "people", table.Schema[table.Row]{}, unbounded)
	check(err)
	if _, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: keys.At(keys.Raw("S"), keys.Raw("y"))}), one.InsertOp(&resident{"S", 2, "Jones", "b"})); err != nil || a.last.Hidden != time.Minute {
		t.Error(err, a.last)
	}
	if mute, err := people.With(&muted{}); err != nil {
		t.Error(err)
	} else if _, err := mute.Insert(ctx, &resident{"S", 3, "Jones", "c"}); !errors.Is(err, table.ErrOutbox) {
		t.Error(err)
	}
	if _, err := people.With(uncomparable{nil}); !errors.As(err, &ve) {
		t.Error(err)
	}
	endless := quick()
	endless.WriteTimeout = -1
	forever, err := table.New(serviceOf(s), "people", peopleSchema, endless)
	check(err)
	if _, err := forever.With(a); !errors.As(err, &ve) {
		t.Error(err)
	}
}

// muted is an outbox that returns nothing, and uncomparable one that cannot be told from others.
type (
	muted        struct{}
	uncomparable []table.SentNotification
)

func (*muted) Notify(context.Context, table.Notification) (table.SentNotification, error) {
	return nil, nil
}

func (uncomparable) Notify(context.Context, table.Notification) (table.SentNotification, error) {
	return nil, nil
}

// heavy has effects of a size.
type heavy struct{ n, size int }

func (heavy) Name() string { return "heavy" }
func (heavy) MaxRows() int { return 0 }
func (h heavy) Maintain(_ context.Context, p *table.Plan, c *table.Change[resident]) error {
	for i := range h.n {
		p.Effect("heavy", i, []byte(strings.Repeat("é", h.size/2)))
	}
	return nil
}

// TestManyEffects: a list of effects comes back as it was, up to its limit.
func TestManyEffects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &drawer{}
	people, _ := effects(t, d)
	many, err := people.With(nil, heavy{3, 50_000})
	check(err)
	if _, err := many.Insert(ctx, &resident{"S", 1, "Jones", "a"}); err != nil {
		t.Fatal(err)
	}
	i, err := people.CommitRecords().Get(ctx, keys.Raw("S"), d.last.OperationID)
	if err != nil || len(i.Effects) != 4 || string(i.Effects[3].Payload) != strings.Repeat("é", 25_000) || i.Effects[3].Version != 2 {
		t.Error(err)
	}
	more, err := people.With(nil, heavy{1, 200_000})
	check(err)
	var le *table.LimitError
	d.told = nil
	if _, err := more.Insert(ctx, &resident{"S", 2, "Jones", "b"}); !errors.As(err, &le) || le.Max != 256<<10 || d.told != nil {
		t.Error(err, d.told)
	}
}

// TestLife: an entity's life stays with it through all verbs, is its own, and ends with it.
func TestLife(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := effects(t, &drawer{})
	life := func() (primary, copied any) {
		for _, r := range s.Rows("people") {
			switch {
			case strings.HasPrefix(r.RowKey, "p_"):
				primary = r.Get("_life")
			case strings.HasPrefix(r.RowKey, "email_"):
				copied = r.Get("_life")
			}
		}
		return primary, copied
	}
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	check(err)
	first, copied := life()
	if s, is := first.(string); !is || len(s) != 16 || copied != nil {
		t.Error(first, copied)
	}
	for what, err := range map[string]error{
		"Replace": people.Replace(ctx, e), "Merge": people.Merge(ctx, e, lastName.Set("X")), "MergeAny": people.MergeAny(ctx, e.Key, lastName.Set("Y")),
		"ReplaceAny": people.ReplaceAny(ctx, e),
	} {
		if is, _ := life(); err != nil || is != first {
			t.Error(what, err, is)
		}
	}
	_, err = people.Upsert(ctx, &resident{"S", 1, "Smith", "b"}, table.ReplaceExisting)
	if is, _ := life(); err != nil || is != first {
		t.Error(err, is)
	}
	check(people.DeleteAny(ctx, e.Key))
	_, err = people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	if is, _ := life(); err != nil || is == first || is == nil {
		t.Error(err, is)
	}
}

// reminds remembers texts.
type reminds struct {
	texts    []string
	whatever bool // was remembered
}

func (reminds) Name() string { return "reminds" }
func (reminds) MaxRows() int { return 0 }
func (r reminds) Maintain(_ context.Context, p *table.Plan, c *table.Change[resident]) error {
	if c.Old != nil && !r.whatever && !slices.Equal(c.State(), r.texts) {
		return fmt.Errorf("remembers %d texts", len(c.State()))
	}
	c.SetState(r.texts...)
	return nil
}

// TestRemember: what maintainers remember comes back, whatever verb it went by, up to its limit; and is empty where they forget.
func TestRemember(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := town(t, nil)
	plain, err := table.New(serviceOf(s), "people", peopleSchema, quick())
	check(err)
	long := strings.Repeat("é\n", 12_000) // 4 bytes each, as JSON
	for _, texts := range [][]string{{"a"}, {"", "é", "a\x01\"\\\u2028"}, {long}, {"x" + strings.Repeat("é", 30_711) + "y"}, slices.Repeat([]string{"key"}, 5000)} {
		keeps, err := plain.With(nil, reminds{texts: texts})
		check(err)
		e, err := keeps.Insert(ctx, &resident{"S", 1, "same", ""})
		check(err)
		for what, err := range map[string]error{"Replace": keeps.Replace(ctx, e), "Merge": keeps.Merge(ctx, e, eMail.Set("x")), "MergeAny": keeps.MergeAny(ctx, e.Key, eMail.Set("y"))} {
			if err != nil {
				t.Error(what, err)
			}
		}
		shorter, err := plain.With(nil, reminds{[]string{"b"}, true})
		check(err)
		check(shorter.MergeAny(ctx, e.Key, lastName.Set("other")))
		strict, err := plain.With(nil, reminds{texts: []string{"b"}})
		check(err)
		check(strict.MergeAny(ctx, e.Key, lastName.Set("another")))
		forgets, err := plain.With(nil, reminds{nil, true})
		check(err)
		check(forgets.MergeAny(ctx, e.Key, lastName.Set("third")))
		if err := plain.DeleteAny(ctx, e.Key); err != nil { // no request sees what it remembers
			t.Error(err)
		}
	}
	keeps, err := plain.With(nil, reminds{texts: []string{long, long}})
	check(err)
	s.Count()
	var le *table.LimitError
	if _, err := keeps.Insert(ctx, &resident{"S", 1, "same", ""}); !errors.As(err, &le) || le.Field != "_ix" || le.Max != 60<<10 || s.Count() != "none" {
		t.Error(err)
	}
}

// TestEffectsRequests: what a write with effects costs with an outbox that is a service: 3 requests from a loaded version, else
// 4, and as many for one that is refused.
func TestEffectsRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &interposed{Service: storagetest.New(nil)}
	service := serviceOf(s)
	people, err := table.New(service, "people", peopleSchema, quick())
	check(err)
	out := newHints(service, quick())
	check(errors.Join(people.Ensure(ctx), out.rows.Ensure(ctx)))
	people, err = people.With(out, byEmail{}, letters{})
	check(err)
	s.Count()
	cost := func(what string, err, want error, requests string) {
		t.Helper()
		if !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := s.Count(); got != requests {
			t.Errorf("%s: %s, not %s", what, got, requests)
		}
	}
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	cost("insert", err, nil, "1 insert, 1 merge, 1 transaction")
	cost("from a loaded version", people.Merge(ctx, e, lastName.Set("Smith")), nil, "1 insert, 1 merge, 1 transaction")
	stale := *e
	cost("without effects", people.Merge(ctx, e, eMail.Set("b")), nil, "1 transaction")
	_, err = people.Update(ctx, e.Key, func(v *resident) error { return renamed(v, "Jones", "c") })
	cost("from a key", err, nil, "1 get, 1 insert, 1 merge, 1 transaction")
	cost("by key", people.MergeAny(ctx, e.Key, lastName.Set("Cao")), nil, "1 get, 1 insert, 1 merge, 1 transaction")
	cost("changed meanwhile", people.Merge(ctx, &stale, lastName.Set("X")), table.ErrChanged, "1 delete, 1 insert, 1 transaction")
	_, err = people.Insert(ctx, &resident{"S", 2, "Jones", "c"})
	cost("taken", err, errTaken, "1 delete, 2 insert, 1 transaction") // and the marker
	i := 0
	for intent, err := range people.CommitRecords().List(ctx, keys.Raw("S"), time.Now().Add(time.Minute)) {
		check(err)
		if i++; intent.State != table.CommitPending && intent.State != table.CommitAborted {
			t.Error(intent)
		}
	}
	if i != 5 {
		t.Error(i)
	}
}
