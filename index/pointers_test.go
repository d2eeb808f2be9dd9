package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// newPost returns pointers over all departments, by the address.
func newPost() *index.Global[worker, string] {
	return index.NewGlobal("post", keys.Fold(keys.Ordered()), func(w *worker) (string, bool) { return w.Email, w.Email != "" }, nil).Only()
}

// namedIn returns the pointers that an entity names.
func namedIn(r storagetest.Row) []string {
	b, _ := r.Get("_ix").([]byte)
	state, err := stored.StateIn(edm.Value{Kind: edm.Binary, B: b}, r.RowKey)
	if err != nil {
		return nil
	}
	return state["post"]
}

// pointersThere returns an error unless, at this instant, each worker with an address names a
// pointer under the address that is stored.
func pointersThere(s *storagetest.Service) error {
	staff, err := committedRows(s, "staff")
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range s.Rows("staffpost") {
		there[r.PartitionKey+"/"+r.RowKey] = true
	}
	for _, r := range staff {
		mail, _ := r.Get("Email").(string)
		named := namedIn(r)
		switch {
		case mail == "" && len(named) == 0:
		case len(named) != 1 || !there[named[0]] || !strings.Contains(named[0], "post_"+strings.ToLower(mail)):
			return fmt.Errorf("%s in %s has the address %q and names %q; stored are %v", r.RowKey, r.PartitionKey, mail, named, there)
		}
	}
	return nil
}

// pointersRight is pointersThere, and no other pointer is stored.
func pointersRight(s *storagetest.Service) error {
	n := 0
	for _, r := range s.Rows("staff") {
		n += len(namedIn(r))
	}
	if got := len(s.Rows("staffpost")); got != n {
		return fmt.Errorf("got %d pointers; want %d: %v", got, n, s.Rows("staffpost"))
	}
	return errors.Join(pointersThere(s), nothingPrepared(s))
}

// TestPointersRequests: an insert takes 2 requests, a change 3, a delete 2, and no worker any; what
// leaves the address as it was takes none more.
func TestPointersRequests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	expect := func(what, want string) {
		t.Helper()
		testkit.Expect(t, "requests of "+what, s.Count().String(), want)
		testkit.NoError(t, pointersRight(s.Service))
	}
	e := insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})[0]
	s.Count()
	e2, err := s.staff.Insert(ctx, &worker{"S", 2, "Jones", "a", 44, nil})
	testkit.NoError(t, err)
	expect("an insert", "1 insert-or-replace, 1 transaction")
	e.Value.Last = "Smith"
	testkit.NoError(t, s.staff.Replace(ctx, e))
	expect("another change", "1 replace")
	e.Value.Email = "b"
	testkit.NoError(t, s.staff.Replace(ctx, e))
	expect("a change", "1 delete, 1 insert-or-replace, 1 replace")
	testkit.NoError(t, s.staff.MergeAny(ctx, e.Key, email.Set("a")))
	expect("a change by key", "1 delete, 1 get, 1 insert-or-replace, 1 merge")
	testkit.NoError(t, s.staff.Delete(ctx, e2))
	expect("a delete", "2 delete")
	_, err = s.staff.Insert(ctx, &worker{"S", 1, "Jones", "c", 44, nil})
	testkit.Expect(t, "of what exists", errors.Is(err, table.ErrExists), true)
	expect("an insert of what exists", "1 delete, 1 get, 1 insert, 1 insert-or-replace, 1 transaction") // is the key only reserved? An abort record, since the insert must not arrive later
	testkit.NoError(t, s.worker.Drain(ctx))
	expect("the worker", "1 message-get")

	_, err = s.staff.Insert(ctx, &worker{"M", 5, "Jones", "A", 44, nil})
	testkit.NoError(t, err)
	s.Count()
	testkit.Expect(t, "list", fmt.Sprint(ids(t, post.List(ctx, s.staff, "a"))), "[5 1]")
	expect("a list", "2 get, 1 query")
	of, err := table.Collect(post.Keys(ctx, s.staff, "a", table.Query[worker]{}))
	testkit.NoError(t, err)
	testkit.Expect(t, "keys", fmt.Sprint(of), "[('M','w_000005') ('S','w_000001')]")
	expect("keys", "1 query")
	page, err := post.Page(ctx, s.staff, "a", table.Query[worker]{Limit: 1}, "")
	testkit.NoError(t, err)
	page, err = post.Page(ctx, s.staff, "a", table.Query[worker]{Limit: 1}, page.Token)
	testkit.NoError(t, err)
	testkit.Expect(t, "second page", page.Entities[0].Value.ID, 1)
}

