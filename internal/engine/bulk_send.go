package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// bulkSender applies one batch.
type bulkSender struct {
	ctx      context.Context
	outside  context.Context // of the whole bulk: the rows of the next batch are read ahead below a span of their own
	group    *group
	pace     *bulkPace
	showing  *showing
	outcomes chan<- batchOutcome
	over     <-chan struct{} // no outcomes are taken any more
	more     bool            // the next transaction of the group follows at once
	reading  *nextRows       // rows that are read for it; nil for none
	resent   int             // deletes whose outcome was unknown were sent again so many times
	missing  bool            // a delete has found nothing
	exists   bool            // an insert has found a row
	refusal  error           // what has ended the batch, if it ends with errStopped
	left     []bulkOp        // what was too much for the transaction, and has not been sent
}

// errStopped is the end of a batch of which every outcome is delivered.
var errStopped = errors.New("stopped")

func (s *bulkSender) run(batch []bulkOp) {
	r := batchOutcome{group: s.group, end: true, err: errors.New("table: Bulk: its goroutine has ended too early")}
	defer func() {
		// What panics in a maintainer panics where Bulk was called.
		if v := recover(); v != nil {
			r.panics = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
		}
		s.reading.await(&s.group.ahead, r.err != nil || r.panics != nil)
		s.deliver(r)
	}()
	if r.err = s.send(batch); r.err == errStopped {
		r.err = nil
	}
	r.left = s.left
}

func (s *bulkSender) deliver(r batchOutcome) {
	select {
	case s.outcomes <- r:
	case <-s.over:
	}
}

// deliverRefusal delivers the outcome of a refused operation, and ends the batch unless Skip drops
// the operation.
func (s *bulkSender) deliverRefusal(i bulkOp, err error) error {
	answer := make(chan bool, 1)
	s.deliver(batchOutcome{refused: &i, err: err, answer: answer})
	select {
	case on := <-answer:
		if on {
			return nil
		}
	case <-s.over:
	}
	s.refusal = err
	return errStopped
}

// send applies a batch, but for the operations that are skipped or find nothing to delete. These
// are no failures of its span.
func (s *bulkSender) send(batch []bulkOp) (err error) {
	ctx, end := batch[0].op.Table.Span(s.ctx, "Bulk")
	s.outside, s.ctx = s.ctx, ctx
	defer func() {
		if err == errStopped {
			end(s.refusal)
		} else {
			end(err)
		}
	}()
	for len(batch) > 0 && err == nil {
		batch, err = s.sendOnce(batch)
	}
	return err
}

// sendOnce sends the operations of a batch that fit into one transaction. If the transaction fails,
// it returns those to send next.
func (s *bulkSender) sendOnce(batch []bulkOp) (next []bulkOp, err error) {
	batch, err = s.usable(batch)
	if err != nil || len(batch) == 0 {
		return nil, err
	}
	table := batch[0].op.Table
	s.reading.await(&s.group.ahead, false)
	s.reading = nil
	m, err := s.pace.wait(s.ctx, s.group.key)
	if err != nil {
		return nil, batch[0].fail(table.OpError("Bulk", keys.Key{}, err)) // nothing was sent
	}
	batch, taken, err := s.commit(batch, m)
	failed, large := blamed(err)
	switch {
	case err == nil:
		s.deliver(batchOutcome{done: batch[:taken:taken]})
		s.leave(batch[taken:])
		return nil, nil
	case failed != nil:
		return s.dropFailed(batch, failed)
	case large != nil && len(batch) > 1:
		fits := fitting(batch[:taken], large.Got-large.Max)
		s.leave(batch[fits:])
		return batch[:fits], nil
	case large != nil:
		return nil, s.deliverRefusal(batch[0], large)
	case isUnknown(err) && onlyDeletes(batch) && s.ctx.Err() == nil && s.resent+1 < Retry(table.Options.Retry).few():
		s.resent++
		s.leave(batch[taken:])
		return s.afterUnknownDeletes(batch[:taken:taken]), nil
	}
	return nil, batch[0].fail(err)
}

// usable returns the batch without the operations that cannot be sent. They are refused.
func (s *bulkSender) usable(batch []bulkOp) ([]bulkOp, error) {
	for i := 0; i < len(batch); {
		err := batch[i].op.Usable() // also for what has become of its entity since it was read
		if err == nil {
			i++
			continue
		}
		if err := s.deliverRefusal(batch[i], err); err != nil {
			return nil, err
		}
		batch = slices.Delete(slices.Clone(batch), i, i+1)
	}
	return batch, nil
}

// commit sends the first operations of a batch. It returns the batch without the deletes that find
// nothing, by the plan, and how many of it were sent.
func (s *bulkSender) commit(batch []bulkOp, m *meter) (left []bulkOp, taken int, err error) {
	ops := make([]*Op, len(batch))
	for i := range batch {
		ops[i] = batch[i].op
	}
	var gone []bulkOp
	passOver := func(i int, err error) bool {
		item := batch[i]
		if !item.op.deletes() || !ownError(err, errs.ErrNotFound) {
			return false
		}
		gone = append(gone, item)
		batch = slices.Delete(slices.Clone(batch), i, i+1)
		return true
	}
	taken, err = commitSome(context.WithValue(s.ctx, meterKey{}, m), "Bulk", ops, &s.group.ahead, s.showing, s.readNext, passOver)
	s.pace.charge(s.group.key, m)
	if len(gone) > 0 {
		s.deliver(batchOutcome{done: gone, missing: len(gone)})
	}
	return batch, taken, err
}

