package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestExactRequests: the number of requests of an exact write.
func TestExactRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		what  string
		fault storagetest.FaultFunc
		do    func(*table.Table[employee], *table.Entity[employee]) error
		want  error
		cost  string
	}{
		{"applied", nil, func(s *table.Table[employee], e *table.Entity[employee]) error { return s.Merge(ctx, e, age.Set(50)) }, nil, "1 transaction"},
		{"applied by the second attempt", storagetest.AtRequest(1, storagetest.LostRequest()), func(s *table.Table[employee], e *table.Entity[employee]) error {
			return s.Merge(ctx, e, age.Set(50))
		}, nil, "2 transaction"},
		{"applied, response lost", storagetest.AtRequest(1, storagetest.LostResponse()), func(s *table.Table[employee], e *table.Entity[employee]) error {
			return s.Merge(ctx, e, age.Set(50))
		}, nil, "2 get, 2 transaction"}, // the commit record, and the ETag
		{"deleted, response lost", storagetest.AtRequest(1, storagetest.LostResponse()), func(s *table.Table[employee], e *table.Entity[employee]) error {
			return s.Delete(ctx, e)
		}, nil, "1 get, 2 transaction"},
		{"changed meanwhile", nil, func(s *table.Table[employee], e *table.Entity[employee]) error {
			e.ETag = etag
			return s.Delete(ctx, e)
		}, table.ErrChanged, "1 transaction"},
		{"exists, but might be deleted before the request arrives again", nil, func(s *table.Table[employee], e *table.Entity[employee]) error {
			_, err := s.Insert(ctx, &e.Value)
			return err
		}, table.ErrExists, "1 insert, 1 transaction"},
		{"never arrives: given up", storagetest.OfKind(requests.Transaction, storagetest.LostRequest()), func(s *table.Table[employee], e *table.Entity[employee]) error {
			return s.Merge(ctx, e, age.Set(50))
		}, table.ErrGivenUp, "1 insert, 4 transaction"},
	} {
		o := noWaitOptions()
		o.Retry.Attempts = 4
		staff, e, s := staffInMemory(t, o)
		s.SetFaults(c.fault)
		n := len(s.Requests())
		if c.fault != nil {
			s.SetFaults(func(q storagetest.Request) storagetest.Fault { q.Number -= n; return c.fault(q) })
		}
		before := *e
		err := c.do(staff.Exact(), e)
		if !errors.Is(err, c.want) || errors.Is(err, table.ErrUnknownOutcome) || c.want == nil && err != nil {
			t.Errorf("%s: got %v; want %v and not ErrUnknownOutcome and (c.want != nil or no error)", c.what, err, c.want)
		}
		if got := s.Count().String(); got != c.cost {
			t.Errorf("%s: got %s; want %s", c.what, got, c.cost)
		}
		if rows := s.Rows("staff"); c.want == nil && c.what != "deleted, response lost" && string(e.ETag) != rows[0].ETag {
			t.Errorf("%s: got ETag %s; want %s", c.what, e.ETag, rows[0].ETag)
		}
		if c.want != nil && c.want != table.ErrChanged && e.ETag != before.ETag {
			t.Errorf("%s: got ETag %s; want %s unchanged", c.what, e.ETag, before.ETag)
		}
	}
}

// TestExactLate (T12): a late write that its caller has given up is refused by the abort record. Without Exact it is applied.
func TestExactLate(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{true, false} {
		staff, e, s := staffInMemory(t, noWaitOptions())
		if exact {
			staff = staff.Exact()
		}
		first := true
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind != requests.Transaction && q.Kind != requests.Merge {
				return storagetest.Fault{}
			}
			if first {
				first = false
				return storagetest.Late(1000)
			}
			return storagetest.LostRequest()
		})
		err := staff.Merge(context.Background(), e, age.Set(50))
		s.Deliver()
		done := s.Rows("staff")[0].Get("Age") == int32(50)
		if exact && (!errors.Is(err, table.ErrGivenUp) || done) || !exact && (!errors.Is(err, table.ErrUnknownOutcome) || !done) {
			t.Errorf("exact %v: got %v, done %v; want ErrGivenUp and not done if exact, else ErrUnknownOutcome and done", exact, err, done)
		}
		if exact {
			if err := staff.Merge(context.Background(), e, age.Set(51)); !errors.Is(err, table.ErrGivenUp) { // the entity is not in doubt
				t.Errorf("got %v; want ErrGivenUp", err)
			}
		}
	}
}

