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
func (in *inspection[T]) look(ctx context.Context, suspects map[string][]claim) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(suspects)), 1000) {
		c := &crowd[T]{inspection: in, suspects: suspects, rows: map[claim]*table.Row{}}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(10)
		for _, entity := range some {
			g.Go(func() error { return in.judged(gctx, entity, suspects[entity], c) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := c.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judged notes what judge finds.
func (in *inspection[T]) judged(ctx context.Context, entity string, claims []claim, later *crowd[T]) error {
	faults, err := in.judge(ctx, entity, claims, later)
	in.foundAll(faults)
	if err == errBusy {
		in.undecided()
		err = nil
	}
	return err
}

// scene is an entity and rows as they were at one instant, nil where there is none.
type scene[T any] struct {
	entity *table.Entity[T]
	stored *table.Row // the entity's row
	rows   []*table.Row
}

// see reads an entity and rows at one instant: the entity is the same before and after the rows were read. Where there is none, the
// rows tell: whoever makes and deletes it writes them.
func (in *inspection[T]) see(ctx context.Context, entity string, claims []claim) (s scene[T], err error) {
	if s.entity, s.stored, err = in.get(ctx, entity); err != nil {
		return s, err
	}
	if s.rows, err = in.getRows(ctx, claims); err != nil {
		return s, err
	}
	_, again, err := in.get(ctx, entity)
	switch {
	case err != nil:
		return s, err
	case !unchanged(s.stored, again):
		return s, errBusy
	case s.stored != nil || entity == nobody:
		return s, nil
	}
	rows, err := in.getRows(ctx, claims)
	for i := range rows {
		if err == nil && !unchanged(s.rows[i], rows[i]) {
			err = errBusy
		}
	}
	return s, err
}

// get reads an entity. One that cannot be read is an *unreadableError, one that is somebody else's errForeign. What is not where
// entities are is none.
func (in *inspection[T]) get(ctx context.Context, rowKey string) (*table.Entity[T], *table.Row, error) {
	if !in.table.Range().Contains(rowKey) {
		return nil, nil, nil
	}
	row, err := in.getRow(ctx, rowKey)
	if err != nil || row == nil {
		return nil, nil, err
	}
	e, err := in.table.Entity(original(row))
	switch {
	case foreign(err):
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
func (in *inspection[T]) getRow(ctx context.Context, rowKey string) (*table.Row, error) {
	k := keys.Stored(in.pk, rowKey)
	if rowKey == nobody || k.Err() != nil {
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

func (in *inspection[T]) getRows(ctx context.Context, claims []claim) (rows []*table.Row, err error) {
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
func (in *inspection[T]) kind(d checked[T], entity, row string, s scene[T], is *table.Row) (kind FaultKind, other string, err error) {
	var want, had, claims []string
	if s.entity != nil {
		if want, err = d.wants(s.entity); err != nil {
			return 0, "", &unreadableError{err}
		}
		had, _ = remembered(s.stored.MaintainerState(d.Name()))
	}
	if is != nil {
		claims = d.claims(is)
	}
	wanted, claimed := slices.Contains(want, row), slices.Contains(claims, entity)
	switch {
	case wanted && !claimed:
		if len(claims) > 0 && d.expected(s.stored) != nil {
			other = claims[0]
		}
		return Missing, other, nil
	case wanted && in.digest(d.part(is)) != in.digest(d.expected(s.stored)):
		return Stale, "", nil
	case !wanted && claimed:
		return Dangling, "", nil
	case row == "":
		if s.stored != nil && harmed(s.stored) { // what the claim is for, of the first definition that it is made of
			return Forgotten, "", nil
		}
	case wanted != slices.Contains(had, row):
		return Forgotten, "", nil
	}
	return 0, "", nil
}

// judge finds out what is wrong with an entity's rows, and repairs it if that is asked for: by a write of the entity, or, where rows
// do not belong to it and it does not know of them, by writes of the rows. later, if there is one, takes what is better done for
// many entities at once.
func (in *inspection[T]) judge(ctx context.Context, entity string, claims []claim, later *crowd[T]) (faults []Fault, err error) {
	t := &trial[T]{inspection: in, entity: entity, claims: claims, later: later, seen: map[claim]Fault{}, open: map[claim]bool{}, reasons: map[string]error{}}
	cause := errBusy
	var v verdict
	for range rounds {
		s, err := in.see(ctx, entity, claims)
		var unreadable *unreadableError
		switch {
		case err == errBusy:
			continue
		case err == errForeign:
			return t.end(err), nil // what rows say of it is not for this type to judge
		case errors.As(err, &unreadable):
			return append(t.end(err), t.unreadable("", err)), nil
		case err != nil:
			return t.end(err), err
		}
		v, err = t.look(ctx, s)
		if err != nil {
			for c := range t.seen {
				t.open[c] = true // for all that is known
			}
		}
		switch {
		case errors.As(err, &unreadable):
			return append(t.end(err), t.unreadable(v.definition, err)), nil
		case err != nil:
			return t.end(err), err
		}
		if v.cause != nil {
			cause = v.cause
		}
		switch {
		case len(v.write) == 0:
		case v.conflict:
			return t.end(errConflict), v.untold()
		case v.several && later != nil:
			t.postpone(s.entity)
			return t.end(nil), nil
		default:
			err := t.write(ctx, s, v.write)
			switch {
			case err != nil && !lost(err):
				return t.end(err), ctx.Err()
			case err != nil:
				cause = err
			case len(t.reasons) > 0:
				return t.end(cause), cmp.Or(ctx.Err(), v.untold())
			}
		}
		if v.stuck {
			return t.end(cause), cmp.Or(ctx.Err(), v.untold())
		}
		if !v.busy && (!in.opt.Repair || !slices.ContainsFunc(claims, func(c claim) bool { return t.open[c] })) {
			return t.end(nil), nil
		}
	}
	if len(t.seen) > 0 {
		return t.end(cause), cmp.Or(ctx.Err(), v.untold())
	}
	return nil, errBusy
}

// remembers is Remembered, of a row that may not be there.
func remembers(row *table.Row, definition string) []string {
	if row == nil {
		return nil
	}
	return row.MaintainerState(definition)
}

// untold is errBusy where something is left of which nobody knows whether it is wrong.
func (v *verdict) untold() error {
	if v.unseen {
		return errBusy
	}
	return nil
}

var errConflict = errors.New("the entity cannot be written while it is in conflict with another")

// evict makes a row free that names another entity, if that has no right to it. It is false where it has, or where that cannot be
// told.
func (in *inspection[T]) evict(ctx context.Context, c claim, other string) (free bool, err error) {
	d := in.shots[c.def].def
	for range rounds {
		s, err := in.see(ctx, other, []claim{c})
		var unreadable *unreadableError
		switch {
		case err == errBusy:
			continue
		case err == errForeign, errors.As(err, &unreadable):
			return false, nil
		case err != nil:
			return false, err
		}
		is := s.rows[0]
		if is == nil || !slices.Contains(d.claims(is), other) {
			return true, nil // it names somebody else by now
		}
		kind, _, err := in.kind(d, other, c.row, s, is)
		if err != nil || kind != Dangling {
			return false, nil
		}
		if !in.opt.Repair {
			return true, nil
		}
		if had, _ := remembered(remembers(s.stored, d.Name())); s.entity != nil && slices.Contains(had, c.row) {
			err = in.yield(ctx, d, s.entity)
		} else {
			err = in.release(ctx, d, is, other)
		}
		if err == nil || !lost(err) {
			return err == nil, err
		}
	}
	return false, errBusy
}

// yield lets an entity give up the rows of a definition that it should not have, and forget them with the same write: one that still
// remembered them would take them back from their new owner. It takes none that it lacks, for they may be others' in turn.
func (in *inspection[T]) yield(ctx context.Context, d checked[T], e *table.Entity[T]) error {
	if err := in.pace(ctx, 2+in.alongside()); err != nil {
		return err
	}
	in.wrote.Store(true)
	r := in.repairing()
	r.yields = d.Name()
	return in.table.Replace(r.context(ctx), e)
}

// lost tells that one has to look again: somebody else was faster, or nobody knows.
func lost(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrUnknownOutcome)
}

// release takes an entity out of a row that it does not belong to, by the row's ETag: whoever makes it belong there writes the row.
func (in *inspection[T]) release(ctx context.Context, d checked[T], row *table.Row, entity string) error {
	if row == nil {
		return nil
	}
	left, err := d.released(row, entity)
	if err != nil {
		return err
	}
	return in.write(ctx, row, left)
}

// write makes a row what it should be, by its ETag; nil is none. A row that names the write that it is from is an entity, and names
// this one then.
func (in *inspection[T]) write(ctx context.Context, is, want *table.Row) error {
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
