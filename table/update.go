package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Update reads the entity under k, lets change change it, and replaces it by its ETag. If a concurrent writer has changed the row
// meanwhile, Update starts again from a fresh read, until Common.WriteTimeout is over, and at most Retry.ConflictAttempts times.
// change may be called several times, each time with what is stored then; its error ends Update and is returned as it is. 2
// requests. After a refusal, Update reads the row to learn the outcome: the second attempt begins at once with that row, for 2 requests
// more, and each further attempt with a pause and another read, for 3 more.
//
// Errors: ErrNotFound; ErrChanged if each attempt met a conflict; ErrKeyChanged if change touched a field of the
// key; ErrUnknownOutcome, after which change may have been applied once, or not at all, but never twice; and those of Get
// and Replace.
func (t *Table[T]) Update(ctx context.Context, k keys.Key, change func(*T) error) (*Entity[T], error) {
	if change == nil {
		return nil, t.h.opError("Update", k, nilArgument("change"))
	}
	return typed[T](t.h.update(ctx, k, func(value any) error { return change(value.(*T)) }))
}

func (h handle) update(ctx context.Context, k keys.Key, change func(value any) error) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "Update")
	defer func() { end(err) }()
	if err := k.Err(); err != nil {
		return nil, h.opError("Update", k, err)
	}
	conflicts, log := h.engine.Options.Conflicts(), h.engine.Log("Update", k)
	var current *engine.Row // as it was read after the last conflict
	for {
		var e entity
		if current != nil {
			e, _, err = h.shape.read(current.Open())
			err = h.opError("Update", k, err)
		} else {
			e, err = h.getToWrite(ctx, "Update", k)
		}
		if err != nil {
			return nil, err
		}
		if err := change(e.parts().value); err != nil {
			return nil, err
		}
		op := h.replace("Update", e)
		current, op.op.Current = nil, &current
		err = op.send(ctx)
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
			return nil, either(h.opError("Update", k, ended), err)
		}
	}
}
