package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// showing is the notifications of committed writes that are made visible beside other work.
type showing struct {
	ctx      context.Context
	slots    chan struct{} // full when as many are being shown as may be
	panicked atomic.Pointer[string]
}

// newShowing shows so many notifications at a time. They end with ctx.
func newShowing(ctx context.Context, most int) *showing {
	return &showing{ctx: ctx, slots: make(chan struct{}, most)}
}

// begin begins to show a notification, once fewer than the most are being shown.
func (s *showing) begin(n SentNotification, o *Options) {
	s.slots <- struct{}{}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				text := fmt.Sprintf("%v\n\n%s", v, debug.Stack())
				s.panicked.CompareAndSwap(nil, &text)
			}
			<-s.slots
		}()
		ctx, cancel := Bound(s.ctx, o.WriteTimeout)
		defer cancel()
		show(ctx, n, o)
	}()
}

// end waits until all notifications are shown. None can begin any more. What panics in an outbox panics here.
func (s *showing) end() {
	for range cap(s.slots) {
		s.slots <- struct{}{}
	}
	if text := s.panicked.Load(); text != nil {
		panic(*text)
	}
}

// show makes a notification visible.
func show(ctx context.Context, n SentNotification, o *Options) {
	ctx, cancel := Bound(ctx, o.Retry.AttemptTimeout)
	defer cancel()
	_ = n.Show(ctx)
}
