// Package logdatainblobs writes the log of a program with log/slog as lines in blobs, and reads it by source and time.
package logdatainblobs

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
)

// Line is what slog's JSONHandler writes: its own fields, and an attribute of this program.
type Line struct {
	Time  time.Time
	Level slog.Level
	Msg   string
	Order int
}

// Logs is the logs of all sources of a company.
type Logs struct {
	*aztablekit.Store
	lines *bloblog.Log[Line]
}

// Open declares the container of the logs. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Logs {
	s := aztablekit.Open(acc, "company", o)
	return &Logs{s, bloblog.New(s, "logs", &bloblog.Options[Line]{
		Time:          func(l *Line) time.Time { return l.Time },
		FlushInterval: time.Minute, // a crash loses the lines of a minute, or 1,000
	})}
}

// Logger returns a logger for a source, such as shop/orders. The lines in its buffer are stored each minute until ctx ends, and after 1,000 lines:
// call stop at the end of the program, which stores the last ones. 1 request each time, and 2 more for each hour.
func (l *Logs) Logger(ctx context.Context, source string) (logger *slog.Logger, stop func(context.Context) error, err error) {
	w, err := l.lines.Writer(source)
	if err != nil {
		return nil, nil, err
	}
	go w.Run(ctx)
	return slog.New(slog.NewJSONHandler(w, nil)), w.Close, nil
}

// Blobs yields the blobs with the lines of a source from a time to another. 1 request for an hour or a day, and 1 for
// each day of up to ten.
func (l *Logs) Blobs(ctx context.Context, source string, from, to time.Time) iter.Seq2[*bloblog.Blob, error] {
	return l.lines.Blobs(ctx, source, from, to)
}

// Between yields the lines of a source from a time to another, by hour and in the order of their writer. The requests of Blobs, and 1 for
// each blob.
func (l *Logs) Between(ctx context.Context, source string, from, to time.Time) iter.Seq2[*bloblog.Record[Line], error] {
	return l.lines.Between(ctx, source, from, to)
}
