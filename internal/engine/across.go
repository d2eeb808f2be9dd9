package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// MostPartitions is how many partitions a transaction may have.
const MostPartitions = 10

// ReserveOp returns an operation that keeps a row absent while a transaction over several
// partitions is under way.
func (t *Table) ReserveOp(method string, k keys.Key) *Op {
	op := &Op{Table: t, Method: method, Kind: aztables.TransactionTypeAdd, Key: k, Keeps: KeepsAbsent}
	op.Body, op.Err = edm.NewWriter(k.PartitionKey(), k.RowKey(), 0).Finish()
	return op
}

// PinOp returns an operation that changes nothing, and goes by the ETag of a row.
func (t *Table) PinOp(method string, k keys.Key, etag azcore.ETag) *Op {
	op := &Op{Table: t, Method: method, Kind: aztables.TransactionTypeUpdateMerge, Key: k, Match: etag, Keeps: KeepsRow}
	op.Body, op.Err = edm.NewWriter(k.PartitionKey(), k.RowKey(), 0).Finish()
	return op
}

// Together is operations that are applied together, all or none of them.
type Together struct {
	Method string
	Key    keys.Key // that the error names; the zero key for none
	Ops    []*Op

	// Exact stores a commit record also if there is one partition.
	Exact bool

	// First is prepared before the other partitions, and is not the home if another has an operation
	// that is no reservation, unless its rows fit into the home only; zero for none.
	First commit.Place
}

// Commit applies operations in partitions of one or several tables of a service, at most
// MostPartitions. If there are several partitions, each operation is an insert, goes by an ETag, or
// is of ReserveOp. etags are those of the home's operations. After an error, refusedIn is the
// partition whose transaction was not applied; zero if none was sent.
//
// If there is one partition, and no reservation, it is one transaction. Otherwise all partitions
// but the home are prepared; the rows of pins and reservations are prepared as well, so that they
// stay as they are until the write has ended. In the home, a pin is a part of the transaction that
// commits. Reservations in the home are prepared before, as in any other partition.
func Commit(ctx context.Context, c Together) (etags []azcore.ETag, refusedIn commit.Place, err error) {
	w := write{table: c.Ops[0].Table, method: c.Method, exact: c.Exact}
	w.first = c.First
	w.asTransaction = c.Ops[0].Counterpart == nil // a move is one operation of the caller's
	if err := w.assign(c.Ops); err != nil {
		return nil, commit.Place{}, w.table.OpError(c.Method, c.Key, err)
	}
	etags, err = w.execute(ctx, c.Key)
	if c.First != (commit.Place{}) && !w.begun && errors.As(err, new(*errs.LimitError)) {
		c.First = commit.Place{} // into another partition than the home, fewer rows fit
		return Commit(ctx, c)
	}
	return etags, w.refusedIn, err
}

// overPartitions is what a write over several partitions is besides, and a write that is one of its
// participants.
type overPartitions struct {
	participantOps    []*Op        // the caller's in other partitions than the home
	participantWrites []*write     // of this write, in other partitions
	only              string       // the partition, if the operations do not tell it
	first             commit.Place // is prepared before the others; zero for none
	refusedIn         commit.Place // whose transaction was last not applied; zero for none
	home              *write       // of a participant
}

// assign gives the write its home and the operations there, and the operations in other partitions.
func (w *write) assign(ops []*Op) error {
	if inOnePartition(ops) {
		w.ops = ops
		return nil
	}
	all, err := byPartition(ops)
	if err != nil {
		return err
	}
	home, err := homeOf(all, w.first)
	if err != nil {
		return err
	}
	w.table, w.outbox, w.only = home.table, home.table.Mode.Outbox, home.at
	for _, p := range all {
		for _, op := range p.ops {
			if p == home && op.Keeps != KeepsAbsent {
				w.ops = append(w.ops, op)
			} else {
				w.participantOps = append(w.participantOps, op)
			}
		}
	}
	return nil
}

// inOnePartition reports whether operations are of one partition, and none reserves a row.
func inOnePartition(ops []*Op) bool {
	first := ops[0]
	return !slices.ContainsFunc(ops, func(op *Op) bool {
		return op.Keeps == KeepsAbsent || op.Key.PartitionKey() != first.Key.PartitionKey() || !op.Table.Same(first.Table)
	})
}

// candidate is the operations of a write in one partition, which may be its home.
type candidate struct {
	table    *Table
	at       string // the partition
	ops      []*Op
	writes   bool // an operation changes a row
	pins     bool
	reserves bool
	changes  int  // of rows that have a content before and after: not in the home, each is two rows
	whole    bool // an operation replaces or deletes a wide entity, whose parts are rows, too
}

