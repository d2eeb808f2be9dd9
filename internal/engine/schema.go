package engine

import (
	"reflect"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Schema is a table.Schema[T]. A value is a *T.
type Schema interface {
	// Rows and Partitions return the ranges of the keys of T's entities, every key but the library's and none if the schema binds
	// none.
	Rows() keys.Range
	Partitions() keys.Range
	// Scope names T among the types of the table: by the text with which the RowKeys of its entities begin and, if there is one, a
	// ? and Schema.Type, escaped as in a URL's path. A derived row that several entities share contains it; see Row.Own and
	// Row.Tag.
	Scope() string
	// Mine reports whether a row, or the entity that the row is a copy of, can be T's: by the RowKey and, where both have one, by
	// the type.
	Mine(*Row) bool
	// Value returns what a reader would find in a row.
	Value(k keys.Key, row edm.Stored) (any, error)
	// Upgraded returns a row of an older version as a row of the schema's version, and any other row as it is, also one that cannot
	// be upgraded.
	Upgraded(*Row) *Row
	// Properties returns the properties in which fields, each a table.AnyField[T], are stored: none for a field that is part of a
	// key. Errors: *table.TypeError for a mistake in a field's accessor, and for a field that is not stored, or is the one for
	// unknown columns.
	Properties(fields ...any) ([]string, error)
	// Projected returns a value as it is read back with these properties and the keys alone.
	Projected(value any, properties ...string) (any, error)
	// Type returns T and Schema.Type.
	Type() (reflect.Type, string)
	// Query returns a query, a *table.Query[T], as List takes it for the entities of T.
	Query(q any) *Query
	// Select returns Query.Select for some properties of T: with the keys, and with the properties that Owns reads.
	Select(properties ...string) string
	// Owns reports, by its keys and its type, whether a row of which only some properties were read is one of T. Errors:
	// *VersionError for a row of a newer version, or of an older one that needs an upgrade.
	Owns(r *edm.Reader, in edm.Entity) (bool, error)
	// Read returns the *table.Entity[T] of the row that the reader has just read. mine is false for a row that is not one of T.
	Read(r *edm.Reader, in edm.Entity) (e any, mine bool, err error)
}
