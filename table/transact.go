package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// The limits of an entity group transaction ('Performing entity group transactions').
const (
	maxOperations  = 100
	maxTransaction = 4 << 20
)

// BatchError says which operation of a transaction failed. Nothing of the transaction was done. Err is one of the
// package's conditions (ErrExists, ErrChanged, …), a typed error of a check, or the service's *azcore.ResponseError.
type BatchError struct {
	Index int      // of the operation in the caller's list; -1 if the service did not name one of it
	Key   keys.Key // its row, or the derived row that stood in its way
	Code  string   // the service's error code, if it answered with one
	Err   error
}

func (e *BatchError) Error() string {
	s := fmt.Sprintf("operation %d", e.Index)
	if e.Index < 0 {
		s = "an operation"
	}
	if e.Key != (keys.Key{}) {
		s += " " + e.Key.String()
	}
	s += ": "
	if e.Code != "" {
		s += e.Code + ": "
	}
	return s + brief(e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// Receipt is what a transaction has done.
type Receipt struct {
	ETags []azcore.ETag // of the rows, in the order of the operations; "" for those that were deleted

	stored []any
}

// Stored returns the entity that operation i of a transaction has stored or changed. It is nil where that was a delete, a
// merge by key, or an operation of another type.
func Stored[T any](r *Receipt, i int) *Entity[T] {
	if r == nil || i < 0 || i >= len(r.stored) {
		return nil
	}
	e, _ := r.stored[i].(*Entity[T])
	return e
}

// Transact does all operations or none: an entity group transaction. They may be of several types, in one partition of one
// table, each row once, at most 100 and 4 MiB. Entities that they were made of are renewed when it succeeds and stay as they
// are when it fails. 1 request, and 1 more where a row exists or has changed, to see that this was not its own work.
//
//	table.Transact(ctx, staff.ReplaceOp(e), reviews.InsertOp(&r))
//
// Errors: *BatchError for an operation that was refused, by a check or by the service, with ErrExists, ErrChanged,
// ErrNotFound, ErrDuplicateRow, ErrOtherPartition, ErrOtherTable and all errors of the single verbs in it; *LimitError for
// a transaction that is empty or too large; ErrUnknownOutcome, after which its entities cannot be used until they are read
// again. The size is that of the request body, which on clients made with [ClientOptions] is counted to the byte before it
// is sent; on others the few transactions that pass the check by their entities alone are refused by the service.
func Transact(ctx context.Context, ops ...Op) (*Receipt, error) {
	if len(ops) == 0 || len(ops) > maxOperations {
		return nil, &OpError{Op: "Transact", Err: &LimitError{Limit: "operations of a transaction; the service requires 1 to 100", Got: len(ops), Max: maxOperations}}
	}
	c := ops[0].core
	if err := together(ops); err != nil {
		if c == nil {
			c = new(core)
		}
		return nil, c.opError("Transact", keys.Key{}, err)
	}
	etags, err := c.commit(ctx, "Transact", keys.Key{}, ops, true)
	if err != nil {
		return nil, err
	}
	r := &Receipt{ETags: etags}
	for _, op := range ops {
		r.stored = append(r.stored, op.stored)
	}
	return r, nil
}

// together tells whether operations can be one transaction.
func together(ops []Op) error {
	rows := make(map[string]bool, len(ops))
	size := 0
	var outbox Outbox
	for i, op := range ops {
		fail := func(err error) error { return &BatchError{Index: i, Key: readable(op.key), Err: public(err)} }
		first := ops[0]
		switch {
		case op.core == nil:
			return fail(errNoTable)
		case op.usable() != nil:
			return fail(op.usable())
		case !op.core.same(first.core):
			return fail(fmt.Errorf("%w: %s, not %s", ErrOtherTable, op.core.name, first.core.name))
		case op.key.PartitionKey() != first.key.PartitionKey():
			return fail(fmt.Errorf("%w: %s, not %s", ErrOtherPartition, edm.Quote(op.key.PartitionKey()), edm.Quote(first.key.PartitionKey())))
		case rows[op.key.RowKey()]:
			return fail(ErrDuplicateRow)
		case op.core.outbox != nil && outbox != nil && !sameValue(op.core.outbox, outbox):
			return fail(ErrOtherOutbox)
		}
		if op.core.outbox != nil {
			outbox = op.core.outbox
		}
		rows[op.key.RowKey()] = true
		size += escaped(op.body)
	}
	if size > maxTransaction {
		return tooLarge(size)
	}
	return nil
}

// sized tells whether steps can be one transaction.
func sized(steps []Op) error {
	size := 0
	for _, op := range steps {
		size += escaped(op.body)
	}
	switch {
	case len(steps) > maxOperations:
		return &LimitError{Limit: "operations of a transaction, those of maintainers and the intent included", Got: len(steps), Max: maxOperations}
	case size > maxTransaction:
		return tooLarge(size)
	}
	return nil
}

// escaped is the length of an entity as the SDK sends it: it writes what HTML might take for its own in six bytes.
func escaped(body []byte) int {
	n := len(body)
	for _, c := range body {
		if c == '<' || c == '>' || c == '&' {
			n += 5
		}
	}
	return n + 3*(bytes.Count(body, []byte("\u2028"))+bytes.Count(body, []byte("\u2029")))
}

func tooLarge(size int) error {
	return &LimitError{Limit: "bytes of a transaction's request", Got: size, Max: maxTransaction}
}

// readable is a key for an error, or none if the error is about the key.
func readable(k keys.Key) keys.Key {
	if k.Err() != nil {
		return keys.Key{}
	}
	return k
}

// transact sends a transaction once and judges its outcome. failed is the operation that was refused, -1 for none.
func (c *core) transact(ctx context.Context, ops []Op) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
	call := wire.Call{MaxBody: maxTransaction}
	serr := call.Check(c.submit(call.Write(ctx, c.tryTimeout()), &call, ops))
	var foreign *wire.ForeignError
	if call.HasProbe() && !c.shared.probed.Load() {
		c.shared.probed.Store(true)
	}
	var large *wire.BodyError
	switch {
	case errors.As(serr, &foreign):
		return nil, -1, wire.Unknown, c.judged(&call, serr)
	case errors.As(serr, &large):
		return nil, -1, wire.NotSent, tooLarge(large.Size)
	case call.Status() == http.StatusRequestEntityTooLarge:
		return nil, -1, wire.Refused, &condition{tooLarge(int(call.RequestSize())), wire.Redact(serr)}
	case serr == nil && call.Status() != http.StatusAccepted:
		serr = fmt.Errorf("the service answered %d, which says nothing of the operations", call.Status())
		fallthrough
	case call.Status() != http.StatusAccepted:
		return nil, -1, call.Outcome(serr), c.judged(&call, wire.Redact(serr))
	}
	// The service has answered. What the SDK has made of the response is not looked at: it takes cut ones for success.
	body, err := call.Body()
	if err == nil {
		var failure *wire.Failure
		if etags, failure, err = wire.ParseBatchResponse(body, len(ops)); failure != nil {
			verdict, err := c.failed(&call, ops, failure)
			return nil, failure.Index, verdict, err
		}
	}
	for i := range etags {
		if etags[i] == "" && ops[i].kind != aztables.TransactionTypeDelete && err == nil {
			err = fmt.Errorf("the response has no ETag for operation %d", i)
		}
	}
	if err != nil {
		return nil, -1, wire.Unknown, &condition{ErrUnknownOutcome, wire.Redact(err)}
	}
	return etags, -1, wire.Done, nil
}

// submit calls the SDK. It panics on responses that it did not expect; the response is there all the same.
func (c *core) submit(ctx context.Context, call *wire.Call, ops []Op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if call.Status() == 0 {
				panic(r) // not by a response, so not the SDK's
			}
			err = fmt.Errorf("the SDK cannot read the reply: %v", r)
		}
	}()
	actions := make([]aztables.TransactionAction, len(ops))
	for i := range ops {
		actions[i] = ops[i].action()
	}
	_, err = c.client.SubmitTransaction(ctx, actions, nil)
	return err
}

