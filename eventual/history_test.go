package eventual_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestForgedHistory: what a message says of how often it was got, and since when nobody knows it, is not trusted, and does no harm.
func TestForgedHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		text := s.Messages("notifications")[0].Text
		_, err = o.acc.Queue("notifications").ClearMessages(context.Background(), nil)
		check(err)
		put(o, strings.TrimSuffix(text, "}")+`,"UNCOUNTED":1000000000000,"uncounted":1000000000000}`)
		put(o, strings.TrimSuffix(text, "}")+`,"uncounted":-1000000000000,"since":"1970-01-01T00:00:00Z"}`)
		var calls atomic.Int64
		w := workerOf(o, failing(o, &calls, func(int64) error { return errors.New("no") }), options())
		rounds(w, s, 3*time.Hour)
		if got := len(poisonOf(t, o)); got != 2 || calls.Load() != 20 {
			t.Error(got, calls.Load())
		}
		// One of a later version that leaves no room for notes is poison after an hour, too.
		put(o, `{"v":9,"pad":"`+strings.Repeat("x", 64<<10-100)+`"}`)
		start := time.Now()
		w = o.worker(options())
		rounds(w, s, 5*time.Hour)
		if took := time.Since(start); took < time.Hour || took > 2*time.Hour || len(poisonOf(t, o)) != 3 {
			t.Error(took, len(poisonOf(t, o)))
		}
	})
}
