package logtail

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Append stores a value as the newest record of the writer. If a response is lost, the library sends the record again under the same
// key, so that it is stored once.
//
//	r, err := claims.Append(ctx, &Claim{Employee: 223, Amount: 17})
//
// Errors: table.ErrUnknownOutcome with the record, which [Log.Resend] appends again without a second copy; table.ErrTableNotFound;
// *table.LimitError, *table.ValueError and *keys.KeyError before any request. 1 request.
func (l *Log[T]) Append(ctx context.Context, v *T) (*Record[T], error) {
	rs, err := l.prepare([]*T{v})
	if err != nil {
		return nil, fmt.Errorf("logtail: Append %s: %w", l.rows.Name(), err)
	}
	if err := l.store(ctx, rs[0]); err != nil {
		return rs[0], err
	}
	return rs[0], nil
}

// AppendAll stores values as the newest records of the writer, in their order, in transactions of 100, or as many as have 4 MiB. Each
// transaction is in one partition. Several transactions are not all or nothing.
//
// Errors: those of Append, in a *bulk.Error whose Index is the first value that may not be stored. AppendAll then returns all records;
// [Log.Resend] appends those that are not stored. Requests: 1 for each transaction.
func (l *Log[T]) AppendAll(ctx context.Context, values ...*T) ([]*Record[T], error) {
	rs, err := l.prepare(values)
	if err != nil {
		return nil, fmt.Errorf("logtail: AppendAll %s: %w", l.rows.Name(), err)
	}
	return rs, l.storeAll(ctx, rs)
}

// Resend stores records that Append or AppendAll has returned with an error. A record that is stored already stays as it is.
//
// Errors are those of AppendAll. Requests: those of AppendAll; up to 5 more for each transaction of which a record is stored, and 1
// for each such record. Idempotent.
func (l *Log[T]) Resend(ctx context.Context, records ...*Record[T]) error {
	if len(records) == 1 {
		return l.store(ctx, records[0])
	}
	return l.storeAll(ctx, records)
}

// maxBatch is the most records of a transaction.
const maxBatch = 100

// prepare returns records with the next keys of the writer. Each 100 records have one partition.
func (l *Log[T]) prepare(values []*T) ([]*Record[T], error) {
	for _, v := range values {
		if v == nil {
			return nil, &table.ValueError{Field: "value", Reason: "is nil"}
		}
	}
	if err := l.source.Err(); err != nil {
		return nil, err
	}
	p, err := l.writer.next(len(values))
	if err != nil {
		return nil, err
	}
	rs := make([]*Record[T], len(values))
	var partition keys.Enc
	for i, v := range values {
		if i%maxBatch == 0 {
			partition = l.partition(l.bucket(p.after(i)))
		}
		rs[i] = l.record(partition, p.after(i), v)
	}
	return rs, nil
}

// bucket returns the number of the partition that a record and those after it are stored in.
func (l *Log[T]) bucket(p position) int {
	if l.opt.Spread == 1 {
		return 0
	}
	h := fnv.New32a()
	fmt.Fprint(h, p.writer, p.sequence)
	return int(h.Sum32() % uint32(l.opt.Spread))
}

// store stores a record. No other record has its key, so a row with the key is the record itself.
func (l *Log[T]) store(ctx context.Context, r *Record[T]) error {
	_, err := l.rows.InsertAt(ctx, r.Key, &r.Value)
	if !errors.Is(err, table.ErrExists) {
		return err
	}
	return l.confirm(ctx, r, err)
}

// storeAll stores records in transactions.
func (l *Log[T]) storeAll(ctx context.Context, rs []*Record[T]) error {
	refused := map[int]error{}
	_, err := bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		for _, r := range rs {
			if !yield(l.rows.InsertAtOp(r.Key, &r.Value), nil) {
				return
			}
		}
	}, &bulk.Options{Skip: func(i int, err error) bool {
		exists := errors.Is(err, table.ErrExists)
		if exists {
			refused[i] = err
		}
		return exists
	}})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	for i, refusal := range refused {
		group.Go(func() error { return l.confirm(ctx, rs[i], refusal) })
	}
	return group.Wait()
}

// confirm returns nil if a record is stored, as a refusal says.
func (l *Log[T]) confirm(ctx context.Context, r *Record[T], refusal error) error {
	is, err := l.rows.Exists(ctx, r.Key)
	if err == nil && !is {
		return refusal
	}
	return err
}
