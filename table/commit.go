package table

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// commit carries out a write: one operation, or several as a transaction. It is the only way in which entities are written.
//
// A write that could not be sent, or whose outcome is unknown, is sent again: the same operations, under the same name. What
// an operation with a condition then meets may be its own work, and so may be what any operation meets whose request arrived
// twice. The name that the row carries tells: where it is ours, the write is done. Where it is not, the refusal stands if the
// write was sent once; if it was sent before, it may have been done and overwritten since, and nobody knows.
func (c *core) commit(ctx context.Context, verb string, k keys.Key, ops []Op, together bool) (etags []azcore.ETag, err error) {
	ctx, end := c.span(ctx, verb)
	defer func() { end(err) }()
	if err := ctx.Err(); err != nil {
		return nil, c.opError(verb, k, err) // nothing was sent, so nothing is unknown
	}
	ctx, cancel := bound(ctx, c.opt.WriteTimeout)
	defer cancel()
	w := c.named(ops, together)
	etags, err = w.run(ctx)
	for i, op := range w.ops {
		if err != nil {
			op.settle("", err)
			continue
		}
		op.settle(etags[i], nil)
	}
	return etags, c.opError(verb, k, err)
}

// write is one write on its way.
type write struct {
	core     *core
	ops      []Op
	together bool   // as a transaction
	name     string // that its rows carry
}

// named gives a write its name.
func (c *core) named(ops []Op, together bool) *write {
	w := &write{core: c, ops: slices.Clone(ops), together: together, name: c.opt.newOp()}
	for i := range w.ops {
		if w.ops[i].name != nil {
			*w.ops[i].name = w.name
		}
		if marked(w.ops[i].body) {
			w.ops[i].body, w.ops[i].marked = mark(w.ops[i].body, w.name), true
		}
	}
	return w
}

// run sends the write until its outcome is known, or its time or its tries are over.
func (w *write) run(ctx context.Context) ([]azcore.ETag, error) {
	r := w.core.opt.Retry
	var doubt, last error
	for try := 1; ; try++ {
		etags, failed, verdict, err := w.once(ctx)
		switch verdict {
		case wire.Done:
			return etags, nil
		case wire.Refused:
			return w.refused(ctx, failed, err, doubt)
		case wire.Unknown:
			doubt = err
		default:
			if !dialing(err) && doubt == nil {
				return nil, err
			}
		}
		if last = err; try >= r.Tries || backOff(ctx, try, r.Wait, r.MaxWait) != nil {
			break
		}
	}
	if doubt == nil {
		return nil, last
	}
	if etags, ours, err := w.ours(ctx, w.witness(-1)); ours && err == nil {
		return etags, nil
	}
	return nil, doubt
}

// dialing tells whether a request could not be sent because nobody was there, which may be otherwise soon.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// once sends the write once. failed is the operation that was refused.
func (w *write) once(ctx context.Context) (etags []azcore.ETag, failed int, verdict wire.Verdict, err error) {
	if w.together {
		return w.core.transact(ctx, w.ops)
	}
	var call wire.Call
	etag, err := w.ops[0].request(call.Write(ctx, w.core.tryTimeout()))
	verdict = call.Verdict(err)
	return []azcore.ETag{etag}, 0, verdict, w.core.judged(&call, wire.Redact(err))
}

// refused is the outcome of a write that the service has refused, for an operation; doubt is what was unknown before.
func (w *write) refused(ctx context.Context, failed int, refusal, doubt error) ([]azcore.ETag, error) {
	at := w.witness(failed)
	if at < 0 || doubt == nil && !w.repeated(failed, refusal) {
		if doubt != nil {
			return nil, doubt
		}
		return nil, refusal
	}
	etags, ours, err := w.ours(ctx, at)
	switch {
	case err == nil && ours:
		return etags, nil
	case doubt != nil:
		return nil, doubt
	case err != nil:
		return nil, &condition{ErrUnknownOutcome, refusal}
	}
	return nil, refusal
}

// repeated tells whether an operation may have been refused because the write had been done already, its request having
// arrived twice.
func (w *write) repeated(failed int, refusal error) bool {
	if failed < 0 {
		return false
	}
	switch op := w.ops[failed]; {
	case op.lazy:
		return false
	case op.kind == aztables.TransactionTypeAdd:
		return errors.Is(refusal, ErrExists)
	case op.kind == aztables.TransactionTypeDelete:
		return errors.Is(refusal, ErrNotFound) || errors.Is(refusal, ErrChanged)
	default:
		return errors.Is(refusal, ErrChanged)
	}
}

// witness is an operation whose row tells whether the write was done: the one that was refused, or another one; -1 if there
// is none, for rows that are deleted say nothing.
func (w *write) witness(failed int) int {
	if failed >= 0 && w.ops[failed].marked {
		return failed
	}
	return slices.IndexFunc(w.ops, func(op Op) bool { return op.marked })
}

// superseded stands for the ETag of a version that was overwritten before anybody learned it. It fits no row.
const superseded = azcore.ETag(`W/"datetime'1601-01-01T00%3A00%3A00Z'"`)

// ours tells whether the write was done: whether a row carries its name. If so, the other rows are read for their ETags.
func (w *write) ours(ctx context.Context, at int) (etags []azcore.ETag, ours bool, err error) {
	if at < 0 {
		return nil, false, nil
	}
	etags = make([]azcore.ETag, len(w.ops))
	if etags[at], ours, err = w.carried(ctx, w.ops[at].key); err != nil || !ours {
		return nil, false, err
	}
	for i, op := range w.ops {
		if i == at || op.kind == aztables.TransactionTypeDelete {
			continue
		}
		if etags[i], ours, err = w.carried(ctx, op.key); err != nil || !ours {
			etags[i] = superseded
		}
	}
	return etags, true, nil
}

// carried reads a row and tells whether it carries the write's name. A row that is not there does not.
func (w *write) carried(ctx context.Context, k keys.Key) (azcore.ETag, bool, error) {
	ctx, cancel := bound(ctx, w.core.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := w.core.client.GetEntity(call.Read(ctx), k.PartitionKey(), k.RowKey(), nil)
	if err != nil {
		if known(err) == ErrNotFound {
			err = nil
		}
		return "", false, err
	}
	body, err := call.Body()
	if err != nil {
		return "", false, err
	}
	r := edm.NewReader(body)
	in, err := r.One()
	if err != nil {
		return "", false, err
	}
	op, err := r.Find(opProperty)
	if in.ETag == "" {
		in.ETag = string(resp.ETag)
	}
	return azcore.ETag(in.ETag), err == nil && op.S == w.name, err
}
