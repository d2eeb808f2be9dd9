package txn_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
	"github.com/aztablekit/aztablekit/verify"
)

// cutOff is a network that brings nothing from a transaction of the service on, the n-th of the program, until it is mended.
type cutOff struct {
	*storagetest.Service
	brings bool // it brings that transaction, and loses the response

	mu     sync.Mutex
	n      int
	mended bool
}

func (c *cutOff) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	batch := strings.HasSuffix(r.URL.Path, "$batch")
	if batch {
		c.n--
	}
	gone, last := c.n <= 0 && !c.mended, batch && c.n == 0
	c.mu.Unlock()
	if !gone {
		return c.Service.Do(r)
	}
	if last && c.brings {
		if _, err := c.Service.Do(r); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the network is down")
}

func (c *cutOff) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mended = true
}

// cut returns a bank behind a network that is cut off at its n-th transaction of the service.
func cut(t *testing.T, s *storagetest.Service, n int) *bank {
	t.Helper()
	acc, err := account.FromTransport(&cutOff{Service: s, n: n}, nil)
	testkit.NoError(t, err)
	return openBank(acc, &aztablekit.Options{Daily: -1})
}

const (
	untouched = "Bern 1: 100; Ulm 2: 100; Zug 3: 100; "
	moved     = "Bern 1: 70; Ulm 2: 100; Zug 3: 130; "
)

// TestCrashed: a program that ends before its commit has done nothing, and one that ends behind it has done all, for each kind of reader, without a worker, and also if the
// queue was cleared. The next reader does the work that is left, or FinishPrepared.
func TestCrashed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		before int
		want   string
	}{{"before the commit", 2, untouched}, {"before the end", 3, moved}} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, b := newBank(t)
				ctx := t.Context()
				cutOff := cut(t, s, c.before)
				err := cutOff.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, "")
				if c.want == moved {
					testkit.NoError(t, err)
				} else if !errors.Is(err, table.ErrUnknownOutcome) {
					t.Errorf("got %v; want ErrUnknownOutcome", err)
				}
				_, err = s.Queues().NewQueueClient("bank-writes").ClearMessages(ctx, nil)
				testkit.NoError(t, err)
				testkit.Expect(t, "a list", b.cents(t), c.want)
				began := time.Now()
				e, err := b.accounts.Get(ctx, accountKey("Zug", 3))
				testkit.NoError(t, err)
				if took := time.Since(began); took > 1100*time.Millisecond {
					t.Errorf("a read took %v; want at most a second", took)
				}
				testkit.Expect(t, "a read", strings.Contains(c.want, "Zug 3: 1"+map[int]string{100: "00", 130: "30"}[e.Value.Cents]), true)
				testkit.NoError(t, b.transfer(ctx, accountKey("Zug", 3), accountKey("Bern", 1), 0, "")) // another transaction of the same rows
				testkit.Expect(t, "a list in the end", b.cents(t), c.want)
				_, err = baretest.FinishPrepared(ctx, b.accounts, city.Of("Zug"), time.Now().Add(time.Hour), commit.LeaveOrphans)
				testkit.NoError(t, err)
				for _, r := range s.Rows("accounts") {
					if r.Get("_tx") != nil {
						t.Errorf("got %v; want no mark", r)
					}
				}
			})
		})
	}
}

// TestOutcome: the outcome of a transaction whose response was lost can be resolved later, also in one partition, and also if others have written its rows since: it is
// neither taken for a failure nor taken back (orleans#10123).
func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, to := range []keys.Key{accountKey("Bern", 2), accountKey("Zug", 3)} {
		for _, brings := range []bool{true, false} {
			t.Run(fmt.Sprint(to, brings), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, b := newBank(t)
					ctx := t.Context()
					_, err := b.accounts.Insert(ctx, &bankAccount{"Bern", 2, 0})
					testkit.NoError(t, err)
					network := &cutOff{Service: s, n: 1, brings: brings}
					if to.PartitionKey() == "Zug" {
						network.n = 2 // the commit
					}
					acc, err := account.FromTransport(network, nil)
					testkit.NoError(t, err)
					err = openBank(acc, &aztablekit.Options{Daily: -1}).transfer(ctx, accountKey("Bern", 1), to, 30, "")
					var unknown *table.UnknownError
					if !errors.As(err, &unknown) {
						t.Fatalf("got %v; want an *UnknownError", err)
					}
					testkit.NoError(t, b.transfer(ctx, to, accountKey("Bern", 1), 0, ""))
					network.mend()
					done, err := unknown.Resolve(ctx)
					testkit.NoError(t, err)
					testkit.Expect(t, "it has happened", done, brings)
					testkit.Expect(t, "the account", strings.Contains(b.cents(t), "Bern 1: 70"), brings)
				})
			})
		}
	}
}

