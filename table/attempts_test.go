package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestAttemptsRunOut: after the last of Retry.Attempts without a response, the error says whether the outcome is known. The number of
// requests and the time are bounded.
func TestAttemptsRunOut(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		fault    storagetest.Fault
		want     error // nil: applied
		requests string
		took     time.Duration // at least
	}{
		"every response lost": {storagetest.LostResponse(), nil, "1 get, 4 insert", 700 * time.Millisecond},
		"every request lost":  {storagetest.LostRequest(), table.ErrUnknownOutcome, "1 get, 4 insert", 700 * time.Millisecond},
		"no connection":       {storagetest.NotSent(), errors.ErrUnsupported, "4 insert", 700 * time.Millisecond},
		"no response":         {storagetest.Hang(), table.ErrUnknownOutcome, "3 insert", 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := blindOptions()
			o.Retry.Attempts = 4
			staff, _, s := staffInMemory(t, o)
			s.SetFaults(storagetest.OfKind(requests.Insert, c.fault))
			start := time.Now()
			e, err := staff.Insert(context.Background(), &employee{"Sales", 2, "Smith", 30})
			took := time.Since(start)
			switch {
			case c.want == nil:
				if err != nil || string(e.ETag) != s.Rows("staff")[1].ETag {
					t.Errorf("%s: got %+v, %v; want no error and the ETag of the row", what, e, err)
				}
			case err == nil || errors.Is(err, table.ErrUnknownOutcome) != (c.want == table.ErrUnknownOutcome):
				t.Errorf("%s: got %v; want ErrUnknownOutcome: %v", what, err, c.want == table.ErrUnknownOutcome)
			}
			if got := s.Count().String(); got != c.requests || took < c.took || took > c.took+3*time.Second {
				t.Errorf("%s: got %s in %v; want %s in %v to %v", what, got, took, c.requests, c.took, c.took+3*time.Second)
			}
		})
	}
}

// TestHungService: a call to a service that does not respond ends with its context.
func TestHungService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		staff, e, s := staffInMemory(t, nil)
		s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Hang() })
		for what, call := range map[string]func(context.Context) error{
			"insert": func(ctx context.Context) error {
				_, err := staff.Insert(ctx, &employee{"Sales", 9, "x", 1})
				return err
			},
			"update": func(ctx context.Context) error {
				_, err := staff.Update(ctx, e.Key, func(*employee) error { return nil })
				return err
			},
			"transact": func(ctx context.Context) error {
				_, err := table.Transact(ctx, staff.UpsertOp(&e.Value, table.ReplaceExisting))
				return err
			},
		} {
			for _, after := range []time.Duration{time.Millisecond, 5 * time.Second, 12 * time.Second} {
				ctx, cancel := context.WithTimeout(context.Background(), after)
				start := time.Now()
				err := call(ctx)
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > after+100*time.Millisecond {
					t.Errorf("%s, a context of %v: got %v after %v; want context.DeadlineExceeded and took <= %v", what, after, err, took, after+100*time.Millisecond)
				}
				cancel()
			}
		}
	})
}

// TestOperationIDs: every row contains the operation ID of its last write. All rows of a transaction have the same one.
// Operation IDs sort by time. OmitOperationID writes none, and removes an existing one.
func TestOperationIDs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	moment := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	o := &table.Options{}
	options.SetNow(&o.Common, func() time.Time { moment = moment.Add(time.Millisecond); return moment })
	staff, e, s := staffInMemory(t, o)
	name := func(i int) string { return testkit.OperationID(s.Rows("staff")[i].Get("_op")) }
	last := name(0)
	for what, write := range map[string]func() error{
		"replace": func() error { return staff.Replace(ctx, e) },
		"merge":   func() error { return staff.Merge(ctx, e, age.Set(3)) },
		"any":     func() error { return staff.MergeAny(ctx, e.Key, age.Set(4)) },
		"upsert":  func() error { _, err := staff.Upsert(ctx, &e.Value, table.MergeExisting); return err },
	} {
		if what == "any" || what == "upsert" { // whose version e lacks
			e, _ = staff.Get(ctx, e.Key)
		}
		noError(t, write())
		if now := name(0); now <= last || len(now) != 26 {
			t.Errorf("%s: got %s after %s; want now > %q and len(now) == 26", what, now, last, last)
		}
		last = name(0)
		var err error
		if e, err = staff.Get(ctx, e.Key); err != nil {
			t.Fatal(err)
		}
	}
	_, err := table.Transact(ctx, staff.ReplaceOp(e), staff.InsertOp(&employee{"Sales", 2, "x", 1}))
	noError(t, err)
	if name(0) != name(1) || name(0) <= last {
		t.Errorf("got %s and %s; want name(0) == %q and name(0) > %q", name(0), name(1), name(1), last)
	}
	last = name(0)
	_, err = table.Transact(ctx, tabledoor.PinOp(staff, e))
	noError(t, err)
	if name(0) != last {
		t.Error("got another operation ID after a pin; want the pinned row unchanged")
	}
	row, err := e.Row()
	noError(t, err)
	if op, _ := row.Get("_op"); testkit.OperationID(op) != last {
		t.Errorf("got the operation ID %v in the entity; want %s", op, last)
	}
	o.OmitOperationID = true
	base, err := bare.NewTable(sdkClientOf(t, s), "staff", staffSchema, o)
	noError(t, err)
	e, err = base.Get(ctx, e.Key)
	noError(t, err)
	noError(t, base.Replace(ctx, e))
	if got := name(0); got != "" {
		t.Errorf("got operation ID %s; want none", got)
	}
}

