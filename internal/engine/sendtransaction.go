package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// checkTogether returns an error if operations cannot be one transaction.
func checkTogether(ops []*Op) error {
	var rows map[string]bool // nil as long as the RowKeys ascend
	last, size := "", 0
	var outbox Outbox
	first := ops[0]
	for i := range ops {
		op := ops[i]
		fail := func(err error) error { return &BatchError{Index: i, Key: readable(op.Key), Err: err} }
		if op.Table == nil {
			return fail(errNoTable)
		}
		if err := op.Usable(); err != nil {
			return fail(err)
		}
		if rows == nil && op.Key.RowKey() < last {
			rows = make(map[string]bool, len(ops))
			for _, before := range ops[:i] {
				rows[before.Key.RowKey()] = true
			}
		}
		switch {
		case !op.Table.Same(first.Table):
			return fail(&ValueError{Field: "table", Reason: "is not that of the first operation, " + first.Table.Name + ": a transaction writes one table of one service"})
		case op.Key.PartitionKey() != first.Key.PartitionKey():
			return fail(fmt.Errorf("%w: %s, not %s", ErrOtherPartition, edm.Quote(op.Key.PartitionKey()), edm.Quote(first.Key.PartitionKey())))
		case rows[op.Key.RowKey()], i > 0 && op.Key.RowKey() == last:
			return fail(ErrDuplicateRow)
		case op.Table.Mode.Outbox != nil && outbox != nil && !SameOutbox(op.Table.Mode.Outbox, outbox):
			return fail(&ValueError{Field: "outbox", Reason: "is not that of an earlier operation: a transaction has one outbox"})
		}
		if op.Table.Mode.Outbox != nil {
			outbox = op.Table.Mode.Outbox
		}
		if last = op.Key.RowKey(); rows != nil {
			rows[last] = true
		}
		size += op.Body.Length
	}
	if size > maxTransaction {
		return tooLarge(size)
	}
	return nil
}

// sized returns an error if steps are too many or too large for one transaction.
func sized(steps []step) error {
	size := 0
	for i := range steps {
		size += steps[i].sent().Length
	}
	switch {
	case len(steps) > maxOperations:
		return &LimitError{Limit: "operations of a transaction, those of maintainers and the commit record included", Got: len(steps), Max: maxOperations}
	case size > maxTransaction:
		return tooLarge(size)
	}
	return nil
}

func tooLarge(size int) error {
	return &LimitError{Limit: "bytes of a transaction's request", Got: size, Max: maxTransaction}
}

// transact sends a transaction once. failed is the step that was refused, -1 for none.
func (t *Table) transact(ctx context.Context, steps []step) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
	call := wire.Call{MaxBody: maxTransaction}
	t.sending(ctx, len(steps))
	if t.tapped() && matchesFit(steps) {
		err = t.exchangeTransaction(ctx, &call, steps)
	} else {
		err = t.submit(ctx, &call, steps)
	}
	t.responded(ctx, &call)
	if call.HasProbe() && !t.shared.probed.Load() {
		t.shared.probed.Store(true)
	}
	if err = call.Check(err); err != nil || call.Status() != http.StatusAccepted {
		if verdict, err = refusedAll(&call, err); err != nil {
			return nil, -1, verdict, t.missing(err)
		}
	}
	// The service has answered. The SDK's reading of the response does not count: it takes cut responses for success.
	body, err := call.Body()
	if err == nil {
		var failure *wire.Failure
		if etags, failure, err = wire.ParseBatchResponse(body, len(steps)); failure != nil {
			verdict, err := t.refusedStep(&call, steps, failure)
			return nil, failure.Index, verdict, err
		}
	}
	for i := range etags {
		if etags[i] == "" && !steps[i].deletes() && err == nil {
			err = fmt.Errorf("the response has no ETag for operation %d", i)
		}
	}
	if err != nil {
		return nil, -1, wire.Unknown, &Condition{ErrUnknownOutcome, wire.Redact(err)}
	}
	return etags, -1, wire.Done, nil
}

// matchesFit reports whether each condition is one line of a body. A condition of a caller's may be no ETag.
func matchesFit(steps []step) bool {
	for i := range steps {
		if strings.ContainsAny(string(steps[i].Match), "\r\n") {
			return false
		}
	}
	return true
}

// refusedAll is the error of a transaction whose response says nothing of the operations, nil if the response does.
func refusedAll(call *wire.Call, err error) (wire.Outcome, error) {
	var foreign *wire.NotServiceError
	var large *wire.BodyError
	switch {
	case errors.As(err, &foreign):
		return wire.Unknown, withCondition(call, err)
	case errors.As(err, &large):
		return wire.NotSent, tooLarge(large.Size)
	case call.Status() == http.StatusRequestEntityTooLarge:
		return wire.Refused, &Condition{tooLarge(int(call.RequestSize())), wire.Redact(err)}
	case call.Status() == http.StatusAccepted:
		return wire.Done, nil
	case err == nil:
		err = fmt.Errorf("the service answered %d, which says nothing of the operations", call.Status())
	}
	return call.Outcome(err), withCondition(call, wire.Redact(err))
}

// submit calls the SDK, which panics on responses that it does not expect. The response is there all the same.
func (t *Table) submit(ctx context.Context, call *wire.Call, steps []step) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if call.Status() == 0 {
				panic(r) // not by a response, so not the SDK's
			}
			err = fmt.Errorf("the SDK cannot read the response: %v", r)
		}
	}()
	actions := make([]aztables.TransactionAction, len(steps))
	for i := range steps {
		s := &steps[i]
		actions[i] = aztables.TransactionAction{ActionType: s.Kind, Entity: s.encodedForSDK()}
		if s.Match != "" {
			actions[i].IfMatch = &s.Match
		}
	}
	_, err = t.client.SubmitTransaction(call.Write(ctx, t.attemptTimeout()), actions, nil)
	return err
}

// refusedStep is the error of a transaction of which the service refused one operation.
func (t *Table) refusedStep(call *wire.Call, steps []step, f *wire.Failure) (wire.Outcome, error) {
	code := wire.RedactText(f.Code)
	re := &azcore.ResponseError{StatusCode: f.Status, ErrorCode: code, RawResponse: call.PartResponse(f.Status)}
	if wire.StatusOutcome(f.Status) == wire.Unknown {
		return wire.Unknown, &Condition{ErrUnknownOutcome, re}
	}
	var err error = re
	if is := known(re); is != nil {
		err = t.missing(&Condition{is, re})
	}
	b := &BatchError{Index: f.Index, Code: code, Err: err}
	if f.Index >= 0 {
		b.Key = readable(steps[f.Index].Key)
	}
	return wire.Refused, b
}
