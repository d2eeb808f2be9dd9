package series

import (
	"context"
	"fmt"
	"strings"
	"time"

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
	partition keys.Enc
	row       keys.Enc // with which the RowKeys begin
	hasRow    bool
	most      int // entities of a transaction
}

// New returns a series in a table. Its entities are in the partition "series", and their RowKeys are the periods, such as
// 2014-07-31, unless [Series.In] and [Series.Of] say otherwise. New sends nothing. Errors: those of [table.New];
// *table.ValueError and *table.LimitError for wrong slots.
func New[V Number](service table.Service, name string, slots Slots, o *Options) (*Series[V], error) {
	if err := slots.check(); err != nil {
		return nil, fmt.Errorf("series: New %s: %w", name, err)
	}
	opt := Options{}
	if o != nil {
		opt = *o
	}
	// The rows are of no other maintainers, so none needs to be read before it is written.
	rows, err := table.New(service, name, table.Schema[table.Row]{}, &table.Options{Common: opt.Common, BlindWrites: true})
	if err != nil {
		return nil, err
	}
	rows.Engine().Made = "Series.Ensure"
	return &Series[V]{rows: rows, slots: slots, partition: keys.Raw(defaultPartition), most: maxEntities}, nil
}

// Ensure creates the table unless it exists. Requests and errors are those of [table.Table.Ensure].
func (s *Series[V]) Ensure(ctx context.Context) error { return s.rows.Ensure(ctx) }

// In returns the series of a partition, such as that of one device or one page:
//
//	err := visits.In(page.Of("home")).Set(ctx, at, 17)
//
// The methods of the returned series fail with a *keys.KeyError for a key that is no PartitionKey.
func (s *Series[V]) In(partition keys.Enc) *Series[V] {
	in := *s
	in.partition = partition
	return &in
}

// Of returns one of several series in a partition. Its RowKeys are the given key, _ and the period: empid_000223_2014-07-31. The
// methods of the returned series fail with a *keys.KeyError for a key that cannot begin a RowKey.
func (s *Series[V]) Of(row keys.Enc) *Series[V] {
	of := *s
	of.row, of.hasRow = row, true
	return &of
}

// Exact returns the same series with exact writes: each write also stores a commit record, so that its outcome is always known or
// can be resolved, and a copy of its request that arrives late is refused. See [table.Table.Exact] for the requests, and for
// deleting the commit records.
func (s *Series[V]) Exact() *Series[V] {
	exact := *s
	exact.rows = s.rows.Exact()
	exact.most = maxEntities - 1 // the commit record is in the transaction, too
	return &exact
}

// key returns the key of an entity, from the text of its period.
func (s *Series[V]) key(period string) keys.Key {
	if !s.hasRow {
		return keys.At(s.partition, keys.Raw(period))
	}
	prefix, err := s.row.Result()
	if err != nil {
		return keys.At(s.partition, s.row)
	}
	return keys.At(s.partition, keys.Raw(prefix+separator+period))
}

const separator = "_"

// parse returns the period and the number of an entity of the series, from its RowKey, and whether it is one.
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