// TestReadBack: after a read-back, an entity has the ETag and the properties of the write.
func TestReadBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		// Without a concurrent writer, the entity equals the stored row.
		staff, e, s := staffInMemory(t, nil)
		pinned, err := staff.Insert(ctx, &employee{"Sales", 2, "Pinned", 1})
		noError(t, err)
		faultOnFirstWrite(s, storagetest.LostResponse(), nil)
		r, err := table.Transact(ctx, staff.MergeOp(e, age.Set(50)), tabledoor.PinOp(staff, pinned), staff.InsertOp(&employee{"Sales", 3, "New", 1}))
		noError(t, err)
		for i, row := range s.Rows("staff") {
			if string(r.ETags[i]) != row.ETag {
				t.Errorf("row %d: got ETag %s in the receipt; want %s", i, r.ETags[i], row.ETag)
			}
		}
		for _, x := range []*table.Entity[employee]{e, pinned, table.Stored[employee](r, 2)} {
			if err := staff.Replace(ctx, x); err != nil {
				t.Errorf("%v: got %v; want no error", x.Key, err)
			}
		}
		// A program that stores no operation IDs has changed the row since. Its change is not overwritten.
		faultOnFirstWrite(s, storagetest.LostResponse(), func() {
			_, err := sdkClientOf(t, s).NewClient("staff").UpdateEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"empid_000001","Bonus":true}`), nil)
			noError(t, err)
		})
		e.Value.Age = 60
		if err := staff.Replace(ctx, e); err != nil {
			t.Errorf("got %v; want no error, for the write was applied", err)
		}
		if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrChanged) {
			t.Errorf("over the change of a concurrent writer: got %v; want ErrChanged", err)
		}
		// Nor is the change of a program that stores operation IDs as texts, because it loses the types of JSON.
		e, err = staff.Get(ctx, e.Key)
		noError(t, err)
		faultOnFirstWrite(s, storagetest.LostResponse(), func() {
			id := s.Rows("staff")[0].Get("_op")
			body := fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":"empid_000001","_op":%q}`, id)
			_, err := sdkClientOf(t, s).NewClient("staff").UpdateEntity(ctx, body, nil)
			noError(t, err)
		})
		if err := staff.Replace(ctx, e); err != nil {
			t.Errorf("before a change that keeps the operation ID as text: got %v; want no error, for the write was applied", err)
		}
		// Any row of a transaction proves that the transaction was applied.
		e, err = staff.Get(ctx, e.Key)
		noError(t, err)
		faultOnFirstWrite(s, storagetest.LostResponse(), func() {
			_, err := staff.Update(ctx, e.Key, func(e *employee) error { e.Age = 70; return nil })
			noError(t, err)
		})
		if _, err := table.Transact(ctx, staff.MergeOp(e, age.Set(61)), staff.InsertOp(&employee{"Sales", 4, "New", 1})); err != nil {
			t.Errorf("a transaction with an overwritten row: got %v; want no error", err)
		}
		// An unconditional write is not sent again after a concurrent write.
		faultOnFirstWrite(s, storagetest.LostResponse(), func() { t.Error("got a second attempt; want none") })
		noError(t, staff.MergeAny(ctx, e.Key, age.Set(80)))
	})
}

// TestReadBackForbidden: a client without read permission gets the error of a refused write.
func TestReadBackForbidden(t *testing.T) {
	t.Parallel()
	staff, e, s := staffInMemory(t, nil)
	s.SetFaults(storagetest.OfKind(requests.Get, storagetest.Refuse(403, "AuthorizationPermissionMismatch")))
	if _, err := staff.Insert(context.Background(), &e.Value); !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrExists and not ErrUnknownOutcome", err)
	}
}

// TestNewID: New refuses a NewID that does not return 16 random characters. A value that looks like the placeholder of an
// operation ID is stored unchanged.
func TestNewID(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, id := range []string{"", "SHORT", strings.Repeat("X", 32), `"\\\\\\\\\\\\\\\`[:16], "ABCDEFGHIJKLMNO-"} {
		o := &table.Options{}
		options.SetNewID(&o.Common, func() string { return id })
		var ve *table.ValueError
		if _, err := bare.NewTable(sdkClient(t, noRequests(t)), "staff", staffSchema, o); !errors.As(err, &ve) {
			t.Errorf("%q: got %v; want a *ValueError", id, err)
		}
	}
	for _, omit := range []bool{false, true} {
		o := &table.Options{}
		o.OmitOperationID = omit
		staff, _, s := staffInMemory(t, o)
		const odd = "??????????????????????????"
		_, err := staff.Insert(ctx, &employee{"Sales", 2, odd, 1})
		noError(t, err)
		rows, err := bare.NewTable(sdkClientOf(t, s), "staff", table.Schema[table.Row]{}, o)
		noError(t, err)
		bag := table.Row{Key: employeeKey("Sales", 3)}
		noError(t, bag.Set("Text", odd))
		_, err = rows.Insert(ctx, &bag)
		noError(t, err)
		if a, b := s.Rows("staff")[1].Get("LastName"), s.Rows("staff")[2].Get("Text"); a != odd || b != odd {
			t.Errorf("got %v, %v; want a == odd and b == odd", a, b)
		}
	}
}
