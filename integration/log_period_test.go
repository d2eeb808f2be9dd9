package integration

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// logsByPeriod: a log with a table for each day is appended to, read and followed over its tables, and the old ones are dropped, each
// with one delete and two writes of its state. A table that is not the log's stays.
func logsByPeriod(e *env) {
	ctx := context.Background()
	name := freshName() + "x" // no digit, which would belong to a period
	now := time.Date(2014, 7, 31, 23, 0, 0, 0, time.UTC)
	clock := options.At(func() time.Time { return now })
	events := logtail.NewByPeriod[event](&host.Host{Tables: e.tables}, name, &logtail.PeriodOptions{Common: clock, Keep: 1, Ahead: 1}, &logtail.Options{Common: clock, Spread: 2})
	days := events.Periods()
	foreign := name + "20140701"
	_, err := e.acc.Tables().NewClient(foreign).CreateTable(ctx, nil)
	e.must(err)
	for day := range 5 {
		now = now.AddDate(0, 0, min(day, 1))
		_, err := days.Create(ctx)
		e.must(err)
		var batch []*event
		for i := range 100 {
			batch = append(batch, &event{day, i})
		}
		_, err = events.AppendAll(ctx, batch...)
		e.must(err)
	}
	e.counter.Take()
	dropped, err := days.Drop(ctx, nil)
	e.must(err)
	if len(dropped) != 3 {
		e.Errorf("Drop: got %v; want 3 periods", dropped)
	}
	e.wantRequests("1 query, 6 replace, 3 table-delete")
	want := 499
	for r, err := range events.Since(ctx, time.Time{}) {
		e.must(err)
		if got := 100*r.Value.Process + r.Value.Number; got != want {
			e.Fatalf("Since: got event %d; want %d", got, want)
		}
		want--
	}
	if want != 299 {
		e.Errorf("Since: got %d events; want 200", 499-want)
	}
	for r, err := range events.Follow(ctx, nil) {
		e.must(err)
		if want++; 100*r.Value.Process+r.Value.Number != want {
			e.Fatalf("Follow: got event %d of day %d; want %d", r.Value.Number, r.Value.Process, want)
		}
		if want == 499 {
			break
		}
	}
	now = now.AddDate(0, 0, 2)
	if _, err := events.Append(ctx, &event{}); !errors.Is(err, table.ErrNotCreated) {
		e.Errorf("Append without a table: got error %v; want ErrNotCreated", err)
	}
	_, err = e.acc.Tables().NewClient(foreign).Delete(ctx, nil)
	e.must(err) // it was there
}
