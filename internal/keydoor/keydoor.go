// Package keydoor holds what the packages of this module do with layouts and bound keys beyond what
// programs can do. Package keys sets [Keys]. Its type parameters stand for types of package keys,
// which imports this package: P and R for a PartitionKey or a RowKey and its range, and K for the
// value of a layout.
package keydoor

// Keys is set by package keys, before any function of this package is called.
var Keys interface {
	Partition(key any) any
	Row(key any) any
	Named(layout any, name string) any
	Suffixed(layout any, name string) any
	Partitions() any
	Rows() any
}

// Half is the PartitionKey or the RowKey of a Go type, without the type. A value is a pointer to
// the type.
type Half struct {
	Set    bool // false if the schema leaves the key out
	OneWay bool // the key is computed from fields that are stored as properties, and cannot be decoded
	Err    error
	Layout string // its spelling, such as digits(6) named empid; "" if the schema leaves the key out

	Text   func(value any) (string, error)
	Decode func(value any, key string) error // some fields may be set nevertheless; does nothing if OneWay is set
	Fields func(value any) []any             // pointers to the fields that hold the key
}

// Bound is a Half with its role.
type Bound[P, R any] struct {
	Half
	All R // the range of all keys
	Key func(value any) P
}

// Partition opens a keys.AnyPartition, and Row a keys.AnyRow. Either may be nil.
func Partition[P, R any](key any) *Bound[P, R] { return Keys.Partition(key).(*Bound[P, R]) }
func Row[P, R any](key any) *Bound[P, R]       { return Keys.Row(key).(*Bound[P, R]) }

// Named returns a keys.Layout with a name, unless it has one already or the name is "".
func Named[K, P, R, RS any](layout any, name string) Values[K, P, R, RS] {
	return Keys.Named(layout, name).(Values[K, P, R, RS])
}

// Values is a layout of keys of one value. RS stands for *keys.RowRanges[K].
type Values[K, P, R, RS any] interface {
	PartitionKey(K) P
	RowKey(K) R

	// Decode returns the value of a key. A key that no value has is a *keys.KeyError.
	Decode(key string) (K, error)

	// Rows returns the ranges of the RowKeys. Values are compared component by component in the
	// order of their keys: if keys.Desc inverts only some components, lo is the value that sorts
	// first. A component that does not sort by its values before another component makes every
	// range of values a *keys.KeyError.
	Rows() RS

	// Spelling returns the layout as text: fold(text) named email. Layouts of different spellings
	// make different keys.
	Spelling() string
}

// Suffixed returns the layout whose keys are those of a keys.Layout, the separator _ and another
// key. The layout gets a name, unless it has one already.
func Suffixed[K, P, R any](layout any, name string) Layout[K, P, R] {
	return Keys.Suffixed(layout, name).(Layout[K, P, R])
}

// Layout is a layout of keys that consist of a value and another key, which belongs to the entity
// with the value: the rows of entities with equal values are neighbours.
type Layout[K, P, R any] interface {
	// Of returns the key of the value k with the given suffix. The method that uses the key returns
	// its error (*keys.KeyError).
	Of(k K, suffix P) P

	// Maker returns a Maker of the keys.
	Maker() Maker[K, P]

	// Decode returns the value and the suffix of a key. A key that Of does not make is a
	// *keys.KeyError.
	Decode(s string) (k K, suffix string, err error)

	// Prefix returns the range of the keys with the value k.
	Prefix(k K) R

	// Rows returns the ranges of the keys by their values, a keys.RowRanges. In an interval, a part
	// that does not sort by its values before another part is a *keys.KeyError: use keys.Ordered in
	// place of keys.Text.
	Rows() any
}

// Maker makes the keys of a Layout, one after another. Keys that were returned do not change. A
// Maker is for one goroutine.
type Maker[K, P any] interface {
	// Of is Layout.Of, and Is reports whether s is the key that Of returns.
	Of(k K, suffix P) P
	Is(s string, k K, suffix P) bool
}

// Ranges are functions of ranges of keys. R stands for the range of PartitionKeys or of RowKeys.
type Ranges[R any] interface {
	// Overlap reports whether two ranges may have a key in common. It compares only their bounds,
	// and excludes the library's rows from a range of raw keys.
	Overlap(a, b R) bool
}

// RowRanges are functions of ranges of RowKeys. K stands for the RowKey, and R for the range.
type RowRanges[K, R any] interface {
	Ranges[R]

	// Stored returns the half-open range from ≤ key < to, including keys of the library's rows. It
	// checks nothing.
	Stored(from, to string) R

	// Behind returns the keys of a range that are greater than k: of all keys if the range is
	// unset.
	Behind(r R, k K) R
}

// Partitions returns the functions of keys.PartitionRange, and Rows those of keys.RowRange.
func Partitions[R any]() Ranges[R]    { return Keys.Partitions().(Ranges[R]) }
func Rows[K, R any]() RowRanges[K, R] { return Keys.Rows().(RowRanges[K, R]) }
