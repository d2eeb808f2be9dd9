package index

import (
	"reflect"

	"github.com/aztablekit/aztablekit/internal/keydoor"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// values are the values that entities have in an index, and the layout of its rows, without the
// type of the values: a keyed. What needs that type is compiled for each type of values, and the
// rest of an index once.
type values interface {
	// list returns the values of an entity; v is a pointer to it. It calls the key function.
	list(v any) entityValues

	// single reports whether an entity has one value at most. The methods below then make its
	// RowKeys, with few allocations, in the memory of a maker, which is for one goroutine.
	single() bool
	maker() any
	row(maker, v any, primary keys.Key) oneRow

	// again is row for a second call of the key function, which should give the same.
	again(maker, v any, primary keys.Key, first oneRow) oneRow

	// is reports whether an entity has a row.
	is(maker, v any, primary keys.Key, rowKey string) bool

	// all is the range of all rows: of a row for each value, or of a row for each value and entity.
	all(unique bool) keys.RowRange

	// suffixOf returns what a RowKey has behind its value. A key that the layout does not make is a
	// *keys.KeyError.
	suffixOf(rowKey string) (string, error)

	// partitionOf returns the partition of the value of a RowKey with a suffix.
	partitionOf(rowKey string) (keys.PartitionKey, error)

	// decode returns the value of the RowKey of a unique index.
	decode(rowKey string) (any, error)

	spelling() string
	kind() reflect.Kind
	sample(unique bool, suffix keys.RowKey) keys.RowKey
	noLayout() bool
	noKey() bool
}

// entityValues are the values of one entity.
type entityValues interface {
	len() int
	rowKey(i int) keys.RowKey // in a unique index
	rowKeyOf(i int, suffix keys.RowKey) keys.RowKey
	partitionKey(i int) keys.PartitionKey
	boxed() any // a slice of the values
}

// layout is a layout of a value.
type layout[K any] = keydoor.Values[K, keys.PartitionKey, keys.RowKey, *keys.RowRanges[K]]

// keyed are values of type K.
type keyed[K any] struct {
	// byValue is the layout of a unique index, which has a row for each value, and byValueAndKey
	// that of all others, which have a row for each value and entity.
	byValue       layout[K]
	byValueAndKey keydoor.Layout[K, keys.RowKey, keys.RowRange]
	isNil         bool // the layout

	// one is the key function of an index in which an entity has one value, and many that of
	// others.
	one  func(v any) (K, bool)
	many func(v any) []K
}

//go:noinline
func newKeyed[K any](name string, of keys.Layout[K]) *keyed[K] {
	k := &keyed[K]{isNil: wire.IsNil(of)}
	if k.isNil {
		of = keys.Component[K]{}
	}
	k.byValueAndKey = keydoor.Suffixed[K, keys.RowKey, keys.RowRange](of, name)
	k.byValue = keydoor.Named[K, keys.PartitionKey, keys.RowKey, *keys.RowRanges[K]](of, name)
	return k
}

func (k *keyed[K]) list(v any) entityValues {
	of := &valueList[K]{keyed: k}
	if k.one == nil {
		of.all = k.many(v)
		return of
	}
	value, in := k.one(v)
	if in {
		of.only[0] = value
		of.all = of.only[:]
	}
	return of
}

func (k *keyed[K]) single() bool { return k.one != nil }

func (k *keyed[K]) maker() any { return k.byValueAndKey.Maker() }

func (k *keyed[K]) row(maker, v any, primary keys.Key) oneRow {
	value, in := k.one(v)
	return oneRowOf(maker.(keydoor.Maker[K, keys.RowKey]), value, in, primary)
}

func (k *keyed[K]) again(maker, v any, primary keys.Key, first oneRow) oneRow {
	m := maker.(keydoor.Maker[K, keys.RowKey])
	value, in := k.one(v)
	if in && first.in && m.Is(first.key, value, primary.Row()) {
		return first
	}
	return oneRowOf(m, value, in, primary)
}

func (k *keyed[K]) is(maker, v any, primary keys.Key, rowKey string) bool {
	value, in := k.one(v)
	return in && maker.(keydoor.Maker[K, keys.RowKey]).Is(rowKey, value, primary.Row())
}

func oneRowOf[K any](m keydoor.Maker[K, keys.RowKey], value K, in bool, primary keys.Key) (r oneRow) {
	r.in = in
	if in {
		r.key, r.err = m.Of(value, primary.Row()).Result()
	}
	return r
}

func (k *keyed[K]) ranges(unique bool) *keys.RowRanges[K] {
	if unique {
		return k.byValue.Rows()
	}
	return k.byValueAndKey.Rows().(*keys.RowRanges[K])
}

func (k *keyed[K]) all(unique bool) keys.RowRange { return k.ranges(unique).All() }

// value is the range of the rows of a value.
func (k *keyed[K]) value(unique bool, value K) keys.RowRange {
	if unique {
		return k.byValue.RowKey(value).Point()
	}
	return k.byValueAndKey.Prefix(value)
}

// wanted is what a look-up of a value looks for.
func (k *keyed[K]) wanted(of *core, value K) (w wanted) {
	if of.hasOwnPartitions() {
		w.partition = k.byValue.PartitionKey(value)
	}
	if of.opt.unique {
		w.row = k.byValue.RowKey(value)
		w.rows = w.row.Point()
	} else {
		w.rows = k.byValueAndKey.Prefix(value)
	}
	return w
}

func (k *keyed[K]) suffixOf(rowKey string) (string, error) {
	_, suffix, err := k.byValueAndKey.Decode(rowKey)
	return suffix, err
}

func (k *keyed[K]) partitionOf(rowKey string) (keys.PartitionKey, error) {
	value, _, err := k.byValueAndKey.Decode(rowKey)
	if err != nil {
		return keys.PartitionKey{}, err
	}
	return k.byValue.PartitionKey(value), nil
}

func (k *keyed[K]) decode(rowKey string) (any, error) { return k.byValue.Decode(rowKey) }

func (k *keyed[K]) spelling() string { return k.byValue.Spelling() }

func (k *keyed[K]) kind() reflect.Kind { return reflect.TypeFor[K]().Kind() }

func (k *keyed[K]) sample(unique bool, suffix keys.RowKey) keys.RowKey {
	var value K
	seed := 1
	fillSample(reflect.ValueOf(&value).Elem(), &seed, 0)
	if unique {
		return k.byValue.RowKey(value)
	}
	return k.byValueAndKey.Of(value, suffix)
}

func (k *keyed[K]) noLayout() bool { return k.isNil }

func (k *keyed[K]) noKey() bool { return k.one == nil && k.many == nil }

// valueList are the values of an entity.
type valueList[K any] struct {
	*keyed[K]
	all  []K
	only [1]K // the memory of a single value
}

func (l *valueList[K]) len() int { return len(l.all) }

func (l *valueList[K]) rowKey(i int) keys.RowKey { return l.byValue.RowKey(l.all[i]) }

func (l *valueList[K]) rowKeyOf(i int, suffix keys.RowKey) keys.RowKey {
	return l.byValueAndKey.Of(l.all[i], suffix)
}

func (l *valueList[K]) partitionKey(i int) keys.PartitionKey { return l.byValue.PartitionKey(l.all[i]) }

func (l *valueList[K]) boxed() any { return l.all }