// TestPointersInOrder: in partitions of the program's choice, pointers have ranges, prefixes and an
// order over all departments, and bulk work stores those of one partition together.
func TestPointersInOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	names := keys.RawPartition("names")
	post := newPost().In(func(*worker) keys.PartitionKey { return names })
	s := newElsewhereScene(t, elsewhere{}, post)
	r, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 40 {
			if !yield(s.staff.InsertOp(&worker{string(rune('M' + i%2)), i, "Jones", fmt.Sprintf("%c%02d", 'a'+i/20, i), 44, nil}), nil) {
				return
			}
		}
	}, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "applied", r.Applied, 40)
	testkit.Expect(t, "requests of 40 inserts in two partitions", s.Count().String(), "4 transaction") // pointers and entities
	testkit.Expect(t, "prefix", len(ids(t, post.Prefix(ctx, s.staff, names, "b"))), 20)
	testkit.Expect(t, "range", fmt.Sprint(ids(t, post.Between(ctx, s.staff, names, "a17", "b21"))), "[17 18 19 20 21]")
	testkit.NoError(t, pointersRight(s.Service))
}

// hookedPost returns the staff with such pointers, by a clock that is ahead, behind a function that
// is called before each request.
func hookedPost(t *testing.T, s *elsewhereScene, post *index.Global[worker, string], ahead time.Duration, before func(*http.Request)) *table.Table[worker] {
	t.Helper()
	o := quick()
	options.SetNow(&o.Common, func() time.Time { return s.Now().Add(ahead) })
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), &testkit.Hooked{Service: s.Service, BeforeRequest: before}), "staff", schema, o)
	testkit.NoError(t, err)
	staff, err := baretest.WithOutbox(base, s.out)
	testkit.NoError(t, err)
	staff, err = baretest.Attach(staff, post)
	testkit.NoError(t, err)
	return staff
}

// TestPointersSuspended: a program that sleeps behind its pointer does not send the entity, which
// would name a pointer that is deleted, whatever its WriteTimeout. It begins again.
func TestPointersSuspended(t *testing.T) {
	t.Parallel()
	for timeout, pause := range map[time.Duration]time.Duration{time.Minute: 48 * time.Hour, 10 * time.Hour: 2 * time.Hour} {
		post := newPost()
		s := newElsewhereScene(t, elsewhere{}, post)
		insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
		slept := false
		staff := hookedPost(t, s, post, 0, func(r *http.Request) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "staffpost") && !slept {
				slept = true
				s.Advance(pause)
			}
		})
		door.Table(staff).Options.WriteTimeout = timeout
		testkit.NoError(t, staff.MergeAny(t.Context(), at(1), email.Set("b")))
		testkit.Expect(t, "slept", slept, true)
		testkit.NoError(t, pointersThere(s.Service))
		for _, r := range s.Rows("staff") {
			named := strings.Join(namedIn(r), "")
			if named == "" {
				continue // a row of the library
			}
			began, err := commit.TimeOf(named[len(named)-commit.IDLength:])
			testkit.NoError(t, err)
			testkit.Expect(t, fmt.Sprint(pause, ": age of the pointer's operation below an hour"), s.Now().Sub(began) < time.Hour, true)
		}
	}
}

