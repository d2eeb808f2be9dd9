package logtail

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/ticks"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of a log. The zero value of each field is its default.
type Options struct {
	// Common bounds the requests of the log. WriteTimeout must be a bound.
	table.Common

	// Spread is the number of partitions over which the records of a source are spread, 1 to 1,000,
	// so that a source can take more than the 2,000 records a second of one partition. A read then
	// reads all of them. A log can be spread later, or over more partitions: its first partitions
	// stay the same. Give the larger number to all readers first, and to the writers afterwards.
	// Never make it smaller. [Log.AppendOnce] does not spread its records. Defaults to 1.
	Spread int

	// Overlap is how long after the time of a record Follow still finds it. It must be longer than
	// the largest difference between the clocks of writers and followers plus WriteTimeout.
	// Defaults to 2 min.
	Overlap time.Duration

	// Poll is the pause of Follow between two reads. Defaults to 1 s.
	Poll time.Duration

	// Skip decides about each record that cannot be read as T; see table.Query. If Spread is above
	// 1, several goroutines may call it at the same time.
	Skip func(k keys.Key, err error) bool

	// Type, Version and Upgrade describe the records; see table.Schema.
	Type    string
	Version int
	Upgrade map[int]func(*table.Row) error
}

const (
	maxSpread      = 1000
	defaultOverlap = 2 * time.Minute
	defaultPoll    = time.Second
	defaultSource  = "log"
)

// Log appends records of type T to a table, and reads the newest ones first. T needs no fields for
// keys. It is safe for concurrent use.
type Log[T any] struct{ c *core }

// core is a Log without its type parameter.
type core struct {
	tables       *tables
	opt          Options
	record       recorder
	writeTimeout time.Duration
	writer       *writer
	source       string
	partitions   []keys.PartitionKey // of the source
	err          error               // of the source, or the fault
	fault        error               // of the declaration
}

// New declares a log in a table of a store. Its records are in the source "log" unless [Log.In]
// names another one. A Log is a writer: use one Log for the life of the program. New sends
// nothing: the store's Ensure creates the table. Zero fields of Options.Common are those of the
// store.
//
// Errors, returned by the methods of the store and of the log:
//   - *table.TypeError for a T that cannot be stored
//   - *table.ValueError or *table.LimitError for a nil store, a name that no table can have or that
//     something else has, and an option out of range
//   - *table.ValueError for a declaration after a method of the store was called
func New[T any](s extend.Store, name string, o *Options) *Log[T] {
	return &Log[T]{newLog(s, name, opener[T], recorderOf[T], o)}
}

func newLog(s extend.Store, name string, open openFunc, record recorder, o *Options) *core {
	h := host.Of(s)
	l, err := newCore(h, h.TableName(name), nil, open, record, o)
	return declared(h, "log "+name, l, err)
}

// openFunc returns a handle of a table of a log.
type openFunc func(service engine.Service, name string, o *Options) (table.Handle, error)

// opener is an openFunc. An append has a key of its own, so that no row needs to be read before it.
//
//go:noinline
func opener[T any](service engine.Service, name string, o *Options) (table.Handle, error) {
	schema := table.Schema[T]{Type: o.Type, Version: o.Version, Upgrade: o.Upgrade}
	return bare.NewTable(service, name, schema, &table.Options{Common: o.Common, BlindWrites: true})
}

// NewByPeriod declares a log with a table for each period, such as claims20260731. It is used as a
// log of one table is, except that
//
//   - the tables are made ahead, by [Periods.Create]: an append to a table that does not exist
//     fails with table.ErrNotCreated,
//   - records past the retention are neither stored nor read, and [Periods.Drop] deletes them with
//     their tables,
//   - a read leaves out the tables of periods that begin more than Options.Overlap in the future.
//
// The store's Ensure creates the tables, and its work of each day creates and drops them; an hourly
// log needs PeriodOptions.Ahead for more than a day.
//
// Errors, returned by the methods of the store and of the log:
//   - those of New
//   - *table.ValueError or *table.LimitError for a prefix that ends with a digit, for a name that
//     becomes longer than 63 characters, and for an Options.Overlap longer than the periods that
//     are kept
//
// Requests: a read of one period takes as many as a read of a log of one table. If a read needs
// older periods, it takes 1 more to look up which tables exist, and the requests for each table.
// Tables that begin within Options.Overlap are read with the present one. Follow takes 1 more each
// time that it catches up, and reads at each pause the tables of Options.Overlap before and after
// the present.
func NewByPeriod[T any](s extend.Store, prefix string, p *PeriodOptions, o *Options) *Log[T] {
	return &Log[T]{newLogByPeriod(s, prefix, p, opener[T], recorderOf[T], o)}
}

