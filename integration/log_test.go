package integration

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
)

// event is the record type of the log tests.
type event struct {
	Process, Number int
}

// logs: records are appended, read newest first, by time and in pages, and followed from a stored token, in one partition or several.
func logs(e *env) {
	ctx := context.Background()
	for _, spread := range []int{1, 4} {
		var declared baretest.Registry
		events := logtail.New[event](&host.Host{Tables: e.tables, Registry: &declared}, freshName(), &logtail.Options{Spread: spread})
		e.must(declared.Ensure(ctx))
		source := events.In(keys.Text().PartitionKey("größe/../1")) // a key that is escaped
		e.counter.Take()
		first, err := source.Append(ctx, &event{0, 0})
		e.must(err)
		e.wantRequests("1 insert")
		var more []*event
		for i := range 1200 {
			more = append(more, &event{0, i + 1})
		}
		_, err = source.AppendAll(ctx, more...)
		e.must(err)
		e.wantRequests("12 transaction")
		want := 1200
		for r, err := range source.Tail(ctx, 5) {
			e.must(err)
			if r.Value.Number != want {
				e.Errorf("Tail, spread over %d: got event %d; want %d", spread, r.Value.Number, want)
			}
			want--
		}
		if want != 1195 {
			e.Errorf("Tail, spread over %d: got %d events; want 5", spread, 1200-want)
		}
		e.wantRequests(fmt.Sprint(spread, " query"))
		n := 0
		for _, err := range source.Between(ctx, first.Time, first.Time.Add(time.Hour)) {
			e.must(err)
			n++
		}
		if n != 1201 {
			e.Errorf("Between, spread over %d: got %d events; want 1201", spread, n)
		}
		token, next := "", 0
		for next < 1201 {
			cursor := logtail.NewCursor(token, time.Time{})
			for r, err := range source.Follow(ctx, cursor) {
				if e.must(err); r.Value.Number != next {
					e.Fatalf("Follow, spread over %d: got event %d; want %d", spread, r.Value.Number, next)
				}
				if next++; next%400 == 0 || next == 1201 {
					break
				}
			}
			token = cursor.Token()
		}
	}
}
