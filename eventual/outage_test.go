package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestOutage: an error of storage that is away is no attempt, whatever it is wrapped in; every other error is one, a handler's own
// time-out included.
func TestOutage(t *testing.T) {
	t.Parallel()
	status := func(status int, code string) error {
		return &azcore.ResponseError{StatusCode: status, ErrorCode: code}
	}
	put := func(ctx context.Context, o *office) error {
		_, err := o.sent.Upsert(ctx, &table.Row{Key: rawKey("x")}, table.ReplaceExisting)
		return err
	}
	get := func(ctx context.Context, o *office) error {
		_, err := o.sent.Get(ctx, rawKey("x"))
		return err
	}
	for name, c := range map[string]struct {
		handle func(context.Context, *office) error
		fault  storagetest.Fault
		counts bool
	}{
		"own condition": {handle: func(context.Context, *office) error { return fmt.Errorf("the printer: %w", table.ErrUnreachable) }},
		"given up":      {handle: func(context.Context, *office) error { return table.ErrGivenUp }},
		"read, lost":    {handle: get, fault: storagetest.LostReply()},
		"read, 401":     {handle: get, fault: storagetest.Refuse(401, "InvalidAuthenticationInfo")},
		"read, hangs":   {handle: get, fault: storagetest.Hang()},
		"write, hangs":  {handle: put, fault: storagetest.Hang()},
		"write, away":   {handle: put, fault: storagetest.NotSent()},
		"no table":      {handle: put, fault: storagetest.Refuse(404, "TableNotFound")},
		"no answer":     {handle: func(context.Context, *office) error { return &table.DecodeError{Reason: "the entity has no keys"} }},
		"bare SDK, 403": {handle: func(context.Context, *office) error { return status(403, "AuthorizationFailure") }},
		"bare SDK, 429": {handle: func(context.Context, *office) error { return status(429, "TooManyRequests") }},
		"queue is down": {handle: func(ctx context.Context, o *office) error {
			_, err := o.staff.Upsert(ctx, &clerk{"S", 7, fmt.Sprint(time.Now())}, table.ReplaceExisting)
			return err
		}, fault: storagetest.NotSent()},

		"plain":           {handle: func(context.Context, *office) error { return errors.New("no") }, counts: true},
		"conflict":        {handle: func(context.Context, *office) error { return status(409, "EntityAlreadyExists") }, counts: true},
		"not found":       {handle: get, counts: true},
		"field":           {handle: func(context.Context, *office) error { return &table.DecodeError{Field: "Last"} }, counts: true},
		"own time-out":    {handle: func(context.Context, *office) error { return context.DeadlineExceeded }, counts: true},
		"cut by time-out": {handle: timed(get), fault: storagetest.Hang(), counts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := opened(t, quick())
				_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
				check(err)
				s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
					return q.Table == "sent" || q.Kind == "message-put" && q.Queue == "notifications"
				}, c.fault))
				h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, _ eventual.Job) error { return c.handle(ctx, o) }}
				opt := options()
				opt.Attempts = 3
				w := workerOf(o, h, opt)
				rounds(w, s, 5*time.Hour)
				switch got := w.Stats(); {
				case c.counts && (got.Retried != 2 || got.Poisoned != 1 || got.Deferred > 0):
					t.Errorf("it is not counted: %+v", got)
				case !c.counts && (got.Retried+got.Poisoned > 0 || got.Deferred < 40):
					t.Errorf("it is counted: %+v", got)
				}
			})
		})
	}
}

// timed is f in a time of the handler's own.
func timed(f func(context.Context, *office) error) func(context.Context, *office) error {
	return func(ctx context.Context, o *office) error {
		ctx, end := context.WithTimeout(ctx, time.Second)
		defer end()
		return f(ctx, o)
	}
}

// TestTruncatedResponses: an answer that was cut by something that hides it, or that is somebody else's, is no fault of the message either, be
// it to a handler or to the worker itself.
func TestTruncatedResponses(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"staff", "sent"} {
		synctest.Test(t, func(t *testing.T) {
			o, s := opened(t, quick())
			_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
			check(err)
			s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == where && q.Kind == "get" }, storagetest.CutClean(20)))
			h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
				if _, err := o.sent.Get(ctx, rawKey("x")); err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
				return o.send(ctx, j, l)
			})
			check(o.sent.Ensure(context.Background()))
			_, err = o.sent.Upsert(context.Background(), &table.Row{Key: rawKey("x")}, table.ReplaceExisting)
			check(err)
			w := workerOf(o, h, options())
			rounds(w, s, 3*time.Hour)
			if got := w.Stats(); got.Retried+got.Poisoned > 0 || got.Deferred < 30 {
				t.Errorf("%s: %+v", where, got)
			}
			s.SetFaults(nil)
			rounds(w, s, time.Hour)
			if got := len(s.Rows("sent")); got != 2 || len(s.Messages("notifications")) > 0 {
				t.Errorf("%s: %d rows, want 2", where, got)
			}
		})
	}
}

// TestTablesDown: while the tables cannot be reached no message is poison, for that is no fault of theirs; then all are carried out.
func TestTablesDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 5 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "staff" }, storagetest.Refuse(503, "ServerBusy")))
		w := o.worker(options())
		rounds(w, s, 2*time.Hour)
		if got := w.Stats(); got.Poisoned > 0 || got.Deferred < 20 || got.Received > 1000 {
			t.Error(got)
		}
		s.SetFaults(nil)
		rounds(w, s, time.Hour)
		if len(s.Rows("sent")) != 5 {
			t.Error(s.Rows("sent"))
		}
	})
}
