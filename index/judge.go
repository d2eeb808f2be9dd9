package index

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// look looks at each suspect once more, several at a time, and repairs it if that is asked for. What lists have lost goes together:
// each such write would have to write the whole list.
func (in *inspection[T]) look(ctx context.Context, suspects map[string][]claim) error {
	var mu sync.Mutex
	var lost []newcomer[T]
	later := func(n newcomer[T]) {
		mu.Lock()
		defer mu.Unlock()
		lost = append(lost, n)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(10)
	for entity, claims := range suspects {
		g.Go(func() error { return in.judged(gctx, entity, claims, later) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for batch := range slices.Chunk(lost, 1000) {
		var names []string
		for _, n := range batch {
			for _, f := range n.faults {
				if !slices.Contains(names, f.Definition) {
					names = append(names, f.Definition)
				}
			}
		}
		skipped, err := in.together(ctx, batch, names...)
		for i, n := range batch {
			if reason, is := skipped[i]; !is {
				for _, f := range n.faults {
					f.Repaired = true
					in.found(f)
				}
			} else if reason != nil {
				if err := in.judged(ctx, n.e.Key.RowKey(), suspects[n.e.Key.RowKey()], nil); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// judged notes what judge finds.
func (in *inspection[T]) judged(ctx context.Context, entity string, claims []claim, later func(newcomer[T])) error {
	if err := in.pace(ctx, 2+len(claims)); err != nil {
		return err
	}
	faults, err := in.judge(ctx, entity, claims, later)
	for _, f := range faults {
		in.found(f)
	}
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
	case s.stored != nil || entity == "":
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

// get reads an entity. One that cannot be read is an *unreadableError, one that is somebody else's errForeign.
func (in *inspection[T]) get(ctx context.Context, rowKey string) (*table.Entity[T], *table.Row, error) {
	row, err := in.getRow(ctx, rowKey)
	if err != nil || row == nil {
		return nil, nil, err
	}
	e, err := in.table.Entity(row)
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

func (in *inspection[T]) getRow(ctx context.Context, rowKey string) (*table.Row, error) {
	if rowKey == "" {
		return nil, nil
	}
	row, err := in.table.GetRow(ctx, keys.Stored(in.pk, rowKey))
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
		had, _ = remembered(s.stored.Remembered(d.Name()))
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
	case wanted != slices.Contains(had, row):
		return Forgotten, "", nil
	}
	return 0, "", nil
}

// judge finds out what is wrong with an entity's rows, and repairs it if that is asked for: by a write of the entity, or, where rows
// do not belong to it and it does not know of them, by writes of the rows. later, if there is one, takes an entity that lists have
// lost, and nothing else.
func (in *inspection[T]) judge(ctx context.Context, entity string, claims []claim, later func(newcomer[T])) (faults []Fault, err error) {
	seen := map[claim]Fault{}     // all that was ever wrong
	open := map[claim]bool{}      // what still is
	reasons := map[string]error{} // why a definition cannot be repaired
	end := func(cause error) []Fault {
		for c, f := range seen {
			switch {
			case !in.opt.Repair || f.Kind == Conflict:
			case open[c]:
				if f.Err = cause; reasons[f.Definition] != nil {
					f.Err = reasons[f.Definition]
				}
			default:
				f.Repaired = true
			}
			faults = append(faults, f)
		}
		return faults
	}
	cause := errBusy
	for range rounds {
		s, err := in.see(ctx, entity, claims)
		var unreadable *unreadableError
		switch {
		case err == errBusy:
			continue
		case err == errForeign:
			return end(err), nil // what rows say of it is not for this type to judge
		case errors.As(err, &unreadable):
			return append(end(err), Fault{Kind: Unreadable, Entity: keys.Stored(in.pk, entity), Err: err}), nil
		case err != nil:
			return end(err), err
		}
		clear(open)
		var write []string // definitions that a write of the entity repairs
		alone, conflict := true, false
		for i, c := range claims {
			d := in.shots[c.def].def
			kind, other, err := in.kind(d, entity, c.row, s, s.rows[i])
			if err != nil {
				return append(end(err), Fault{Definition: d.Name(), Kind: Unreadable, Entity: keys.Stored(in.pk, entity), Err: err}), nil
			}
			if kind == 0 {
				continue
			}
			if other != "" {
				switch free, err := in.evict(ctx, c, other); {
				case err == errBusy || lost(err):
					open[c], cause = true, err
					continue
				case err != nil:
					return end(err), err
				case !free:
					kind = Conflict
					// A write of the entity would take a unique row, though not the place of another's details.
					if _, away := d.(elsewhere); !away {
						conflict = true
					}
				}
			}
			f := Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(in.pk, c.row), Entity: keys.Stored(in.pk, entity)}
			if kind == Conflict {
				f.Owner = keys.Stored(in.pk, other)
			}
			seen[c] = f
			if open[c] = kind != Conflict; !in.opt.Repair || kind == Conflict {
				continue
			}
			alone = alone && kind == Missing && d.expected(s.stored) == nil
			had, _ := remembered(remembers(s.stored, d.Name()))
			if s.entity != nil && (kind != Dangling || slices.Contains(had, c.row)) {
				write = append(write, d.Name())
			} else if err := in.release(ctx, d, s.rows[i], entity); err == nil {
				open[c] = false
			} else if cause = err; !lost(err) {
				return end(err), ctx.Err()
			}
		}
		switch {
		case len(write) == 0:
		case conflict:
			return end(errConflict), nil
		case alone && later != nil:
			n := newcomer[T]{e: s.entity}
			for _, f := range seen {
				n.faults = append(n.faults, f)
			}
			later(n)
			return nil, nil
		default:
			err := in.table.Replace(force(ctx, write...), s.entity)
			var de *table.DerivedError
			for errors.As(err, &de) && slices.Contains(write, de.Maintainer) && !lost(err) {
				// That one must stay as it is; the others need not.
				reasons[de.Maintainer] = err
				if write = slices.DeleteFunc(write, func(s string) bool { return s == de.Maintainer }); len(write) == 0 {
					return end(err), ctx.Err()
				}
				err = in.table.Replace(force(ctx, write...), s.entity)
			}
			if err == nil {
				maps.DeleteFunc(open, func(c claim, _ bool) bool { return slices.Contains(write, seen[c].Definition) })
			} else if cause = err; !lost(err) {
				return end(err), ctx.Err()
			}
			if err == nil && len(reasons) > 0 {
				return end(nil), ctx.Err()
			}
		}
		if !in.opt.Repair || !slices.ContainsFunc(claims, func(c claim) bool { return open[c] }) {
			return end(nil), nil
		}
	}
	if len(seen) > 0 {
		return end(cause), ctx.Err()
	}
	return nil, errBusy
}

// remembers is Remembered, of a row that may not be there.
func remembers(row *table.Row, definition string) []string {
	if row == nil {
		return nil
	}
	return row.Remembered(definition)
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
		if err := in.release(ctx, d, is, other); err == nil || !lost(err) {
			return err == nil, err
		}
	}
	return false, errBusy
}

// lost tells that one has to look again: somebody else was faster, or nobody knows.
func lost(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrUnknownOutcome)
}

// release takes an entity out of a row that it does not belong to, by the row's ETag: whoever makes it belong there writes the row.
func (in *inspection[T]) release(ctx context.Context, d checked[T], row *table.Row, entity string) error {
	if row == nil {
		return nil
	}
	left, err := d.released(row, keys.Stored(in.pk, entity))
	if err != nil {
		return err
	}
	return in.write(ctx, row, left)
}

// write makes a row what it should be, by its ETag; nil is none. A row that names the write that it is from is an entity, and names
// this one then.
func (in *inspection[T]) write(ctx context.Context, is, want *table.Row) error {
	_, named := is.Get("_op")
	_, isCopy := is.Primary()
	rows := in.table.Untyped(named && !isCopy)
	e, err := rows.Whole(is)
	if err != nil {
		return err
	}
	if want == nil {
		return rows.Delete(ctx, e)
	}
	e.Value = *want
	return rows.Replace(ctx, e)
}
