package index_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestGlobalWorkers: a program crashes while the request that prepares its unique value is on the way, a worker rolls the write back, and
// then the request arrives. The value is free nevertheless, whichever handlers the worker has: it knows the tables of the values from
// the table of its handlers.
func TestGlobalWorkers(t *testing.T) {
	t.Parallel()
	for what, handlers := range map[string]func(*table.Table[worker]) host.Handler{
		"that of the indexes":   func(staff *table.Table[worker]) host.Handler { return baretest.Handlers(staff)[0] },
		"eventual.Transactions": func(staff *table.Table[worker]) host.Handler { return bare.Transactions(staff) },
		"a handler of effects": func(staff *table.Table[worker]) host.Handler {
			return bare.NewHandler("mail", staff, func(context.Context, eventual.Job, string) error { return nil })
		},
	} {
		ctx := context.Background()
		s := newElsewhereScene(t, elsewhere{}, newLogin())
		acc, err := account.FromTransport(s.Service, nil)
		check(t, err)
		o := quick()
		options.SetNow(&o.Common, s.Now)
		staff, err := bare.With(s.staff, bare.OnChange("mail", func(*extend.Change[worker]) (string, bool) { return "", false }))
		check(t, err)
		w, err := bareworker.New(acc.Queues().NewQueueClient("effects"), acc.Queues().NewQueueClient("poison"), []host.Handler{handlers(staff)},
			&eventual.WorkerOptions{Common: o.Common})
		check(t, err)

		crashed, crash := context.WithCancel(ctx)
		s.SetFaults(storagetest.When(func(r storagetest.Request) bool {
			prepares := r.Kind == requests.Transaction
			if prepares {
				crash()
			}
			return prepares
		}, storagetest.Late(0)))
		if _, err := staff.Insert(crashed, &worker{"S", 1, "Jones", "a", 44, nil}); err == nil {
			t.Fatalf("%s: got no error from a write that crashes", what)
		}
		s.SetFaults(nil)
		s.Advance(time.Hour)
		check(t, w.Drain(ctx))
		if late := s.Deliver(); len(late) != 1 {
			t.Fatalf("%s: got late requests %v, want one", what, late)
		}
		for range 3 {
			s.Advance(26 * time.Hour)
			check(t, workertest.CleanAll(ctx, w, staff))
		}
		if _, err := staff.Insert(ctx, &worker{"M", 2, "Smith", "a", 44, nil}); err != nil {
			t.Errorf("%s: got error %v; want the value free", what, err)
		}
	}
}

// TestMissingTableOfIndex: a write without index.Ensure fails with an error that names the table of the index.
func TestMissingTableOfIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	check(t, err)
	staff, out, _, err := openElsewhere(acc, quick(), newLogin())
	check(t, err)
	check(t, errors.Join(tabledoor.Ensure(ctx, staff), out.Ensure(ctx)))
	_, err = staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 44, nil})
	if !errors.Is(err, table.ErrNotCreated) || !strings.Contains(err.Error(), "no such table stafflogin; Store.Ensure creates it") {
		t.Errorf("got error %v, want ErrNotCreated that names stafflogin", err)
	}
}
