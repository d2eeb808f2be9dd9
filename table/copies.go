package table

import (
	"cmp"
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Copies and GetCopy are for packages of this module, as those in internal.go.

// Copies is Rows for callers that want the entities of full copies. It gives each row to yield, until yield returns false. e is the entity
// of a full copy, as Entity returns it; the row then contains its key and its ETag alone, and is valid until yield returns. e is nil
// for all other rows, and for copies of which Entity returns an error or that need a closer look. It is for packages of this module.
func (t *Table[T]) Copies(ctx context.Context, q Query[T], yield func(row *engine.Row, e *Entity[T]) bool) error {
	return t.h.listCopies(ctx, q.engine(), func(row *engine.Row, e entity) bool {
		typed, _ := e.(*Entity[T])
		return yield(row, typed)
	})
}

// GetCopy is GetRow with the results of Copies. It is for packages of this module.
func (t *Table[T]) GetCopy(ctx context.Context, k keys.Key) (row *engine.Row, e *Entity[T], err error) {
	row, untyped, err := t.h.getCopy(ctx, k)
	e, _ = untyped.(*Entity[T])
	return row, e, err
}

func (h handle) listCopies(ctx context.Context, q engine.Query, yield func(*engine.Row, entity) bool) error {
	return public(h.engine.List(ctx, "Rows", *h.shape.query(q, false), &copyLister{shape: h.shape, yield: yield}))
}

func (h handle) getCopy(ctx context.Context, k keys.Key) (row *engine.Row, e entity, err error) {
	ctx, end := h.engine.Span(ctx, "GetRow")
	defer func() { end(err) }()
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return nil, nil, h.opError("GetRow", k, err)
	}
	r, in, err := h.engine.OpenRow(ctx, k)
	if err != nil {
		return nil, nil, h.opError("GetRow", k, err)
	}
	defer r.Release()
	l := copyLister{shape: h.shape}
	if _, err := l.Read(r, in); err != nil {
		return nil, nil, h.opError("GetRow", k, err)
	}
	return l.row, l.entity, nil
}

// copyLister is the engine's Lister of copies.
type copyLister struct {
	shape  *shape
	yield  func(*engine.Row, entity) bool
	row    *engine.Row
	entity entity     // nil if the row is whole
	brief  engine.Row // the row of an entity
}

func (l *copyLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	l.brief = engine.Row{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp}
	l.row = &l.brief
	if l.entity = l.shape.readCopy(r, in); l.entity == nil {
		l.row = &engine.Row{Key: l.brief.Key, ETag: l.brief.ETag, Timestamp: l.brief.Timestamp}
		l.row.Columns, err = r.Columns()
	}
	return true, err
}

func (l *copyLister) Yield() bool { return l.yield(l.row, l.entity) }

// readCopy is entityOf for a full copy that the reader has just read as JSON. It returns nil for all other rows, for a row of which
// entityOf returns an error, and for one that must be upgraded or whose size must be checked.
func (s *shape) readCopy(r *edm.Reader, in edm.Entity) entity {
	if s.isRow || in.JSON.Len() == 0 {
		return nil
	}
	if id, err := r.Property(reserved.OperationID); err != nil || id.Kind == edm.Absent {
		return nil
	}
	owner, err := r.Property(reserved.Owner)
	if err != nil || !r.Storable(s.plan) {
		return nil
	}
	rowKey, projectionID, partition := engine.CopiedBy(owner) // of no copy, the RowKey is "", which is not valid
	k := keys.Stored(cmp.Or(partition, in.PartitionKey), rowKey)
	if projectionID != "" || k.Err() != nil {
		return nil
	}
	if v, _, err := s.versionOf(r); err != nil || s.outdated(v) {
		return nil
	}
	made := s.newEntity()
	e := made.parts()
	*e.key, *e.timestamp = k, in.Timestamp
	e.row, e.rowIsCopy = in.Stored(), true
	if s.row.decode(e.value, k.RowKey()) != nil || s.partition.decode(e.value, k.PartitionKey()) != nil || s.properties(r, e) != nil {
		return nil
	}
	if s.verify && s.agrees(e.value, k) != nil {
		return nil
	}
	return made
}

// decodeCopy makes of a copy in JSON the row of its entity, for a write of the entity.
func (e parts) decodeCopy() error {
	if !e.rowIsCopy {
		return nil
	}
	columns, err := e.columns()
	if err == nil {
		e.row, e.copied, e.rowIsCopy = edm.Stored{Columns: columns}, &engine.Row{Key: *e.key, Columns: columns}, false
	}
	return err
}
