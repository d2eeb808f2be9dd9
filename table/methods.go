package table

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Get reads one entity by its key: a point query, the cheapest query. Errors: ErrNotFound;
// ErrForeignRow or *keys.KeyError for a row of another type; *DecodeError if the row does not fit
// T; errors of a read (see package table). 1 request.
func (t *Table[T]) Get(ctx context.Context, k keys.Key) (*Entity[T], error) {
	return typed[T](t.h.spannedGet(ctx, k))
}

func (h handle) spannedGet(ctx context.Context, k keys.Key) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "Get")
	defer func() { end(err) }()
	return h.get(ctx, "Get", k)
}

func (h handle) get(ctx context.Context, method string, k keys.Key) (entity, error) {
	if err := errors.Join(h.engine.Fault, engine.AddressErr(k), ctx.Err()); err != nil {
		return nil, h.engine.OpError(method, k, err)
	}
	r, in, err := h.engine.OpenRow(ctx, k)
	if err != nil {
		return nil, h.engine.OpError(method, k, err)
	}
	defer r.Release()
	e, _, err := h.schema.read(r, in)
	if err != nil {
		return nil, h.engine.OpError(method, k, err)
	}
	return e, nil
}

// getToWrite is get for a method that is going to write. During an outage, it reads again until the
// time of the write is over.
func (h handle) getToWrite(ctx context.Context, method string, k keys.Key) (e entity, err error) {
	o := &h.engine.Options
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	err = engine.Retry(o.Retry).RepeatRead(ctx, h.engine.Log(method, k), func(ctx context.Context) error {
		e, err = h.get(ctx, method, k)
		return err
	})
	return e, err
}

// Insert stores a new entity under the key that the schema makes of its fields.
//
// Errors: ErrExists, also if an earlier Insert with an unknown outcome was applied after all;
// ErrUnknownOutcome, ErrNotCreated and the other errors of a write (see package table). 1 request.
// If the row exists, 1 more: Insert reads the row, because the network may have delivered its
// request twice, or, with a commit record, stores an abort record. An insert of one row alone does
// not send the headers of the context (policy.WithHTTPHeader).
func (t *Table[T]) Insert(ctx context.Context, v *T) (*Entity[T], error) {
	return sendStoring[T](ctx, t.InsertOp(v))
}

// InsertAt is Insert under an explicit key, for schemas that leave a binding out. Bound fields must
// agree with the key.
func (t *Table[T]) InsertAt(ctx context.Context, k keys.Key, v *T) (*Entity[T], error) {
	return sendStoring[T](ctx, t.h.insertAt(k, newEntity(v)))
}

// Upsert stores an entity whether its row exists or not: the last writer wins. It reads the row
// first and writes by its ETag. After a conflict, it reads and writes again. After MergeExisting
// the whole row is not known, so Replace refuses the entity.
//
// Errors: ErrNotDeclared for a row with derived rows that this handle does not maintain;
// ErrContended; *ValueError for MergeExisting of a value in chunks, or if rows have versions;
// errors of a write (see package table). 2 requests, or 1 without reading ([Options].BlindWrites).
// Idempotent.
func (t *Table[T]) Upsert(ctx context.Context, v *T, mode UpsertMode) (*Entity[T], error) {
	return sendStoring[T](ctx, t.UpsertOp(v, mode))
}

// Replace stores e.Value in place of the row, by the ETag of e: only if the row has not changed
// since e was read. Columns that T does not know stay.
//
// Errors: ErrChanged; ErrNotFound if the row is gone; ErrKeyChanged; ErrNotRead; ErrUnknownOutcome
// and the other errors of a write (see package table). 1 request. If the row has changed, 1 more:
// Replace reads the row, because the network may have delivered its request twice.
func (t *Table[T]) Replace(ctx context.Context, e *Entity[T]) error { return t.ReplaceOp(e).send(ctx) }

