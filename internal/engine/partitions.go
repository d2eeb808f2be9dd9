package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Partitions calls f for the distinct PartitionKeys of a range behind the last one, until f returns false. It jumps from one
// partition to the next: 1 request for each, and 1 to find that there are no more.
func (t *Table) Partitions(ctx context.Context, all keys.Range, last *string, f func(string) bool) (err error) {
	ctx, end := t.Span(ctx, "Partitions")
	defer func() { end(err) }()
	for {
		var filter filter
		filter.behind(edm.PartitionKey, all, last)
		before := last
		last, err = t.pages(filter.b.String(), edm.PartitionKey+","+edm.RowKey).firstPartition(ctx)
		if err == nil && last != nil && before != nil && keys.Compare(*last, *before) <= 0 {
			err = errBackwards
		}
		if err != nil {
			return t.ReadError(ctx, "Partitions", keys.Key{}, err)
		}
		if last == nil || !f(*last) {
			return nil
		}
	}
}

var errBackwards = &DecodeError{Field: edm.PartitionKey, Reason: "is not behind the one that the request begins behind, so the list would never end"}

// firstPartition returns the PartitionKey of the first row that comes, nil if none does. Empty pages are followed by the next.
func (p *pager) firstPartition(ctx context.Context) (pk *string, err error) {
	for !p.at.done {
		body, err := p.page(ctx, 1)
		if err != nil {
			return nil, err
		}
		r := edm.NewReader(body)
		if err := r.Page(func(in edm.Entity) bool { pk = &in.PartitionKey; return false }); err != nil || pk != nil {
			return pk, err
		}
		p.turn()
	}
	return nil, nil
}
