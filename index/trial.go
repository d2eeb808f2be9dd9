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
type confirmation[T any] struct {
	*partitionRun[T]
	entity     string
	candidates []candidate
	batch      *batchRepair[T]

	found    map[candidate]Fault      // all that was ever wrong
	open     map[candidate]bool       // what still is
	reasons  map[string]error         // why a definition cannot be repaired
	removals map[candidate]*table.Row // lists that are to be rid of it, as they are
}

// verdict is what one look has found.
type finding struct {
	rewrite     []string // definitions that a write of the entity repairs
	sharedOnly  bool     // they are of lists, all of them
	conflict    bool     // it cannot be written
	changing    bool     // something could not be told
	unconfirmed bool     // whether anything is wrong there neither
	blocked     bool     // something cannot be repaired
	cause       error    // of what could not be repaired
	definition  string   // that cannot be read
}

// look compares the rows of a scene, and repairs what needs no write of the entity.
func (t *confirmation[T]) compare(ctx context.Context, s consistentRead[T]) (v finding, err error) {
	open := map[candidate]bool{}
	t.removals = map[candidate]*table.Row{}
	v.sharedOnly = true
	for i, c := range t.candidates {
		d := t.snapshots[c.snapshot].maintainer
		v.definition = d.Name()
		kind, other, err := t.classify(d, t.entity, c.row, s, s.rows[i])
		if err != nil {
			return v, err
		}
		if kind == 0 {
			continue
		}
		if other != noEntity {
			switch free, err := t.reassign(ctx, c, other); {
			case err == errChanging || mustReread(err):
				_, seen := t.found[c]
				open[c] = seen
				v.changing, v.unconfirmed, v.cause = true, v.unconfirmed || !seen, err
				continue
			case ctx.Err() != nil:
				return v, ctx.Err()
			case err != nil:
				t.reasons[d.Name()], v.cause, v.blocked = err, err, true
			case !free:
				kind = Conflict
				// A write of the entity would take a unique row, though not the place of another's details.
				if _, away := d.(searched); !away {
					v.conflict = true
				}
			}
		}
		f := Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(t.pk, c.row), Entity: keys.Stored(t.pk, t.entity)}
		if c == (candidate{}) {
			f.Row = keys.Key{} // it is about the entity itself
		}
		switch {
		case kind == Conflict:
			f.Owner = keys.Stored(t.pk, other)
		case !t.opt.Repair:
			f = t.predictConflict(f, c)
		}
		t.found[c] = f
		if open[c] = f.Kind != Conflict; !t.opt.Repair || kind == Conflict || t.reasons[d.Name()] != nil {
			continue
		}
		had, _ := splitState(stateOf(s.stored, d.Name()))
		switch {
		case s.entity != nil && (kind != Dangling || slices.Contains(had, c.row)):
			v.rewrite = append(v.rewrite, d.Name())
			v.sharedOnly = v.sharedOnly && d.Shared()
		case t.batch != nil && d.Shared() && s.rows[i] != nil:
			t.removals[c], open[c] = s.rows[i], false
		default:
			if err := t.removeEntity(ctx, d, s.rows[i], t.entity); err == nil {
				open[c] = false
			} else if v.cause, v.changing = err, true; !mustReread(err) {
				t.reasons[d.Name()], v.blocked = err, true
			}
		}
	}
	v.sharedOnly = v.sharedOnly && !v.changing
	t.open = open
	return v, nil
}

// write writes the entity for some definitions. One that cannot be repaired is left as it is, for the others can.
func (t *confirmation[T]) rewrite(ctx context.Context, s consistentRead[T], definitions []string) error {
	for len(definitions) > 0 {
		if err := t.pace(ctx, 2*(1+len(t.candidates))+t.rowsPerWrite()); err != nil {
			return err
		}
		r := t.repairing(definitions...)
		r.absent, r.foreign = map[string]bool{}, maps.Clone(t.foreign)
		for i, c := range t.candidates {
			r.absent[c.row] = s.rows[i] == nil
			if c.row != noEntity {
				r.foreign[c.row] = s.rows[i] != nil && !t.snapshots[c.snapshot].maintainer.Owns(s.rows[i]) && !sameWrite(s.rows[i], s.stored)
			}
		}
		t.entitiesWritten.Store(true)
		err := t.table.Replace(r.context(ctx), s.entity)
		var de *table.DerivedError
		switch {
		case err == nil:
			maps.DeleteFunc(t.open, func(c candidate, _ bool) bool { return slices.Contains(definitions, t.found[c].Definition) })
			return nil
		case !errors.As(err, &de) || !slices.Contains(definitions, de.Maintainer) || mustReread(err):
			return err
		}
		t.reasons[de.Maintainer] = err
		definitions = slices.DeleteFunc(definitions, func(s string) bool { return s == de.Maintainer })
	}
	return nil
}

// end are the faults: those that are still open for a reason, and the others, which are repaired, unless they are left for later.
func (t *confirmation[T]) faults(cause error) (faults []Fault) {
	for c, f := range t.found {
		switch {
		case !t.opt.Repair || f.Kind == Conflict:
		case t.removals[c] != nil:
			t.batch.addRemoval(removal{c, t.removals[c], f})
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

func (t *confirmation[T]) unreadable(definition string, err error) Fault {
	return Fault{Definition: definition, Kind: Unreadable, Entity: keys.Stored(t.pk, t.entity), Err: err}
}

// postpone leaves what a write of the entity repairs for later.
func (t *confirmation[T]) deferToBatch(e *table.Entity[T]) {
	n := addition[T]{entity: e}
	for c := range t.open {
		if t.open[c] {
			n.faults = append(n.faults, t.found[c])
			delete(t.found, c)
		}
	}
	t.batch.addAddition(n)
}
