package eventual_test

import (
	"context"
	"testing"
)

// TestRequests: what a write with an effect costs, and what a worker needs for it.
func TestRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	if got := s.Count(); got != "1 message-put, 1 message-update, 1 transaction" {
		t.Error(got)
	}
	opt := options()
	opt.Concurrency = 1 // so that it does not look for more while it works
	check(o.worker(opt).Drain(ctx))
	if got := s.Count(); got != "1 get, 1 insert-or-replace, 1 merge, 1 message-delete, 2 message-get" {
		t.Error(got)
	}
}
