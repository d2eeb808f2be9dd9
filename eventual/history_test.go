package eventual_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestForgedHistory: the counts and times in a message are not trusted: forged counts do no harm.
func TestForgedHistory(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		text := s.Messages("notifications")[0].Text
		o.clear(t, "notifications")
		o.put(t, "notifications", strings.TrimSuffix(text, "}")+`,"UNCOUNTED":1000000000000,"uncounted":1000000000000}`)
		o.put(t, "notifications", strings.TrimSuffix(text, "}")+`,"uncounted":-1000000000000,"since":"1970-01-01T00:00:00Z"}`)
		var calls atomic.Int64
		w := o.worker(t, fastPolling(), countingHandler(o, &calls, func(int64) error { return errors.New("no") }))
		runUntilEmpty(t, w, s, 3*time.Hour)
		testkit.Expect(t, "handler calls", calls.Load(), 20)
		o.expectPoison(t, "attempts", "attempts")
		// A message of a later version becomes poison after an hour, even without room for a history.
		o.put(t, "notifications", `{"v":9,"pad":"`+strings.Repeat("x", 64<<10-100)+`"}`)
		began := time.Now()
		w = o.worker(t, fastPolling())
		runUntilEmpty(t, w, s, 5*time.Hour)
		atLeast(t, "time", time.Since(began), time.Hour)
		atMost(t, "time", time.Since(began), 2*time.Hour)
		testkit.Expect(t, "poison messages", len(o.poison(t)), 3)
	})
}
