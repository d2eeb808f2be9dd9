package engine

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Ensure creates the table unless it exists.
func (t *Table) Ensure(ctx context.Context) error {
	ctx, cancel := Bound(ctx, t.Options.WriteTimeout)
	defer cancel()
	tries := attempts{retry: t.Options.Retry, log: t.Log("Ensure", keys.Key{})}
	for {
		err := t.create(ctx)
		switch {
		case errors.Is(err, ErrExists):
			return nil
		case !isUnknown(err) && !dialing(err), !tries.wait(ctx, err):
			return err
		}
	}
}

func (t *Table) create(ctx context.Context) (err error) {
	ctx, end := t.Span(ctx, "Ensure")
	defer func() { end(err) }()
	if err := ctx.Err(); err != nil {
		return t.OpError("Ensure", keys.Key{}, err) // nothing was sent, so nothing is unknown
	}
	ctx, cancel := Bound(ctx, t.Options.WriteTimeout)
	defer cancel()
	var call wire.Call
	_, err = t.client.CreateTable(call.Write(ctx, t.attemptTimeout()), nil)
	t.responded(ctx, &call)
	if err = call.CheckHeaders(err); err != nil {
		return t.OpError("Ensure", keys.Key{}, withCondition(&call, wire.Redact(err)))
	}
	return nil
}
