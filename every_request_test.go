package aztablekit_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// busy is a program with a store in which much follows from an entity.
type busy struct {
	*aztablekit.Store
	t         *testing.T
	service   *storagetest.Service
	staff     *table.Table[employee]
	byEmail   *index.Unique[employee, string]
	byName    *index.Index[employee, string]
	bySalary  *index.Global[employee, int64]
	headcount *index.Summary[employee, string]
	codes     *table.Table[code]
	ends      *expire.Ends[code]
	leases    *lease.Leases
	log       *logtail.Log[code]
	badges    *table.Table[badge] // without anything that follows from them
}

// code is a code that can be used once.
type code struct {
	Person, Text string
	Ends         time.Time
}

var (
	codePerson = keys.Partition(keys.Text(), func(c *code) *string { return &c.Person })
	codeText   = keys.Row(keys.Text().Named("code"), func(c *code) *string { return &c.Text })
)

func newBusy(t *testing.T) *busy {
	b := &busy{t: t, service: storagetest.New(nil), byEmail: newUnique()}
	acc, err := account.FromTransport(b.service, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Store = aztablekit.Open(acc, "company", &aztablekit.Options{Daily: -1})
	b.byName = index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
	b.bySalary = index.NewGlobal("salary", keys.Digits[int64](9), func(e *employee) (int64, bool) { return e.Salary, true }, nil)
	b.headcount = index.NewSummary("headcount", keys.Text(), func(*employee) (string, bool) { return "all", true }, nil)
	welcome := eventual.On("welcome", isNew, func(context.Context, eventual.Job, string) error { return nil })
	b.staff = aztablekit.Table(b.Store, "staff", dept, empid, b.byEmail, b.byName, b.bySalary, b.headcount, welcome)
	b.ends = expire.At(func(c *code) time.Time { return c.Ends }, &expire.Options{Once: true})
	b.codes = aztablekit.Table(b.Store, "codes", codePerson, codeText, b.ends)
	b.leases = lease.New(b.Store, "leases", nil)
	b.log = logtail.New[code](b.Store, "log", nil)
	b.badges = aztablekit.Table(b.Store, "badges", badgeDept, badgeNo)
	b.must(b.Ensure(t.Context()))
	_, err = b.badges.Insert(t.Context(), &badge{"Sales", 1})
	b.must(err)
	for id := range 4 {
		_, err := b.staff.Insert(t.Context(), numbered(id))
		b.must(err)
	}
	_, err = b.codes.Insert(t.Context(), b.code("stored"))
	b.must(err)
	b.must(b.Drain(t.Context()))
	return b
}

func (b *busy) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *busy) code(text string) *code { return &code{"Ann", text, time.Now().Add(time.Hour)} }

func at(id int) keys.Key { return keys.At(dept.Of("Sales"), empid.Of(id)) }

func codeAt(text string) keys.Key { return keys.At(codePerson.Of("Ann"), codeText.Of(text)) }

