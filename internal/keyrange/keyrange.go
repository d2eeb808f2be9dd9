// Package keyrange does with ranges of keys what programs need not do.
package keyrange

import (
	"github.com/aztablekit/aztablekit/internal/keydoor"
	"github.com/aztablekit/aztablekit/keys"
)

func rows() keydoor.RowRanges[keys.RowKey, keys.RowRange] {
	return keydoor.Rows[keys.RowKey, keys.RowRange]()
}

// Stored returns the half-open range of the RowKeys from ≤ key < to, including keys of the
// library's rows. It checks nothing.
func Stored(from, to string) keys.RowRange { return rows().Stored(from, to) }

// RowsOverlap reports whether two ranges may have a RowKey in common. It compares only their
// bounds, and excludes the library's rows from a range of raw keys.
func RowsOverlap(a, b keys.RowRange) bool { return rows().Overlap(a, b) }

// PartitionsOverlap is [RowsOverlap] of PartitionKeys.
func PartitionsOverlap(a, b keys.PartitionRange) bool {
	return keydoor.Partitions[keys.PartitionRange]().Overlap(a, b)
}

// RowsBehind returns the RowKeys of a range that are greater than k: of all keys if the range is
// unset. Errors, returned by the method that uses the range: those of k and of the range.
func RowsBehind(r keys.RowRange, k keys.RowKey) keys.RowRange { return rows().Behind(r, k) }

// Partition returns the key of a range of exactly one key, and an unset key for any other range.
func Partition(r keys.PartitionRange) keys.PartitionKey {
	if !r.IsPoint() {
		return keys.PartitionKey{}
	}
	from, _, _ := r.Bounds()
	return keys.Raw(from, "").Partition()
}
