package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
)

// Update reads the entity under k, lets change change it, and replaces it by its ETag. If a concurrent writer was faster, Update
// starts again from a fresh read, until Common.WriteTimeout is over, and at most Retry.ConflictAttempts times. change may be called several
// times, each time with what is stored then; its error ends Update and comes back as it is. 2 requests for each round, 3 if a concurrent
// writer was faster.
//
// Errors: ErrNotFound; ErrChanged if a concurrent writer was faster until then; ErrKeyChanged where change touched a field of the
// key; ErrUnknownOutcome, after which change may have been applied once, or not at all, but never twice; and those of Get
// and Replace.
func (t *Table[T]) Update(ctx context.Context, k keys.Key, change func(*T) error) (_ *Entity[T], err error) {
	ctx, end := t.span(ctx, "Update")
	defer func() { end(err) }()
	rounds := t.opt.contention()
	for {
		e, err := t.getToWrite(ctx, "Update", k)
		if err != nil {
			return nil, err
		}
		if err := change(&e.Value); err != nil {
			return nil, err
		}
		op := t.replaceOp("Update", e)
		err = t.maintained(op, true, op.old).send(ctx)
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, ErrChanged) || unknown(err) || derived(err):
			return nil, err
		}
		if again, ended := rounds.again(ctx); !again {
			return nil, either(t.opError("Update", k, ended), err)
		}
	}
}

// getToWrite is get for a method that is going to write. If the service is busy, it reads again until the write's time is over.
func (t *Table[T]) getToWrite(ctx context.Context, verb string, k keys.Key) (*Entity[T], error) {
	ctx, cancel := bound(ctx, t.opt.WriteTimeout)
	defer cancel()
	e, err := t.get(ctx, verb, k)
	for tries := (attempts{retry: t.opt.Retry}); tries.busyAgain(ctx, err); {
		e, err = t.get(ctx, verb, k)
	}
	return e, err
}