// readNext begins to read the rows of the next batch.
func (s *bulkSender) readNext(later []*Op) {
	if s.more {
		s.reading = s.group.ahead.readNext(s.outside, later)
	}
}

// leave leaves operations to another transaction.
func (s *bulkSender) leave(ops []bulkOp) { s.left = append(slices.Clip(ops), s.left...) }

// afterUnknownDeletes returns the deletes to send again if it is not known whether they were
// applied.
func (s *bulkSender) afterUnknownDeletes(batch []bulkOp) []bulkOp {
	left := s.withoutMissing(batch, 0) // if a row is gone now, most likely this delete has deleted it
	for _, item := range left {
		if item.op.Target != nil {
			item.op.Target.SetInDoubt(false) // the row is there, and goes by its ETag
		}
	}
	return left
}

func onlyDeletes(batch []bulkOp) bool {
	return !slices.ContainsFunc(batch, func(i bulkOp) bool { return !i.op.deletes() })
}

// ownError reports whether an operation has failed with an error that is not about a row that a
// maintainer derived.
func ownError(err, target error) bool {
	return errors.Is(err, target) && !errors.As(err, new(*errs.DerivedError))
}

// fail returns the error of Bulk because of the operation.
func (i bulkOp) fail(err error) error {
	return &errs.BatchError{Index: i.index, Key: readable(i.op.Key), Err: err}
}

// fitting returns how many operations of the batch fit if it is too large by so many bytes.
func fitting(batch []bulkOp, excess int) int {
	n := len(batch)
	for n > 1 && (excess > 0 || n == len(batch)) {
		n--
		excess -= leastHeaders + batch[n].op.Body.Length
	}
	return n
}

// blamed returns the operation because of which a transaction failed, or the limit on its size. It
// returns neither for a failed outbox and for an unknown outcome.
func blamed(err error) (failed *errs.BatchError, large *errs.LimitError) {
	var oe *errs.OpError
	if !errors.As(err, &oe) || isUnknown(err) {
		return nil, nil
	}
	if failed, _ = oe.Err.(*errs.BatchError); failed != nil && failed.Index >= 0 {
		return failed, nil
	}
	if !errors.Is(err, errs.ErrOutbox) && !errs.IsUserCode(err) {
		errors.As(err, &large)
	}
	return nil, large
}

// dropFailed returns the batch without the operation that failed, or with a new operation in its
// place.
func (s *bulkSender) dropFailed(batch []bulkOp, failed *errs.BatchError) ([]bulkOp, error) {
	item := batch[failed.Index]
	rest := slices.Delete(slices.Clone(batch), failed.Index, failed.Index+1)
	var derived *errs.DerivedError
	switch {
	case errors.As(failed.Err, &derived) && errors.Is(failed.Err, errs.ErrDuplicateRow) && len(batch) > 1:
		// It derives a row that another operation of the batch writes: the two go into separate
		// transactions.
		at := max(failed.Index, 1)
		s.leave(batch[at:])
		return batch[:at], nil
	case item.op.inserts() && ownError(failed.Err, errs.ErrExists):
		err := s.deliverRefusal(item, failed.Err)
		if err == nil && s.exists {
			rest, err = s.withoutExisting(rest, failed.Err)
		}
		s.exists = true
		return rest, err
	case item.op.deletes() && ownError(failed.Err, errs.ErrNotFound):
		s.deliver(batchOutcome{done: []bulkOp{item}, missing: 1})
		if s.missing {
			rest = s.withoutMissing(rest, 1)
		}
		s.missing = true
		return rest, nil
	case item.op.deletes() && ownError(failed.Err, errs.ErrChanged) && item.op.Remake != nil && item.conflicts+1 < item.op.Table.Options.Retry.ConflictAttempts:
		return s.remade(item, rest, failed)
	}
	return rest, s.deliverRefusal(item, failed.Err)
}

// remade returns the rest of a batch with a new operation in the place of a delete whose row has
// changed.
func (s *bulkSender) remade(item bulkOp, rest []bulkOp, failed *errs.BatchError) ([]bulkOp, error) {
	op, there, err := item.op.Remake(s.ctx)
	switch {
	case err != nil:
		return nil, item.fail(err)
	case !there:
		s.deliver(batchOutcome{done: []bulkOp{item}, missing: 1})
		return rest, nil
	}
	again := bulkOp{index: item.index, op: op, conflicts: item.conflicts + 1}
	op.Table.Log("Bulk", op.Key).Conflict(s.ctx, again.conflicts, 0, failed.Err)
	return slices.Insert(rest, failed.Index, again), nil
}