// ReplaceAny is an unconditional Replace: changes by concurrent writers since e was read are lost.
// It reads the row first, as Upsert does, and the row keeps its incarnation (_life). With
// [Options].BlindWrites, the row loses its incarnation, because e may be older than the row. A move
// that package archive has already requested then leaves the entity in the table.
//
// Errors: ErrNotFound; ErrContended; ErrNotDeclared; ErrKeyChanged; ErrNotRead; errors of a write
// (see package table). 2 requests, or 1 with [Options].BlindWrites.
func (t *Table[T]) ReplaceAny(ctx context.Context, e *Entity[T]) error {
	return t.h.replaceAny(e).send(ctx)
}

// Merge sets properties of the row, by the ETag of e, and leaves all other properties alone. Fields
// of e.Value that sets does not name are not sent, and local changes of them stay local.
//
// Errors:
//   - ErrChanged
//   - ErrNotFound if the row is gone
//   - *ValueError for an entity of an older version
//   - *ValueError for a Set of a key's field, of a list or of an absent value
//   - ErrKeyChanged for a Set of a field that a key is computed from (keys.RowFunc)
//   - ErrNotRead if e is a copy of some properties, or if rows have versions and the version of the
//     row is not known
//   - errors of a write (see package table)
//
// 1 request. If the row has changed, 1 more, as in Replace.
func (t *Table[T]) Merge(ctx context.Context, e *Entity[T], sets ...Set[T]) error {
	return t.MergeOp(e, sets...).send(ctx)
}

// MergeAny sets properties of the row under k unconditionally. It reads the row first, as Upsert
// does. Errors: ErrNotFound; ErrContended; ErrNotDeclared; *ValueError as in Merge, and if rows
// have versions or a key is computed from fields (keys.RowFunc); errors of a write (see package
// table). 2 requests, or 1 with [Options].BlindWrites. Idempotent.
func (t *Table[T]) MergeAny(ctx context.Context, k keys.Key, changes ...Set[T]) error {
	return t.h.mergeAny(k, sets(changes)).send(ctx)
}

// Delete deletes the row, by the ETag of e: only if the row has not changed since e was read.
// Errors: ErrChanged; ErrNotFound if the row is gone; ErrNotRead if e is a copy of some properties;
// ErrUnknownOutcome and the other errors of a write (see package table). 1 request.
func (t *Table[T]) Delete(ctx context.Context, e *Entity[T]) error { return t.DeleteOp(e).send(ctx) }

// DeleteAny deletes the row under k unconditionally. It reads the row first, as Upsert does. After
// repeated calls the row is gone, but all calls after the first return ErrNotFound. Errors:
// ErrNotFound; ErrContended; ErrNotDeclared; errors of a write (see package table). 2 requests, or
// 1 with [Options].BlindWrites.
func (t *Table[T]) DeleteAny(ctx context.Context, k keys.Key) error {
	return t.DeleteAnyOp(k).send(ctx)
}

// GetMany reads entities by their keys, 10 at a time and up to 40 ahead of the loop, and yields
// them in the order of the keys. For a row that does not exist it yields (nil, ErrNotFound), for a
// row of another type (nil, ErrForeignRow) or a *keys.KeyError, and goes on; any other error ends
// the list. Leaving the loop cancels the requests under way. 1 request for each key.
//
// Errors: ErrNotFound; ErrForeignRow; *DecodeError if a row does not fit T; *keys.KeyError for any
// key before the first request, and for rows whose keys do not agree with their fields; errors of a
// read (see package table).
func (t *Table[T]) GetMany(ctx context.Context, ks ...keys.Key) iter.Seq2[*Entity[T], error] {
	return func(yield func(*Entity[T], error) bool) {
		t.h.getMany(ctx, ks, func(e entity, err error) bool { return yield(typed[T](e, err)) })
	}
}