// everyCall is every kind of call that reads or writes.
var everyCall = map[string]func(ctx context.Context, b *busy) error{
	"Insert": func(ctx context.Context, b *busy) error { return errorOf(b.staff.Insert(ctx, numbered(9))) },
	"Get":    func(ctx context.Context, b *busy) error { return errorOf(b.staff.Get(ctx, at(1))) },
	"Upsert": func(ctx context.Context, b *busy) error {
		return errorOf(b.staff.Upsert(ctx, numbered(8), table.ReplaceExisting))
	},
	"Update": func(ctx context.Context, b *busy) error {
		return errorOf(b.staff.Update(ctx, at(1), func(e *employee) error { e.Salary++; return nil }))
	},
	"MergeAny":  func(ctx context.Context, b *busy) error { return b.staff.MergeAny(ctx, at(1), nameField.Set("Zoe")) },
	"DeleteAny": func(ctx context.Context, b *busy) error { return b.staff.DeleteAny(ctx, at(1)) },
	"Replace": func(ctx context.Context, b *busy) error {
		e, err := b.staff.Get(ctx, at(1))
		if err != nil {
			return err
		}
		e.Value.Email = "new@contoso.com"
		return b.staff.Replace(ctx, e)
	},
	"Transact": func(ctx context.Context, b *busy) error {
		return errorOf(table.Transact(ctx, b.staff.InsertOp(numbered(9)), b.staff.DeleteAnyOp(at(2))))
	},
	"Bulk": func(ctx context.Context, b *busy) error {
		return errorOf(table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			_ = yield(b.staff.InsertOp(numbered(9)), nil) && yield(b.staff.DeleteAnyOp(at(2)), nil)
		}, nil))
	},
	"UpdateAndMove": func(ctx context.Context, b *busy) error {
		return errorOf(b.staff.UpdateAndMove(ctx, at(1), func(e *employee) error { e.Department = "IT"; return nil }))
	},
	"txn.Run": func(ctx context.Context, b *busy) error {
		return txn.Run(ctx, b, func(tx *txn.Tx) error {
			e, err := txn.Get(tx, b.staff, at(1))
			if err == nil {
				e.Value.Salary++
				tx.Do(b.staff.ReplaceOp(e), b.codes.InsertOp(b.code("of a transaction")))
			}
			return err
		})
	},
	"look-up of a unique value": func(ctx context.Context, b *busy) error {
		return errorOf(b.byEmail.Get(ctx, b.staff, numbered(1).Email))
	},
	"look-up in a partition": func(ctx context.Context, b *busy) error {
		return errorOf(table.Collect(b.byName.List(ctx, b.staff, dept.Of("Sales"), "Name1")))
	},
	"look-up over all partitions": func(ctx context.Context, b *busy) error {
		return errorOf(table.Collect(b.bySalary.List(ctx, b.staff, 0)))
	},
	"a list": func(ctx context.Context, b *busy) error {
		return errorOf(table.Collect(b.staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales")})))
	},
	"a summary": func(ctx context.Context, b *busy) error {
		return errorOf(b.headcount.Get(ctx, b.staff, dept.Of("Sales"), "all"))
	},
	"an end":     func(ctx context.Context, b *busy) error { return errorOf(b.codes.Insert(ctx, b.code("new"))) },
	"Take":       func(ctx context.Context, b *busy) error { return errorOf(b.ends.Take(ctx, b.codes, codeAt("stored"))) },
	"Ends.Sweep": func(ctx context.Context, b *busy) error { return errorOf(b.ends.Sweep(ctx, b.codes, nil)) },
	"Ends.Extend": func(ctx context.Context, b *busy) error {
		return errorOf(b.ends.Extend(ctx, b.codes, codeAt("stored"), func(c *code) error { c.Ends = c.Ends.Add(time.Hour); return nil }))
	},
	"Acquire": func(ctx context.Context, b *busy) error {
		held, err := b.leases.Acquire(ctx, "job")
		if err != nil {
			return err
		}
		return held.Release(ctx)
	},
	"Elect": func(ctx context.Context, b *busy) error {
		return b.leases.Elect(ctx, "job", func(context.Context, *lease.Lease) error { return nil })
	},
	"Append": func(ctx context.Context, b *busy) error { return errorOf(b.log.Append(ctx, b.code("logged"))) },
	"AppendOnce": func(ctx context.Context, b *busy) error {
		return errorOf(b.log.AppendOnce(ctx, "id", time.Now(), b.code("x")))
	},
	"Tail":     func(ctx context.Context, b *busy) error { return errorOf(table.Collect(b.log.Tail(ctx, 10))) },
	"Ensure":   func(ctx context.Context, b *busy) error { return b.Ensure(ctx) },
	"Fill":     func(ctx context.Context, b *busy) error { return errorOf(b.Fill(ctx, nil)) },
	"Retire":   func(ctx context.Context, b *busy) error { return b.Retire(ctx, "staff", "name", nil) },
	"Verify":   func(ctx context.Context, b *busy) error { return errorOf(b.Verify(ctx, nil)) },
	"RunDaily": func(ctx context.Context, b *busy) error { return b.RunDaily(ctx) },
	"Drain": func(ctx context.Context, b *busy) error {
		_, err := b.staff.Insert(ctx, numbered(9))
		if err != nil {
			return err
		}
		return b.Drain(ctx)
	},
}

func errorOf[T any](_ T, err error) error { return err }

// oneFault is a fault of one request.
var oneFault = map[string]storagetest.Fault{
	"no answer":       storagetest.Hang(),
	"no answer to":    storagetest.ExecuteThenHang(),
	"refused":         storagetest.Refuse(503, "ServerBusy"),
	"cut":             storagetest.Cut(0),
	"lost":            storagetest.LostRequest(),
	"connection lost": storagetest.NotSent(),
}

var requestSample = testkit.Count("requestsample", 331, "one of so many faults of TestEveryRequest is tried, of the first requests of a call")

// TestEveryRequest: no call of a busy program fails because one request, whichever it is, gets no
// answer, is refused or cut: there is time to repeat it. The catalogue is known, is to be read
// ahead, or is to be read first.
func TestEveryRequest(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const first = 30
	n := 0
	for _, name := range slices.Sorted(maps.Keys(everyCall)) {
		for _, known := range []time.Duration{0, 59 * time.Second, 2 * time.Minute} {
			for i, ended := 1, false; !ended && (i <= first || *requestSample == 1); i++ {
				for _, what := range slices.Sorted(maps.Keys(oneFault)) {
					if n++; n%*requestSample == 0 {
						ended = callWithFault(t, name, known, i, what) < i
					}
				}
			}
		}
	}
}

// callWithFault makes a call beside others while the n-th request has a fault, and returns the
// number of requests.
func callWithFault(t *testing.T, name string, known time.Duration, n int, what string) int {
	t.Helper()
	var number atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		b := newBusy(t)
		time.Sleep(known)
		var hit atomic.Pointer[storagetest.Request]
		b.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
			if number.Add(1) != int64(n) {
				return storagetest.Fault{}
			}
			hit.Store(&r)
			return oneFault[what]
		})
		var wg sync.WaitGroup
		failed := func(call string, err error) {
			changes := name == "Fill" || name == "Retire"
			if err == nil || changes && (errors.Is(err, table.ErrNotReadable) || errors.Is(err, table.ErrUnknownOutcome)) {
				return // a write in doubt cannot be repeated while the catalogue changes
			}
			r := cmp.Or(hit.Load(), &storagetest.Request{})
			t.Errorf("%s beside %s, %v after the catalogue was read, request %d (%v) %s: got error %v; want none", call, name, known, n, *r, what, err)
		}
		others := map[string]func(ctx context.Context) error{
			"Upsert": func(ctx context.Context) error {
				return errorOf(b.staff.Upsert(ctx, numbered(3), table.ReplaceExisting))
			},
			"Get":  func(ctx context.Context) error { return errorOf(b.staff.Get(ctx, at(3))) },
			"find": func(ctx context.Context) error { return errorOf(b.byEmail.Get(ctx, b.staff, numbered(3).Email)) },
		}
		for call, f := range others {
			wg.Go(func() { failed(call, f(t.Context())) })
		}
		failed(name, everyCall[name](t.Context(), b))
		wg.Wait()
		time.Sleep(time.Minute) // what was read ahead has ended
	})
	return int(number.Load())
}

