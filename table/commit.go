package table

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
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
	w, err := c.named(ops, together)
	if err != nil {
		return nil, c.opError(verb, k, err)
	}
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
func (c *core) named(ops []Op, together bool) (w *write, err error) {
	w = &write{core: c, ops: slices.Clone(ops), together: together}
	if w.name, err = c.opt.newOp(); err != nil {
		return nil, err
	}
	for i, op := range w.ops {
		if op.room {
			w.ops[i].body, w.ops[i].marked = mark(op.body, w.name), true
		}
	}
	return w, nil
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
		// What has no condition would be done once more, over what others have done since. The others are told.
		if doubt != nil && w.unconditional() {
			if etags, ours, err := w.ours(ctx, -1, witnesses); ours && err == nil {
				return etags, nil
			}
		}
	}
	if doubt == nil {
		return nil, last
	}
	if etags, ours, err := w.ours(ctx, -1, witnesses); ours && err == nil {
		return etags, nil
	}
	return nil, doubt
}

// unconditional tells whether nothing of the write depends on what is stored.
func (w *write) unconditional() bool {
	return !slices.ContainsFunc(w.ops, func(op Op) bool {
		return op.kind == aztables.TransactionTypeAdd || op.match != "" && op.match != azcore.ETagAny
	})
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
	if doubt == nil && !w.repeated(failed, refusal) {
		return nil, refusal
	}
	most := 1 // of a request that arrived twice, the row that was refused tells
	if doubt != nil {
		most = witnesses
	}
	etags, ours, err := w.ours(ctx, failed, most)
	var re *azcore.ResponseError
	switch {
	case err == nil && ours:
		return etags, nil
	case doubt != nil:
		return nil, doubt
	case errors.As(err, &re) && re.StatusCode == http.StatusForbidden:
		return nil, refusal // who may not read cannot look; see Grant
	case err != nil:
		// Not the refusal's condition: it may be its own work that it has met.
		return nil, &condition{ErrUnknownOutcome, fmt.Errorf("%s, and the row could not be read: %w", brief(refusal), wire.Redact(err))}
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
	case op.kind == aztables.TransactionTypeAdd:
		return errors.Is(refusal, ErrExists)
	case op.kind == aztables.TransactionTypeDelete:
		return errors.Is(refusal, ErrNotFound) || errors.Is(refusal, ErrChanged)
	default:
		return errors.Is(refusal, ErrChanged)
	}
}

// superseded stands for the ETag of a version that was overwritten before anybody learned it. It fits no row.
const superseded = azcore.ETag(`W/"datetime'1601-01-01T00%3A00%3A00Z'"`)

// witnesses is how many rows are asked at most about a write that is in doubt.
const witnesses = 10

// ours tells whether the write was done: whether any of its rows carries its name, the one that was refused before the others;
// rows that are deleted say nothing. At most so many are asked. If so, the other rows are read for their ETags.
func (w *write) ours(ctx context.Context, failed, most int) (etags []azcore.ETag, ours bool, err error) {
	var order []int
	for i, op := range w.ops {
		switch {
		case op.marked && i == failed:
			order = slices.Insert(order, 0, i)
		case op.marked:
			order = append(order, i)
		}
	}
	etags = make([]azcore.ETag, len(w.ops))
	at := -1
	for _, i := range order[:min(len(order), most)] {
		if etags[i], ours, err = w.carried(ctx, w.ops[i]); err != nil {
			return nil, false, err
		}
		if at = i; ours {
			break
		}
	}
	if !ours {
		return nil, false, nil
	}
	for i, op := range w.ops {
		if i == at || op.kind == aztables.TransactionTypeDelete {
			continue
		}
		if etags[i], _, err = w.carried(ctx, op); err != nil || etags[i] == "" {
			etags[i] = superseded
		}
	}
	return etags, true, nil
}

// carried reads a row and tells whether it carries the write's name. A row that is not there does not. The ETag is that of
// what the write has left, or superseded if something else is there by now.
func (w *write) carried(ctx context.Context, op Op) (etag azcore.ETag, ours bool, err error) {
	ctx, cancel := bound(ctx, w.core.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := w.core.client.GetEntity(call.Read(ctx), op.key.PartitionKey(), op.key.RowKey(), nil)
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
	if in.ETag == "" {
		in.ETag = string(resp.ETag)
	}
	name, err := r.Find(opProperty)
	if err != nil {
		return "", false, err
	}
	etag = azcore.ETag(in.ETag)
	if op.left != nil && !sameRow(op.left(op.body), r) {
		etag = superseded
	}
	return etag, name.S == w.name, nil
}

// sameRow tells whether a row that was read holds what was written, and nothing else.
func sameRow(written []byte, read *edm.Reader) bool {
	if written == nil {
		return true // what it was is not kept, so nothing is built on it
	}
	w := edm.NewReader(written)
	if _, err := w.One(); err != nil {
		return false
	}
	a, err1 := w.Columns()
	b, err2 := read.Columns()
	if err1 != nil || err2 != nil || len(a) != len(b) {
		return false
	}
	for _, c := range a {
		if !slices.ContainsFunc(b, func(d edm.Column) bool { return reflect.DeepEqual(c, d) }) {
			return false
		}
	}
	return true
}
