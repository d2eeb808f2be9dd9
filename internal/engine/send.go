package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// send sends the transaction until its outcome is known, or the time or the attempts are used up.
//
// A request that could not be sent, or whose outcome is unknown, is sent again: the same operations
// with the same operation ID. The second request can be refused because the first one was applied.
// So can a request that the network has delivered twice. The commit record, or else the operation
// ID in the row, shows that the write was applied. If the row has another ID, a write that was sent
// once was refused. A write that was sent twice may have been applied and then overwritten: its
// outcome is unknown.
func (w *write) send(ctx context.Context) state {
	w.seen = seenRow{}
	w.out = w.sendTransaction(ctx)
	w.sent.withoutRecord = w.sent.withoutRecord || !w.currentTransaction.record && w.sent.doubt != nil
	switch w.out.kind {
	case wire.Done:
		if !w.out.responded {
			return w.doneAsRead(ctx, w.out.etags)
		}
		w.keepLoaded(w.out.etags)
		return w.done(ctx, w.out.etags)
	case wire.Refused:
		w.refusedIn = w.place()
		return stateRefused
	}
	return stateGivenUp
}

func (w *write) sendTransaction(ctx context.Context) outcome {
	tries := attempts{retry: Retry(w.table.Options.Retry), log: w.log()}
	for {
		if w.stale() || !w.holds(ctx) {
			if w.sent.doubt == nil {
				return w.unsent()
			}
			break
		}
		etags, failed, verdict, err := w.sendOnce(ctx)
		switch {
		case verdict == wire.Done:
			return outcome{kind: wire.Done, etags: etags, responded: true}
		case verdict == wire.Refused:
			return w.afterRefusal(ctx, failed, err)
		case verdict == wire.Unknown:
			w.sent.doubt = err
		case w.sent.doubt != nil: // an earlier request may have been applied
		case errors.Is(err, wire.ErrEnded):
			return w.unsent()
		case !dialing(err):
			return outcome{kind: wire.NotSent, failed: -1, err: err}
		}
		if !tries.wait(ctx, err) {
			if w.sent.doubt == nil {
				return outcome{kind: wire.NotSent, failed: -1, err: err}
			}
			break
		}
		// A write without a condition could overwrite what concurrent writers have stored since. So
		// read the row first.
		if w.sent.doubt != nil && w.unconditional() {
			if out, applied := w.seenApplied(ctx); applied {
				return out
			}
		}
	}
	if !w.currentTransaction.record {
		if out, applied := w.seenApplied(ctx); applied {
			return out
		}
	}
	return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}
}

// seenApplied reads whether a write in doubt was applied. applied is false if it was not, or if
// that could not be read.
func (w *write) seenApplied(ctx context.Context) (out outcome, applied bool) {
	etags, ours, err := w.readBack(ctx, -1, maxReadBacks)
	return outcome{kind: wire.Done, etags: etags}, ours && err == nil
}

// unconditional reports whether nothing of the write depends on what is stored.
func (w *write) unconditional() bool {
	return !slices.ContainsFunc(w.currentTransaction.steps, func(s step) bool {
		return s.inserts() || s.Match != "" && s.Match != azcore.ETagAny
	})
}

// sendOnce sends the transaction once. failed is the step that was refused.
func (w *write) sendOnce(ctx context.Context) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
	ctx, cancel := w.underLease(ctx)
	defer cancel()
	steps := w.currentTransaction.steps
	if w.currentTransaction.batch {
		return w.table.transactWith(ctx, steps, w.currentTransaction.added)
	}
	etag, verdict, err := steps[0].sendAlone(ctx)
	return []azcore.ETag{etag}, 0, verdict, err
}

const repeatedDelete = "the network may have repeated the request of this delete, so that the delete itself removed the row; a handle of Exact can tell"

// repairable reports whether a derived row was refused because it is not as the plan expected.
func (w *write) repairable(failed int, refusal error) bool {
	d := w.currentTransaction.steps[failed].derived
	return !(d.ifExists != nil && errors.Is(refusal, errs.ErrExists))
}

// repeated reports whether a step may have been refused because its request arrived twice, and the
// first was applied.
func (w *write) repeated(failed int, refusal error) bool {
	if failed < 0 || w.currentTransaction.steps[failed].derived != nil {
		return false // the entity's own step, which comes first, passed
	}
	switch s := &w.currentTransaction.steps[failed]; {
	case s.inserts():
		return errors.Is(refusal, errs.ErrExists)
	case s.deletes():
		return errors.Is(refusal, errs.ErrNotFound) || errors.Is(refusal, errs.ErrChanged)
	default:
		return errors.Is(refusal, errs.ErrChanged)
	}
}