// TestHangingCatalogue: a request for the catalogue that gets no answer stops no write for long:
// another request overtakes it, and one that is read ahead delays nobody. Each writer would
// otherwise wait for the one request of all. A second is for conflicts.
func TestHangingCatalogue(t *testing.T) {
	t.Parallel()
	for known, longest := range map[time.Duration]time.Duration{0: time.Second, 50 * time.Second: time.Second, 2 * time.Minute: 3500 * time.Millisecond} {
		t.Run(known.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				time.Sleep(known)
				hung := false
				b.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
					if r.Kind != requests.Get || r.PartitionKey != "~c" || hung {
						return storagetest.Fault{}
					}
					hung = true
					return storagetest.Hang()
				})
				inserts := func(from int) {
					var wg sync.WaitGroup
					for id := range 20 {
						wg.Go(func() {
							began := time.Now()
							_, err := b.staff.Insert(t.Context(), numbered(from+id))
							if took := time.Since(began); err != nil || took > longest {
								t.Errorf("insert %d: got error %v after %v; want none within %v", id, err, took, longest)
							}
						})
					}
					wg.Wait()
				}
				inserts(100)
				for second := 1; known == 50*time.Second && !hung && second < 15; second++ { // until it is read ahead
					time.Sleep(time.Second)
					inserts(100 + 20*second)
				}
				if hung != (known > 0) {
					t.Errorf("got a request for the catalogue that hangs: %v; want %v", hung, known > 0)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCatalogueOutage: a catalogue that cannot be read for as long as a write may take is an error
// that says so, not that of a context.
func TestCatalogueOutage(t *testing.T) {
	t.Parallel()
	for what, f := range oneFault {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				time.Sleep(2 * time.Minute)
				b.service.SetFaults(storagetest.When(func(r storagetest.Request) bool { return r.PartitionKey == "~c" }, f))
				began := time.Now()
				_, err := b.staff.Insert(t.Context(), numbered(9))
				if took := time.Since(began); !errors.Is(err, table.ErrUnreachable) || took < 25*time.Second || took > 30*time.Second {
					t.Errorf("a write: got error %v after %v; want ErrUnreachable after 30 s", err, took)
				}
				began = time.Now()
				patient, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				_, err = b.byEmail.Get(patient, b.staff, numbered(1).Email)
				if took := time.Since(began); !errors.Is(err, table.ErrUnreachable) || took < 50*time.Second || took > time.Minute {
					t.Errorf("a look-up: got error %v after %v; want ErrUnreachable after a minute", err, took)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err = b.staff.Insert(ctx, numbered(9)); err == nil || errors.Is(err, table.ErrUnknownOutcome) {
					t.Errorf("a write of a second: got error %v; want one, and not of an unknown outcome", err)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestDoubtAtTheEnd: a write whose response is lost when its lease is about to end takes the lease
// again, and repeats its request. If the catalogue has changed meanwhile, the write is made certain
// not to be applied, and begins again: nothing is written by the state before.
func TestDoubtAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		t.Run(map[bool]string{false: "unchanged", true: "changed"}[changed], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				time.Sleep(59 * time.Second)
				lost := false
				b.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
					if lost || r.Kind != requests.Transaction && r.Kind != requests.Insert {
						return storagetest.Fault{}
					}
					lost = true
					return storagetest.Hang()
				})
				if changed {
					restate(t, b.service, "readable", "unfilled") // which the write reads ahead
				}
				if !changed {
					_, err := b.badges.Insert(t.Context(), &badge{"Sales", 2}) // which has no commit record
					b.must(err)
				}
				_, err := b.staff.Upsert(t.Context(), &employee{Department: "Sales", ID: 3, Name: "Zoe", Email: "3@contoso.com"}, table.ReplaceExisting)
				e, read := b.staff.Get(t.Context(), at(3))
				if err != nil || read != nil || e.Value.Name != "Zoe" || !lost {
					t.Errorf("got error %v, then %v, %v; want the write", err, e, read)
				}
				rows := 0
				for _, r := range b.service.Rows("staff") {
					if strings.HasPrefix(r.RowKey, "name_Zoe") {
						rows++
					}
				}
				if rows > 0 == changed {
					t.Errorf("got %d index rows of a write after the definition was unfilled: %v; want them as the catalogue says", rows, changed)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
