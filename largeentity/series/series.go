package series

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of a series. The zero value of each field is its default.
type Options struct {
	// Common bounds the requests of the series. Retry.ConflictAttempts bounds the attempts of Add.
	table.Common
}

const (
	defaultPartition = "series"
	maxEntities      = 100 // of a transaction
)

// Series stores a number for each slot of time. It is safe for concurrent use.
type Series[V Number] struct {
	rows      *table.Table[table.Row]
	slots     Slots
	partition keys.PartitionKey
	row       keys.RowKey // with which the RowKeys begin
	hasRow    bool
	most      int // entities of a transaction
	err       error
}

// New declares a series in a table of a store. Its entities are in the partition "series", and
// their RowKeys are the periods, such as 2014-07-31, unless [Series.In] and [Series.Of] say
// otherwise. New sends nothing: the store's Ensure creates the table. Zero fields of
// Options.Common are those of the store.
//
// Errors, returned by the methods of the store and of the series:
//   - *table.ValueError or *table.LimitError for wrong slots, a nil store, and a name that no table
//     can have or that something else has
//   - *table.ValueError for a declaration after a method of the store was called
func New[V Number](s extend.Store, name string, slots Slots, o *Options) *Series[V] {
	h := host.Of(s)
	rows, err := newRows(h, h.TableName(name), o)
	if wrong := slots.check(); wrong != nil {
		err = errors.Join(err, fmt.Errorf("series: New %s: %w", name, wrong))
	}
	var parts host.Parts
	if err == nil {
		parts = host.Parts{Tables: []string{rows.Name()}, Ensure: []host.Task{{Name: "table " + rows.Name(), Do: door.Table(rows).Ensure}}}
	}
	if err = h.Declare("series "+name, parts, err); err != nil {
		rows, slots = door.Faulty[*table.Table[table.Row]](name, err), Every(time.Hour, nil)
	}
	return &Series[V]{rows: rows, slots: slots, partition: keys.RawPartition(defaultPartition), most: maxEntities, err: err}
}

func newRows(h *host.Host, name string, o *Options) (*table.Table[table.Row], error) {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	// The rows are of no other maintainers, so none needs to be read before it is written.
	rows, err := bare.NewTable(h.Tables, name, table.Schema[table.Row]{}, &table.Options{Common: h.Options(opt.Common), BlindWrites: true})
	if err != nil {
		return nil, err
	}
	door.Table(rows).Made = "Store.Ensure"
	door.Note(rows, h.Registry)
	return rows, nil
}

// In returns the series of a partition, such as that of one device or one page:
//
//	err := visits.In(page.PartitionKey("home")).Set(ctx, at, 17)
//
// The methods of the returned series fail with a *keys.KeyError for a key that is no PartitionKey.
func (s *Series[V]) In(partition keys.PartitionKey) *Series[V] {
	in := *s
	in.partition = partition
	return &in
}

// Of returns one of several series in a partition. Its RowKeys are the given key, _ and the period:
// empid_000223_2014-07-31. The methods of the returned series fail with a *keys.KeyError for a key
// that cannot begin a RowKey.
func (s *Series[V]) Of(row keys.RowKey) *Series[V] {
	of := *s
	of.row, of.hasRow = row, true
	return &of
}

// Exact returns the same series with exact writes: each write also stores a commit record, so that
// its outcome is always known or can be resolved, and a copy of its request that arrives late is
// refused. See [table.Table.Exact] for the requests. The work of a day of the store deletes the
// commit records.
func (s *Series[V]) Exact() *Series[V] {
	exact := *s
	exact.rows = s.rows.Exact()
	exact.most = maxEntities - 1 // the commit record is in the transaction, too
	return &exact
}

// key returns the key of an entity, from the text of its period.
func (s *Series[V]) key(period string) keys.Key {
	if !s.hasRow {
		return keys.At(s.partition, keys.RawRow(period))
	}
	prefix, err := s.row.Result()
	if err != nil {
		return keys.At(s.partition, s.row)
	}
	return keys.At(s.partition, keys.RawRow(prefix+separator+period))
}

const separator = "_"

