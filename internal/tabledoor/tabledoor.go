// Package tabledoor holds what the packages of this module and its tests do with typed handles
// beyond what programs can do: it is package door with types.
package tabledoor

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Untyped is a handle without its type parameter, for code that is compiled once for all types: an
// Entity is a *table.Entity of the handle's type. The methods are those of [table.Table], and of
// the functions below.
type Untyped interface {
	table.Handle

	List(ctx context.Context, q table.Query[table.Row]) iter.Seq2[Entity, error]
	Rows(ctx context.Context, q table.Query[table.Row]) iter.Seq2[*table.Row, error]
	Entity(row *table.Row) (Entity, error)
	RowsOf(ctx context.Context, q query.Query) iter.Seq2[*table.Row, error]

	// Copies is Rows for callers that want the entities of full copies. It gives each row to yield,
	// until yield returns false. The Entity is that of a full copy, as the method Entity returns
	// it; the row then contains its key and its ETag alone, and is valid until yield returns. It is
	// nil for all other rows, and for copies of which Entity returns an error or that need a closer
	// look. GetCopy is GetRow with these results.
	Copies(ctx context.Context, q query.Query, yield func(*stored.Row, Entity) bool) error
	GetCopy(ctx context.Context, k keys.Key) (*stored.Row, Entity, error)

	// ListOf and PageOf are List and Page for a query of QueryOf. yield has got entities also if
	// there is an error. After table.ErrBudget, next is valid.
	ListOf(ctx context.Context, q query.Query, yield func(Entity) bool) error
	PageOf(ctx context.Context, q query.Query, token string, yield func(Entity) bool) (next string, err error)

	DeleteOp(e Entity) table.Op
	Delete(ctx context.Context, e Entity) error
	GetMany(ctx context.Context, ks []keys.Key, yield func(Entity, error) bool)
	Partitions(ctx context.Context, in keys.PartitionRange) iter.Seq2[keys.PartitionKey, error]
	Get(ctx context.Context, k keys.Key) (Entity, error)
	GetRow(ctx context.Context, k keys.Key) (*table.Row, error)
	Exists(ctx context.Context, k keys.Key) (bool, error)
	InsertAt(ctx context.Context, k keys.Key, e Entity) error
	InsertAtOp(k keys.Key, e Entity) table.Op
	UpsertOp(e Entity, mode table.UpsertMode) table.Op
	DeleteAnyOp(k keys.Key) table.Op
	UpsertAtOp(k keys.Key, e Entity, mode table.UpsertMode) table.Op
	UpsertAt(ctx context.Context, k keys.Key, e Entity, mode table.UpsertMode) (Entity, error)
	MergeAnyOp(k keys.Key, changes []any) table.Op // each a table.Set
	ReplaceAnyOp(e Entity) table.Op
	PinOp(e Entity) table.Op
	TouchOp(e Entity) table.Op
	Touch(ctx context.Context, e Entity) error
	DeleteOps(ctx context.Context, q any) iter.Seq2[table.Op, error] // a *table.Query
}

// Entity is a *table.Entity of any type, nil for none.
type Entity = any

// Of returns a handle without its type parameter.
func Of(t table.Handle) Untyped { return door.Tables.Inner(t).(Untyped) }

// KeyOf returns the key of an entity.
func KeyOf(e Entity) keys.Key { return door.Tables.KeyOf(e) }

// ValueOf returns a pointer to the value of an entity.
func ValueOf(e Entity) any { return door.Tables.ValueOf(e) }

// QueryOf returns a *table.Query of any type as the engine takes it.
func QueryOf(q any) query.Query { return door.Tables.QueryOf(q) }

// Typed returns a list with the type of its entities, each a *table.Entity (E).
func Typed[E any](of func(yield func(Entity, error) bool)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		of(func(e Entity, err error) bool {
			typed, _ := e.(E)
			return yield(typed, err)
		})
	}
}

// RowOf is [table.Entity.Row].
func RowOf(e Entity) (*table.Row, error) {
	return e.(interface{ Row() (*table.Row, error) }).Row()
}

