// Package reserved registers what the library stores beside a program's own data: system properties
// of rows, whose names begin with "_", and rows whose RowKeys begin with "~". No other file spells
// these names.
package reserved

import "strings"

// System properties. A struct field cannot have one of these names.
const (
	// OperationID is written by package table into each row: the operation ID of the last write, as
	// an Edm.Guid of the 128 bits that its 26 characters have. The first 48 are its time in
	// milliseconds, as in a ULID.
	OperationID = "_op"

	// Incarnation is written by package table into the rows of entities whose maintainers ask for
	// it: 16 characters of 0-9 and A-Z.
	Incarnation = "_life"

	// MaintainerState is written by package table into the rows of entities that have maintainers:
	// the keys of their derived rows and a digest, as Edm.Binary.
	MaintainerState = "_ix"

	// Owner is written by package table into derived rows: the RowKey of their entity, and the tags
	// by which package index finds out whose they are, as an Edm.String.
	Owner = "_sys"

	// Type and Version are written by package table into rows of a schema that has them: the name
	// of the type as an Edm.String, the version as an Edm.Int32.
	Type    = "_type"
	Version = "_v"

	// Parts is written by package table into the heads of wide entities: the numbers and tags of
	// the parts, as an Edm.String. Part is written into each part: its tag.
	Parts = "_parts"
	Part  = "_part"

	// Mark is written by package table into a row that a write over several partitions has prepared
	// and not finished: the write's operation ID, where its commit record is, and what becomes of
	// the row, as an Edm.String.
	Mark = "_tx"

	// End is written by package table into the rows of entities that have an end, and into their
	// copies: the time from which they are over, as an Edm.DateTime in whole seconds.
	End = "_end"
)

// PartMark separates the RowKey of a wide entity from the number of a part, 2 digits, in the RowKey
// of the part. Parts sort directly behind their heads.
const PartMark = "!"

// Properties are the system properties.
var Properties = []string{OperationID, Incarnation, MaintainerState, Type, Version, Owner, Parts, Part, Mark, End}

// SpreadPartition separates a source of package logtail from the number of its partition, 3 digits,
// in the PartitionKeys of a log that is spread.
const SpreadPartition = "~"

// Catalogue is the PartitionKey and the RowKey of the row that names the definitions of a table, of
// package catalogue.
const Catalogue = "~c"

// Prefixes of the RowKeys of the library's rows.
const (
	// First begins the RowKeys of all the library's rows: they sort behind a program's own. It also
	// separates the RowKey of an archived row from its incarnation, which package archive appends.
	First = "~"

	// FirstAbove is the smallest valid key that sorts after the library's rows. The characters
	// between ~ and U+00A0 are control characters, which the service refuses in keys.
	FirstAbove = "\u00a0"

	// CommitRecord begins the RowKeys of commit records and abort records, of package table: the
	// operation ID follows.
	CommitRecord = "~i|"

	// ScheduledSweep begins the RowKeys of notes that the commit records of an hour will be swept,
	// of package table: the hour follows as 10 digits, 2006010215.
	ScheduledSweep = "~g|"

	// Derived begins the RowKeys of derived rows, of package index, if their definition is
	// Reserved: the key as it would be without that follows.
	Derived = "~x|"

	// Stamp is the RowKey of a row that each transaction of entities in its partition stores again,
	// if the table has snapshots of package transfer.
	Stamp = "~s"

	// Tombstone begins the RowKeys of notes that an archived incarnation is gone, of package
	// archive: the incarnation follows.
	Tombstone = "~d|"

	// Blob begins the RowKeys of the rows of blobs, of package largeentity: the ID of the blob
	// follows, 26 characters of 0-9 and A-Z.
	Blob = "~b|"

	// Prepared begins the RowKeys of the rows in which a write over several partitions notes what
	// it has prepared, of package table: the operation ID follows, and for the new content of a row
	// a | and a number.
	Prepared = "~t|"

	// View begins the RowKeys of the notes of derived entities, of package materialized: the RowKey
	// of the derived entity follows.
	View = "~v|"

	// Holder begins the RowKeys of the rows by which the holder of a lease is known in a partition,
	// of package lease: the name of the lease, a |, and head for the token of the last holder that
	// has entered, or that token, 19 digits, for the guard of this holder.
	Holder = "~h|"

	// Restored begins the RowKeys of notes that an incarnation was restored, of package archive:
	// the incarnation follows.
	Restored = "~l|"
)

// IsLibrary reports whether the library stores rows under a RowKey. Other RowKeys that begin with ~
// are of other programs.
func IsLibrary(rowKey string) bool {
	if rowKey == Catalogue || rowKey == Stamp {
		return true
	}
	kind, _, is := strings.Cut(rowKey, "|")
	if !is {
		return false
	}
	switch kind + "|" {
	case CommitRecord, ScheduledSweep, Derived, Tombstone, Blob, Prepared, View, Holder, Restored:
		return true
	}
	return false
}
