package table

import (
	"cmp"
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

func (h handle) listCopies(ctx context.Context, q query.Query, yield func(row *stored.Row, e any) bool) error {
	return h.engine.List(ctx, "Rows", *h.schema.query(q, false), &copyLister{schema: h.schema, yield: yield})
}

func (h handle) getCopy(ctx context.Context, k keys.Key) (row *stored.Row, e entity, err error) {
	ctx, end := h.engine.Span(ctx, "GetRow")
	defer func() { end(err) }()
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return nil, nil, h.engine.OpError("GetRow", k, err)
	}
	r, in, err := h.engine.OpenRow(ctx, k)
	if err != nil {
		return nil, nil, h.engine.OpError("GetRow", k, err)
	}
	defer r.Release()
	l := copyLister{schema: h.schema}
	if _, err := l.Read(r, in); err != nil {
		return nil, nil, h.engine.OpError("GetRow", k, err)
	}
	return l.row, l.entity, nil
}

// copyLister is the engine's Lister of copies.
type copyLister struct {
	schema *schema
	yield  func(row *stored.Row, e any) bool
	row    *stored.Row
	entity entity     // nil if the row is whole
	brief  stored.Row // the row of an entity
}

func (l *copyLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	l.brief = *stored.Of(in, nil)
	l.row = &l.brief
	l.entity = l.schema.readCopy(r, in)
	if l.entity == nil {
		l.row = stored.Of(in, nil)
		columns, err := r.Columns()
		l.row.SetColumns(columns)
		return true, err
	}
	return true, err
}

func (l *copyLister) Yield() bool { return l.yield(l.row, l.entity) }

// readCopy is entityOf for a full copy that the reader has just read as JSON. It returns nil for
// all other rows, for a row of which entityOf returns an error, and for one that must be upgraded
// or whose size must be checked.
func (s *schema) readCopy(r *edm.Reader, in edm.Entity) entity {
	if s.isRow || in.JSON.Len() == 0 {
		return nil
	}
	if id, err := r.Property(reserved.OperationID); err != nil || id.Kind == edm.Absent {
		return nil
	}
	owner, err := r.Property(reserved.Owner)
	if err != nil || !r.Storable(s.codec) {
		return nil
	}
	rowKey, projectionID, partition := stored.CopiedBy(owner) // of no copy, the RowKey is "", which is not valid
	k := keys.Raw(cmp.Or(partition, in.PartitionKey), rowKey)
	if projectionID != "" || k.Err() != nil {
		return nil
	}
	if v, _, err := s.versionOf(r); err != nil || s.outdated(v) {
		return nil
	}
	made := s.newEntity()
	e := made.fields()
	*e.key, *e.timestamp = k, in.Timestamp
	e.row, e.rowIsCopy = in.Stored(), true
	if s.row.Decode(e.value, k.RowKey()) != nil || s.partition.Decode(e.value, k.PartitionKey()) != nil || s.properties(r, e) != nil {
		return nil
	}
	if s.verify && s.agrees(e.value, k) != nil {
		return nil
	}
	return made
}

// decodeCopy makes of a copy in JSON the row of its entity, for a write of the entity.
func (e entityFields) decodeCopy() error {
	if !e.rowIsCopy {
		return nil
	}
	columns, err := e.columns()
	if err == nil {
		e.row, e.copied, e.rowIsCopy = edm.Stored{Columns: columns}, stored.New(*e.key, columns), false
	}
	return err
}