// tapState is what is known of the library's policies in the pipeline of the client. Until a call
// through the SDK has shown that they put the library's requests in the place of the SDK's, all
// calls are the SDK's.
type tapState = int32

const (
	tapUnknown tapState = iota
	tapFound
	tapLost // they were there, and a request did not get to them
)

func (t *Table) tapped() bool { return t.shared.tap.Load() == tapFound }

// findTap looks for the tap in a call through the SDK that was answered.
func (t *Table) findTap(call *wire.Call) {
	if t.shared.tap.Load() == tapUnknown && call.Status() != 0 && call.TakesRequests(t.tracer.Enabled()) {
		t.shared.tap.CompareAndSwap(tapUnknown, tapFound)
	}
}

// exchange sends a request of the library.
func (t *Table) exchange(ctx context.Context, call *wire.Call, q *wire.Request) error {
	err := call.Exchange(ctx, t.client, q, t.attemptTimeout())
	if err == wire.ErrTap {
		t.shared.tap.Store(tapLost)
	}
	return err
}

// exchangeTransaction sends a transaction that the library writes.
func (t *Table) exchangeTransaction(ctx context.Context, call *wire.Call, steps []step) error {
	return t.exchange(ctx, call, &wire.Request{Method: http.MethodPost, Target: wire.Batch, Transaction: func(u *url.URL) (io.ReadSeeker, string) {
		w := wire.NewBatchWriter(u, t.Name, len(steps))
		for i := range steps {
			steps[i].write(w)
		}
		return w.Finish()
	}})
}

// write writes the step's part of a transaction.
func (s *step) write(w *wire.BatchWriter) {
	method := http.MethodPut
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		w.Insert(s.sent().Pieces(s.id))
		return
	case aztables.TransactionTypeDelete:
		match := s.Match
		if match == "" {
			match = azcore.ETagAny
		}
		w.Delete(s.Key.PartitionKey(), s.Key.RowKey(), string(match))
		return
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		method = http.MethodPatch
	}
	row := s.sent()
	json, end := row.Pieces(s.id)
	w.Update(method, row.PartitionKey, row.RowKey, string(s.Match), json, end)
}

// sendAlone sends a step as a request of its own.
func (s *step) sendAlone(ctx context.Context) (azcore.ETag, wire.Outcome, error) {
	var call wire.Call
	err := s.request(ctx, &call)
	s.Table.responded(ctx, &call)
	etag := azcore.ETag(call.Header("ETag"))
	if s.deletes() {
		err = call.Check(err)
	} else {
		err = call.CheckWrite(string(etag), err)
	}
	if err == nil {
		return etag, wire.Done, nil
	}
	return "", call.Outcome(err), s.Table.missing(withCondition(&call, wire.Redact(err)))
}

// request sends the operation.
func (s *step) request(ctx context.Context, call *wire.Call) error {
	t := s.Table
	if !t.tapped() {
		return s.requestBySDK(ctx, call)
	}
	q := wire.Request{Target: wire.Row, PartitionKey: s.Key.PartitionKey(), RowKey: s.Key.RowKey(), Match: string(s.Match)}
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		q.Method, q.Target, q.NoEcho = http.MethodPost, wire.Table, true
	case aztables.TransactionTypeDelete:
		q.Method = http.MethodDelete
		return t.exchange(ctx, call, &q)
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		q.Method = http.MethodPatch
	default:
		q.Method = http.MethodPut
	}
	q.Entity = s.encoded()
	return t.exchange(ctx, call, &q)
}

// requestBySDK sends the operation by a call of the SDK. The SDK writes into its options, so each
// call gets new ones.
func (s *step) requestBySDK(ctx context.Context, call *wire.Call) (err error) {
	c, mode := s.Table.client, aztables.UpdateModeReplace
	var body []byte
	switch s.Kind {
	case aztables.TransactionTypeDelete:
		_, err = c.DeleteEntity(call.Write(ctx, s.Table.attemptTimeout()), s.Key.PartitionKey(), s.Key.RowKey(), &aztables.DeleteEntityOptions{IfMatch: &s.Match})
		return err
	case aztables.TransactionTypeAdd:
		// The response would repeat what was sent.
		ctx = policy.WithHTTPHeader(ctx, http.Header{"Prefer": {"return-no-content"}})
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		mode = aztables.UpdateModeMerge
	}
	ctx, body = call.Write(ctx, s.Table.attemptTimeout()), s.encoded()
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		_, err = c.AddEntity(ctx, body, nil)
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeInsertReplace:
		_, err = c.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: mode})
	default:
		_, err = c.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &s.Match, UpdateMode: mode})
	}
	return err
}