// TestExactHungService: an exact write to a service that does not respond ends with its context. Its outcome can be resolved
// later, by the error or by the operation ID.
func TestExactHungService(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault storagetest.Fault
		done  bool
	}{{storagetest.Hang(), false}, {storagetest.ExecuteThenHang(), true}} {
		synctest.Test(t, func(t *testing.T) {
			staff, e, s := staffInMemory(t, nil)
			staff = staff.Exact()
			s.SetFaults(func(storagetest.Request) storagetest.Fault { return c.fault })
			ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
			defer cancel()
			start := time.Now()
			err := staff.Merge(ctx, e, age.Set(50))
			if took := time.Since(start); took < 12*time.Second || took > 12*time.Second+100*time.Millisecond {
				t.Errorf("got %v; want took >= 12*time.Second and took <= 12*time.Second+100*time.Millisecond", took)
			}
			var unknown *table.UnknownError
			if !errors.As(err, &unknown) || !errors.Is(err, table.ErrUnknownOutcome) || unknown.Table != "staff" || unknown.Partition != "Sales" || !strings.Contains(err.Error(), unknown.OperationID) {
				t.Fatalf(`got %v; want a *UnknownError and ErrUnknownOutcome and unknown.Table == "staff" and unknown.Partition == "Sales" and strings.Contains(err.Error(), unknown.OperationID)`, err)
			}
			if err := staff.Delete(context.Background(), e); !errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("a write of an entity in doubt: got %v; want ErrUnknownOutcome", err)
			}
			s.SetFaults(nil)
			s.Count()
			done, err := unknown.Resolve(context.Background())
			if err != nil || done != c.done || (e.Value.Age == 50) != c.done {
				t.Errorf("got %v, %v, %+v; want no error and done == %v and (e.Value.Age == 50) == %v", done, err, e.Value, c.done, c.done)
			}
			if got, want := s.Count().String(), map[bool]string{true: "2 get, 1 insert", false: "1 insert"}[c.done]; got != want {
				t.Errorf("got %s; want %s", got, want)
			}
			again, err := unknown.Resolve(context.Background())
			if err != nil || again != done {
				t.Errorf("got %v, %v; want no error and again == %v", again, err, done)
			}
			// Another process resolves the write by its partition and operation ID.
			rows, err := bare.NewTable(serviceOf(t, s), "staff", table.Schema[table.Row]{}, nil)
			noError(t, err)
			i, err := records.Of(rows).Resolve(context.Background(), keys.RawPartition(unknown.Partition), unknown.OperationID)
			if want := map[bool]commit.State{true: commit.Done, false: commit.Aborted}[c.done]; err != nil || i.State != want {
				t.Errorf("got %+v, %v; want no error and i.State == %v", i, err, want)
			}
			if err := staff.Merge(context.Background(), e, age.Set(51)); err != nil {
				t.Errorf("a write of a resolved entity: got %v; want no error", err)
			}
		})
	}
}

// TestAbortedByResolver: a write that a resolver has aborted is repeated under a new operation ID, at most ConflictAttempts
// times.
func TestAbortedByResolver(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 100} {
		o := noWaitOptions()
		o.Retry.ConflictAttempts = 8
		staff, e, s := staffInMemory(t, o)
		staff = staff.Exact()
		in := records.Of(staff)
		n := 0
		s.BeforeRequest = func(r *http.Request) {
			if body := bodyOf(t, r); strings.Contains(r.URL.Path, "$batch") && n < times {
				n++
				_, name, _ := strings.Cut(body, "~i|")
				i, err := in.Resolve(context.Background(), keys.RawPartition("Sales"), name[:26])
				if err != nil || i.State != commit.Aborted {
					t.Errorf("got %+v, %v; want no error and i.State == commit.Aborted", i, err)
				}
			}
		}
		err := staff.Merge(context.Background(), e, age.Set(50))
		if times == 1 && err != nil || times > 1 && !errors.Is(err, table.ErrGivenUp) {
			t.Errorf("aborted %d times: got %v; want no error after one time, else ErrGivenUp", times, err)
		}
		if times > 1 && n != 8 {
			t.Errorf("got %v; want times <= 1 or n == 8", n)
		}
	}
}

// unknownMerge merges e with a context that ends during the request, and returns the unknown outcome.
func unknownMerge(t testing.TB, staff *table.Table[employee], e *table.Entity[employee], s *testkit.Hooked, f storagetest.Fault) *table.UnknownError {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool { cancel(); return q.Kind == requests.Transaction }, f))
	err := staff.Merge(ctx, e, age.Set(50))
	s.SetFaults(nil)
	var unknown *table.UnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v; want a *UnknownError", err)
	}
	return unknown
}

