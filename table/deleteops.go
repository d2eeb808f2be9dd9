package table

import (
	"context"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// DeleteOps returns the operations that delete the rows of a query, by their ETags, for package bulk: bulk.Delete applies them, and
// bulk.Run applies them together with other operations. A row that has changed since it was read is read again, and deleted if the
// query still finds it. Otherwise it stays, as one that is missing. A query with a Cursor is refused with a *ValueError, because a
// cursor follows what is read, and not what is deleted. Each operation is for one use.
//
// If the handle has no maintainers, and the keys alone show the type of the rows, only keys are read. Requests and errors:
// those of List, and 1 query more for each row that has changed.
func (t *Table[T]) DeleteOps(ctx context.Context, q Query[T]) iter.Seq2[Op, error] {
	return t.h.deletes(ctx, q.engine())
}

const deleteOps = "DeleteOps"

// deletion makes the operations that delete the rows of a query.
type deletion struct {
	h    handle
	q    engine.Query
	read func(*edm.Reader, edm.Entity) (entity, bool, error)
}

// deletes returns the operations that delete the rows of a query. Maintainers must see rows as a whole, and so must a schema that
// tells by them whether they are T's.
func (h handle) deletes(ctx context.Context, q engine.Query) iter.Seq2[Op, error] {
	d := &deletion{h, q, h.shape.read}
	if len(h.engine.Mode.Maintainers) == 0 && !h.shape.verify {
		d.q.Select = h.shape.Select(reserved.MaintainerState) // by which the operation sees that it should have maintainers
		if h.engine.Mode.Parts == 0 {
			d.q.Select += "," + reserved.Parts // by which it sees that it should delete parts
		}
		d.q.HeadsOnly = true
		d.read = h.shape.unread
	}
	return func(yield func(Op, error) bool) {
		if q.Cursor != nil {
			yield(Op{}, h.opError(deleteOps, keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "follows what is read, not what is deleted"}))
			return
		}
		err := h.list(ctx, deleteOps, *h.shape.query(d.q, true), d.read, func(e entity) bool { return yield(d.op(e), nil) })
		if err != nil {
			yield(Op{}, err)
		}
	}
}

// unread returns an entity of which only the key, the ETag and the maintainer state are known.
func (s *shape) unread(r *edm.Reader, in edm.Entity) (entity, bool, error) {
	mine, err := s.ownsAny(r, in)
	made := s.newEntity()
	e := made.parts()
	*e.key, *e.etag, e.row = keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Stored()
	return made, mine, err
}

// op returns the operation that deletes a row of the query.
func (d *deletion) op(e entity) Op {
	op := d.h.remove(e)
	k := *e.parts().key
	op.op.Remake = func(ctx context.Context) (*engine.Op, bool, error) {
		q := engine.Query{Partition: k.Partition(), Rows: keys.Point(k.Row()), Where: d.q.Where, Select: d.q.Select, HeadsOnly: d.q.HeadsOnly}
		var found entity
		err := d.h.list(ctx, deleteOps, *d.h.shape.query(q, true), d.read, func(e entity) bool { found = e; return false })
		if err != nil || found == nil {
			return nil, false, err
		}
		return &d.op(found).op, true, nil
	}
	return op
}