func (h handle) getMany(ctx context.Context, ks []keys.Key, yield func(entity, error) bool) {
	ctx, end := h.engine.Span(ctx, "GetMany")
	var err error
	defer func() { end(err) }()
	for _, k := range ks {
		if err = engine.AddressErr(k); err != nil {
			err = h.engine.OpError("GetMany", k, err)
			yield(nil, err)
			return
		}
	}
	engine.InOrder(ctx, ks, func(ctx context.Context, k keys.Key) (entity, error) {
		return h.get(ctx, "GetMany", k)
	}, func(e entity, gerr error) bool {
		if gerr != nil && !errors.Is(gerr, ErrNotFound) && !notMine(gerr) {
			err = gerr
			yield(nil, err)
			return false
		}
		return yield(e, gerr)
	})
}

// notMine reports that a row belongs to another type.
func notMine(err error) bool {
	return errors.Is(err, errs.ErrOtherType) || errors.As(err, new(*keys.KeyError))
}

// GetFields reads some fields of an entity with parts: the head, and the parts in which the fields
// are stored.
//
//	e, err := pages.GetFields(ctx, k, title, visits)
//	if e.Has(article) { … }
//
// The entity has all fields of the parts that were read, and is [Entity.Partial] unless these are
// all of its parts. Merge and Delete accept it, and read no more if the table has no maintainers.
//
// Errors:
//   - ErrNotFound
//   - *TypeError for a field that is not stored
//   - *VersionError for a row that Schema.Upgrade would change: Get it
//   - ErrForeignRow or *keys.KeyError for a row of another type
//   - *DecodeError if the row does not fit T
//   - errors of a read (see package table)
//
// Requests: 1 if the fields are in the head, or in part 1 and parts behind it; otherwise 2 at the
// same time, which also transfer the parts between the wanted ones. With T = [Row], any field reads
// all parts, by 1 request.
func (t *Table[T]) GetFields(ctx context.Context, k keys.Key, fields ...FieldIn[T]) (*Entity[T], error) {
	if err := t.h.engine.Fault; err != nil {
		return nil, t.h.engine.OpError("GetFields", k, err)
	}
	var names []string
	for _, f := range fields {
		if wire.IsNil(f) {
			return nil, t.h.engine.OpError("GetFields", k, &ValueError{Field: "fields", Reason: "contain nil"})
		}
		more, err := f.properties(t.h.schema.codec)
		if err != nil {
			return nil, t.h.engine.OpError("GetFields", k, err)
		}
		names = append(names, more...)
	}
	return typed[T](t.h.getFields(ctx, k, t.h.schema.codec.PartsOf(names...)))
}

func (h handle) getFields(ctx context.Context, k keys.Key, parts []uint8) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "GetFields")
	defer func() { end(err) }()
	if h.engine.Mode.Parts == 0 || h.schema.isRow && len(parts) > 0 { // the part of a property of a Row is not known before
		return h.get(ctx, "GetFields", k)
	}
	if err := errors.Join(engine.AddressErr(k), ctx.Err()); err != nil {
		return nil, h.engine.OpError("GetFields", k, err)
	}
	row, whole, err := h.engine.GetParts(ctx, k, parts)
	if err != nil {
		return nil, h.engine.OpError("GetFields", k, err)
	}
	in := edm.Entity{PartitionKey: k.PartitionKey(), RowKey: k.RowKey(), ETag: string(row.ETag), Timestamp: row.Timestamp, Columns: row.Columns()}
	read := append([]uint8{0}, parts...)
	if !whole { // else the start of a value in chunks would count as damaged
		in.Columns = h.schema.codec.OfWholeFields(row.Columns(), read)
	}
	r := edm.ReadColumns(in, in.Columns)
	var e entity
	if whole {
		e, _, err = h.schema.read(r, in)
	} else {
		head := slices.DeleteFunc(slices.Clone(row.Columns()), func(c edm.Column) bool { return c.Part > 0 })
		e, err = h.schema.partial(r, in, &partialRow{h.schema.codec, row.Columns(), read, stored.New(row.Key, head)})
	}
	if err != nil {
		return nil, h.engine.OpError("GetFields", k, err)
	}
	return e, nil
}

