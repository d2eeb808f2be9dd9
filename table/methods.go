package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Get reads one entity by its key: a point query, the cheapest there is. 1 request. Errors: ErrNotFound, ErrTableNotFound,
// *keys.KeyError, *DecodeError where the row does not fit T.
func (t *Table[T]) Get(ctx context.Context, k keys.Key) (*Entity[T], error) {
	return typed[T](t.h.spannedGet(ctx, k))
}

func (h handle) spannedGet(ctx context.Context, k keys.Key) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "Get")
	defer func() { end(err) }()
	return h.get(ctx, "Get", k)
}

func (h handle) get(ctx context.Context, method string, k keys.Key) (entity, error) {
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return nil, h.opError(method, k, err)
	}
	r, in, err := h.engine.Fetch(ctx, k)
	if err != nil {
		return nil, h.opError(method, k, err)
	}
	e, _, err := h.shape.read(r, in)
	if err != nil {
		return nil, h.opError(method, k, err)
	}
	return e, nil
}

// getToWrite is get for a method that is going to write. If the service is busy, it reads again until the write's time is over.
func (h handle) getToWrite(ctx context.Context, method string, k keys.Key) (e entity, err error) {
	o := &h.engine.Options
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	err = o.Retry.RepeatBusy(ctx, func() error {
		e, err = h.get(ctx, method, k)
		return err
	})
	return e, err
}

// Insert stores a new entity under the key that the schema makes of its fields. Errors: ErrExists, also if an earlier Insert with an
// unknown outcome was applied after all; ErrUnknownOutcome; ErrTableNotFound; *LimitError, *ValueError and *keys.KeyError before any
// request. 1 request, and 1 more if the row exists, to see that this Insert has not stored it itself. Headers in the context
// (policy.WithHTTPHeader) are not sent.
func (t *Table[T]) Insert(ctx context.Context, v *T) (*Entity[T], error) {
	return storing[T](ctx, t.InsertOp(v))
}

// InsertAt is Insert under an explicit key, for schemas that leave a binding out. Fields that are bound must agree with
// the key.
func (t *Table[T]) InsertAt(ctx context.Context, k keys.Key, v *T) (*Entity[T], error) {
	return storing[T](ctx, t.InsertAtOp(k, v))
}

// Upsert stores an entity whether its row exists or not: the last writer wins. It reads the row first and writes by its ETag, again
// after a conflict: 2 requests, or 1 without reading ([Options].BlindWrites). Idempotent. After MergeExisting the
// entity does not know the whole row, so Replace refuses it. Errors are those of Insert but for ErrExists; ErrUnknownMaintainer for a
// row with derived rows that this handle does not maintain; ErrContended.
func (t *Table[T]) Upsert(ctx context.Context, v *T, mode UpsertMode) (*Entity[T], error) {
	return storing[T](ctx, t.UpsertOp(v, mode))
}

// UpsertAt is Upsert under an explicit key; see [Table.InsertAt].
func (t *Table[T]) UpsertAt(ctx context.Context, k keys.Key, v *T, mode UpsertMode) (*Entity[T], error) {
	return storing[T](ctx, t.UpsertAtOp(k, v, mode))
}

// Replace stores e.Value in place of the row, if the row is still as e was read: by its ETag. Columns that T does not know
// stay. 1 request, and 1 more where the row has changed, to see that this was not its own work. Errors: ErrChanged;
// ErrNotFound where the row is gone; ErrKeyChanged; ErrPartial; ErrNoETag; ErrUnknownOutcome; *LimitError and *ValueError
// before any request.
func (t *Table[T]) Replace(ctx context.Context, e *Entity[T]) error { return t.ReplaceOp(e).send(ctx) }

// ReplaceAny is an unconditional Replace: changes by other writers since e was read are lost. It reads the row first, as Upsert does: 2
// requests, or 1 with [Options].BlindWrites. The row that was read keeps its incarnation (_life). Without reading, ReplaceAny leaves the
// incarnation out, since e may be older than the row; a move that was requested before then leaves the entity where it is (package
// archive). Errors are those of Replace but for ErrChanged, ErrUnknownMaintainer, and ErrContended.
func (t *Table[T]) ReplaceAny(ctx context.Context, e *Entity[T]) error {
	return t.ReplaceAnyOp(e).send(ctx)
}

// Merge sets properties of the row, if the row is still as e was read, and leaves all others alone. The fields of e.Value
// that are not named are not sent, and local changes to them stay local. 1 request. Errors are those of Replace, with
// ErrPartial only where rows have versions and that of the row is not known, and ErrOldVersion; a Set of a key's field, of a
// list or of an absent value is a *ValueError, and one of a field that a key is computed from (keys.BindFunc) is
// ErrKeyChanged.
func (t *Table[T]) Merge(ctx context.Context, e *Entity[T], sets ...Set[T]) error {
	return t.MergeOp(e, sets...).send(ctx)
}

// Touch changes nothing of the entity, but calls the maintainers, which may add rows and effects, if the row is still as e was read;
// it renews e's ETag. Errors are those of Delete, and ErrOldVersion. 1 request, and 1 more if e is not the whole row.
func (t *Table[T]) Touch(ctx context.Context, e *Entity[T]) error { return t.TouchOp(e).send(ctx) }

// MergeAny sets properties of the row under k whatever version it has. It reads the row first, as Upsert does: 2 requests, or 1 with
// [Options].BlindWrites. Idempotent. Errors are those of Merge but for ErrChanged, ErrUnknownMaintainer, and ErrContended; where a key is computed from fields (keys.BindFunc) it is refused with a *ValueError.
func (t *Table[T]) MergeAny(ctx context.Context, k keys.Key, sets ...Set[T]) error {
	return t.MergeAnyOp(k, sets...).send(ctx)
}

// Delete deletes the row, if it is still as e was read. 1 request. Errors: ErrChanged; ErrNotFound where the row is gone;
// ErrNoETag; ErrUnknownOutcome.
func (t *Table[T]) Delete(ctx context.Context, e *Entity[T]) error { return t.DeleteOp(e).send(ctx) }

// DeleteAny deletes the row under k whatever version it has. It reads the row first, as Upsert does: 2 requests, or 1 with
// [Options].BlindWrites. The row is gone however often it is called, but all calls after the first return ErrNotFound. Errors are
// those of Delete but for ErrChanged, ErrUnknownMaintainer, and ErrContended.
func (t *Table[T]) DeleteAny(ctx context.Context, k keys.Key) error {
	return t.DeleteAnyOp(k).send(ctx)
}
