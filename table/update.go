package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
)

// Update reads the entity under k, lets change change it, and replaces it by its ETag. If a concurrent writer has changed the row
// meanwhile, Update starts again from a fresh read, until Common.WriteTimeout is over, and at most Retry.ConflictAttempts times.
// change may be called several times, each time with what is stored then; its error ends Update and is returned as it is. 2
// requests for each attempt, 3 after a conflict.
//
// Errors: ErrNotFound; ErrChanged if each attempt met a conflict; ErrKeyChanged if change touched a field of the
// key; ErrUnknownOutcome, after which change may have been applied once, or not at all, but never twice; and those of Get
// and Replace.
func (t *Table[T]) Update(ctx context.Context, k keys.Key, change func(*T) error) (*Entity[T], error) {
	return typed[T](t.h.update(ctx, k, func(value any) error { return change(value.(*T)) }))
}

func (h handle) update(ctx context.Context, k keys.Key, change func(value any) error) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "Update")
	defer func() { end(err) }()
	conflicts := h.engine.Options.Conflicts()
	for {
		e, err := h.getToWrite(ctx, "Update", k)
		if err != nil {
			return nil, err
		}
		if err := change(e.parts().value); err != nil {
			return nil, err
		}
		err = h.replace("Update", e).send(ctx)
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, ErrChanged) || unknown(err) || derived(err):
			return nil, err
		}
		if again, ended := conflicts.Wait(ctx, h.engine.Log("Update", k), err); !again {
			return nil, either(h.opError("Update", k, ended), err)
		}
	}
}
