package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Get reads one entity by its key: a point query, the cheapest query. Errors: ErrNotFound; ErrTableNotFound; *keys.KeyError;
// ErrOtherType or *keys.KeyError for a row of another type; *DecodeError if the row does not fit T. 1 request.
func (t *Table[T]) Get(ctx context.Context, k keys.Key) (*Entity[T], error) {
	return typed[T](t.h.spannedGet(ctx, k))
}

func (h handle) spannedGet(ctx context.Context, k keys.Key) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "Get")
	defer func() { end(err) }()
	return h.get(ctx, "Get", k)
}

func (h handle) get(ctx context.Context, method string, k keys.Key) (entity, error) {
	if err := errors.Join(engine.AddressErr(k), ctx.Err()); err != nil {
		return nil, h.opError(method, k, err)
	}
	r, in, err := h.engine.OpenRow(ctx, k)
	if err != nil {
		return nil, h.opError(method, k, err)
	}
	defer r.Release()
	e, _, err := h.shape.read(r, in)
	if err != nil {
		return nil, h.opError(method, k, err)
	}
	return e, nil
}

// getToWrite is get for a method that is going to write. During an outage, it reads again until the time of the write is over.
func (h handle) getToWrite(ctx context.Context, method string, k keys.Key) (e entity, err error) {
	o := &h.engine.Options
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	err = o.Retry.RepeatRead(ctx, h.engine.Log(method, k), func(ctx context.Context) error {
		e, err = h.get(ctx, method, k)
		return err
	})
	return e, err
}

// Insert stores a new entity under the key that the schema makes of its fields.
//
// Errors: ErrExists, also if an earlier Insert with an unknown outcome was applied after all; ErrUnknownOutcome; ErrTableNotFound;
// *LimitError, *ValueError and *keys.KeyError before any request. 1 request. If the row exists, 1 more: Insert reads the row,
// because the network may have delivered its request twice, or, with a commit record, stores an abort record. An insert of one row
// alone does not send the headers of the context (policy.WithHTTPHeader).
func (t *Table[T]) Insert(ctx context.Context, v *T) (*Entity[T], error) {
	return storing[T](ctx, t.InsertOp(v))
}

// InsertAt is Insert under an explicit key, for schemas that leave a binding out. Bound fields must agree with the key.
func (t *Table[T]) InsertAt(ctx context.Context, k keys.Key, v *T) (*Entity[T], error) {
	return storing[T](ctx, t.InsertAtOp(k, v))
}

// Upsert stores an entity whether its row exists or not: the last writer wins. It reads the row first and writes by its ETag. After
// a conflict, it reads and writes again. After MergeExisting the whole row is not known, so Replace refuses the entity.
//
// Errors: those of Insert without ErrExists; ErrUnknownMaintainer for a row with derived rows that this handle does not maintain;
// ErrContended. 2 requests, or 1 without reading ([Options].BlindWrites). Idempotent.
func (t *Table[T]) Upsert(ctx context.Context, v *T, mode UpsertMode) (*Entity[T], error) {
	return storing[T](ctx, t.UpsertOp(v, mode))
}

// UpsertAt is Upsert under an explicit key; see [Table.InsertAt].
func (t *Table[T]) UpsertAt(ctx context.Context, k keys.Key, v *T, mode UpsertMode) (*Entity[T], error) {
	return storing[T](ctx, t.UpsertAtOp(k, v, mode))
}

// Replace stores e.Value in place of the row, by the ETag of e: only if the row has not changed since e was read. Columns that T
// does not know stay.
//
// Errors: ErrChanged; ErrNotFound if the row is gone; ErrKeyChanged; ErrPartial; ErrNoETag; ErrUnknownOutcome; *LimitError and
// *ValueError before any request. 1 request. If the row has changed, 1 more: Replace reads the row, because the network may have
// delivered its request twice.
func (t *Table[T]) Replace(ctx context.Context, e *Entity[T]) error { return t.ReplaceOp(e).send(ctx) }

// ReplaceAny is an unconditional Replace: changes by concurrent writers since e was read are lost. It reads the row first, as
// Upsert does, and the row keeps its incarnation (_life). With [Options].BlindWrites, the row loses its incarnation, because e may
// be older than the row. A move that package archive has already requested then leaves the entity in the table.
//
// Errors: those of Replace without ErrChanged; ErrUnknownMaintainer; ErrContended. 2 requests, or 1 with [Options].BlindWrites.
func (t *Table[T]) ReplaceAny(ctx context.Context, e *Entity[T]) error {
	return t.ReplaceAnyOp(e).send(ctx)
}

// Merge sets properties of the row, by the ETag of e, and leaves all other properties alone. Fields of e.Value that sets does not
// name are not sent, and local changes of them stay local.
//
// Errors: those of Replace, but ErrPartial only if rows have versions and the version of the row is not known; ErrOldVersion;
// *ValueError for a Set of a key's field, of a list or of an absent value; ErrKeyChanged for a Set of a field that a key is
// computed from (keys.BindFunc). 1 request. If the row has changed, 1 more, as in Replace.
func (t *Table[T]) Merge(ctx context.Context, e *Entity[T], sets ...Set[T]) error {
	return t.MergeOp(e, sets...).send(ctx)
}

// Touch changes no property of the entity, but calls the maintainers, which may add rows and effects, by the ETag of e. It renews
// that ETag. Errors: those of Delete; ErrOldVersion. 1 request, and 1 more if e is not the whole row, or if the row has changed, as
// in Replace.
func (t *Table[T]) Touch(ctx context.Context, e *Entity[T]) error { return t.TouchOp(e).send(ctx) }

// MergeAny sets properties of the row under k unconditionally. It reads the row first, as Upsert does. Errors: those of Merge
// without ErrChanged; ErrUnknownMaintainer; ErrContended; *ValueError if a key is computed from fields (keys.BindFunc). 2 requests,
// or 1 with [Options].BlindWrites. Idempotent.
func (t *Table[T]) MergeAny(ctx context.Context, k keys.Key, sets ...Set[T]) error {
	return t.MergeAnyOp(k, sets...).send(ctx)
}

// Delete deletes the row, by the ETag of e: only if the row has not changed since e was read. Errors: ErrChanged; ErrNotFound if
// the row is gone; ErrNoETag; ErrUnknownOutcome. 1 request.
func (t *Table[T]) Delete(ctx context.Context, e *Entity[T]) error { return t.DeleteOp(e).send(ctx) }

// DeleteAny deletes the row under k unconditionally. It reads the row first, as Upsert does. After repeated calls the row is gone,
// but all calls after the first return ErrNotFound. Errors: those of Delete without ErrChanged; ErrUnknownMaintainer; ErrContended.
// 2 requests, or 1 with [Options].BlindWrites.
func (t *Table[T]) DeleteAny(ctx context.Context, k keys.Key) error {
	return t.DeleteAnyOp(k).send(ctx)
}
