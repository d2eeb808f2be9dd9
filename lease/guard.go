package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Partition is a partition that the holder of a lease has entered. Its method can be called at the
// same time.
type Partition struct {
	lease *Lease
	rows  *table.Table[table.Row]
	key   keys.Key // of the guard
	lost  error
}

// In enters a partition of data: it stores the holder's fence there, and deletes the guard of the
// holder before, whose writes with [Partition.Guard] the service refuses from then on. Enter each
// partition once, and keep what In returns.
//
//	sales, err := held.In(ctx, staff, dept.Of("Sales"))
//	_, err = table.Transact(ctx, sales.Guard(), staff.ReplaceOp(jones))
//
// A partition has two rows for each lease whose holders have entered it, and keeps them:
// ~h|NAME|head and ~h|NAME|TOKEN. Each partition can have any number of leases.
//
// Errors:
//   - [ErrLost] if the lease is lost, and if a later holder has entered
//   - *[RestoredError]
//   - *keys.KeyError for a wrong key
//   - *table.ValueError for a nil table
//   - the mistake of a table that was declared wrong
//   - *table.DecodeError for rows that cannot be used
//   - errors of a read and of a write (see package table)
//
// Requests: 2, and 1 if this holder has entered already. Idempotent.
func (l *Lease) In(ctx context.Context, t table.Handle, partition keys.PartitionKey) (_ *Partition, err error) {
	h := door.Table(t)
	if err := engine.CheckHandle("t", h); err != nil {
		return nil, fmt.Errorf("lease: In: %w", err)
	}
	pk, err := partition.Result()
	if err != nil {
		return nil, h.OpError("In", keys.Key{}, err)
	}
	ctx, end := h.Span(ctx, "In")
	defer func() { end(err) }()
	prefix := reserved.Holder + l.name + "|"
	g := &Partition{lease: l, key: keys.Raw(pk, prefix+guardOf(l.fence)), lost: l.overtaken(h.Name, pk)}
	g.rows = door.InMode(door.Rows[table.Table[table.Row]](h, false), func(m *engine.Mode) { m.Guard = (*holder)(l) })
	e := entering{to: g, head: keys.Raw(pk, prefix+headKey), prefix: prefix}
	conflicts := h.Options.NewConflicts()
	for {
		in, err := e.attempt(ctx)
		switch {
		case in && err == nil:
			return g, nil
		case in, err != nil && !isOpen(err):
			return nil, err
		}
		again, ended := conflicts.Wait(ctx, h.Log("In", g.key), err)
		if !again {
			return nil, errors.Join(err, ended)
		}
	}
}

// headKey ends the RowKey of the row with the fence of the last holder that has entered. It is
// never deleted.
const headKey = "head"

// mostFence is a number above all fences.
const mostFence = math.MaxInt64

// guardOf ends the RowKey of the guard of a holder.
func guardOf(fence int64) string { return fmt.Sprintf("%019d", fence) }

// overtaken returns the error of a write after a later holder has entered.
func (l *Lease) overtaken(tableName, partition string) error {
	return l.lost(fmt.Sprintf("a later holder has entered the partition %q of table %s", partition, tableName))
}

// entering is the entry of a holder into a partition.
type entering struct {
	to     *Partition
	head   keys.Key
	prefix string

	// What was read.
	fence   int64       // of the head, 0 if there is none
	mine    bool        // the head is of this acquisition
	etag    azcore.ETag // of the head
	guards  []keys.Key  // of holders before
	present bool        // the holder's guard is there
	greater int64       // the greatest fence of all
}

// attempt reads the head and the guards, and enters unless the holder is in. Requests: 2, and 1 if
// it is in.
func (e *entering) attempt(ctx context.Context) (in bool, err error) {
	g := e.to
	l, h := g.lease, door.Table(g.rows)
	if err := l.Err(); err != nil {
		return false, err
	}
	if err := e.read(ctx); err != nil {
		return false, h.OpError("In", e.head, err)
	}
	switch {
	case e.greater > l.fence, e.fence == l.fence && !e.mine:
		return false, l.explainGreater(ctx, h.Name, e.head.PartitionKey(), e.greater)
	case e.mine && e.present:
		return true, l.Err()
	}
	_, _, err = engine.Commit(ctx, engine.Together{Method: "In", Key: e.head, Ops: e.ops(h)})
	return err == nil, err
}

