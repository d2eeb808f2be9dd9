package logtail

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of a log. The zero value of each field is its default.
type Options struct {
	// Common bounds the requests of the log. Now is the clock that dates records, and NewID makes the IDs of writers.
	table.Common

	// Spread is the number of partitions over which the records of a source are spread, 1 to 1,000, so that a source can take more
	// than the 2,000 records a second of one partition. A read then reads all of them, at the same time. All programs that read the
	// log must know the largest Spread that was ever used. A log can be spread later: its first partition is that of a log that is
	// not spread. Defaults to 1.
	Spread int

	// Overlap is how long Follow waits for records with an earlier time than those that it has already yielded: it reads the records
	// of this time again. It must be longer than the clocks of writers and followers differ, plus WriteTimeout. Defaults to 2 min.
	Overlap time.Duration

	// Poll is the pause of Follow between two reads. Defaults to 1 s.
	Poll time.Duration

	// Type, Version and Upgrade describe the records; see table.Schema.
	Type    string
	Version int
	Upgrade map[int]func(*table.Row) error
}

const (
	maxSpread      = 1000
	defaultOverlap = 2 * time.Minute
	defaultPoll    = time.Second
	defaultWrite   = 30 * time.Second // of table.Common.WriteTimeout
)

// Log appends records of type T to a table, and reads the newest ones first. T needs no fields for keys. It is safe for concurrent use.
type Log[T any] struct {
	rows   *table.Table[T]
	opt    Options
	writer *writer
	source keys.Enc
}

// New returns a log in a table. Its records are in the partition "log" unless [Log.In] names another source. Each call makes a
// writer of its own: records are appended by a program's one Log, and not by a new one for each record. New sends nothing. Errors:
// those of [table.New]; *table.ValueError for a Spread, Overlap or Poll out of range.
func New[T any](service table.Service, name string, o *Options) (*Log[T], error) {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	if err := opt.setDefaults(); err != nil {
		return nil, fmt.Errorf("logtail: New %s: %w", name, err)
	}
	// An append has a key of its own, so that no row needs to be read before it.
	rows, err := table.New(service, name, table.Schema[T]{Type: opt.Type, Version: opt.Version, Upgrade: opt.Upgrade}, &table.Options{Common: opt.Common, BlindWrites: true})
	if err != nil {
		return nil, err
	}
	common := rows.Engine().Options
	return &Log[T]{rows, opt, &writer{now: common.Now, newID: common.NewID, overlap: opt.Overlap}, keys.Raw("log")}, nil
}

func (o *Options) setDefaults() error {
	if o.Spread == 0 {
		o.Spread = 1
	}
	if o.Overlap == 0 {
		o.Overlap = defaultOverlap
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	write := o.WriteTimeout
	if write == 0 {
		write = defaultWrite
	}
	switch {
	case o.Spread < 1 || o.Spread > maxSpread:
		return &table.LimitError{Field: "Options.Spread", Limit: "partitions of a source", Got: o.Spread, Max: maxSpread}
	case o.Overlap < write:
		return &table.ValueError{Field: "Options.Overlap", Reason: fmt.Sprintf("is shorter than the %v that an append may take (Common.WriteTimeout), so that Follow would miss records", write)}
	case o.Poll < 0:
		return &table.ValueError{Field: "Options.Poll", Reason: "is negative"}
	}
	return nil
}

// Ensure creates the table unless it exists. Requests and errors are those of [table.Table.Ensure].
func (l *Log[T]) Ensure(ctx context.Context) error { return l.rows.Ensure(ctx) }

// In returns the log of one source: the records of one partition, or of Options.Spread partitions. Each source has its own share of
// the servers. The writer is that of l.
//
//	err := claims.In(dept.Of("Sales")).Append(ctx, &claim)
func (l *Log[T]) In(source keys.Enc) *Log[T] {
	in := *l
	in.source = source
	return &in
}

// partition returns the n-th partition of the source.
func (l *Log[T]) partition(n int) keys.Enc {
	if n == 0 {
		return l.source
	}
	s, err := l.source.Result()
	if err != nil {
		return l.source
	}
	return keys.Raw(fmt.Sprintf("%s%s%03d", s, reserved.SpreadPartition, n))
}

// partitions returns all partitions of the source.
func (l *Log[T]) partitions() []keys.Enc {
	all := make([]keys.Enc, l.opt.Spread)
	for n := range all {
		all[n] = l.partition(n)
	}
	return all
}
