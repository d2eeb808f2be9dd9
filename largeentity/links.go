package largeentity

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/table"
)

// links is the maintainer of the rows of blobs. Its state is the IDs of the blobs that the entity
// links.
type links struct {
	store  *store
	rows   *table.Table[table.Row]
	fields [][]int
}

func (l *links) Name() string { return "largeentity" }
func (l *links) MaxRows() int { return 2 * len(l.fields) } // each blob before and after

// Maintain implements bare.Maintainer.
func (l *links) Maintain(ctx context.Context, p *extend.Plan, c *engine.Change) error {
	linked, err := l.linked(ctx, p, c)
	if err != nil {
		return err
	}
	var wanted []string
	for _, n := range l.names(c.New) {
		if n.table != l.store.table || n.partition != c.Key.PartitionKey() {
			return condition(ErrForeignBlob, "blob %s is not of the table %s and the partition %s", n, l.store.table, edm.Quote(c.Key.PartitionKey()))
		}
		if !slices.Contains(wanted, n.id) {
			wanted = append(wanted, n.id)
		}
	}
	slices.Sort(wanted)
	c.SetState(wanted...)
	row := func(id, state string) blobRow {
		return blobRow{name: name{l.store.table, c.Key.PartitionKey(), id}, state: state, entity: c.Key.RowKey()}
	}
	for _, id := range linked {
		if !slices.Contains(wanted, id) {
			if err := l.drop(p, c, row(id, unlinked)); err != nil {
				return err
			}
		}
	}
	for _, id := range wanted {
		if !slices.Contains(linked, id) {
			if err := l.link(ctx, p, c, row(id, live)); err != nil {
				return err
			}
		}
	}
	return nil
}

// names returns the names of the blobs of an entity, none for nil. value is a pointer to it.
func (l *links) names(value any) (names []name) {
	if value == nil {
		return nil
	}
	for _, path := range l.fields {
		f, err := reflect.ValueOf(value).Elem().FieldByIndexErr(path)
		if err != nil {
			continue // in an embedded struct that is nil
		}
		if n, ok := parseName(f.Interface().(Blob).name); ok {
			names = append(names, n)
		}
	}
	return names
}

// linked returns the IDs of the blobs that the entity links now, from the maintainer state. If
// another program has written the row, its content may name other blobs. The content is not
// trusted: the entity has such a blob only if the row of the blob says so. A blob without a row is
// the entity's, stored by a program without this maintainer, and gets a row. At most 1 request for
// each blob then.
func (l *links) linked(ctx context.Context, p *extend.Plan, c *engine.Change) (ids []string, err error) {
	for _, id := range c.State() {
		if _, err := commit.TimeOf(id); err != nil {
			return nil, &table.DecodeError{Field: reserved.MaintainerState, Reason: "names a blob that no program of this library has stored", Err: err}
		}
		ids = append(ids, id)
	}
	for _, n := range l.names(c.Old) {
		if n.table != l.store.table || n.partition != c.Key.PartitionKey() || slices.Contains(ids, n.id) {
			continue
		}
		r, err := p.Load(ctx, n.key().Row())
		if err != nil {
			return nil, err
		}
		if r == nil {
			if r, err = (blobRow{name: n, state: live, entity: c.Key.RowKey()}).row(); err == nil {
				err = p.Put(r)
			}
			if err != nil {
				return nil, err
			}
		}
		if b, ok := decodeRow(r, l.store.table); ok && b.state == live && b.entity == c.Key.RowKey() {
			ids = append(ids, n.id)
		}
	}
	return ids, nil
}

// drop plans that the entity does not link a blob any more.
func (l *links) drop(p *extend.Plan, c *engine.Change, b blobRow) error {
	if c.Archived() {
		b.state, b.incarnation = moved, c.Incarnation()
	}
	r, err := b.row()
	if err == nil {
		err = p.Put(r)
	}
	if err == nil && b.state == unlinked && !l.store.opt.LeaveToSweep {
		p.AfterCommit(b.String(), func(ctx context.Context) { l.store.reclaim(ctx, l.rows, b.name) })
	}
	return err
}

var errTaken = condition(ErrUploadAgain, "the blob was stored before, or is stored in another entity, or Sweep has deleted it")

// link plans that the entity links a blob.
func (l *links) link(ctx context.Context, p *extend.Plan, c *engine.Change, b blobRow) error {
	r, err := b.row()
	if err != nil {
		return err
	}
	if !door.PlanOf(p).First("largeentity " + b.String()) {
		return errTaken // by another entity of this transaction
	}
	switch ok, err := door.Retake(p, (*stored.Row)(r).Clone()); {
	case err != nil:
		return err
	case ok: // another entity of this transaction gives it up
		p.AfterCommit(b.String(), nil)
		return nil
	}
	if from := c.Restored(); from != "" {
		return l.restore(ctx, p, b, r, from)
	}
	until := l.store.opt.linkable(b.name)
	if now := l.store.client.opt.Now(); now.After(until) || b.uploaded().Sub(now) > l.store.opt.Grace/2 {
		return condition(ErrUploadAgain, "blob %s was uploaded at %v, and is not linked by the entity", b.name, b.uploaded())
	}
	door.PlanOf(p).NotAfter(until)
	return p.Insert(r, errTaken)
}

// restore plans that an entity that comes back from the destination of a move links a blob again.
// The row of the blob has waited for this incarnation.
func (l *links) restore(ctx context.Context, p *extend.Plan, b blobRow, r *table.Row, incarnation string) error {
	was, err := p.Load(ctx, r.Key.Row())
	if err != nil {
		return err
	}
	if was != nil {
		if w, ok := decodeRow(was, l.store.table); ok && w.state == moved && w.incarnation == incarnation && w.entity == b.entity {
			return p.Put(r)
		}
	}
	return condition(ErrUploadAgain, "blob %s has no row that waits for the restored entity", b.name)
}

// reclaim deletes the blob of an unlinked row, and then the row if nothing can link the blob any
// more. It logs an error: Sweep will do the rest.
func (s *store) reclaim(ctx context.Context, rows *table.Table[table.Row], n name) {
	err := s.client.delete(ctx, n.String())
	if err == nil && !s.client.opt.Now().Before(s.opt.unlinkable(n)) {
		err = rows.DeleteAny(ctx, n.key())
	}
	if err == nil || errors.Is(err, table.ErrNotFound) || errors.Is(err, context.Canceled) {
		return
	}
	if log := s.client.opt.Logger; log != nil {
		log.WarnContext(ctx, "largeentity: a replaced blob could not be deleted; Sweep will do it", "blob", n.String(), "error", err.Error())
	}
}