// TestTableGone: if the table of the commit record is gone, what is prepared is neither read nor written until somebody says what has become of it.
func TestTableGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newBank(t)
		ctx := t.Context()
		_, err := b.ledger.Insert(ctx, &posting{"Bern", "line", 1})
		testkit.NoError(t, err)
		crash := cut(t, s, 2)
		err = txn.Run(ctx, crash, func(tx *txn.Tx) error {
			e, err := txn.Get(tx, crash.accounts, accountKey("Bern", 1))
			if err != nil {
				return err
			}
			e.Value.Cents = 1
			tx.Do(crash.ledger.InsertOp(&posting{"Ulm", "new", 1}), crash.accounts.ReplaceOp(e))
			return nil
		})
		if !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("got %v; want ErrUnknownOutcome", err)
		}
		_, err = s.Tables().DeleteTable(ctx, "accounts", nil) // which has the commit record
		testkit.NoError(t, err)
		var gone *errs.HomeError
		if _, err := b.ledger.Get(ctx, keys.At(ledgerCity.Of("Ulm"), ledgerID.Of("new"))); !errors.As(err, &gone) || !gone.Gone {
			t.Errorf("got %v; want a *HomeError: nobody can tell whether it has committed", err)
		}
		e, err := b.ledger.Get(ctx, keys.At(ledgerCity.Of("Bern"), ledgerID.Of("line")))
		testkit.NoError(t, err)
		testkit.Expect(t, "another row", e.Value.Cents, 1)
	})
}

// TestParticipantTableGone: if the table of a participant is gone, a transaction has happened for the others, or has not. The worker tries again until the table is there.
func TestParticipantTableGone(t *testing.T) {
	t.Parallel()
	eachCrash(t, 2, 3, func(t *testing.T, before int, committed bool) {
		s, b := newBank(t)
		ctx := t.Context()
		mine := cut(t, s, before)
		err := txn.Run(ctx, mine, func(tx *txn.Tx) error {
			e, err := txn.Get(tx, mine.accounts, accountKey("Bern", 1))
			if err != nil {
				return err
			}
			e.Value.Cents = 1
			tx.Do(mine.ledger.InsertOp(&posting{"Ulm", "new", 1}), mine.accounts.ReplaceOp(e))
			return nil
		})
		expectOutcome(t, err, committed)
		_, err = s.Tables().DeleteTable(ctx, "ledger", nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "accounts", b.cents(t), map[bool]string{false: untouched, true: "Bern 1: 1; Ulm 2: 100; Zug 3: 100; "}[committed])
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, testkit.WithoutFailures(b.Drain(ctx)))
		testkit.Expect(t, "messages while the table is gone", len(s.Messages("bank-writes")), map[bool]int{true: 1}[before <= 3]) // else the program has ended it
		testkit.NoError(t, b.Ensure(ctx))
		time.Sleep(time.Hour) // until the worker tries again
		testkit.NoError(t, errors.Join(b.Drain(ctx), left(s, "accounts", "ledger")))
		testkit.Expect(t, "messages", len(s.Messages("bank-writes"))+len(s.Messages("bank-poison")), 0)
	})
}