// Has reports whether a field was read. If the entity is not [Entity.Partial], all fields were
// read. If the entity was read from a copy, the fields that have a value in the copy were read.
func (e *Entity[T]) Has(f FieldIn[T]) bool {
	if !e.Partial() {
		return e != nil
	}
	p := e.known.partial
	names, err := f.properties(p.codec)
	if err != nil {
		return false
	}
	if p.parts == nil {
		return slices.ContainsFunc(p.columns, func(c edm.Column) bool { return slices.Contains(names, c.Name) })
	}
	return !slices.ContainsFunc(p.codec.PartsOf(names...), func(part uint8) bool { return !slices.Contains(p.parts, part) })
}

// Update reads the entity under k, lets change change it, and replaces it by its ETag. If a
// concurrent writer has changed the row meanwhile, Update starts again from a fresh read, until
// Common.WriteTimeout is over, and at most Retry.ConflictAttempts times. change may be called
// several times, each time with what is stored then; its error ends Update and is returned as it
// is. 2 requests. After a refusal, Update reads the row to learn the outcome: the second attempt
// begins at once with that row, for 2 requests more, and each further attempt with a pause and
// another read, for 3 more.
//
// Errors:
//   - ErrNotFound
//   - ErrChanged if each attempt met a conflict
//   - ErrKeyChanged if change changed a field of the key, which UpdateAndMove allows
//   - ErrUnknownOutcome, after which change may have been applied once, or not at all, but never
//     twice
//   - ErrForeignRow or *keys.KeyError for a row of another type
//   - *DecodeError if the row does not fit T
//   - errors of a read and of a write (see package table)
func (t *Table[T]) Update(ctx context.Context, k keys.Key, change func(*T) error) (*Entity[T], error) {
	return updated(ctx, t, "Update", k, change)
}

// UpdateAndMove is [Table.Update] whose change may change fields of the key. Then the entity moves,
// as by [Table.Move]:
//
//	smith, err := staff.UpdateAndMove(ctx, e.Key, func(e *Employee) error {
//		e.Department = "Marketing"
//		return nil
//	})
//
// Errors:
//   - ErrNotFound, also if another program has moved the entity first: it is not under k any more
//   - ErrChanged if each attempt met a conflict
//   - ErrExists if another entity has the new key
//   - *ValueError for a move to another partition by a handle without an outbox
//   - ErrOutbox
//   - ErrGivenUp
//   - ErrUnknownOutcome
//   - ErrForeignRow, *keys.KeyError and *DecodeError about the row, as in Get
//   - errors of a read and of a write (see package table)
//
// Requests: 1 to read, and those of Move or Replace; the same again after each conflict.
func (t *Table[T]) UpdateAndMove(ctx context.Context, k keys.Key, change func(*T) error) (*Entity[T], error) {
	return updated(ctx, t, updateAndMove, k, change)
}

const updateAndMove = "UpdateAndMove"

func updated[T any](ctx context.Context, t *Table[T], method string, k keys.Key, change func(*T) error) (*Entity[T], error) {
	if err := t.h.engine.Fault; err != nil {
		return nil, t.h.engine.OpError(method, k, err)
	}
	if change == nil {
		return nil, t.h.engine.OpError(method, k, nilArgument("change"))
	}
	return typed[T](t.h.update(ctx, method, k, func(value any) error { return change(value.(*T)) }))
}

func (h handle) update(ctx context.Context, method string, k keys.Key, change func(value any) error) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, method)
	defer func() { end(err) }()
	if err := h.writeErr(k); err != nil {
		return nil, h.engine.OpError(method, k, err)
	}
	conflicts, log := h.engine.Options.NewConflicts(), h.engine.Log(method, k)
	var current *stored.Row // as it was read after the last conflict
	for {
		var e entity
		if current != nil {
			e, _, err = h.schema.read(current.Open())
			err = h.engine.OpError(method, k, err)
		} else {
			e, err = h.getToWrite(ctx, method, k)
		}
		if err != nil {
			return nil, err
		}
		if err := change(e.fields().value); err != nil {
			return nil, err
		}
		current, err = h.replaceOrMove(ctx, method, e)
		if h.engine.Mode.Ends() != nil {
			current = nil // whether it is over shows only the response to a read of its own
		}
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, ErrChanged) || unknown(err) || derived(err):
			return nil, err
		}
		wait := conflicts.Wait
		if current != nil && conflicts.First() {
			wait = conflicts.Skip
		} else {
			current = nil // it would be old after the pause
		}
		if again, ended := wait(ctx, log, err); !again {
			return nil, either(h.engine.OpError(method, k, ended), err)
		}
	}
}