// TestResolvedTwice: a resolved outcome does not change, whatever happened to the entity since.
func TestResolvedTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, e, s := staffInMemory(t, noWaitOptions())
	staff = staff.Exact()
	first := unknownMerge(t, staff, e, s, storagetest.LostResponse())
	if done, err := first.Resolve(ctx); !done || err != nil {
		t.Fatalf("got %v, %v; want done and no error", done, err)
	}
	e.Value.Age = 60
	noError(t, staff.Replace(ctx, e))
	s.Count()
	if done, err := first.Resolve(ctx); !done || err != nil || e.Value.Age != 60 || s.Count().String() != "none" {
		t.Errorf(`got %v, %v, %+v; want done and no error and e.Value.Age == 60 and s.Count().String() == "none"`, done, err, e.Value)
	}
	noError(t, staff.Replace(ctx, e))

	second := unknownMerge(t, staff, e, s, storagetest.LostRequest())
	if done, err := second.Resolve(ctx); done || err != nil {
		t.Fatalf("got %v, %v; want not done and no error", done, err)
	}
	unknownMerge(t, staff, e, s, storagetest.LostRequest())
	if done, err := second.Resolve(ctx); done || err != nil {
		t.Errorf("got %v, %v; want not done and no error", done, err)
	}
	if err := staff.Delete(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("a write of an entity in doubt: got %v; want ErrUnknownOutcome", err)
	}
	var empty table.UnknownError
	if _, err := empty.Resolve(ctx); err == nil {
		t.Error("got no error from Resolve of an empty error; want one")
	}
}

// TestResolvedTooLate: a day later, a write without a commit record is not reported as not applied.
func TestResolvedTooLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := noWaitOptions()
	options.SetNow(&o.Common, func() time.Time { return now })
	staff, e, s := staffInMemory(t, o)
	staff = staff.Exact()
	lost := unknownMerge(t, staff, e, s, storagetest.LostRequest())
	now = now.Add(25 * time.Hour)
	if _, err := lost.Resolve(context.Background()); !errors.Is(err, errs.ErrExpired) {
		t.Errorf("got %v; want ErrExpired", err)
	}
}

// TestCommitRecordVanishes: if the commit record was deleted, the outcome is unknown.
func TestCommitRecordVanishes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, e, s := staffInMemory(t, noWaitOptions())
	staff = staff.Exact()
	rows, err := bare.NewTable(serviceOf(t, s), "staff", table.Schema[table.Row]{}, noWaitOptions())
	noError(t, err)
	s.SetFaults(batchFault(1, storagetest.LostResponse()))
	once := true
	s.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodGet && once {
			once = false
			for _, x := range s.Rows("staff") {
				if strings.HasPrefix(x.RowKey, "~i|") {
					noError(t, rows.DeleteAny(ctx, keys.Raw("Sales", x.RowKey)))
				}
			}
		}
	}
	if err := staff.Merge(ctx, e, age.Set(50)); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrUnknownOutcome", err)
	}
}

// TestUnknownIsNotRefused: if a write is refused for a reason that may pass, and the abort record cannot be stored, the error
// is ErrUnknownOutcome and no other.
func TestUnknownIsNotRefused(t *testing.T) {
	t.Parallel()
	staff, e, s := staffInMemory(t, noWaitOptions())
	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Refuse(403, "AuthorizationFailure")))
	_, err := staff.Exact().Insert(context.Background(), &e.Value)
	var unknown *table.UnknownError
	if !errors.As(err, &unknown) || errors.Is(err, table.ErrExists) {
		t.Errorf("got %v; want a *UnknownError and not ErrExists", err)
	}
}

// TestExactWithoutWriteTimeout: an exact write ends even without a WriteTimeout.
func TestExactWithoutWriteTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &table.Options{}
		o.WriteTimeout = -1
		staff, e, s := staffInMemory(t, o)
		s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Refuse(503, "ServerBusy") })
		start := time.Now()
		err := staff.Exact().Merge(context.Background(), e, age.Set(50))
		if took := time.Since(start); !errors.Is(err, table.ErrUnknownOutcome) || took > time.Minute {
			t.Errorf("got %v, %v; want ErrUnknownOutcome and took <= time.Minute", took, err)
		}
	})
}

// TestResolvedWhileSwept: a write that was applied a day ago is resolved as applied, even if its commit record is swept
// meanwhile.
func TestResolvedWhileSwept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Now()
	o := noWaitOptions()
	options.SetNow(&o.Common, func() time.Time { return now })
	staff, e, s := staffInMemory(t, o)
	staff = staff.Exact()
	lost := unknownMerge(t, staff, e, s, storagetest.LostResponse())
	now = now.Add(26 * time.Hour)
	s.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodPost {
			s.BeforeRequest = nil
			_, err := baretest.SweepAll(ctx, staff)
			noError(t, err)
		}
	}
	if done, err := lost.Resolve(ctx); err != nil || !done {
		t.Errorf("got %v, %v; want no error and done", done, err)
	}
}

// TestExactWithoutTable: a missing table is reported as ErrNotCreated.
func TestExactWithoutTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, nil)
	lettered, err := baretest.WithOutbox(base, &memoryOutbox{}, letters{})
	noError(t, err)
	for _, people := range []*table.Table[resident]{base.Exact(), lettered} {
		if _, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"}); !errors.Is(err, table.ErrNotCreated) || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("got %v; want ErrNotCreated and not ErrUnknownOutcome", err)
		}
	}
}