// parse returns the period and the number of an entity of the series, from its RowKey, and whether
// it is one.
func (s *Series[V]) parse(rowKey string) (p time.Time, entity int, is bool) {
	if s.hasRow {
		prefix, _ := s.row.Result()
		if rowKey, is = strings.CutPrefix(rowKey, prefix+separator); !is {
			return p, 0, false
		}
	}
	return s.slots.parseRowKey(rowKey)
}

// keyOf returns the key of the entity of a cell.
func (s *Series[V]) keyOf(c cell) keys.Key { return s.key(s.slots.rowKey(c.date, c.entity)) }

// wrap adds the method and the table to an error that was found before any request.
func (s *Series[V]) wrap(method string, err error) error {
	return fmt.Errorf("series: %s %s: %w", method, s.rows.Name(), err)
}

// entity is the values that are written to one entity.
type entity[V Number] struct {
	key    keys.Key
	values map[string]V // by slot
}

// group groups values by their entities, in the order of the keys. join joins two values of one
// slot.
func group[V Number](s *Series[V], values iter.Seq2[time.Time, V], join func(slot Slot, a, b V) (V, error)) ([]entity[V], error) {
	if values == nil {
		return nil, &table.ValueError{Field: "values", Reason: "is nil; give a sequence"}
	}
	byKey := map[string]entity[V]{}
	for at, v := range values {
		c, err := s.slots.cellAt(at)
		if err != nil {
			return nil, err
		}
		k := s.keyOf(c)
		if err := k.Err(); err != nil {
			return nil, err
		}
		e, known := byKey[k.RowKey()]
		if !known {
			e = entity[V]{k, map[string]V{}}
			byKey[k.RowKey()] = e
		}
		if before, twice := e.values[c.Name]; twice {
			if v, err = join(c.Slot, before, v); err != nil {
				return nil, err
			}
		}
		if _, err := property(c.Name, v); err != nil {
			return nil, err
		}
		e.values[c.Name] = v
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b entity[V]) int { return strings.Compare(a.key.RowKey(), b.key.RowKey()) }), nil
}

// names returns the slots, in order.
func (e entity[V]) names() []string { return slices.Sorted(maps.Keys(e.values)) }

// row returns the row that has the values alone.
func (e entity[V]) row() (*table.Row, error) {
	row := &table.Row{Key: e.key}
	for _, name := range e.names() {
		x, err := property(name, e.values[name])
		if err == nil {
			err = row.Set(name, x)
		}
		if err != nil {
			return nil, err
		}
	}
	return row, nil
}

// A date is a day by the local clock, stored as its midnight in UTC.

// maxOffset is more than the offset of any time zone from UTC. Only time.FixedZone makes larger
// offsets, which no Slots have.
const maxOffset = 48 * time.Hour

// firstAt returns the first instant at which the clock of a time zone shows a reading, or a later
// one. A reading is the time in UTC that looks the same. If the clock is set forward over the
// reading, the instant is that of the change. If the clock is set back and shows the reading again,
// the instant is the first of the two. So later readings never have earlier instants.
func firstAt(reading time.Time, zone *time.Location) time.Time {
	from := reading.Add(-maxOffset).In(zone)
	for {
		_, offset := from.Zone()
		at := reading.Add(-time.Duration(offset) * time.Second).In(zone)
		if at.Before(from) {
			at = from
		}
		_, end := from.ZoneBounds()
		if !end.IsZero() && !end.After(from) { // ZoneBounds takes a year by rule for 365 days, which ends before a 31 December
			end = from.Add(time.Hour)
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		from = end
	}
}

// startOf returns the first instant of a day.
func startOf(date time.Time, zone *time.Location) time.Time { return firstAt(date, zone) }

func dayAfter(date time.Time) time.Time { return date.AddDate(0, 0, 1) }

// dayOf returns the day of an instant. This is not always the date that the clock shows: if the
// clock is set back over midnight, the new day goes on. So each instant is in one day, and a day is
// one span of time.
func dayOf(t time.Time, zone *time.Location) (date time.Time) {
	year, month, day := t.In(zone).Date()
	date = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	for !startOf(dayAfter(date), zone).After(t) {
		date = dayAfter(date)
	}
	return date
}
