package index

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// trial is an entity under judgment.
type trial[T any] struct {
	*inspection[T]
	entity string
	claims []claim
	later  *crowd[T]

	seen    map[claim]Fault      // all that was ever wrong
	open    map[claim]bool       // what still is
	reasons map[string]error     // why a definition cannot be repaired
	leaves  map[claim]*table.Row // lists that are to be rid of it, as they are
}

// verdict is what one look has found.
type verdict struct {
	write      []string // definitions that a write of the entity repairs
	several    bool     // they are of lists, all of them
	conflict   bool     // it cannot be written
	busy       bool     // something could not be told
	unseen     bool     // whether anything is wrong there neither
	stuck      bool     // something cannot be repaired
	cause      error    // of what could not be repaired
	definition string   // that cannot be read
}

// look compares the rows of a scene, and repairs what needs no write of the entity.
func (t *trial[T]) look(ctx context.Context, s scene[T]) (v verdict, err error) {
	open := map[claim]bool{}
	t.leaves = map[claim]*table.Row{}
	v.several = true
	for i, c := range t.claims {
		d := t.shots[c.def].def
		v.definition = d.Name()
		kind, other, err := t.kind(d, t.entity, c.row, s, s.rows[i])
		if err != nil {
			return v, err
		}
		if kind == 0 {
			continue
		}
		if other != nobody {
			switch free, err := t.evict(ctx, c, other); {
			case err == errBusy || lost(err):
				_, seen := t.seen[c]
				open[c] = seen
				v.busy, v.unseen, v.cause = true, v.unseen || !seen, err
				continue
			case ctx.Err() != nil:
				return v, ctx.Err()
			case err != nil:
				t.reasons[d.Name()], v.cause, v.stuck = err, err, true
			case !free:
				kind = Conflict
				// A write of the entity would take a unique row, though not the place of another's details.
				if _, away := d.(elsewhere); !away {
					v.conflict = true
				}
			}
		}
		f := Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(t.pk, c.row), Entity: keys.Stored(t.pk, t.entity)}
		if c == (claim{}) {
			f.Row = keys.Key{} // it is about the entity itself
		}
		switch {
		case kind == Conflict:
			f.Owner = keys.Stored(t.pk, other)
		case !t.opt.Repair:
			f = t.foretold(f, c)
		}
		t.seen[c] = f
		if open[c] = f.Kind != Conflict; !t.opt.Repair || kind == Conflict || t.reasons[d.Name()] != nil {
			continue
		}
		had, _ := remembered(remembers(s.stored, d.Name()))
		switch {
		case s.entity != nil && (kind != Dangling || slices.Contains(had, c.row)):
			v.write = append(v.write, d.Name())
			v.several = v.several && d.several()
		case t.later != nil && d.several() && s.rows[i] != nil:
			t.leaves[c], open[c] = s.rows[i], false
		default:
			if err := t.release(ctx, d, s.rows[i], t.entity); err == nil {
				open[c] = false
			} else if v.cause, v.busy = err, true; !lost(err) {
				t.reasons[d.Name()], v.stuck = err, true
			}
		}
	}
	v.several = v.several && !v.busy
	t.open = open
	return v, nil
}

// write writes the entity for some definitions. One that cannot be repaired is left as it is, for the others can.
func (t *trial[T]) write(ctx context.Context, s scene[T], definitions []string) error {
	for len(definitions) > 0 {
		if err := t.pace(ctx, 2*(1+len(t.claims))+t.alongside()); err != nil {
			return err
		}
		r := t.repairing(definitions...)
		r.absent, r.foreign = map[string]bool{}, maps.Clone(t.foreign)
		for i, c := range t.claims {
			r.absent[c.row] = s.rows[i] == nil
			if c.row != nobody {
				r.foreign[c.row] = s.rows[i] != nil && !t.shots[c.def].def.mine(s.rows[i]) && !sameWrite(s.rows[i], s.stored)
			}
		}
		t.wrote.Store(true)
		err := t.table.Replace(r.context(ctx), s.entity)
		var de *table.DerivedError
		switch {
		case err == nil:
			maps.DeleteFunc(t.open, func(c claim, _ bool) bool { return slices.Contains(definitions, t.seen[c].Definition) })
			return nil
		case !errors.As(err, &de) || !slices.Contains(definitions, de.Maintainer) || lost(err):
			return err
		}
		t.reasons[de.Maintainer] = err
		definitions = slices.DeleteFunc(definitions, func(s string) bool { return s == de.Maintainer })
	}
	return nil
}

// end are the faults: those that are still open for a reason, and the others, which are repaired, unless they are left for later.
func (t *trial[T]) end(cause error) (faults []Fault) {
	for c, f := range t.seen {
		switch {
		case !t.opt.Repair || f.Kind == Conflict:
		case t.leaves[c] != nil:
			t.later.leave(leaver{c, t.leaves[c], f})
			continue
		case t.open[c]:
			if f.Err = cause; t.reasons[f.Definition] != nil {
				f.Err = t.reasons[f.Definition]
			}
		default:
			f.Repaired = true
		}
		faults = append(faults, f)
	}
	return faults
}

func (t *trial[T]) unreadable(definition string, err error) Fault {
	return Fault{Definition: definition, Kind: Unreadable, Entity: keys.Stored(t.pk, t.entity), Err: err}
}

// postpone leaves what a write of the entity repairs for later.
func (t *trial[T]) postpone(e *table.Entity[T]) {
	n := newcomer[T]{e: e}
	for c := range t.open {
		if t.open[c] {
			n.faults = append(n.faults, t.seen[c])
			delete(t.seen, c)
		}
	}
	t.later.miss(n)
}