func newLogByPeriod(s extend.Store, prefix string, p *PeriodOptions, open openFunc, record recorder, o *Options) *core {
	h := host.Of(s)
	periods, err := newPeriods(h, h.TableName(prefix), p)
	var l *core
	if err == nil {
		l, err = newCore(h, periods.prefix, periods, open, record, o)
	}
	of := "log by period " + prefix
	if err == nil { // logs of one prefix have the same periods
		of = fmt.Sprintf("%s (%v, Keep %d, Ahead %d)", of, periods.unit, periods.opt.Keep, periods.opt.Ahead)
	}
	l = declared(h, of, l, err)
	if l.fault != nil {
		l.tables.periods = faultyPeriods(prefix, l.fault)
	}
	return l
}

// declared adds a log to its store. A faulty log returns the fault from each method.
func declared(h *host.Host, name string, l *core, err error) *core {
	var parts host.Parts
	if err == nil {
		parts.Tables = []string{l.tables.name}
		if l.tables.periods != nil {
			parts.Periods = parts.Tables
		}
		parts.Ensure = []host.Task{{Name: "tables of the log " + l.tables.name, Do: l.tables.ensure}}
		if p := l.tables.periods; p != nil {
			parts.Daily = []host.Task{{Name: parts.Ensure[0].Name, Do: p.turn}}
		}
	}
	if err = h.Declare(name, parts, err); err == nil {
		return l
	}
	return &core{tables: &tables{}, err: err, fault: err}
}

// Periods returns the periods of a log of [NewByPeriod], nil for another log.
func (l *Log[T]) Periods() *Periods { return l.c.tables.periods }

func newCore(h *host.Host, name string, p *Periods, of openFunc, record recorder, o *Options) (*core, error) {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	opt.Common = h.Options(opt.Common)
	service := h.Tables
	made := "Store.Ensure"
	if p != nil {
		made = "Periods.Create"
	}
	open := func(name string) (tabledoor.Untyped, error) {
		t, err := of(service, name, &opt)
		if err != nil {
			return nil, err
		}
		door.Table(t).Made = made
		return tabledoor.Of(t), nil
	}
	first, err := open(name)
	if err != nil {
		return nil, err
	}
	common := door.Table(first).Options
	if err := opt.setDefaults(common.WriteTimeout); err != nil {
		return nil, fmt.Errorf("logtail: New %s: %w", name, err)
	}
	l := &core{
		tables:       &tables{name: name, periods: p, open: open},
		opt:          opt,
		record:       record,
		writeTimeout: common.WriteTimeout,
		writer:       &writer{now: common.Now, newID: common.NewID, overlap: opt.Overlap},
	}
	if p != nil {
		l.writer.unit = p.unit
		if p.opt.Keep > 0 && int((opt.Overlap-1)/p.unit.shortest) >= p.opt.Keep {
			return nil, fmt.Errorf("logtail: NewByPeriod %s: %w", name, &table.ValueError{Field: "Options.Overlap", Reason: fmt.Sprintf("is longer than the %d %s periods that PeriodOptions.Keep keeps", p.opt.Keep, p.unit)})
		}
	}
	return l.choose(keys.RawPartition(defaultSource)), nil
}

func (o *Options) setDefaults(writeTimeout time.Duration) error {
	o.Spread = cmp.Or(o.Spread, 1)
	o.Overlap = cmp.Or(o.Overlap, defaultOverlap)
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	switch {
	case o.Spread < 0:
		return &table.ValueError{Field: "Options.Spread", Reason: "is negative"}
	case o.Spread > maxSpread:
		return &table.LimitError{Field: "Options.Spread", Limit: "partitions of a source", Got: o.Spread, Max: maxSpread}
	case writeTimeout < 0:
		return &table.ValueError{Field: "Common.WriteTimeout", Reason: "must be a bound: Follow waits for records that are still on their way"}
	case o.Overlap < writeTimeout:
		return &table.ValueError{Field: "Options.Overlap", Reason: fmt.Sprintf("is shorter than the %v that an append may take (Common.WriteTimeout), so that Follow would miss records", writeTimeout)}
	case o.Poll < 0:
		return &table.ValueError{Field: "Options.Poll", Reason: "is negative"}
	}
	return nil
}