// checkTogether returns an error if operations cannot be one transaction.
func checkTogether(ops []*Op) error {
	var rows map[string]bool // nil as long as the RowKeys ascend
	last, size := "", 0
	var outbox commit.Outbox
	first := ops[0]
	for i := range ops {
		op := ops[i]
		fail := func(err error) error { return &errs.BatchError{Index: i, Key: readable(op.Key), Err: err} }
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
			return fail(&errs.ValueError{Field: "table", Reason: "is not that of the first operation, " + first.Table.Name + ": a transaction writes one table of one service"})
		case op.Key.PartitionKey() != first.Key.PartitionKey():
			return fail(fmt.Errorf("%w: %s, not %s", errs.ErrOtherPartition, edm.Quote(op.Key.PartitionKey()), edm.Quote(first.Key.PartitionKey())))
		case rows[op.Key.RowKey()], i > 0 && op.Key.RowKey() == last:
			return fail(errs.ErrDuplicateRow)
		case op.Table.Mode.Outbox != nil && outbox != nil && !SameOutbox(op.Table.Mode.Outbox, outbox):
			return fail(&errs.ValueError{Field: "outbox", Reason: "is not that of an earlier operation: a transaction has one outbox"})
		}
		if op.Table.Mode.Outbox != nil {
			outbox = op.Table.Mode.Outbox
		}
		last = op.Key.RowKey()
		if rows != nil {
			rows[last] = true
		}
		size += op.Body.Length
	}
	if size > maxTransaction {
		return tooLarge(size)
	}
	return nil
}

// sized returns an error if steps, and so many others, are too many or too large for one
// transaction.
func sized(steps []step, others int) error {
	size := 0
	for i := range steps {
		size += steps[i].sent().Length
	}
	switch n := len(steps) + others; {
	case n > maxOperations:
		return &errs.LimitError{Limit: "operations of a transaction, those of maintainers, the commit record and the stamp included", Got: n, Max: maxOperations}
	case size > maxTransaction:
		return tooLarge(size)
	}
	return nil
}

func tooLarge(size int) error {
	return &errs.LimitError{Limit: "bytes of a transaction's request", Got: size, Max: maxTransaction}
}

// mostRefusedByOthers is how often a transaction is sent that is refused at a row which others
// write at the same time, too. The documentation of the service says nothing of that; nothing is
// stored then.
const mostRefusedByOthers = 5

// transact sends a transaction. failed is the step that was refused, -1 for none. The transaction
// is sent again if it is refused at a shared row because another one writes it at the same time:
// it goes by no ETag of such a row, so nothing else can have changed it.
func (t *Table) transact(ctx context.Context, steps []step) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
	for range mostRefusedByOthers {
		etags, failed, verdict, err = t.transactOnce(ctx, steps)
		if verdict != wire.Refused || failed < 0 || !steps[failed].isRefusedByOthers(err) {
			return etags, failed, verdict, err
		}
	}
	if shared := steps[failed].shared; shared != nil {
		return nil, -1, wire.NotSent, errs.With(errs.ErrUnreachable, fmt.Errorf("%w: %w", shared, err))
	}
	return etags, failed, verdict, err
}

// isRefusedByOthers reports whether a step on a shared row was refused because another transaction
// writes the row at the same time: a stamp, or a guard.
func (s *step) isRefusedByOthers(err error) bool {
	return s.shared != nil || s.Absent != nil && errors.Is(err, errs.ErrChanged)
}

// transactOnce sends a transaction once.
func (t *Table) transactOnce(ctx context.Context, steps []step) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
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
	// The service has answered. The SDK's reading of the response does not count: it takes cut
	// responses for success.
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
		return nil, -1, wire.Unknown, errs.With(errs.ErrUnknownOutcome, wire.Redact(err))
	}
	return etags, -1, wire.Done, nil
}

// matchesFit reports whether each condition is one line of a body. A condition of a caller's may be
// no ETag.
func matchesFit(steps []step) bool {
	for i := range steps {
		if strings.ContainsAny(string(steps[i].Match), "\r\n") {
			return false
		}
	}
	return true
}