// TestPointersLateInsert: an upsert that finds no worker and is refused, because another program
// has inserted one, becomes a change. A late duplicate of its insert must not arrive after the
// worker is deleted: the worker would be back, and its pointer is gone.
func TestPointersLateInsert(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	inserted := false
	staff := hookedPost(t, s, post, 0, func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") && !inserted {
			inserted = true
			_, err := s.staff.Insert(ctx, &worker{"S", 1, "Smith", "a", 44, nil})
			checkInHook(t, err)
			s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LateDuplicate(1000))))
		}
	})
	_, err := staff.Upsert(ctx, &worker{"S", 1, "Jones", "b", 44, nil}, table.ReplaceExisting)
	testkit.NoError(t, err)
	s.SetFaults(nil)
	testkit.NoError(t, s.staff.DeleteAny(ctx, at(1)))
	testkit.Expect(t, "late requests", len(s.Deliver()), 1)
	testkit.NoError(t, pointersRight(s.Service))
	testkit.Expect(t, "workers", len(ids(t, s.staff.List(ctx, table.Query[worker]{TableScan: true}))), 0)
}

// TestPointersAtEveryInstant: before each request of a program that changes an address, a look-up
// finds the worker under the address that it has.
func TestPointersAtEveryInstant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	n := 0
	staff := hookedPost(t, s, post, 0, func(*http.Request) {
		n++
		found := slices.Concat(ids(t, post.List(ctx, s.staff, "a")), ids(t, post.List(ctx, s.staff, "b")))
		if fmt.Sprint(found) != "[1]" {
			t.Errorf("before request %d: got workers %v; want 1, once", n, found)
		}
	})
	for _, mail := range []string{"b", "a"} {
		testkit.NoError(t, staff.MergeAny(ctx, at(1), email.Set(mail)))
	}
	testkit.Expect(t, "instants", n > 6, true)
}

// forgedState is a maintainer under the name of a definition, which stores a state of its own.
type forgedState struct {
	name  string
	state []string
}

func (m forgedState) Name() string { return m.name }
func (forgedState) MaxRows() int   { return 0 }
func (m forgedState) Maintain(_ context.Context, _ *extend.Plan, c *extend.Change[worker]) error {
	c.SetState(m.state...)
	return nil
}

// TestPointersForged: an entity whose state names a pointer of another entity is not found by it,
// and its next write leaves that pointer alone.
func TestPointersForged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil}, worker{"S", 2, "Jones", "b", 44, nil})
	var others []string
	for _, r := range s.Rows("staff") {
		if r.RowKey == "w_000001" {
			others = namedIn(r)
		}
	}
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	testkit.NoError(t, err)
	forger, err := bare.With(base, forgedState{"post", others})
	testkit.NoError(t, err)
	testkit.NoError(t, forger.MergeAny(ctx, at(2), last.Set("Forged")))
	testkit.Expect(t, "by the address of the other", fmt.Sprint(ids(t, post.List(ctx, s.staff, "a"))), "[1]")
	testkit.NoError(t, s.staff.MergeAny(ctx, at(2), email.Set("c")))
	testkit.Expect(t, "by the address of the other after a write", fmt.Sprint(ids(t, post.List(ctx, s.staff, "a"))), "[1]")
	testkit.Expect(t, "by its own", fmt.Sprint(ids(t, post.List(ctx, s.staff, "c"))), "[2]")
	testkit.NoError(t, pointersThere(s.Service))
}

// TestPointersInDoubt: a change whose response is lost, and that cannot be looked for, may have
// been applied: its pointer stays.
func TestPointersInDoubt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newElsewhereScene(t, elsewhere{}, newPost())
	e := insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})[0]
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		switch {
		case r.Table != "staff":
			return storagetest.Fault{}
		case r.Kind == "replace":
			return storagetest.LostResponse()
		}
		return storagetest.Refuse(403, "AuthorizationFailure")
	})
	e.Value.Email = "b"
	if err := s.staff.Replace(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrUnknownOutcome", err)
	}
	s.SetFaults(nil)
	testkit.NoError(t, pointersThere(s.Service))
}