// In returns the log of one source: the records of one partition, or of Options.Spread partitions.
// The writer is l.
//
//	_, err := claims.In(dept.Of("Sales")).Append(ctx, &claim)
//
// The methods of the returned log fail with a *keys.KeyError if the source is no PartitionKey, or
// ends like the partition of a spread source: with ~ and 3 digits.
func (l *Log[T]) In(source keys.PartitionKey) *Log[T] { return &Log[T]{l.c.choose(source)} }

func (l *core) choose(source keys.PartitionKey) *core {
	in := *l
	if l.fault != nil {
		return &in
	}
	in.partitions = []keys.PartitionKey{source}
	in.source, in.err = source.Result()
	if in.err == nil && spreadPartition.MatchString(in.source) {
		in.err = &keys.KeyError{Key: "PartitionKey", Value: in.source, Reason: "ends with ~ and 3 digits, as the partitions of a spread log do; use another source"}
	}
	for n := 1; n < l.opt.Spread && in.err == nil; n++ {
		p := keys.RawPartition(fmt.Sprintf("%s%s%03d", in.source, reserved.SpreadPartition, n))
		in.partitions, in.err = append(in.partitions, p), p.Err()
	}
	return &in
}

var spreadPartition = regexp.MustCompile(regexp.QuoteMeta(reserved.SpreadPartition) + `\d{3}$`)

// Record is a value with its place in a log.
type Record[T any] struct {
	Value T
	Key   keys.Key // of the row, which is unique and newer than the keys of all earlier records of the writer

	// Time is when the record was appended, by the clock of its writer, to 100 ns.
	Time time.Time

	// Writer and Sequence identify the record in its source. A writer is a Log of a process. It
	// numbers the records of each source from 0, in the order of their times; a number is missing
	// if its append has failed. Writer is "" for a record of a program without this library.
	Writer   string
	Sequence int64
}

// record is a *Record of any type.
type record interface {
	key() keys.Key
	place() position
	entity() tabledoor.Entity
}

func (r *Record[T]) key() keys.Key { return r.Key }

func (r *Record[T]) place() position { return position{r.Time, r.Writer, r.Sequence} }

// entity returns a new entity with the value.
func (r *Record[T]) entity() tabledoor.Entity { return &table.Entity[T]{Value: r.Value} }

// recorder makes records of values, each a pointer to a T.
type recorder func(value any, k keys.Key, p position) record

//go:noinline
func recorderOf[T any](value any, k keys.Key, p position) record {
	return &Record[T]{*value.(*T), k, p.time, p.writer, p.sequence}
}

// valueOf returns a value for a recorder, nil for nil.
func valueOf[T any](v *T) any {
	if v == nil {
		return nil
	}
	return v
}

// typed returns a record with its type, nil for nil.
func typed[T any](r record) *Record[T] {
	of, _ := r.(*Record[T])
	return of
}

// typedList returns a list with the type of its records.
func typedList[T any](of iter.Seq2[record, error]) iter.Seq2[*Record[T], error] {
	return func(yield func(*Record[T], error) bool) {
		of(func(r record, err error) bool { return yield(typed[T](r), err) })
	}
}

// recordOf returns the record of an entity, nil if its key is not the key of a record.
func (l *core) recordOf(e tabledoor.Entity) record {
	k := tabledoor.KeyOf(e)
	p, is := positionOf(k.RowKey())
	if !is {
		return nil
	}
	return l.record(tabledoor.ValueOf(e), k, p)
}

// The RowKey of a record is its time in inverted ticks, its writer and its sequence number. Other
// programs store the ticks alone, or with what makes the key unique behind a separator.
var (
	recordLayout = keys.Row3(keys.Desc(keys.Time()), keys.Text(), keys.Digits[int64](12), func(p *position) (*time.Time, *string, *int64) {
		return &p.time, &p.writer, &p.sequence
	})
	ticksLayout = keys.Desc(keys.Time())
)

// position is the content of the RowKey of a record.
type position struct {
	time     time.Time
	writer   string // "" for a record of a program without this library
	sequence int64
}

func (p position) rowKey() keys.RowKey { return recordLayout.Of(p.time, p.writer, p.sequence) }

// later returns the position i records later.
func (p position) later(i int) position {
	return position{p.time.Add(time.Duration(i) * tick), p.writer, p.sequence + int64(i)}
}

