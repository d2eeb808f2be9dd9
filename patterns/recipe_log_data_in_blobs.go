package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/table"
)

var logDataInBlobs = recipe{
	name:        "log-data-in-blobs",
	title:       "Log data in append blobs, one record a line",
	guide:       []string{"G32"},
	related:     []string{"log-tail", "spread-log", "large-entity"},
	consistency: "buffered",
	measured:    []string{"log 1,800 lines"},
	problem: `Log data that is only read by source and time needs no rows: each row is a request, and the newest rows all go to one
		partition. Package bloblog collects records in a buffer and appends them to a blob as lines, many with 1 request. The names
		of the blobs contain the source and the hour. A crash loses the buffer, so its bounds are a choice. A writer is an
		io.Writer, so that log/slog can write to it.`,
	run: func(ctx context.Context, r *Run) error {
		type Line struct {
			Time  time.Time
			Level slog.Level
			Msg   string
			Order int
		}
		lines := bloblog.New(&extend.Host{Account: r.Account()}, r.ContainerName("logs"), &bloblog.Options[Line]{
			Time:          func(l *Line) time.Time { return l.Time },
			FlushInterval: time.Minute, // a crash loses the lines of a minute, or 1,000
		})
		if err := lines.Ensure(ctx); err != nil {
			return err
		}
		begin := time.Date(2014, 7, 31, 17, 45, 0, 0, time.UTC)
		if err := r.Do("log 1,800 lines with slog, one a second, from 17:45 to 18:15", func() error {
			w, err := lines.Writer("shop/orders")
			if err != nil {
				return err
			}
			go w.Run(ctx) // flushes each minute, also without new lines, until Close
			handler := slog.NewJSONHandler(w, nil)
			for i := range 1800 {
				// A program writes slog.New(handler).Info("paid", "order", i). The times of this recipe are those of the design guide.
				record := slog.NewRecord(begin.Add(time.Duration(i)*time.Second), slog.LevelInfo, "paid", 0)
				record.Add("order", i)
				if err := handler.Handle(ctx, record); err != nil {
					return err
				}
			}
			return w.Close(ctx)
		}); err != nil {
			return err
		}
		if err := r.Do("the blobs, with the times of their first and last line", func() error {
			for b, err := range lines.Blobs(ctx, "shop/orders", begin, begin.Add(time.Hour)) {
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
			for line, err := range lines.Between(ctx, "shop/orders", begin.Add(15*time.Minute), begin.Add(20*time.Minute)) {
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
		rows, err := table.New(r.Tables(), r.TableName("lines"), table.Schema[Row]{}, nil)
		if err != nil {
			return err
		}
		if err := rows.Ensure(ctx); err != nil {
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
