package index

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// look looks at each suspect once more, several at a time, and repairs it if that is asked for.
func (in *inspection[T]) look(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(10)
	for entity, claims := range in.suspects {
		g.Go(func() error {
			if err := in.pace(ctx, 2+len(claims)); err != nil {
				return err
			}
			faults, err := in.judge(ctx, entity, claims)
			for _, f := range faults {
				in.found(f)
			}
			return err
		})
	}
	return g.Wait()
}

// scene is an entity and rows as they were at one instant, nil where there is none.
type scene[T any] struct {
	entity *table.Entity[T]
	stored *table.Row // the entity's row
	rows   []*table.Row
}

// see reads an entity and rows at one instant: the entity is the same before and after the rows were read.
func (in *inspection[T]) see(ctx context.Context, entity string, claims []claim) (s scene[T], err error) {
	if s.entity, s.stored, err = in.get(ctx, entity); err != nil {
		return s, err
	}
	for _, c := range claims {
		row, err := in.getRow(ctx, c.row)
		if err != nil {
			return s, err
		}
		s.rows = append(s.rows, row)
	}
	_, again, err := in.get(ctx, entity)
	if err == nil && ((again == nil) != (s.stored == nil) || again != nil && again.ETag != s.stored.ETag) {
		err = errBusy
	}
	return s, err
}

func (in *inspection[T]) get(ctx context.Context, rowKey string) (*table.Entity[T], *table.Row, error) {
	row, err := in.getRow(ctx, rowKey)
	if err != nil || row == nil {
		return nil, nil, err
	}
	e, err := in.table.Entity(row)
	if foreign(err) {
		return nil, nil, nil
	}
	return e, row, err
}

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

// kind is what is wrong between an entity and a row, 0 for nothing. other is the entity that the row names instead, if it can name
// only one.
func (in *inspection[T]) kind(d checked[T], entity, row string, s scene[T], is *table.Row) (kind FaultKind, other string, err error) {
	var want, had, claims []string
	if s.entity != nil {
		if want, err = d.wants(s.entity); err != nil {
			return 0, "", err
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

// judge finds out what is wrong with an entity's rows, and repairs it if that is asked for.
func (in *inspection[T]) judge(ctx context.Context, entity string, claims []claim) (faults []Fault, err error) {
	seen := map[claim]Fault{} // all that was ever wrong
	result := func(cause error, open map[claim]bool) []Fault {
		for c, f := range seen {
			switch {
			case !in.opt.Repair || f.Kind == Conflict:
			case open[c]:
				f.Err = cause
			default:
				f.Repaired = true
			}
			faults = append(faults, f)
		}
		return faults
	}
	open := map[claim]bool{}
	cause := errBusy
	for range rounds {
		s, err := in.see(ctx, entity, claims)
		if err == errBusy {
			continue
		} else if err != nil {
			return result(err, open), err
		}
		clear(open)
		write, conflict := false, false
		for i, c := range claims {
			d := in.shots[c.def].def
			kind, other, err := in.kind(d, entity, c.row, s, s.rows[i])
			if err != nil {
				return result(err, open), err
			}
			if kind == 0 {
				continue
			}
			if other != "" {
				switch free, err := in.evict(ctx, c, other); {
				case err != nil:
					return result(err, open), err
				case !free:
					kind, conflict = Conflict, true
				}
			}
			seen[c] = Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(in.pk, c.row), Entity: keys.Stored(in.pk, entity)}
			open[c] = kind != Conflict
			if !in.opt.Repair || kind == Conflict {
				continue
			}
			if s.entity != nil && (kind != Dangling || slices.Contains(s.stored.Remembered(d.Name()), c.row)) {
				write = true
			} else if err := in.release(ctx, d, s.rows[i], entity); err == nil {
				open[c] = false
			} else if cause = err; !lost(err) {
				return result(err, open), ctx.Err()
			}
		}
		if write && !conflict {
			if err := in.table.Replace(force(ctx), s.entity); err == nil {
				for _, c := range claims {
					if s.entity != nil && seen[c].Kind != Dangling {
						open[c] = false
					}
				}
			} else if cause = err; !lost(err) {
				return result(err, open), ctx.Err()
			}
		} else if write {
			return result(errConflict, open), nil
		}
		if !in.opt.Repair || !slices.ContainsFunc(claims, func(c claim) bool { return open[c] }) {
			return result(nil, open), nil
		}
	}
	return result(cause, open), ctx.Err()
}

var errConflict = errors.New("the entity cannot be written while it is in conflict with another")

// evict makes a row free that names another entity, if that has no right to it. It is false where it has.
func (in *inspection[T]) evict(ctx context.Context, c claim, other string) (free bool, err error) {
	d := in.shots[c.def].def
	for range rounds {
		s, err := in.see(ctx, other, []claim{c})
		if err == errBusy {
			continue
		} else if err != nil {
			return false, err
		}
		is := s.rows[0]
		if is == nil || !slices.Contains(d.claims(is), other) {
			return true, nil // it names somebody else by now
		}
		if kind, _, err := in.kind(d, other, c.row, s, is); err != nil || kind != Dangling {
			return false, err
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
	if is == nil {
		_, err := in.table.Untyped(false).InsertAt(ctx, want.Key, want)
		return err
	}
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