// positionOf returns the content of a RowKey, and whether it is the RowKey of a record.
func positionOf(rowKey string) (p position, is bool) {
	var err error
	p.time, p.writer, p.sequence, err = recordLayout.Decode(keys.Raw("", rowKey).Row())
	if err == nil {
		return p, p.writer != ""
	}
	p = position{}
	if len(rowKey) > tickDigits {
		if separator, _ := utf8.DecodeRuneInString(rowKey[tickDigits:]); unicode.IsDigit(separator) || unicode.IsLetter(separator) {
			return p, false // another number, or a text
		}
		rowKey = rowKey[:tickDigits]
	}
	p.time, err = ticksLayout.Decode(rowKey)
	return p, err == nil
}

const tickDigits = 19

// between returns the range of the records with from ≤ time < to. A zero to is no bound. Records
// have times of whole ticks, so a bound inside a tick is the next tick.
func between(from, to time.Time) keys.RowRange {
	from = nextTick(from)
	first := "0000000000000000000"
	if !to.IsZero() {
		k := ticksLayout.RowKey(nextTick(to).Add(-tick))
		if k.Err() != nil {
			return k.Point() // which has the error
		}
		first = k.String()
	}
	k := ticksLayout.RowKey(from)
	if k.Err() != nil {
		return k.Point()
	}
	older, ok := ticks.Of(from.Add(-tick))
	if !ok { // there is no older time
		return keys.RawRows(first, ":")
	}
	return keys.RawRows(first, fmt.Sprintf("%0*d", tickDigits, ticks.Max-older))
}

const tick = 100 * time.Nanosecond

// nextTick returns a time rounded up to a whole tick.
func nextTick(t time.Time) time.Time { return t.Add(tick - 1).Truncate(tick) }

// calendar is the periods with tables, for a follower that catches up.
type calendar struct {
	open []time.Time // their beginnings, the oldest first
	upTo time.Time   // open has all periods that begin before it
}

// nextPeriod moves the cursor over periods without tables, and returns until when to catch up: to
// the end of a period, and at most to final.
func (l *core) nextPeriod(ctx context.Context, c *Cursor, known *calendar, final time.Time) (end time.Time, err error) {
	p := l.tables.periods
	if p == nil {
		return final, nil
	}
	beginning := c.from.IsZero()
	if beginning {
		c.moveTo(p.Horizon())
	}
	if !c.from.Before(known.upTo) {
		var dropped bool
		if known.open, dropped, err = p.open(ctx, c.from, final); err != nil {
			return end, err
		}
		if dropped && !beginning { // by a job that keeps less
			return end, fmt.Errorf("%w: tables after %s are dropped", ErrPastRetention, c.from.Format(time.RFC3339))
		}
		known.upTo = final
	}
	end = earlier(known.upTo, final) // the clock may have stepped back
	for len(known.open) > 0 && !p.unit.add(known.open[0], 1).After(c.from) {
		known.open = known.open[1:]
	}
	if len(known.open) == 0 {
		c.moveTo(end)
		return end, nil
	}
	if start := earlier(known.open[0], end); c.from.Before(start) {
		c.moveTo(start)
	}
	return earlier(p.unit.add(known.open[0], 1), end), nil
}

// merge yields the records of lists that have the newest first, the newest of all first. The first
// records of the lists are read at the same time.
func merge(lists []iter.Seq2[record, error]) iter.Seq2[record, error] {
	if len(lists) == 1 {
		return lists[0]
	}
	return func(yield func(record, error) bool) {
		heads := make([]head, len(lists))
		var reading errgroup.Group
		reading.SetLimit(maxConcurrent)
		for i, list := range lists {
			h := &heads[i]
			h.next, h.stop = iter.Pull2(list)
			defer h.stop()
			reading.Go(func() error { h.read(); return nil })
		}
		reading.Wait()
		for {
			var newest *head
			for i := range heads {
				h := &heads[i]
				switch {
				case h.err != nil:
					yield(nil, h.err)
					return
				case h.record != nil && (newest == nil || h.record.key().RowKey() < newest.record.key().RowKey()):
					newest = h
				}
			}
			if newest == nil || !yield(newest.record, nil) {
				return
			}
			newest.read()
		}
	}
}

// head is the newest record of a list that is not yielded yet, nil at the end.
type head struct {
	record record
	err    error
	next   func() (record, error, bool)
	stop   func()
}

func (h *head) read() { h.record, h.err, _ = h.next() }

// maxConcurrent is the most partitions that are read at the same time.
const maxConcurrent = 32