// TestEnded: an account that is over is not there for a transaction, and one that ends before the commit is the one that was read.
func TestEnded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var over atomic.Bool
	s := storagetest.New(&storagetest.Options{Now: func() time.Time {
		if over.Load() {
			return at.Add(time.Minute)
		}
		return at
	}})
	ends := func() aztablekit.Definition[bankAccount] {
		return expire.At(func(a *bankAccount) time.Time {
			if a.Cents == 1 {
				return at.Add(time.Minute)
			}
			return time.Time{}
		}, nil)
	}
	b := openBank(s, &aztablekit.Options{Daily: -1}, ends())
	ctx := t.Context()
	testkit.NoError(t, b.Ensure(ctx))
	for _, a := range []bankAccount{{"Bern", 1, 1}, {"Zug", 3, 100}} {
		_, err := b.accounts.Insert(ctx, &a)
		testkit.NoError(t, err)
	}
	testkit.NoError(t, b.transfer(ctx, accountKey("Zug", 3), accountKey("Bern", 1), 0, ""))
	for n := range 4 { // it ends before the n-th transaction of the service; 0 is before the function returns
		over.Store(false)
		late := beforeBatch(t, s, func(k int) {
			if k == n {
				over.Store(true)
			}
		}, ends())
		calls := 0
		err := txn.Run(ctx, late, func(tx *txn.Tx) error {
			calls++
			z, err1 := txn.Get(tx, late.accounts, accountKey("Zug", 3))
			a, err2 := txn.Get(tx, late.accounts, accountKey("Bern", 1))
			if n == 0 {
				over.Store(true)
			}
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			tx.Do(late.accounts.ReplaceOp(z), late.accounts.ReplaceOp(a))
			return nil
		})
		if err != nil || calls != 1 || !over.Load() {
			t.Errorf("an end before transaction %d: got %v after %d calls, and the end has come: %v; want no error after 1", n, err, calls, over.Load())
		}
		report, err := verify.Check(ctx, b.accounts, nil)
		if err != nil || len(derived.Kinds(report)) > 0 {
			t.Errorf("an end before transaction %d: got %v, %v; want no faults", n, report, err)
		}
	}
	err := b.transfer(ctx, accountKey("Zug", 3), accountKey("Bern", 1), 0, "")
	if !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		z, err := txn.Get(tx, b.accounts, accountKey("Zug", 3))
		if err != nil {
			return err
		}
		z.Value.Cents--
		tx.Do(b.accounts.ReplaceOp(z), b.accounts.InsertOp(&bankAccount{"Bern", 1, 2})) // in the place of what is over
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 2; Zug 3: 99; ")
}

// TestMovePrepared: a participant that is prepared moves as the transaction has left it, or as it was.
func TestMovePrepared(t *testing.T) {
	t.Parallel()
	eachCrash(t, 2, 3, func(t *testing.T, before int, committed bool) {
		s, others := newBank(t)
		ctx := t.Context()
		expectOutcome(t, cut(t, s, before).transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, ""), committed)
		e, err := others.accounts.Get(ctx, accountKey("Zug", 3))
		testkit.NoError(t, err)
		e.Value.City = "Genf"
		testkit.NoError(t, others.accounts.Move(ctx, e))
		want := map[bool]string{false: "Bern 1: 100; Genf 3: 100; Ulm 2: 100; ", true: "Bern 1: 70; Genf 3: 130; Ulm 2: 100; "}[committed]
		testkit.Expect(t, "accounts", others.cents(t), want)
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, errors.Join(others.Drain(ctx), left(s, "accounts")))
		testkit.Expect(t, "accounts in the end", others.cents(t), want)
	})
}

// TestMoveBeside: a participant that another program moves away is read again under its new key, or not found.
func TestMoveBeside(t *testing.T) {
	t.Parallel()
	s, others := newBank(t)
	ctx := t.Context()
	moves := 0
	b := beforeBatch(t, s, func(n int) {
		if n != 1 {
			return
		}
		e, err := others.accounts.Get(ctx, accountKey("Zug", 3))
		testkit.NoError(t, err)
		e.Value.City = "Genf"
		testkit.NoError(t, others.accounts.Move(ctx, e))
		moves++
	})
	err := b.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, "")
	if !errors.Is(err, table.ErrNotFound) || moves != 1 {
		t.Errorf("got %v after %d moves; want ErrNotFound", err, moves)
	}
	testkit.Expect(t, "accounts", others.cents(t), "Bern 1: 100; Genf 3: 100; Ulm 2: 100; ")
	testkit.NoError(t, errors.Join(others.Drain(ctx), left(s, "accounts")))
}