// Ensure creates the table of a handle, unless it exists. While a table of this name is being
// deleted, 40 s or more, Ensure fails with table.ErrNotCreated and the code TableBeingDeleted.
// 1 request, sent again if its outcome is unknown; idempotent.
func Ensure(ctx context.Context, t table.Handle) error { return door.Table(t).Ensure(ctx) }

// GetRow reads a row by its key, as it is stored and whatever its type. Errors: table.ErrNotFound;
// *keys.KeyError, table.ErrNotCreated and the other errors of a read (see package table).
// 1 request.
func GetRow(ctx context.Context, t table.Handle, k keys.Key) (*table.Row, error) {
	return Of(t).GetRow(ctx, k)
}

// FindRow is GetRow for a row that may be absent: the row is nil then, and there is no error.
func FindRow(ctx context.Context, t table.Handle, k keys.Key) (*table.Row, error) {
	row, err := GetRow(ctx, t, k)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

// PinOp returns an operation that changes nothing. With it, the transaction fails with
// table.ErrChanged or table.ErrNotFound unless the row is still as e was read. It renews the ETag
// and the Timestamp of the row, so of two transactions that pin one row, one fails.
func PinOp[T any](t *table.Table[T], e *table.Entity[T]) table.Op { return Of(t).PinOp(e) }

// DeleteOps returns the operations that delete the rows of a query, by their ETags, for table.Bulk;
// see table.BulkDelete. Each operation is for one use.
func DeleteOps[T any](ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[table.Op, error] {
	return Of(t).DeleteOps(ctx, &q)
}

// DeleteAll is table.Bulk for deletes of what a query finds. It refuses a token, and returns none:
// after an error, the query finds what is left.
func DeleteAll(ctx context.Context, ops iter.Seq2[table.Op, error], pass *table.Pass) (table.Progress, error) {
	own := table.Pass{}
	if pass != nil {
		own = *pass
	}
	if err := door.CheckPass(&own, "Concurrency", "Rate", "Skip"); err != nil {
		return table.Progress{}, err
	}
	if progress := own.Progress; progress != nil {
		own.Progress = func(p table.Progress) {
			p.Token = ""
			progress(p)
		}
	}
	done, err := table.Bulk(ctx, ops, &own)
	done.Token = ""
	return done, err
}

// Complete returns a list of a table, of rows or partitions, that ends with table.ErrRanged if the
// client's signature is for a range of keys, so that some are left out.
func Complete[E any](t table.Handle, list iter.Seq2[E, error]) iter.Seq2[E, error] {
	of := door.Table(t)
	return func(yield func(E, error) bool) {
		for e, err := range list {
			if err == nil && of.Ranged() {
				break
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if of.Ranged() { // also if the list was empty
			var none E
			yield(none, of.OpError("List", keys.Key{}, table.ErrRanged))
		}
	}
}

// Partitions yields the partitions of a range, of the whole table if it is unset, with rows of any
// type. Errors: table.ErrRanged; those of a read. Requests: none for a range of one partition;
// otherwise those of [table.Table.Partitions].
func Partitions(ctx context.Context, t table.Handle, in keys.PartitionRange) iter.Seq2[keys.PartitionKey, error] {
	if in.IsPoint() {
		return func(yield func(keys.PartitionKey, error) bool) { yield(keyrange.Partition(in), nil) }
	}
	if !in.IsSet() {
		in = query.EveryPartition
	}
	return Complete(t, door.Rows[table.Table[table.Row]](door.Table(t), false).Partitions(ctx, in))
}

// AddProgress adds the numbers of another table, or of a part of the work, to those of a progress.
func AddProgress(p *table.Progress, more table.Progress) {
	p.Rows += more.Rows
	p.Changed += more.Changed
	p.Skipped += more.Skipped
	p.Faults += more.Faults
	for name, n := range more.Counts {
		if p.Counts == nil {
			p.Counts = map[string]int{}
		}
		p.Counts[name] += n
	}
}
