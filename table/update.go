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
// Errors: ErrNotFound; ErrChanged if each attempt met a conflict; ErrKeyChanged if change touched a field of the key, which
// UpdateAndMove allows; ErrUnknownOutcome, after which change may have been applied once, or not at all, but never twice; and those of
// Get and Replace.
func (t *Table[T]) Update(ctx context.Context, k keys.Key, change func(*T) error) (*Entity[T], error) {
	return updated(ctx, t, "Update", k, change)
}

// UpdateAndMove is [Table.Update] whose change may change fields of the key. Then the entity moves, as by [Table.Move]:
//
//	smith, err := staff.UpdateAndMove(ctx, e.Key, func(e *Employee) error {
//		e.Department = "Marketing"
//		return nil
//	})
//
// Errors: those of Update without ErrKeyChanged, and those of Move. If another program has moved the entity first, ErrNotFound: it
// is not under k any more. 1 request, and those of Move or Replace; the same again after each conflict.
func (t *Table[T]) UpdateAndMove(ctx context.Context, k keys.Key, change func(*T) error) (*Entity[T], error) {
	return updated(ctx, t, updateAndMove, k, change)
}

const updateAndMove = "UpdateAndMove"

func updated[T any](ctx context.Context, t *Table[T], method string, k keys.Key, change func(*T) error) (*Entity[T], error) {
	if change == nil {
		return nil, t.h.opError(method, k, nilArgument("change"))
	}
	return typed[T](t.h.update(ctx, method, k, func(value any) error { return change(value.(*T)) }))
}

func (h handle) update(ctx context.Context, method string, k keys.Key, change func(value any) error) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, method)
	defer func() { end(err) }()
	if err := k.Err(); err != nil {
		return nil, h.opError(method, k, err)
	}
	conflicts, log := h.engine.Options.Conflicts(), h.engine.Log(method, k)
	var current *engine.Row // as it was read after the last conflict
	for {
		var e entity
		if current != nil {
			e, _, err = h.shape.read(current.Open())
			err = h.opError(method, k, err)
		} else {
			e, err = h.getToWrite(ctx, method, k)
		}
		if err != nil {
			return nil, err
		}
		if err := change(e.parts().value); err != nil {
			return nil, err
		}
		current, err = h.replaceOrMove(ctx, method, e)
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
			return nil, either(h.opError(method, k, ended), err)
		}
	}
}

// replaceOrMove writes a changed entity. After a conflict, it returns the row if it has read it.
func (h handle) replaceOrMove(ctx context.Context, method string, e entity) (current *engine.Row, err error) {
	if method == updateAndMove {
		to, err := h.keyByFields(method, e)
		if err != nil {
			return nil, err
		}
		if to != *e.parts().key {
			return nil, h.move(ctx, e, h, to)
		}
	}
	op := h.replace(method, e)
	op.op.Current = &current
	err = op.send(ctx)
	return current, err
}
