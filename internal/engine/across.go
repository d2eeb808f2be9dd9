package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// MostParticipants is how many partitions a transaction over several may have.
const MostParticipants = 10

// ReserveOp returns an operation that keeps a row absent while a transaction over several
// partitions is under way.
func (t *Table) ReserveOp(method string, k keys.Key) *Op {
	op := &Op{Table: t, Method: method, Kind: aztables.TransactionTypeAdd, Key: k, Reserves: true}
	op.Body, op.Err = edm.NewWriter(k.PartitionKey(), k.RowKey(), 0).Finish()
	return op
}

// PinOp returns an operation that changes nothing, and goes by the ETag of a row.
func (t *Table) PinOp(method string, k keys.Key, etag azcore.ETag) *Op {
	op := &Op{Table: t, Method: method, Kind: aztables.TransactionTypeUpdateMerge, Key: k, Match: etag, Pins: true}
	op.Body, op.Err = edm.NewWriter(k.PartitionKey(), k.RowKey(), 0).Finish()
	return op
}

// participation is the operations of a transaction in one partition.
type participation struct {
	table    *Table
	at       string // the partition
	ops      []*Op
	writes   bool // an operation changes a row
	pins     bool
	reserves bool
	changes  int  // operations on rows that have a content before and after: in another partition than the home, each is two rows
	whole    bool // an operation replaces or deletes a wide entity, whose parts are rows of their own
}

// Across applies operations in partitions of several tables of a service, all or none of them. Each
// is an insert, goes by an ETag, or is of ReserveOp. At most MostParticipants partitions.
//
// If there is one partition, and no reservation, it is one transaction with a commit record.
// Otherwise all partitions but the home are prepared; the rows of pins and reservations are
// prepared as well, so that they stay as they are until the write has ended. In the home, a pin is
// a part of the transaction that commits. Reservations in the home are prepared before, as in any
// other partition. A partition that is named first is prepared before the others.
func Across(ctx context.Context, method string, ops []*Op, first string) error {
	all, err := participations(ops)
	if err != nil {
		return err
	}
	home, err := homeOf(all)
	if err != nil {
		return err
	}
	w := write{
		table: home.table, method: method, outbox: home.table.Mode.Outbox,
		asTransaction: true, exact: true, only: home.at, first: first,
	}
	for _, p := range all {
		for _, op := range p.ops {
			if p == home && !op.Reserves {
				w.ops = append(w.ops, op)
			} else {
				w.moved = append(w.moved, op)
			}
		}
	}
	_, err = w.execute(ctx, keys.Key{})
	return err
}

// participations returns the operations by their partitions, in the order in which these come
// first.
func participations(ops []*Op) (all []*participation, err error) {
	for _, op := range ops {
		i := slices.IndexFunc(all, func(p *participation) bool { return p.at == op.Key.PartitionKey() && p.table.Same(op.Table) })
		if i < 0 {
			i = len(all)
			all = append(all, &participation{table: op.Table, at: op.Key.PartitionKey()})
		}
		p := all[i]
		p.ops = append(p.ops, op)
		p.pins, p.reserves = p.pins || op.Pins, p.reserves || op.Reserves
		p.writes = p.writes || !op.Pins && !op.Reserves
		if !op.Pins && !op.Reserves && !op.inserts() && op.Kind != aztables.TransactionTypeDelete {
			p.changes++
		}
		p.whole = p.whole || op.Table.wide() && !op.Pins && !op.Reserves && !op.inserts()
	}
	if len(all) > MostParticipants {
		return nil, &errs.LimitError{Limit: "partitions of a transaction", Got: len(all), Max: MostParticipants}
	}
	return all, nil
}

// mostChangesBeside is how many rows may change in a partition that is not the home: each is two
// rows there, beside one more.
const mostChangesBeside = 49

// asHome returns the rank of a partition as home: changes of a wide entity, then writes, then what
// fits nowhere else, then a transaction less, then fewer rows.
func (p *participation) asHome() []int {
	rank := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return []int{rank(p.whole), rank(p.writes), rank(p.changes > mostChangesBeside), rank(!p.reserves), p.changes, rank(p.pins)}
}

// homeOf returns where the commit record is: the first partition of the highest rank. It refuses
// what no commit record covers.
func homeOf(all []*participation) (*participation, error) {
	home := slices.MaxFunc(all, func(a, b *participation) int { return slices.Compare(a.asHome(), b.asHome()) })
	for _, p := range all {
		switch {
		case p == home:
		case p.whole:
			return nil, &errs.ValueError{Field: "operation", Reason: fmt.Sprintf("changes a wide entity in partition %q of table %s, and the transaction changes one in partition %q of table %s: only one partition of a transaction may have changes of wide entities", p.at, p.table.Name, home.at, home.table.Name)}
		case !p.table.SameService(home.table):
			return nil, &errs.ValueError{Field: "table", Reason: "is of another service than " + home.table.Name + ", so that no commit record covers both; give tables of one store"}
		case !p.table.Knows(home.table.Name):
			return nil, &errs.ValueError{Field: "table", Reason: fmt.Sprintf("%s is not of the store of table %s; give tables of one store", p.table.Name, home.table.Name)}
		}
	}
	if o := home.table.Mode.Outbox; wire.IsNil(o) && (len(all) > 1 || home.reserves) {
		return nil, &errs.ValueError{Field: "outbox", Reason: "is missing: declare the table by aztablekit.Table, so that workers finish the transactions of crashed programs"}
	}
	return home, nil
}

// replaceWhole makes a merge a replacement: a row that is prepared gets a whole new content.
func (s *step) replaceWhole() error {
	if !s.merges() || s.Pins {
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
