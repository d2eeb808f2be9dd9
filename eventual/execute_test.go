package eventual_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
)

// TestDuplicates: a message that comes a hundred times is carried out once, and asks for little.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	text := s.Messages("notifications")[0].Text
	for range 99 {
		put(o, text)
	}
	opt := options()
	opt.Concurrency = 1
	w := o.worker(opt)
	check(w.Drain(ctx))
	if got := w.Stats(); got.Done != 100 || got.Effects != 1 || len(s.Rows("sent")) != 1 || len(poisonOf(t, o)) > 0 {
		t.Error(got)
	}
}

// TestBrokenCommitRecord: an intent that nobody can read is poison after so many attempts.
func TestBrokenCommitRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
		check(err)
		for _, r := range s.Rows("staff") {
			if strings.HasPrefix(r.RowKey, "~i|") {
				_, err := o.acc.Tables().NewClient("staff").UpdateEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":"S","RowKey":%q,"State":"odd"}`, r.RowKey)), nil)
				check(err)
			}
		}
		w := o.worker(options())
		rounds(w, s, 5*time.Hour)
		if p := poisonOf(t, o); len(p) != 1 || p[0].Class != eventual.ClassAttempts || w.Stats().Received != 10 {
			t.Error(p, w.Stats())
		}
	})
}

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
