package engine

import (
	"context"
	"sync/atomic"
)

// meter counts what a write has sent. It is a value of its context.
type meter struct {
	rows atomic.Int64
	busy atomic.Bool // the service was busy
}

type meterKey struct{}

// sent counts rows of a request.
func (m *meter) sent(rows int) {
	if m != nil {
		m.rows.Add(int64(rows))
	}
}

func (m *meter) throttled() {
	if m != nil {
		m.busy.Store(true)
	}
}

// in returns the context of what the meter counts.
func (m *meter) in(ctx context.Context) context.Context { return context.WithValue(ctx, meterKey{}, m) }

// meterOf returns the meter of a context, nil if there is none.
func meterOf(ctx context.Context) *meter {
	m, _ := ctx.Value(meterKey{}).(*meter)
	return m
}
