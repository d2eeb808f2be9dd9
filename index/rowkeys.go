package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// rowKey returns the RowKey of the row of a value and an entity.
func (ix *Index[T, K]) rowKey(k K, primary keys.Key) (string, error) {
	var e keys.Enc
	if ix.opt.Unique == NotUnique {
		e = ix.byValueAndKey.Of(k, ix.suffixOf(primary))
	} else {
		e = ix.byValue.Of(k)
	}
	s, err := e.Result()
	if err == nil && ix.opt.Reserved {
		s = ix.prefixed(s)
		err = keys.Stored("p", s).Err() // the prefix makes it longer
	}
	return s, err
}

// suffixOf returns what the RowKeys of an entity's rows end with.
func (ix *Index[T, K]) suffixOf(primary keys.Key) keys.Enc {
	if ix.opt.Elsewhere != nil {
		return keys.Stored("p", memberText(primary)).Row()
	}
	return primary.Row()
}

// rowKeys returns the RowKeys of an entity's rows, in order; see rows.
func (ix *Index[T, K]) rowKeys(v *T, primary keys.Key) ([]string, error) {
	if ix.isPlain() && v != nil {
		return ix.plainRowKey(v, primary)
	}
	all, err := ix.rows(v, primary)
	return rowKeysOf(all), err
}

func rowKeysOf(rows []keys.Key) (all []string) {
	for _, k := range rows {
		all = append(all, k.RowKey())
	}
	return all
}

// rows returns the keys of an entity's rows, in order. It calls the key function twice: rows of a key function that is not pure
// would never be found and deleted again.
func (ix *Index[T, K]) rows(v *T, primary keys.Key) ([]keys.Key, error) {
	if v == nil {
		return nil, nil
	}
	rows, err := ix.rowsOnce(v, primary)
	if err != nil {
		return nil, err
	}
	again, err := ix.rowsOnce(v, primary)
	if err == nil && !slices.Equal(rows, again) {
		err = &DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: for one entity it returned the keys of %q, and then of %q", rowKeysOf(rows), rowKeysOf(again))}
	}
	return rows, err
}

func (ix *Index[T, K]) rowsOnce(v *T, primary keys.Key) (rows []keys.Key, err error) {
	all, err := callUser(ix.name, "key", ix.key, v)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		row, err := ix.row(v, k, primary)
		if err != nil {
			return nil, withDefinition(ix.name, err)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b keys.Key) int { return strings.Compare(a.RowKey(), b.RowKey()) })
	if rows = slices.Compact(rows); len(rows) > ix.maxValues {
		return nil, &table.LimitError{Field: "index " + ix.name, Limit: "values of one entity", Got: len(rows), Max: ix.maxValues}
	}
	return rows, nil
}

// row returns the key of the row of an entity and one of its values.
func (ix *Index[T, K]) row(v *T, k K, primary keys.Key) (row keys.Key, err error) {
	type result struct {
		rowKey string
		err    error
	}
	r, err := callUser(ix.name, "key", func(*T) (r result) { // functions of the layout may panic
		r.rowKey, r.err = ix.rowKey(k, primary)
		return r
	}, v)
	if err == nil {
		err = r.err
	}
	if err != nil {
		return row, err
	}
	if ix.opt.Elsewhere == nil {
		return keys.Stored(primary.PartitionKey(), r.rowKey), nil
	}
	pk, err := ix.partitionElsewhere(v, k)
	return keys.Stored(pk, r.rowKey), err
}

// hasRow reports whether a row follows from an entity, also if other rows of the entity are more than it may have or invalid.
func (ix *Index[T, K]) hasRow(v *T, primary, row keys.Key) bool {
	all, err := callUser(ix.name, "key", ix.key, v)
	return err == nil && slices.ContainsFunc(all, func(k K) bool {
		is, err := ix.row(v, k, primary)
		return err == nil && is == row
	})
}

// matcher returns hasRow for the rows of a list. It is for one goroutine: it reuses its memory.
func (ix *Index[T, K]) matcher() func(v *T, primary, row keys.Key) bool {
	if !ix.isPlain() {
		return ix.hasRow
	}
	m := ix.byValueAndKey.Maker()
	return func(v *T, primary, row keys.Key) bool {
		is, err := callUser(ix.name, "key", func(v *T) bool {
			k, in := ix.oneKey(v)
			return in && m.Is(row.RowKey(), k, primary.Row())
		}, v)
		return err == nil && is && row.PartitionKey() == primary.PartitionKey()
	}
}

// hasOwnPartitions reports whether each value has a partition of its own.
func (ix *Index[T, K]) hasOwnPartitions() bool {
	return ix.opt.Elsewhere != nil && ix.opt.Elsewhere.Partition == nil
}

const fieldPartition = "Elsewhere.Partition"

// partitionElsewhere returns the PartitionKey of the row of an entity and one of its values.
func (ix *Index[T, K]) partitionElsewhere(v *T, k K) (string, error) {
	if ix.hasOwnPartitions() {
		return ix.byValue.Of(k).Result()
	}
	e, err := callUser(ix.name, fieldPartition, ix.opt.Elsewhere.Partition, v)
	if err != nil {
		return "", err
	}
	if !e.IsSet() {
		return "", &DefinitionError{Definition: ix.name, Field: fieldPartition, Reason: "returns no key"}
	}
	return e.Result()
}

// PartitionOf returns the partition of the rows of a value, for a query of an index whose values have partitions of their own
// ([Elsewhere]):
//
//	page, err := byEmail.Page(ctx, staff, table.Query[Employee]{Partition: byEmail.PartitionOf("JonesJ@contoso.com")}, "")
//
// The method that uses the key returns its error (*keys.KeyError).
func (ix *Index[T, K]) PartitionOf(k K) keys.Enc { return ix.byValue.Of(k) }

// partitionForValue returns the partition for a look-up of a value.
func (ix *Index[T, K]) partitionForValue(partition keys.Enc, k K) (keys.Enc, error) {
	switch {
	case !ix.hasOwnPartitions() || ix.invalid != nil:
		return partition, nil
	case partition.IsSet() && partition.String() != ix.PartitionOf(k).String():
		return partition, &table.ValueError{Field: "partition", Reason: "is set, but each value has a partition of its own (Elsewhere); give keys.Enc{}"}
	}
	return ix.PartitionOf(k), nil
}

var errNoPartition = &table.ValueError{Field: "Query.Partition", Reason: "is unset, and each value has a partition of its own (Elsewhere): give PartitionOf a value, or set TableScan; for ranges of values, set Elsewhere.Partition"}