// refusedAll returns the error of a transaction whose response does not name an operation, nil if
// the response does.
func refusedAll(call *wire.Call, err error) (wire.Outcome, error) {
	var foreign *wire.NotServiceError
	var large *wire.BodyError
	switch {
	case errors.As(err, &foreign):
		return wire.Unknown, withCondition(call, err)
	case errors.As(err, &large):
		return wire.NotSent, tooLarge(large.Size)
	case call.Status() == http.StatusRequestEntityTooLarge:
		return wire.Refused, errs.With(tooLarge(int(call.RequestSize())), wire.Redact(err))
	case call.Status() == http.StatusAccepted:
		return wire.Done, nil
	case err == nil:
		err = fmt.Errorf("the service answered %d, which says nothing of the operations", call.Status())
	}
	return call.Outcome(err), withCondition(call, wire.Redact(err))
}

// submit calls the SDK, which panics on responses that it does not expect. The response is there
// all the same.
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

// refusedStep returns a *BatchError for a transaction of which the service refused one operation,
// or ErrUnknownOutcome.
func (t *Table) refusedStep(call *wire.Call, steps []step, f *wire.Failure) (wire.Outcome, error) {
	code := wire.RedactText(f.Code)
	re := &azcore.ResponseError{StatusCode: f.Status, ErrorCode: code, RawResponse: call.PartResponse(f.Status)}
	if wire.StatusOutcome(f.Status) == wire.Unknown {
		return wire.Unknown, errs.With(errs.ErrUnknownOutcome, re)
	}
	var err error = re
	if is := known(re); is != nil {
		err = t.missing(errs.With(is, re))
	}
	b := &errs.BatchError{Index: f.Index, Code: code, Err: err}
	if f.Index >= 0 {
		b.Key = readable(steps[f.Index].Key)
	}
	return wire.Refused, b
}

// WriteRow stores a derived row outside the transaction of its entity, in place of the version that
// has the ETag was, or as a new row if was is "". An operation ID is stored as it is, since that of
// a full copy is its entity's. Without an operation ID of its own, a write whose response is lost
// fails with ErrUnknownOutcome. 1 request.
func (t *Table) WriteRow(ctx context.Context, method string, r *stored.Row, was azcore.ETag) error {
	op := Op{Table: t.LibraryHandle(), Method: method, Kind: aztables.TransactionTypeUpdateReplace, Key: r.Key, Match: was}
	if was == "" {
		op.Kind = aztables.TransactionTypeAdd
	}
	w := edm.NewWriter(r.Key.PartitionKey(), r.Key.RowKey(), len(r.Columns()))
	for _, c := range stored.Without(r.Columns(), reserved.Incarnation, reserved.MaintainerState, reserved.Parts) {
		w.Put(c.Name, c.Value)
	}
	op.Body, op.Err = w.Finish()
	return op.Send(ctx)
}

// withID sets the operation ID of steps, which is stored in the rows that have one.
func withID(steps []step, id string) {
	var end *edm.Ending
	for i := range steps {
		s := &steps[i]
		s.id = nil
		if !s.StoresID {
			continue
		}
		if end == nil {
			end = idEnding(id)
		}
		s.id = end
	}
}

// step is an operation of a transaction.
type step struct {
	*Op                     // shared with other steps and the caller's Op, until own
	opIndex     int         // the caller's operation that the step is, or follows from; -1 for none
	derived     *derivedRow // nil for an operation of the caller's
	replannable bool        // the row was read for the operation, so that it may be planned again after a conflict
	head        *edm.Body   // of a wide entity, what is sent of Body in the head; nil if that is all of it
	id          *edm.Ending // of the write; nil if the row gets none
	shared      error       // of a row that others store without a condition, too: why it cannot be stored
}

// own gives the step an operation of its own. Whatever changes the operation calls it first.
func (s *step) own() {
	op := *s.Op
	s.Op = &op
}

// sent returns what is sent in the row of the step.
func (s *step) sent() *edm.Body {
	if s.head != nil {
		return s.head
	}
	return &s.Body
}

// encoded returns the JSON of the step's row.
func (s *step) encoded() []byte { return s.sent().JSON(s.id) }

// encodedForSDK returns the JSON of which the SDK makes an operation of a transaction. It addresses
// the row by the keys of the JSON, and does not double the quotes in them. The keys in the row's
// JSON are then wrong, but the service goes by the address.
func (s *step) encodedForSDK() []byte {
	body := *s.sent()
	switch {
	case s.inserts():
		return s.encoded()
	case s.deletes():
		body, _ = edm.NewWriter(s.Key.PartitionKey(), s.Key.RowKey(), 0).Finish() // without properties, there is no limit to exceed
	}
	if pk, rk := wire.Doubled(body.PartitionKey), wire.Doubled(body.RowKey); pk != body.PartitionKey || rk != body.RowKey {
		body = body.WithKeys(pk, rk)
	}
	return body.Append(make([]byte, 0, body.Length+8), s.id)
}
