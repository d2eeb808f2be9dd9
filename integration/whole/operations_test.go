package whole_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// The functions opsX are the code of docs/operations.md; see TestOperationsPage.

func opsWorker(ctx context.Context, acc *account.Account, handlers ...eventual.Handler) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	worker, err := eventual.NewWorker(acc.Queue("staff-notifications"), acc.Queue("staff-poison"), handlers, &eventual.WorkerOptions{
		Common:  table.Common{Logger: slog.Default()},
		CleanUp: acc.Queue("staff-cleanup"),
	})
	if err != nil {
		return err
	}
	if err := worker.Ensure(ctx); err != nil {
		return err
	}
	return worker.Run(ctx) // until the signal
}

func opsVerify(ctx context.Context, staff *table.Table[Employee], token string) (verify.Report, error) {
	return verify.Run(ctx, staff, &verify.Options{
		Repair: true,  // false reports only
		Rate:   500,   // rows a second
		Token:  token, // of the report of an interrupted run, or ""
		Fault: func(f verify.Fault) {
			slog.Warn("fault", "definition", f.Definition, "kind", f.Kind, "row", f.Row, "entity", f.Entity, "repaired", f.Repaired, "error", f.Err)
		},
	})
}

func opsNotify(ctx context.Context, outbox *eventual.Outbox, staff *table.Table[Employee]) (sent int, err error) {
	var o eventual.NotifyOptions
	for {
		result, err := outbox.NotifyPending(ctx, staff, &o)
		sent += result.Sent
		if o.Token = result.Token; err != nil || o.Token == "" {
			return sent, err
		}
	}
}

// TestOperations: the code of docs/operations.md runs. A worker executes an effect, and ends when its context does.
func TestOperations(t *testing.T) {
	t.Parallel()
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	outbox, err := eventual.NewOutbox(acc.Queue("staff-notifications"), nil)
	fatal(t, err)
	base := openStaff(t, acc.Tables())
	fatal(t, errors.Join(base.Ensure(ctx), outbox.Ensure(ctx)))
	hire := func(c *extend.Change[Employee]) (string, bool) { return c.New.Name, c.Old == nil }
	staff, err := eventual.WithOutbox(base, outbox, eventual.OnChange("hired", hire))
	fatal(t, err)
	fatal(t, kitInsert(ctx, staff))
	hired := ""
	handler := eventual.NewHandler("hired", base, func(_ context.Context, _ eventual.Job, name string) error {
		hired = name
		cancel() // as the signal does
		return nil
	})
	fatal(t, opsWorker(ctx, acc, handler))
	if hired != "Jones" {
		t.Errorf("got hired %q, want Jones", hired)
	}
	_, err = staff.Insert(t.Context(), &Employee{Department: "Sales", ID: "000225", Name: "Smith"}) // no worker runs
	fatal(t, err)
	later, err := eventual.NewOutbox(acc.Queue("staff-notifications"), &eventual.OutboxOptions{Common: table.Common{
		Now: func() time.Time { return time.Now().Add(time.Hour) },
	}})
	fatal(t, err)
	if sent, err := opsNotify(t.Context(), later, staff); sent != 1 || err != nil {
		t.Errorf("NotifyPending: got %d notifications and error %v, want one, of the pending write", sent, err)
	}
	indexed := openStaff(t, acc.Tables())
	if _, err := addIndex(t.Context(), indexed); err != nil {
		t.Error(err)
	}
	report, err := opsVerify(t.Context(), attach(t, indexed), "")
	if err != nil || !report.Sound() || report.Entities != 2 {
		t.Errorf("verify.Run: got %+v, error %v, want a sound table with 2 entities", report, err)
	}
}
