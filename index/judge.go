package index

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// look looks at each suspect once more, several at a time, and repairs it if that is asked for.
func (in *partitionRun[T]) confirmAll(ctx context.Context, suspects map[string][]candidate) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(suspects)), 1000) {
		c := &batchRepair[T]{partitionRun: in, candidates: suspects, rows: map[candidate]*table.Row{}}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(10)
		for _, entity := range some {
			g.Go(func() error { return in.confirmAndNote(gctx, entity, suspects[entity], c) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := c.repair(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judged notes what judge finds.
func (in *partitionRun[T]) confirmAndNote(ctx context.Context, entity string, claims []candidate, later *batchRepair[T]) error {
	faults, err := in.confirm(ctx, entity, claims, later)
	in.noteFaults(faults)
	if err == errChanging {
		in.noteUnconfirmed()
		err = nil
	}
	return err
}

// scene is an entity and rows as they were at one instant, nil where there is none.
type consistentRead[T any] struct {
	entity *table.Entity[T]
	stored *table.Row // the entity's row
	rows   []*table.Row
}

// see reads an entity and rows at one instant: the entity is the same before and after the rows were read. Where there is none, the
// rows tell: whoever makes and deletes it writes them.
func (in *partitionRun[T]) readConsistently(ctx context.Context, entity string, claims []candidate) (s consistentRead[T], err error) {
	if s.entity, s.stored, err = in.getEntity(ctx, entity); err != nil {
		return s, err
	}
	if s.rows, err = in.getRows(ctx, claims); err != nil {
		return s, err
	}
	_, again, err := in.getEntity(ctx, entity)
	switch {
	case err != nil:
		return s, err
	case !unchanged(s.stored, again):
		return s, errChanging
	case s.stored != nil || entity == noEntity:
		return s, nil
	}
	rows, err := in.getRows(ctx, claims)
	for i := range rows {
		if err == nil && !unchanged(s.rows[i], rows[i]) {
			err = errChanging
		}
	}
	return s, err
}

// get reads an entity. One that cannot be read is an *unreadableError, one that is somebody else's errForeign. What is not where
// entities are is none.
func (in *partitionRun[T]) getEntity(ctx context.Context, rowKey string) (*table.Entity[T], *table.Row, error) {
	if !in.table.Range().Contains(rowKey) {
		return nil, nil, nil
	}
	row, err := in.getRow(ctx, rowKey)
	if err != nil || row == nil {
		return nil, nil, err
	}
	e, err := in.table.Entity(asEntityRow(row))
	switch {
	case isForeign(err):
		return nil, row, errForeign
	case err != nil:
		return nil, row, &unreadableError{err}
	}
	return e, row, nil
}

var errForeign = errors.New("the row is another's")

// unreadableError is about an entity, and not about the service.
type unreadableError struct{ error }

func (e *unreadableError) Unwrap() error { return e.error }

// getRow reads a row; nil is none, also under a key that no row can have.
func (in *partitionRun[T]) getRow(ctx context.Context, rowKey string) (*table.Row, error) {
	k := keys.Stored(in.pk, rowKey)
	if rowKey == noEntity || k.Err() != nil {
		return nil, nil
	}
	if err := in.pace(ctx, 1); err != nil {
		return nil, err
	}
	row, err := in.table.GetRow(ctx, k)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

func (in *partitionRun[T]) getRows(ctx context.Context, claims []candidate) (rows []*table.Row, err error) {
	for _, c := range claims {
		row, err := in.getRow(ctx, c.row)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// kind is what is wrong between an entity and a row, 0 for nothing. other is the entity that the row names instead, if it can name
// only one.
func (in *partitionRun[T]) classify(d perEntity[T], entity, row string, s consistentRead[T], is *table.Row) (kind FaultKind, other string, err error) {
	var want, had, claims []string
	if s.entity != nil {
		if want, err = d.WantedRows(s.entity); err != nil {
			return 0, "", &unreadableError{err}
		}
		had, _ = splitState(s.stored.MaintainerState(d.Name()))
	}
	if is != nil {
		claims = d.EntitiesIn(is)
	}
	wanted, claimed := slices.Contains(want, row), slices.Contains(claims, entity)
	switch {
	case wanted && !claimed:
		if len(claims) > 0 && d.WantedContent(s.stored) != nil {
			other = claims[0]
		}
		return Missing, other, nil
	case wanted && in.digest(d.Content(is)) != in.digest(d.WantedContent(s.stored)):
		return Stale, "", nil
	case !wanted && claimed:
		return Dangling, "", nil
	case row == "":
		if s.stored != nil && stateDamaged(s.stored) { // what the claim is for, of the first definition that it is made of
			return StateMismatch, "", nil
		}
	case wanted != slices.Contains(had, row):
		return StateMismatch, "", nil
	}
	return 0, "", nil
}

// judge finds out what is wrong with an entity's rows, and repairs it if that is asked for: by a write of the entity, or, where rows
// do not belong to it and it does not know of them, by writes of the rows. later, if there is one, takes what is better done for
// many entities at once.
func (in *partitionRun[T]) confirm(ctx context.Context, entity string, claims []candidate, later *batchRepair[T]) (faults []Fault, err error) {
	t := &confirmation[T]{partitionRun: in, entity: entity, candidates: claims, batch: later, found: map[candidate]Fault{}, open: map[candidate]bool{}, reasons: map[string]error{}}
	cause := errChanging
	var v finding
	for range rounds {
		s, err := in.readConsistently(ctx, entity, claims)
		var unreadable *unreadableError
		switch {
		case err == errChanging:
			continue
		case err == errForeign:
			return t.faults(err), nil // what rows say of it is not for this type to judge
		case errors.As(err, &unreadable):
			return append(t.faults(err), t.unreadable("", err)), nil
		case err != nil:
			return t.faults(err), err
		}
		v, err = t.compare(ctx, s)
		if err != nil {
			for c := range t.found {
				t.open[c] = true // for all that is known
			}
		}
		switch {
		case errors.As(err, &unreadable):
			return append(t.faults(err), t.unreadable(v.definition, err)), nil
		case err != nil:
			return t.faults(err), err
		}
		if v.cause != nil {
			cause = v.cause
		}
		switch {
		case len(v.rewrite) == 0:
		case v.conflict:
			return t.faults(errConflict), v.unconfirmedErr()
		case v.sharedOnly && later != nil:
			t.deferToBatch(s.entity)
			return t.faults(nil), nil
		default:
			err := t.rewrite(ctx, s, v.rewrite)
			switch {
			case err != nil && !mustReread(err):
				return t.faults(err), ctx.Err()
			case err != nil:
				cause = err
			case len(t.reasons) > 0:
				return t.faults(cause), cmp.Or(ctx.Err(), v.unconfirmedErr())
			}
		}
		if v.blocked {
			return t.faults(cause), cmp.Or(ctx.Err(), v.unconfirmedErr())
		}
		if !v.changing && (!in.opt.Repair || !slices.ContainsFunc(claims, func(c candidate) bool { return t.open[c] })) {
			return t.faults(nil), nil
		}
	}
	if len(t.found) > 0 {
		return t.faults(cause), cmp.Or(ctx.Err(), v.unconfirmedErr())
	}
	return nil, errChanging
}

// remembers is Remembered, of a row that may not be there.
func stateOf(row *table.Row, definition string) []string {
	if row == nil {
		return nil
	}
	return row.MaintainerState(definition)
}

// untold is errBusy where something is left of which nobody knows whether it is wrong.
func (v *finding) unconfirmedErr() error {
	if v.unconfirmed {
		return errChanging
	}
	return nil
}

var errConflict = errors.New("the entity cannot be written while it is in conflict with another")

// evict makes a row free that names another entity, if that has no right to it. It is false where it has, or where that cannot be
// told.
func (in *partitionRun[T]) reassign(ctx context.Context, c candidate, other string) (free bool, err error) {
	d := in.snapshots[c.snapshot].maintainer
	for range rounds {
		s, err := in.readConsistently(ctx, other, []candidate{c})
		var unreadable *unreadableError
		switch {
		case err == errChanging:
			continue
		case err == errForeign, errors.As(err, &unreadable):
			return false, nil
		case err != nil:
			return false, err
		}
		is := s.rows[0]
		if is == nil || !slices.Contains(d.EntitiesIn(is), other) {
			return true, nil // it names somebody else by now
		}
		kind, _, err := in.classify(d, other, c.row, s, is)
		if err != nil || kind != Dangling {
			return false, nil
		}
		if !in.opt.Repair {
			return true, nil
		}
		if had, _ := splitState(stateOf(s.stored, d.Name())); s.entity != nil && slices.Contains(had, c.row) {
			err = in.releaseByEntity(ctx, d, s.entity)
		} else {
			err = in.removeEntity(ctx, d, is, other)
		}
		if err == nil || !mustReread(err) {
			return err == nil, err
		}
	}
	return false, errChanging
}

// yield lets an entity give up the rows of a definition that it should not have, and forget them with the same write: one that still
// remembered them would take them back from their new owner. It takes none that it lacks, for they may be others' in turn.
func (in *partitionRun[T]) releaseByEntity(ctx context.Context, d perEntity[T], e *table.Entity[T]) error {
	if err := in.pace(ctx, 2+in.rowsPerWrite()); err != nil {
		return err
	}
	in.entitiesWritten.Store(true)
	r := in.repairing()
	r.yields = d.Name()
	return in.table.Replace(r.context(ctx), e)
}

// lost tells that one has to look again: somebody else was faster, or nobody knows.
func mustReread(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrUnknownOutcome)
}

// release takes an entity out of a row that it does not belong to, by the row's ETag: whoever makes it belong there writes the row.
func (in *partitionRun[T]) removeEntity(ctx context.Context, d perEntity[T], row *table.Row, entity string) error {
	if row == nil {
		return nil
	}
	left, err := d.Without(row, entity)
	if err != nil {
		return err
	}
	return in.writeRow(ctx, row, left)
}

// write makes a row what it should be, by its ETag; nil is none. A row that names the write that it is from is an entity, and names
// this one then.
func (in *partitionRun[T]) writeRow(ctx context.Context, is, want *table.Row) error {
	if err := in.pace(ctx, 1); err != nil {
		return err
	}
	_, named := is.Get(reserved.OperationID)
	_, isCopy := is.Primary()
	rows := in.table.Untyped(named && !isCopy)
	e, err := rows.WholeRow(is)
	if err != nil {
		return err
	}
	if want == nil {
		return rows.Delete(ctx, e)
	}
	keepType(is, want)
	e.Value = *want
	return rows.Replace(ctx, e)
}
