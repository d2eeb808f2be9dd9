package whole_test

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// The functions opsX are the code of docs/operations.md; see TestOperationsPage.

func opsWorker(ctx context.Context, acc *account.Account, dept keys.AnyPartition[Employee], empid keys.AnyRow[Employee], mail aztablekit.Definition[Employee]) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	company := aztablekit.Open(acc, "company", &aztablekit.Options{Common: table.Common{Logger: slog.Default()}})
	aztablekit.Table(company, "staff", dept, empid, mail)
	if err := company.Ensure(ctx); err != nil {
		return err
	}
	return company.Run(ctx) // until the signal
}

func opsVerify(ctx context.Context, staff *table.Table[Employee], token string) (table.Progress, error) {
	return verify.Repair(ctx, staff, &verify.Options{
		Pass: table.Pass{
			Rate:  500,   // rows a second
			Token: token, // of the Progress of an interrupted call, or ""
		},
		Fault: func(f verify.Fault) {
			slog.Warn("fault", "definition", f.Definition, "kind", f.Kind, "row", f.Row, "entity", f.Entity, "repaired", f.Repaired, "error", f.Err)
		},
	})
}

// TestOperations: the code of docs/operations.md runs. A worker executes an effect, and ends when its context does; the work of a day
// notifies workers of an effect whose message was lost.
func TestOperations(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	acc, err := account.FromTransport(service, nil)
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hired := ""
	hire := func() *eventual.Effect[Employee] {
		return eventual.On("hired", func(c *extend.Change[Employee]) (string, bool) { return c.New.Name, c.Old == nil }, func(_ context.Context, _ eventual.Job, name string) error {
			hired = name
			cancel() // as the signal does
			return nil
		})
	}
	dept := keys.RawPartitionOf(func(e *Employee) *string { return &e.Department })
	empid := keys.RawRowOf(func(e *Employee) *string { return &e.ID })
	company := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, hire())
	fatal(t, company.Ensure(ctx))
	fatal(t, kitInsert(ctx, staff))
	fatal(t, opsWorker(ctx, acc, dept, empid, hire()))
	if hired != "Jones" {
		t.Errorf("got hired %q, want Jones", hired)
	}
	_, err = staff.Insert(t.Context(), &Employee{Department: "Sales", ID: "000225", Name: "Smith"}) // no worker runs
	fatal(t, err)
	_, err = acc.Queues().NewQueueClient("company-writes").ClearMessages(t.Context(), nil)
	fatal(t, err)
	later := aztablekit.Open(acc, "company", &aztablekit.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	aztablekit.Table(later, "staff", dept, empid, hire())
	fatal(t, later.RunDaily(t.Context()))
	if n := len(service.Messages("company-writes")); n != 1 {
		t.Errorf("RunDaily: got %d messages, want one, of the pending write", n)
	}
	report, err := opsVerify(t.Context(), attach(t, openStaff(t, acc.Tables())), "")
	if err != nil || report.Faults > 0 || report.Rows != 2 {
		t.Errorf("verify.Check: got %+v, error %v, want a sound table with 2 entities", report, err)
	}
}
