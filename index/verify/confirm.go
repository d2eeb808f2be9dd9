package verify

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var errConflict = errors.New("the entity cannot be written because another entity has its unique value")

// confirmation confirms the candidates of one entity by consistent reads, and repairs the faults that it finds.
type confirmation[T any] struct {
	*partition[T]
	entity     string
	candidates []candidate
	batch      *batch[T] // of repairs that are cheaper for many entities together; nil to repair at once

	found    map[candidate]Fault      // at any attempt
	open     map[candidate]bool       // at the last attempt
	causes   map[string]error         // why a definition cannot be repaired
	removals map[candidate]*table.Row // rows that the batch is to remove the entity from
}

// finding is what one consistent read shows.
type finding struct {
	definition  string   // the last that was compared
	rewrite     []string // definitions that a write of the entity repairs
	sharedOnly  bool     // all of these have rows that several entities share
	conflict    bool     // the entity cannot be written
	changing    bool     // a fault could not be confirmed
	unconfirmed bool     // nor was it confirmed at an earlier attempt
	blocked     bool     // a fault cannot be repaired
	cause       error    // why a fault was not repaired
}

// result returns errChanging if a candidate is left that was never confirmed.
func (v *finding) result() error {
	if v.unconfirmed {
		return errChanging
	}
	return nil
}

// confirmAndNote confirms the candidates of an entity, and notes the faults.
func (in *partition[T]) confirmAndNote(ctx context.Context, entity string, candidates []candidate, b *batch[T]) error {
	faults, err := in.confirm(ctx, entity, candidates, b)
	in.noteFaults(faults)
	if err == errChanging {
		in.noteUnconfirmed()
		err = nil
	}
	return err
}

// confirm confirms the candidates of an entity, and repairs the faults if Options.Repair is set: by a write of the entity, or by
// writes of rows that do not belong to the entity and are not in its maintainer state. It adds to b, if b is not nil, what is
// better repaired for many entities together. The error is errChanging if a candidate could not be confirmed.
func (in *partition[T]) confirm(ctx context.Context, entity string, candidates []candidate, b *batch[T]) (faults []Fault, err error) {
	c := &confirmation[T]{partition: in, entity: entity, candidates: candidates, batch: b, found: map[candidate]Fault{}, open: map[candidate]bool{}, causes: map[string]error{}}
	cause := errChanging
	var v finding
	for range in.attempts {
		s, err := in.readConsistently(ctx, entity, candidates)
		var unreadable *unreadableError
		switch {
		case err == errChanging:
			continue
		case err == errForeign:
			return c.faults(err), nil
		case errors.As(err, &unreadable):
			return append(c.faults(err), c.unreadable("", err)), nil
		case err != nil:
			return c.faults(err), err
		}
		v, err = c.compare(ctx, s)
		if err != nil {
			for of := range c.found {
				c.open[of] = true // as far as is known
			}
		}
		switch {
		case errors.As(err, &unreadable):
			return append(c.faults(err), c.unreadable(v.definition, err)), nil
		case err != nil:
			return c.faults(err), err
		}
		if v.cause != nil {
			cause = v.cause
		}
		switch {
		case len(v.rewrite) == 0:
		case v.conflict:
			return c.faults(errConflict), v.result()
		case v.sharedOnly && b != nil:
			c.deferToBatch(s.entity)
			return c.faults(nil), nil
		default:
			err := c.rewrite(ctx, s, v.rewrite)
			switch {
			case err != nil && !mustReread(err):
				return c.faults(err), ctx.Err()
			case err != nil:
				cause = err
			case len(c.causes) > 0:
				return c.faults(cause), cmp.Or(ctx.Err(), v.result())
			}
		}
		if v.blocked {
			return c.faults(cause), cmp.Or(ctx.Err(), v.result())
		}
		if !v.changing && (!in.opt.Repair || !slices.ContainsFunc(candidates, func(of candidate) bool { return c.open[of] })) {
			return c.faults(nil), nil
		}
	}
	if len(c.found) > 0 {
		return c.faults(cause), cmp.Or(ctx.Err(), v.result())
	}
	return nil, errChanging
}