// replaceOrMove writes a changed entity. After a conflict, it returns the row if it has read it.
func (h handle) replaceOrMove(ctx context.Context, method string, e entity) (current *stored.Row, err error) {
	if method == updateAndMove {
		to, err := h.keyByFields(method, e)
		if err != nil {
			return nil, err
		}
		if to != *e.fields().key {
			return nil, h.move(ctx, e, h, to)
		}
	}
	op := h.replace(method, e)
	op.op.Current = &current
	err = op.send(ctx)
	return current, err
}

const bulkDelete = "BulkDelete"

// deletion makes the operations that delete the rows of a query.
type deletion struct {
	h    handle
	q    query.Query
	read func(*edm.Reader, edm.Entity) (entity, bool, error)
}

// deletes returns the operations that delete the rows of a query. Maintainers must see rows as a
// whole, and so must a schema that tells by them whether they are T's.
func (h handle) deletes(ctx context.Context, q query.Query) iter.Seq2[Op, error] {
	d := &deletion{h, q, h.schema.read}
	if len(h.engine.Mode.Maintainers) == 0 && !h.schema.verify {
		d.q.Select = h.schema.Select(reserved.MaintainerState) // by which the operation sees that it should have maintainers
		if h.engine.Mode.Parts == 0 {
			d.q.Select += "," + reserved.Parts // by which it sees that it should delete parts
		}
		d.q.HeadsOnly = true
		d.read = h.schema.unread
	}
	return func(yield func(Op, error) bool) {
		if q.Cursor != nil {
			yield(Op{}, h.engine.OpError(bulkDelete, keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "follows what is read, not what is deleted"}))
			return
		}
		err := h.list(ctx, bulkDelete, *h.schema.query(d.q, true), d.read, func(e entity) bool { return yield(d.op(e), nil) })
		if err != nil {
			yield(Op{}, err)
		}
	}
}

// unread returns an entity of which only the key, the ETag and the maintainer state are known.
func (s *schema) unread(r *edm.Reader, in edm.Entity) (entity, bool, error) {
	mine, err := s.ownsAny(r, in)
	made := s.newEntity()
	e := made.fields()
	*e.key, *e.etag, e.row = keys.Raw(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Stored()
	return made, mine, err
}

// op returns the operation that deletes a row of the query.
func (d *deletion) op(e entity) Op {
	op := d.h.remove(e)
	k := *e.fields().key
	op.op.Remake = func(ctx context.Context) (*engine.Op, bool, error) {
		q := query.Query{Partition: k.Partition(), Rows: k.Row().Point(), Where: d.q.Where, Select: d.q.Select, HeadsOnly: d.q.HeadsOnly}
		var found entity
		err := d.h.list(ctx, bulkDelete, *d.h.schema.query(q, true), d.read, func(e entity) bool { found = e; return false })
		if err != nil || found == nil {
			return nil, false, err
		}
		return &d.op(found).op, true, nil
	}
	return op
}

func (h handle) insertRow(k keys.Key, r *Row) Op {
	op := h.begin("InsertRow", aztables.TransactionTypeAdd, k)
	var e entity
	switch {
	case strings.HasPrefix(k.RowKey(), reserved.First):
		op.op.Err = keys.RawRow(k.RowKey()).Err()
	case r == nil || h.writeErr(k) != nil:
		op.op.Err = either(h.writeErr(k), errNil)
	default:
		e, op.op.Body, op.op.Err = h.rowToInsert(k, r)
	}
	if op.op.Err != nil {
		return op
	}
	op.op.Known = true
	op.setEntity(e, makesEntity)
	op.maintain()
	return op
}