// withoutMissing returns the batch without the deletes whose rows do not exist, as far as one page
// shows it. Each of them is done, and counts as missing so many times. 1 request.
func (s *bulkSender) withoutMissing(batch []bulkOp, missing int) (left []bulkOp) {
	there, known := s.existing(batch, aztables.TransactionTypeDelete, missing > 0)
	var gone []bulkOp
	for _, i := range batch {
		if rk := i.op.Key.RowKey(); i.op.deletes() && known(rk) && !there[rk] {
			gone = append(gone, i)
		} else {
			left = append(left, i)
		}
	}
	if len(gone) > 0 {
		s.deliver(batchOutcome{done: gone, missing: missing * len(gone)})
	}
	return left
}

// withoutExisting returns the batch without the inserts whose rows exist, as far as one page shows
// it. They are refused with the same error as an insert before them. 1 request.
func (s *bulkSender) withoutExisting(batch []bulkOp, refusal error) (left []bulkOp, err error) {
	there, known := s.existing(batch, aztables.TransactionTypeAdd, true)
	for _, i := range batch {
		if rk := i.op.Key.RowKey(); !i.op.inserts() || !known(rk) || !there[rk] {
			left = append(left, i)
		} else if err := s.deliverRefusal(i, refusal); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// existing queries which rows of the operations of a kind exist. known(rk) reports whether the
// query covered the row: it covers none if it fails, or if the batch has one such row and few is
// set. 1 request.
func (s *bulkSender) existing(batch []bulkOp, kind aztables.TransactionType, few bool) (there map[string]bool, known func(rk string) bool) {
	nothing := func(string) bool { return false }
	from, to := bounds(batch, kind)
	if from == (keys.Key{}) || from == to && few {
		return nil, nothing
	}
	filter := fmt.Sprintf("%s eq %s and %s ge %s and %s le %s", edm.PartitionKey, edm.Quote(from.PartitionKey()),
		edm.RowKey, edm.Quote(from.RowKey()), edm.RowKey, edm.Quote(to.RowKey()))
	p := batch[0].op.Table.pages(filter, edm.PartitionKey+","+edm.RowKey+","+reserved.Mark)
	body, err := p.page(s.ctx, query.MaxPage)
	if err != nil {
		return nil, nothing // they will tell themselves
	}
	last := ""
	there = map[string]bool{}
	marked := map[string]bool{} // only their own operations find out
	r := edm.NewReader(body)
	if err := r.Page(func(e edm.Entity) bool {
		last = e.RowKey
		text, err := r.Property(reserved.Mark)
		_, is := stored.MarkOf(text)
		there[last], marked[last] = true, is || err != nil
		return true
	}); err != nil {
		return nil, nothing
	}
	return there, func(rk string) bool { return !marked[rk] && (!p.more() || keys.Compare(rk, last) <= 0) }
}

// bounds returns the least and the greatest key of the operations of a kind, zero keys if there are
// none.
func bounds(batch []bulkOp, kind aztables.TransactionType) (from, to keys.Key) {
	for _, i := range batch {
		if i.op.Kind != kind {
			continue
		}
		k := i.op.Key
		if from == (keys.Key{}) || keys.Compare(k.RowKey(), from.RowKey()) < 0 {
			from = k
		}
		if to == (keys.Key{}) || keys.Compare(k.RowKey(), to.RowKey()) > 0 {
			to = k
		}
	}
	return from, to
}

// What the service promises to take in a second, of an account and of a partition.
const (
	accountRate   = 20_000
	partitionRate = 2_000
)

// bulkPace limits how many rows bulk work writes in a second, in all and in each partition. A
// partition has its debt until it is paid, whether it has operations or not.
type bulkPace struct {
	all *pace.Limit

	mu         sync.Mutex
	partition  int // 0 for no limit
	partitions map[groupKey]*pace.Limit
}

// slowDown sets the limits that the user has not set.
func (p *bulkPace) slowDown() {
	p.all.AtMost(accountRate)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.partition == 0 {
		p.partition = partitionRate
		clear(p.partitions) // they have no limit
	}
}

// limit returns the limit of a partition.
func (p *bulkPace) limit(k groupKey) *pace.Limit {
	const many = 10_000
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.partitions[k]
	if l == nil {
		if len(p.partitions) >= many {
			for k, l := range p.partitions {
				if l.Paid() {
					delete(p.partitions, k)
				}
			}
		}
		l = pace.New(p.partition)
		p.partitions[k] = l
	}
	return l
}

// wait waits until the rows of a partition's earlier transactions are paid for. It returns the
// meter of the next one.
func (p *bulkPace) wait(ctx context.Context, k groupKey) (*meter, error) {
	err := p.limit(k).Wait(ctx)
	if err == nil {
		err = p.all.Wait(ctx)
	}
	return new(meter), err
}

// charge takes the rows of a transaction, rows of maintainers included.
func (p *bulkPace) charge(k groupKey, m *meter) {
	if m.busy.Load() {
		p.slowDown()
	}
	p.limit(k).Charge(int(m.rows.Load()))
	p.all.Charge(int(m.rows.Load()))
}