// action is an operation as the SDK takes it.
func (op Op) action() aztables.TransactionAction {
	a := aztables.TransactionAction{ActionType: op.kind, Entity: op.body}
	if op.match != "" {
		a.IfMatch = &op.match
	}
	if op.kind == aztables.TransactionTypeAdd {
		return a
	}
	// The SDK addresses the row by the keys of the body, and does not double the quotes in them. The body's own keys are
	// then wrong, but nobody reads them: the service goes by the address.
	k := op.key
	if pk, rk := k.PartitionKey(), k.RowKey(); strings.Contains(pk+rk, "'") {
		double := strings.NewReplacer("'", "''")
		k = keys.Stored(double.Replace(pk), double.Replace(rk))
		if op.body != nil {
			a.Entity = append(bytes.TrimSuffix(keysAlone(k), []byte("}")), op.body[len(keysAlone(op.key))-1:]...)
		}
	}
	if op.body == nil {
		a.Entity = keysAlone(k)
	}
	return a
}

// failed is the error of a transaction of which the service refused one operation.
func (c *core) failed(call *wire.Call, ops []Op, f *wire.Failure) (wire.Outcome, error) {
	re := &azcore.ResponseError{StatusCode: f.Status, ErrorCode: f.Code, RawResponse: call.PartResponse(f.Status)}
	if wire.StatusOutcome(f.Status) == wire.Unknown {
		return wire.Unknown, &condition{ErrUnknownOutcome, re}
	}
	var err error = re
	if is := known(re); is != nil {
		err = &condition{is, re}
	}
	b := &BatchError{Index: f.Index, Code: f.Code, Err: err}
	if f.Index >= 0 {
		b.Key = readable(ops[f.Index].key)
	}
	return wire.Refused, b
}