// compare compares the entity and the rows of a consistent read, and repairs faults that need no write of the entity.
func (c *confirmation[T]) compare(ctx context.Context, s consistentRead[T]) (v finding, err error) {
	open := map[candidate]bool{}
	c.removals = map[candidate]*table.Row{}
	v.sharedOnly = true
	for i, of := range c.candidates {
		d := c.snapshots[of.snapshot].maintainer
		v.definition = d.Name()
		kind, owner, err := c.classify(d, c.entity, of.row, s, s.rows[i])
		if err != nil {
			return v, err
		}
		if kind == 0 {
			continue
		}
		if owner != derived.NoEntity {
			switch free, err := c.reassign(ctx, of, owner); {
			case err == errChanging || mustReread(err):
				_, found := c.found[of]
				open[of] = found
				v.changing, v.unconfirmed, v.cause = true, v.unconfirmed || !found, err
				continue
			case ctx.Err() != nil:
				return v, ctx.Err()
			case err != nil:
				c.causes[d.Name()], v.cause, v.blocked = err, err, true
			case !free:
				kind = Conflict
				// A write of the entity would insert a unique row, but would leave a target to its owner.
				if _, is := d.(derived.Searched); !is {
					v.conflict = true
				}
			}
		}
		f := Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(c.pk, of.row), Entity: keys.Stored(c.pk, c.entity)}
		if of == (candidate{}) {
			f.Row = keys.Key{} // the fault is in the entity
		}
		switch {
		case kind == Conflict:
			f.Owner = keys.Stored(c.pk, owner)
		case !c.opt.Repair:
			f = c.predictConflict(f, of)
		}
		c.found[of] = f
		if open[of] = f.Kind != Conflict; !c.opt.Repair || kind == Conflict || c.causes[d.Name()] != nil {
			continue
		}
		switch {
		case s.entity != nil && (kind != Dangling || slices.Contains(s.stateOf(d.Name()), of.row)):
			v.rewrite = append(v.rewrite, d.Name())
			v.sharedOnly = v.sharedOnly && d.Shared()
		case c.batch != nil && d.Shared() && s.rows[i] != nil:
			c.removals[of], open[of] = s.rows[i], false
		default:
			if err := c.removeEntity(ctx, d, s.rows[i], c.entity); err == nil {
				open[of] = false
			} else if v.cause, v.changing = err, true; !mustReread(err) {
				c.causes[d.Name()], v.blocked = err, true
			}
		}
	}
	v.sharedOnly = v.sharedOnly && !v.changing
	c.open = open
	return v, nil
}

// classify returns the kind of the fault between an entity and a row, 0 for none. owner is the entity that the row names instead,
// if the row can name only one.
func (in *partition[T]) classify(d derived.PerEntity[T], entity, rowKey string, s consistentRead[T], row *table.Row) (kind FaultKind, owner string, err error) {
	var wanted, named []string
	if s.entity != nil {
		if wanted, err = d.WantedRows(s.entity); err != nil {
			return 0, "", &unreadableError{err}
		}
	}
	if row != nil {
		named = d.EntitiesIn(row)
	}
	isWanted, isNamed := slices.Contains(wanted, rowKey), slices.Contains(named, entity)
	switch {
	case isWanted && !isNamed:
		if len(named) > 0 && d.WantedContent(s.stored) != nil {
			owner = named[0]
		}
		return Missing, owner, nil
	case isWanted && in.digest(d.Content(row)) != in.digest(d.WantedContent(s.stored)):
		return Stale, "", nil
	case !isWanted && isNamed:
		return Dangling, "", nil
	case rowKey == "": // the zero candidate
		if s.stored != nil && stateDamaged(s.stored) {
			return StateMismatch, "", nil
		}
	case isWanted != (s.entity != nil && slices.Contains(s.stateOf(d.Name()), rowKey)):
		return StateMismatch, "", nil
	}
	return 0, "", nil
}