// byPartition returns operations by their partitions, in the order in which these come first.
func byPartition(ops []*Op) (all []*candidate, err error) {
	for _, op := range ops {
		if op.Key.Err() != nil { // the marks of the write name the rows
			return nil, op.Key.Err()
		}
		i := slices.IndexFunc(all, func(p *candidate) bool { return p.at == op.Key.PartitionKey() && p.table.Same(op.Table) })
		if i < 0 {
			i = len(all)
			all = append(all, &candidate{table: op.Table, at: op.Key.PartitionKey()})
		}
		all[i].add(op)
	}
	if len(all) > MostPartitions {
		return nil, &errs.LimitError{Limit: "partitions of a transaction", Got: len(all), Max: MostPartitions}
	}
	return all, nil
}

func (p *candidate) add(op *Op) {
	p.ops = append(p.ops, op)
	p.pins, p.reserves = p.pins || op.Keeps == KeepsRow, p.reserves || op.Keeps == KeepsAbsent
	if op.Keeps != "" {
		return
	}
	p.writes = true
	if !op.inserts() && !op.deletes() {
		p.changes++
	}
	p.whole = p.whole || op.Table.wide() && !op.inserts()
}

// mostChangesBeside is how many rows may change in a partition that is not the home: each is two
// rows there, beside one more.
const mostChangesBeside = 49

// asHome returns the rank of a partition as home: changes of a wide entity, then what fits nowhere
// else, then some operation of its own, then not what is to be prepared first, then writes, then a
// transaction less, then fewer rows.
func (p *candidate) asHome(first commit.Place) []int {
	rank := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	later := !p.place().Same(first)
	return []int{
		rank(p.whole), rank(p.changes > mostChangesBeside), rank(p.writes || p.pins),
		rank(later), rank(p.writes), rank(!p.reserves), p.changes, rank(p.pins),
	}
}

func (p *candidate) place() commit.Place { return commit.Place{Table: p.table.Name, Partition: p.at} }

// homeOf returns where the commit record is: the first partition of the highest rank. It refuses
// what no commit record covers.
func homeOf(all []*candidate, first commit.Place) (*candidate, error) {
	home := slices.MaxFunc(all, func(a, b *candidate) int { return slices.Compare(a.asHome(first), b.asHome(first)) })
	outbox := home.table.Mode.Outbox
	for _, p := range all {
		switch {
		case p == home:
		case p.whole:
			return nil, &errs.ValueError{Field: "operation", Reason: fmt.Sprintf("changes a wide entity in partition %q of table %s, and the transaction changes one in partition %q of table %s: only one partition of a transaction may have changes of wide entities", p.at, p.table.Name, home.at, home.table.Name)}
		case !p.table.SameService(home.table):
			return nil, &errs.ValueError{Field: "table", Reason: fmt.Sprintf("%s is of another service than %s, so that no commit record covers both; give tables of one store", p.table.Name, home.table.Name)}
		case !p.table.Knows(home.table.Name):
			return nil, &errs.ValueError{Field: "table", Reason: fmt.Sprintf("%s is not of the store of table %s; give tables of one store", p.table.Name, home.table.Name)}
		}
	}
	if wire.IsNil(outbox) {
		return nil, &errs.ValueError{Field: "outbox", Reason: "is missing: declare the table by aztablekit.Table, so that workers finish the transactions of crashed programs"}
	}
	for _, p := range all {
		if o := p.table.Mode.Outbox; wire.IsNil(o) || !SameOutbox(o, outbox) {
			return nil, &errs.ValueError{Field: "outbox", Reason: fmt.Sprintf("of table %s is not that of table %s; give tables of one store", p.table.Name, home.table.Name)}
		}
	}
	return home, nil
}

// replaceWhole makes a merge a replacement: a row that is prepared gets a whole new content.
func (s *step) replaceWhole() error {
	if !s.merges() || s.Keeps == KeepsRow {
		return nil
	}
	after, err := s.contentAfter(unassignedEnding)
	if err != nil {
		return err
	}
	columns, err := after.Decoded()
	if err != nil {
		return err
	}
	if columns == nil {
		return fmt.Errorf("the row %v would be merged without its content", s.Key)
	}
	s.own()
	s.Kind = aztables.TransactionTypeUpdateReplace
	w := edm.NewWriter(s.Key.PartitionKey(), s.Key.RowKey(), len(columns))
	for _, c := range columns {
		if c.Name != reserved.OperationID {
			w.PutColumn(c)
		}
	}
	if s.StoresID {
		w.Reserve(stored.UnassignedID)
	}
	s.Body, err = w.Finish()
	return err
}
