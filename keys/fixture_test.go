package keys_test

import (
	"github.com/aztablekit/aztablekit/internal/keydoor"
	"github.com/aztablekit/aztablekit/keys"
)

type pair[A, B any] struct {
	a A
	b B
}

type triple[A, B, C any] struct {
	a A
	b B
	c C
}

// pairOf is a RowKey of two values.
func pairOf[A, B any](a keys.Component[A], b keys.Component[B]) *keys.RowOf2[pair[A, B], A, B] {
	return keys.Row2(a, b, func(p *pair[A, B]) (*A, *B) { return &p.a, &p.b })
}

// tripleOf is a RowKey of three values.
func tripleOf[A, B, C any](
	a keys.Component[A], b keys.Component[B], c keys.Component[C],
) *keys.RowOf3[triple[A, B, C], A, B, C] {
	return keys.Row3(a, b, c, func(t *triple[A, B, C]) (*A, *B, *C) { return &t.a, &t.b, &t.c })
}

type suffixed[K any] struct {
	keydoor.Layout[K, keys.RowKey, keys.RowRange]
	*keys.RowRanges[K]
}

// suffixedBy is a layout of the rows of an index.
func suffixedBy[K any](l keys.Layout[K], name string) suffixed[K] {
	of := keydoor.Suffixed[K, keys.RowKey, keys.RowRange](l, name)
	return suffixed[K]{of, of.Rows().(*keys.RowRanges[K])}
}

// values is a layout of values, with its methods.
type values[K any] = keydoor.Values[K, keys.PartitionKey, keys.RowKey, *keys.RowRanges[K]]

// namedAs is the layout of a unique index.
func namedAs[K any](l keys.Layout[K], name string) values[K] {
	return keydoor.Named[K, keys.PartitionKey, keys.RowKey, *keys.RowRanges[K]](l, name)
}

// valuesOf is a layout as it is.
func valuesOf[K any](l keys.Layout[K]) values[K] { return namedAs(l, "") }