// reassign frees a row that names another entity, so that the row can be written for the entity that should have it. It reports
// whether the row is free: it is not if the other entity should have it, or if that entity cannot be read.
func (in *partition[T]) reassign(ctx context.Context, of candidate, owner string) (free bool, err error) {
	d := in.snapshots[of.snapshot].maintainer
	for range in.attempts {
		s, err := in.readConsistently(ctx, owner, []candidate{of})
		var unreadable *unreadableError
		switch {
		case err == errChanging:
			continue
		case err == errForeign, errors.As(err, &unreadable):
			return false, nil
		case err != nil:
			return false, err
		}
		row := s.rows[0]
		if row == nil || !slices.Contains(d.EntitiesIn(row), owner) {
			return true, nil
		}
		kind, _, err := in.classify(d, owner, of.row, s, row)
		if err != nil || kind != Dangling {
			return false, nil
		}
		if !in.opt.Repair {
			return true, nil
		}
		if s.entity != nil && slices.Contains(s.stateOf(d.Name()), of.row) {
			err = in.releaseRows(ctx, d, s.entity)
		} else {
			err = in.removeEntity(ctx, d, row, owner)
		}
		if err == nil || !mustReread(err) {
			return err == nil, err
		}
	}
	return false, errChanging
}

// rewrite writes the entity so that the rows of some definitions are repaired. If a definition cannot be repaired, it repairs the
// others.
func (c *confirmation[T]) rewrite(ctx context.Context, s consistentRead[T], definitions []string) error {
	for len(definitions) > 0 {
		if err := c.pace(ctx, 2*(1+len(c.candidates))+c.rowsPerWrite()); err != nil {
			return err
		}
		r := c.repairDefinitions(definitions...)
		r.absent, r.foreign = map[string]bool{}, maps.Clone(c.foreign)
		for i, of := range c.candidates {
			r.absent[of.row] = s.rows[i] == nil
			if of.row != derived.NoEntity {
				r.foreign[of.row] = s.rows[i] != nil && !c.snapshots[of.snapshot].maintainer.Owns(s.rows[i]) && !derived.SameWrite(s.rows[i], s.stored)
			}
		}
		c.entitiesWritten.Store(true)
		t, err := c.repairTable(r)
		if err != nil {
			return err
		}
		err = t.Replace(ctx, s.entity)
		var de *table.DerivedError
		switch {
		case err == nil:
			maps.DeleteFunc(c.open, func(of candidate, _ bool) bool { return slices.Contains(definitions, c.found[of].Definition) })
			return nil
		case !errors.As(err, &de) || !slices.Contains(definitions, de.Maintainer) || mustReread(err):
			return err
		}
		c.causes[de.Maintainer] = err
		definitions = slices.DeleteFunc(definitions, func(s string) bool { return s == de.Maintainer })
	}
	return nil
}

// faults returns the faults that were found. Those that are open have cause as their error; the others are repaired, or left to the
// batch.
func (c *confirmation[T]) faults(cause error) (faults []Fault) {
	for of, f := range c.found {
		switch {
		case !c.opt.Repair || f.Kind == Conflict:
		case c.removals[of] != nil:
			c.batch.addRemoval(removal{of, c.removals[of], f})
			continue
		case c.open[of]:
			if f.Err = cause; c.causes[f.Definition] != nil {
				f.Err = c.causes[f.Definition]
			}
		default:
			f.Repaired = true
		}
		faults = append(faults, f)
	}
	return faults
}

func (c *confirmation[T]) unreadable(definition string, err error) Fault {
	return Fault{Definition: definition, Kind: Unreadable, Entity: keys.Stored(c.pk, c.entity), Err: err}
}

// deferToBatch leaves to the batch what a write of the entity repairs.
func (c *confirmation[T]) deferToBatch(e *table.Entity[T]) {
	a := addition[T]{entity: e}
	for of := range c.open {
		if c.open[of] {
			a.faults = append(a.faults, c.found[of])
			delete(c.found, of)
		}
	}
	c.batch.addEntity(a)
}