// TestPointersAppliedUnseen: the request of a change arrives twice. Another program has changed the
// worker in between, so that the second is refused, and the change is taken for refused. The
// pointer stays, because the worker names it.
func TestPointersAppliedUnseen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	arrived := false
	staff := hookedPost(t, s, post, 0, func(r *http.Request) {
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "staff(") || arrived {
			return
		}
		arrived = true
		arrivesBefore(t, s, r)
		checkInHook(t, s.staff.MergeAny(ctx, at(1), last.Set("Smith")))
	})
	e, err := staff.Get(ctx, at(1))
	testkit.NoError(t, err)
	e.Value.Email = "b"
	if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrChanged) {
		t.Errorf("got %v; want ErrChanged", err)
	}
	testkit.NoError(t, pointersThere(s.Service))
	testkit.Expect(t, "found", fmt.Sprint(ids(t, post.List(ctx, s.staff, "b"))), "[1]")
}

// TestPointersUnknown: if the outcome of a pointer is unknown, the entity is not sent, so that the
// outcome of the write is known; and an error of several pointers is about no operation of the
// caller's.
func TestPointersUnknown(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost().In(func(*worker) keys.PartitionKey { return keys.RawPartition("all") })
	s := newElsewhereScene(t, elsewhere{}, post)
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Table == "staffpost" {
			return storagetest.LostResponse()
		}
		return storagetest.Fault{}
	})
	if _, err := s.staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil}); !errors.Is(err, table.ErrGivenUp) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrGivenUp, and not ErrUnknownOutcome", err)
	}
	s.SetFaults(nil)
	_, err := s.Tables().DeleteTable(ctx, "staffpost", nil)
	testkit.NoError(t, err)
	_, err = table.Transact(ctx, s.staff.InsertOp(&worker{"S", 1, "Jones", "a", 44, nil}), s.staff.InsertOp(&worker{"S", 2, "Jones", "b", 44, nil}))
	var be *table.BatchError
	if !errors.Is(err, table.ErrNotCreated) || errors.As(err, &be) {
		t.Errorf("got %v; want ErrNotCreated, of no operation", err)
	}
}

// TestPointersSecondAttempt: the request of a change is applied unseen, and another program changes
// the worker again. Its delete of the pointer comes late. Meanwhile the second attempt of the first
// program has stored a pointer of its own, and not that one again.
func TestPointersSecondAttempt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	arrived := false
	staff := hookedPost(t, s, post, 0, func(r *http.Request) {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "staff(") || arrived {
			return
		}
		arrived = true
		arrivesBefore(t, s, r)
		s.SetFaults(storagetest.OfKind("delete", storagetest.Once(storagetest.Late(1000))))
		checkInHook(t, s.staff.MergeAny(ctx, at(1), email.Set("c")))
		s.SetFaults(nil)
	})
	testkit.NoError(t, staff.MergeAny(ctx, at(1), email.Set("b")))
	testkit.Expect(t, "late deletes", len(s.Deliver()), 1)
	testkit.NoError(t, pointersThere(s.Service))
	testkit.Expect(t, "found", fmt.Sprint(ids(t, post.List(ctx, s.staff, "b"))), "[1]")
}

// arrivesBefore lets the service execute a request that is about to be sent: it arrives twice then.
func arrivesBefore(t *testing.T, s *elsewhereScene, r *http.Request) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	checkInHook(t, err)
	r.Body = io.NopCloser(bytes.NewReader(body))
	first := r.Clone(t.Context())
	first.Body = io.NopCloser(bytes.NewReader(body))
	_, err = s.Service.Do(first)
	checkInHook(t, err)
}
