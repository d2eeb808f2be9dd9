package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestStatsByKind: the calls of handlers are counted by kind and result. A handler that was not called has zeros, and a kind without
// a handler has no counters.
func TestStatsByKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result error
		want   eventual.KindStats
	}{
		"success":     {nil, eventual.KindStats{Executed: 1}},
		"failure":     {errors.New("no"), eventual.KindStats{Failed: 1}},
		"RetryAfter":  {eventual.RetryAfter(time.Hour, nil), eventual.KindStats{Deferred: 1}},
		"unreachable": {fmt.Errorf("the printer: %w", table.ErrUnreachable), eventual.KindStats{Deferred: 1}},
		"newer":       {&table.VersionError{Got: 2, Want: 1}, eventual.KindStats{Deferred: 1}},
		"Poison":      {eventual.Poison(errors.New("no")), eventual.KindStats{Poisoned: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := newOffice(t, noPauses())
			o.addParcels(t) // no handler is registered for parcels
			o.insert(t, clerk{"S", 1, "Jones"})
			letters := o.handle(func(context.Context, eventual.Job) error { return c.result })
			unused := host.Handler{Kind: "flowers", Table: o.base, Handle: func(context.Context, eventual.Job) error { return nil }}
			w := o.worker(t, fastPolling(), letters, unused)
			c.want.Table, c.want.Kind = "staff", "letter"
			want := []eventual.KindStats{{Table: "staff", Kind: "flowers"}, c.want}
			drain(t, w)
			got := w.StatsByKind()
			testkit.Expect(t, "counters", got, want)
			testkit.Expect(t, "Stats.Effects", w.Stats().Effects, c.want.Executed)
			got[1].Executed = 100
			testkit.Expect(t, "counters after the caller has changed a copy", w.StatsByKind(), want)
		})
	}
}

// TestStatsOfConflict: a call that a concurrent worker has made void counts as deferred.
func TestStatsOfConflict(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	var calls int64
	w := o.worker(t, fastPolling(), o.handle(func(ctx context.Context, _ eventual.Job) error {
		if calls++; calls > 1 {
			return nil
		}
		if err := o.changeRecord(ctx, s, "Touched", calls); err != nil {
			return err
		}
		return table.ErrChanged
	}))
	drain(t, w)
	testkit.Expect(t, "counters", w.StatsByKind(), []eventual.KindStats{{Table: "staff", Kind: "letter", Executed: 1, Deferred: 1}})
}
