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
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestOutage: an error of storage that is down counts no attempt, whatever wraps it. Any other error counts an attempt, including
// the end of a handler's own timeout.
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
		"handler's own service": {handle: func(context.Context, *office) error { return fmt.Errorf("the printer: %w", table.ErrUnreachable) }},
		"given up":              {handle: func(context.Context, *office) error { return table.ErrGivenUp }},
		"read, lost":            {handle: get, fault: storagetest.LostResponse()},
		"read, 401":             {handle: get, fault: storagetest.Refuse(401, "InvalidAuthenticationInfo")},
		"read, hangs":           {handle: get, fault: storagetest.Hang()},
		"write, hangs":          {handle: put, fault: storagetest.Hang()},
		"write, not sent":       {handle: put, fault: storagetest.NotSent()},
		"no table":              {handle: put, fault: storagetest.Refuse(404, "TableNotFound")},
		"no entity":             {handle: func(context.Context, *office) error { return &table.DecodeError{Reason: "the entity has no keys"} }},
		"SDK client, 403":       {handle: func(context.Context, *office) error { return status(403, "AuthorizationFailure") }},
		"SDK client, 429":       {handle: func(context.Context, *office) error { return status(429, "TooManyRequests") }},
		"queue is down": {handle: func(ctx context.Context, o *office) error {
			_, err := o.staff.Upsert(ctx, &clerk{"S", 7, fmt.Sprint(time.Now())}, table.ReplaceExisting)
			return err
		}, fault: storagetest.NotSent()},

		"plain":                {handle: func(context.Context, *office) error { return errors.New("no") }, counts: true},
		"conflict":             {handle: func(context.Context, *office) error { return status(409, "EntityAlreadyExists") }, counts: true},
		"not found":            {handle: get, counts: true},
		"wrong field":          {handle: func(context.Context, *office) error { return &table.DecodeError{Field: "Last"} }, counts: true},
		"own timeout":          {handle: func(context.Context, *office) error { return context.DeadlineExceeded }, counts: true},
		"ended by own timeout": {handle: withTimeout(get), fault: storagetest.Hang(), counts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.insert(t, clerk{"S", 1, "Jones"})
				s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
					return q.Table == "sent" || q.Kind == kinds.MessagePut && q.Queue == "notifications"
				}, c.fault))
				h := o.handle(func(ctx context.Context, _ eventual.Job) error { return c.handle(ctx, o) })
				opt := fastPolling()
				opt.Attempts = 3
				w := o.worker(t, opt, h)
				runUntilEmpty(t, w, s, 5*time.Hour)
				got := w.Stats()
				if c.counts {
					testkit.Expect(t, "stats", got, eventual.Stats{Received: 3, Retried: 2, Poisoned: 1})
					return
				}
				testkit.Expect(t, "messages retried or poisoned", got.Retried+got.Poisoned, 0)
				atLeast(t, "messages deferred", got.Deferred, 40)
			})
		})
	}
}

// withTimeout returns a handler with its own timeout.
func withTimeout(f func(context.Context, *office) error) func(context.Context, *office) error {
	return func(ctx context.Context, o *office) error {
		ctx, end := context.WithTimeout(ctx, time.Second)
		defer end()
		return f(ctx, o)
	}
}

// TestTruncatedResponses: a response that a proxy truncated counts no attempt, if the handler requested it and if the worker did.
func TestTruncatedResponses(t *testing.T) {
	t.Parallel()
	for _, tableName := range []string{"staff", "sent"} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			o.insert(t, clerk{"S", 1, "Jones"})
			s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == tableName && q.Kind == requests.Get }, storagetest.Truncate(20)))
			h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
				if _, err := o.sent.Get(ctx, rawKey("x")); err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
				return o.send(ctx, j, l)
			})
			_, err := o.sent.Upsert(context.Background(), &table.Row{Key: rawKey("x")}, table.ReplaceExisting)
			noError(t, err)
			w := o.worker(t, fastPolling(), h)
			runUntilEmpty(t, w, s, 3*time.Hour)
			testkit.Expect(t, tableName+": messages retried or poisoned", w.Stats().Retried+w.Stats().Poisoned, 0)
			atLeast(t, tableName+": messages deferred", w.Stats().Deferred, 30)
			s.SetFaults(nil)
			runUntilEmpty(t, w, s, time.Hour)
			testkit.Expect(t, tableName+": rows of table sent", len(s.Rows("sent")), 2)
			testkit.Expect(t, tableName+": messages left", len(s.Messages("notifications")), 0)
		})
	}
}

// TestTablesDown: while the tables cannot be reached, no message becomes poison; afterwards all messages are executed.
func TestTablesDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 5)
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "staff" }, storagetest.Refuse(503, "ServerBusy")))
		w := o.worker(t, fastPolling())
		runUntilEmpty(t, w, s, 2*time.Hour)
		testkit.Expect(t, "messages poisoned", w.Stats().Poisoned, 0)
		atLeast(t, "messages deferred", w.Stats().Deferred, 20)
		atMost(t, "deliveries", w.Stats().Received, 1000)
		s.SetFaults(nil)
		runUntilEmpty(t, w, s, time.Hour)
		testkit.Expect(t, "letters", len(s.Rows("sent")), 5)
	})
}
