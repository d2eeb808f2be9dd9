package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Ensure creates the table unless it exists.
func (t *Table) Ensure(ctx context.Context) error {
	return t.manage(ctx, "Ensure", func(ctx context.Context) error {
		_, err := t.client.CreateTable(ctx, nil)
		return err
	}, ErrExists)
}

// Drop deletes the table if it exists.
func (t *Table) Drop(ctx context.Context) error {
	return t.manage(ctx, "Drop", func(ctx context.Context) error {
		_, err := t.client.Delete(ctx, nil)
		return err
	}, ErrNotFound, ErrTableNotFound) // the service says the first
}

// manage sends a request that creates or deletes the table, and sends it again while its outcome is unknown. The errors done say
// that nothing is left to do.
func (t *Table) manage(ctx context.Context, method string, send func(context.Context) error, done ...error) (err error) {
	ctx, end := t.Span(ctx, method)
	defer func() { end(err) }()
	ctx, cancel := Bound(ctx, t.Options.WriteTimeout)
	defer cancel()
	tries := attempts{retry: t.Options.Retry, log: t.Log(method, keys.Key{})}
	for {
		err = t.manageOnce(ctx, method, send)
		switch {
		case slices.ContainsFunc(done, func(d error) bool { return errors.Is(err, d) }):
			return nil
		case !isUnknown(err) && !dialing(err), !tries.wait(ctx, err):
			return err
		}
	}
}

func (t *Table) manageOnce(ctx context.Context, method string, send func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return t.OpError(method, keys.Key{}, err) // nothing was sent, so nothing is unknown
	}
	var call wire.Call
	err := send(call.Write(ctx, t.attemptTimeout()))
	t.responded(ctx, &call)
	if err = call.Check(err); err != nil {
		return t.OpError(method, keys.Key{}, t.missing(withCondition(&call, wire.Redact(err))))
	}
	return nil
}
