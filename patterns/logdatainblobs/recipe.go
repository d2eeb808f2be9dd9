package logdatainblobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "log-data-in-blobs",
	Title:       "Log data in append blobs, one record a line",
	Guide:       []string{"G32"},
	Related:     []string{"log-tail", "spread-log", "large-entity"},
	Consistency: "buffered",
	Measured:    []string{"log 1,800 lines"},
	Problem: `Log data that is only read by source and time needs no rows: each row is a request, and the newest rows all go to one
		partition. Package bloblog collects records in a buffer and appends them to a blob as lines, many with 1 request. The names
		of the blobs contain the source and the hour. A crash loses the buffer, so its bounds are a choice. A writer is an
		io.Writer, so that log/slog can write to it.`,
	Kept: "logdatainblobs",
	Run: func(ctx context.Context, r *recipe.Run) error {
		r.ContainerName("logs")
		logs := Open(r.Account(), r.StoreOptions("company"))
		if err := r.Ensure(ctx, logs); err != nil {
			return err
		}
		const source = "shop/orders"
		begin := time.Date(2014, 7, 31, 17, 45, 0, 0, time.UTC)
		if err := r.Do("log 1,800 lines with slog, one a second, from 17:45 to 18:15", func() error {
			logger, stop, err := logs.Logger(ctx, source)
			if err != nil {
				return err
			}
			for i := range 1800 {
				// A program writes logger.Info("paid", "order", i). The times of this recipe are
				// those of the design guide.
				record := slog.NewRecord(begin.Add(time.Duration(i)*time.Second), slog.LevelInfo, "paid", 0)
				record.Add("order", i)
				if err := logger.Handler().Handle(ctx, record); err != nil {
					return err
				}
			}
			return stop(ctx)
		}); err != nil {
			return err
		}
		if err := r.Do("the blobs, with the times of their first and last line", func() error {
			for b, err := range logs.Blobs(ctx, source, begin, begin.Add(time.Hour)) {
				if err != nil {
					return err
				}
				r.Answer("%s: %s to %s", b.Name, b.First.Format(time.TimeOnly), b.Last.Format(time.TimeOnly))
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("the lines from 18:00 to 18:05", func() error {
			n, first := 0, ""
			for line, err := range logs.Between(ctx, source, begin.Add(15*time.Minute), begin.Add(20*time.Minute)) {
				if err != nil {
					return err
				}
				if n++; n == 1 {
					first = fmt.Sprintf("%s of order %d at %s", line.Value.Msg, line.Value.Order, line.Time.Format(time.TimeOnly))
				}
			}
			r.Answer("%d lines, the first: %s", n, first)
			return nil
		}); err != nil {
			return err
		}
		// The anti-pattern: a row for each line.
		type Row struct{ Order int32 }
		naive := aztablekit.Open(r.Account(), "naive", r.StoreOptions("naive", "lines"))
		rows := aztablekit.Table[Row](naive, "lines", nil, nil)
		if err := r.Ensure(ctx, naive); err != nil {
			return err
		}
		return r.Naive("the first 100 of these lines as rows, one after another", func() error {
			for i := range 100 {
				k := keys.At(keys.RawPartition("2014-07-31T17"), keys.RawRow(fmt.Sprintf("%04d", i)))
				if _, err := rows.InsertAt(ctx, k, &Row{int32(i)}); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
