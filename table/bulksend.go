package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// begin sends what is ready, or where flush says so whatever waits, as far as the width allows.
func (b *bulk) begin(flush bool) {
	for b.err == nil && b.running < b.opt.Width && b.beginOne(flush) {
	}
}

func (b *bulk) beginOne(flush bool) bool {
	g := b.next(flush)
	if g == nil {
		return false
	}
	batch := g.batches[0]
	g.batches = g.batches[1:]
	for _, i := range batch {
		b.held--
		b.bytes -= len(i.op.body)
	}
	b.running++
	s := &bulkSender{ctx: b.ctx, group: g, reports: b.reports, over: b.over}
	go s.run(batch)
	return true
}

// take notes a report. Everything that the work counts and decides happens here, in the goroutine that reads the stream.
func (b *bulk) take(r report) {
	for _, i := range r.settled {
		b.settle(i)
	}
	b.result.Missing += r.missing
	b.result.Done += len(r.settled) - r.missing
	if r.refused != nil {
		on := b.err == nil && b.opt.Skip != nil && b.opt.Skip(r.refused.index, r.err)
		if on {
			b.settle(*r.refused)
			b.result.Skipped++
		} else {
			b.fail(&BulkError{Index: r.refused.index, Key: readable(r.refused.op.key), Err: r.err})
		}
		if r.answer != nil {
			r.answer <- on
		}
	} else if r.err != nil {
		b.fail(r.err)
	}
	if r.end {
		b.running--
		r.group.busy = false
		b.queue(r.group)
	}
	if len(r.settled) > 0 && b.opt.Progress != nil {
		b.opt.Progress(b.result)
	}
}

// settle notes that nothing more is to be done about an operation.
func (b *bulk) settle(i bulkOp) {
	b.ahead[i.index] = true
	for b.ahead[b.result.Unconfirmed] {
		delete(b.ahead, b.result.Unconfirmed)
		b.result.Unconfirmed++
	}
}

// bulkSender carries out one batch.
type bulkSender struct {
	ctx     context.Context
	group   *group
	reports chan<- report
	over    <-chan struct{} // nobody takes reports any more
	missing bool            // a delete has found nothing
}

// errStopped is the end of a batch of which everything is reported.
var errStopped = errors.New("stopped")

func (s *bulkSender) run(batch []bulkOp) {
	err := s.send(batch)
	if err == errStopped {
		err = nil
	}
	s.report(report{group: s.group, err: err, end: true})
}

func (s *bulkSender) report(r report) {
	select {
	case s.reports <- r:
	case <-s.over:
	}
}

// refused tells of an operation that was refused, and ends the batch unless it is to be skipped.
func (s *bulkSender) refused(i bulkOp, err error) error {
	answer := make(chan bool, 1)
	s.report(report{refused: &i, err: err, answer: answer})
	select {
	case on := <-answer:
		if on {
			return nil
		}
	case <-s.over:
	}
	return errStopped
}

// send carries out a batch, but for the operations that are skipped or find nothing to delete.
func (s *bulkSender) send(batch []bulkOp) error {
	for round := 1; len(batch) > 0; {
		ops := make([]Op, len(batch))
		deletes := true
		for i, item := range batch {
			ops[i] = item.op
			deletes = deletes && item.op.kind == aztables.TransactionTypeDelete
		}
		c := ops[0].core
		_, err := c.commit(s.ctx, "Bulk", keys.Key{}, ops, true)
		var large *LimitError
		var be *BatchError
		switch {
		case err == nil:
			s.report(report{settled: batch})
			return nil
		case errors.As(err, &be) && be.Index >= 0:
			item := batch[be.Index]
			rest := slices.Delete(slices.Clone(batch), be.Index, be.Index+1)
			if item.op.kind != aztables.TransactionTypeDelete || !errors.Is(err, ErrNotFound) {
				if err := s.refused(item, be.Err); err != nil {
					return err
				}
			} else if s.report(report{settled: []bulkOp{item}, missing: 1}); deletes && s.missing {
				rest = s.withoutMissing(rest)
			} else {
				s.missing = true
			}
			batch = rest
		case errors.As(err, &large) && len(batch) > 1:
			if err := s.send(batch[:len(batch)/2]); err != nil {
				return err
			}
			batch = batch[len(batch)/2:]
		case errors.As(err, &large):
			return s.refused(batch[0], large)
		case unknown(err) && deletes && s.ctx.Err() == nil && round < c.opt.Retry.Rounds:
			round++ // what is gone is gone, whoever has deleted it
			batch = s.withoutMissing(batch)
		default:
			return &BulkError{Index: batch[0].index, Key: readable(batch[0].op.key), Err: err}
		}
	}
	return nil
}

// withoutMissing are the deletes of a batch whose rows are there, as far as one page tells. 1 request.
func (s *bulkSender) withoutMissing(batch []bulkOp) (left []bulkOp) {
	if len(batch) == 0 {
		return nil
	}
	byRow := func(a, b bulkOp) int { return keys.Compare(a.op.key.RowKey(), b.op.key.RowKey()) }
	from, to := slices.MinFunc(batch, byRow).op.key, slices.MaxFunc(batch, byRow).op.key
	filter := fmt.Sprintf("%s eq %s and %s ge %s and %s le %s", edm.PartitionKey, edm.Quote(from.PartitionKey()),
		edm.RowKey, edm.Quote(from.RowKey()), edm.RowKey, edm.Quote(to.RowKey()))
	p := &pager[Row]{t: &Table[Row]{core: *batch[0].op.core.plain()}, filter: filter, choice: edm.RowKey, stats: new(Stats), at: new(position)}
	body, err := p.page(s.ctx, maxPage)
	if err != nil {
		return batch // they will tell themselves
	}
	there, last := map[string]bool{}, ""
	if err := edm.NewReader(body).Page(func(e edm.Entity) bool { last = e.RowKey; there[last] = true; return true }); err != nil {
		return batch
	}
	var gone []bulkOp
	for _, i := range batch {
		if rk := i.op.key.RowKey(); there[rk] || p.more() && keys.Compare(rk, last) > 0 {
			left = append(left, i)
		} else {
			gone = append(gone, i)
		}
	}
	s.report(report{settled: gone, missing: len(gone)})
	return left
}

// deletes are the operations that delete the rows of a query. Maintainers must see rows as a whole.
func (t *Table[T]) deletes(ctx context.Context, q Query[T]) iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		read := t.decode
		choice := ""
		if len(t.maintainers) == 0 {
			choice = t.choose(ixProperty) // by which DeleteOp sees that it should have maintainers
			read = func(r *edm.Reader, in edm.Entity) (*Entity[T], bool, error) {
				mine, err := t.ownsAny(r, in)
				return &Entity[T]{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), raw: in.Raw}, mine, err
			}
		}
		for e, err := range list(t, ctx, "DeleteQuery", q, choice, true, read) {
			if err != nil {
				yield(Op{}, err)
				return
			}
			if !yield(t.DeleteOp(e), nil) {
				return
			}
		}
	}
}