// read reads the head and the guards. 1 request.
func (e *entering) read(ctx context.Context) error {
	e.fence, e.mine, e.etag, e.guards, e.present, e.greater = 0, false, "", nil, false, 0
	q := table.Query[table.Row]{Partition: keys.RawPartition(e.head.PartitionKey()), Rows: keyrange.Stored(e.prefix, strings.TrimSuffix(e.prefix, "|")+"}")}
	for r, err := range e.to.rows.Rows(ctx, q) {
		if err != nil {
			return err
		}
		if err := e.add(r); err != nil {
			return err
		}
	}
	return nil
}

// add adds a row that was read.
func (e *entering) add(r *table.Row) error {
	end := strings.TrimPrefix(r.Key.RowKey(), e.prefix)
	if end == headKey {
		fence, _ := r.Get(propertyFence)
		n, is := fence.(int64)
		e.fence = n
		if !is || n < 1 {
			return &table.DecodeError{Field: propertyFence, Reason: fmt.Sprintf("of row %s is %v; it must be an Edm.Int64 above 0", r.Key.RowKey(), fence)}
		}
		nonce, _ := r.Get(propertyNonce)
		e.etag, e.mine = r.ETag, nonce == e.to.lease.nonce
		e.greater = max(e.greater, e.fence)
		return nil
	}
	fence, err := strconv.ParseInt(end, 10, 64)
	if err != nil || fence < 0 || guardOf(fence) != end {
		return &table.DecodeError{Field: "row " + r.Key.RowKey(), Reason: "is no guard of a lease, but has the key of one; delete it"}
	}
	e.greater = max(e.greater, fence)
	if fence == e.to.lease.fence {
		e.present = true
	} else {
		e.guards = append(e.guards, r.Key)
	}
	return nil
}

// ops returns the operations that enter: the head by its ETag first, so that a late copy of the
// request is refused.
func (e *entering) ops(h *engine.Table) []*engine.Op {
	head := &engine.Op{Table: h, Method: "In", Kind: aztables.TransactionTypeUpdateReplace, Key: e.head, Match: e.etag, StoresID: true}
	if e.fence == 0 {
		head.Kind = aztables.TransactionTypeAdd
	}
	l := e.to.lease
	w := edm.NewWriter(e.head.PartitionKey(), e.head.RowKey(), 2)
	w.Put(propertyFence, edm.Value{Kind: edm.Int64, I: l.fence})
	w.Put(propertyNonce, edm.Value{Kind: edm.String, S: l.nonce})
	head.Body, head.Err = w.Finish()
	ops := []*engine.Op{head}
	for _, k := range e.guards {
		ops = append(ops, &engine.Op{Table: h, Method: "In", Kind: aztables.TransactionTypeDelete, Key: k, Match: azcore.ETagAny})
	}
	if !e.present {
		ops = append(ops, e.to.write(h, aztables.TransactionTypeAdd, ""))
	}
	return ops
}

// write returns an operation on the guard, which has no properties but the operation ID.
func (p *Partition) write(h *engine.Table, kind aztables.TransactionType, match azcore.ETag) *engine.Op {
	op := &engine.Op{Table: h, Method: "Guard", Kind: kind, Key: p.key, Match: match, StoresID: true}
	op.Body, op.Err = edm.NewWriter(p.key.PartitionKey(), p.key.RowKey(), 0).Finish()
	return op
}

// explainGreater returns why a holder cannot enter a partition that one with a greater fence has
// entered. If the row of the lease is still this holder's, the fences of the table of leases are
// not those that the partition has seen.
func (l *Lease) explainGreater(ctx context.Context, tableName, partition string, entered int64) error {
	r, err := l.leases.read(ctx, "In", l.name)
	switch {
	case err != nil:
		return err
	case r.nonce != l.nonce || r.released:
		_ = l.end("another holder has it")
		return l.overtaken(tableName, partition)
	}
	return &RestoredError{Name: l.name, Fence: l.fence, Table: tableName, Partition: partition, Entered: entered}
}

// Guard returns an operation for [table.Transact] and the other functions that write one
// transaction, beside operations on entities of the partition, of any types and definitions of its
// table. The service refuses the transaction as a whole once a later holder has entered the
// partition, and the library sends it only while this holder may believe in its lease. Several
// transactions of one holder do not refuse each other.
//
// The error of the refused transaction is [ErrLost]; after a lost request or response it is
// table.ErrUnknownOutcome. Give Guard first: if several operations are refused, the service reports
// the first. It takes one of the 100 operations of a transaction, and no request. [table.Bulk]
// refuses it, because it divides its operations into several transactions.
func (p *Partition) Guard() table.Op {
	made := p.rows.DeleteAnyOp(p.key)
	op := p.write(door.Table(p.rows), aztables.TransactionTypeUpdateMerge, azcore.ETagAny)
	op.Absent = p.lost
	*door.Op(made) = *op
	return made
}
