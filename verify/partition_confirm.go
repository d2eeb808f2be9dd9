package verify

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var errDuplicateValue = errors.New("the entity cannot be written because another entity has its unique value")

// confirmation confirms the candidates of one entity by consistent reads, and repairs the faults
// that it finds.
type confirmation struct {
	p          *partition
	entity     string
	candidates []candidate
	checks     []check          // one for each candidate
	batch      *batch           // of repairs that are cheaper for many entities together; nil to repair at once
	failed     map[string]error // definitions that cannot be repaired, with the reasons
	cause      error            // why the last attempt left a fault
}

// check is what is known of a candidate.
type check struct {
	status status
	fault  Fault      // as the last attempt confirmed it; its Kind is 0 if none did
	row    *table.Row // that the batch is to remove the entity from
}

// status says what an attempt has done about a candidate, or what is left to do.
type status int

const (
	readAgain        status = iota // it must be read again, because of a concurrent writer or an unknown outcome
	sound                          // there is no fault, or it is repaired
	reportOnly                     // the fault is reported and not repaired: with DryRun, or for a DuplicateValue
	blocking                       // the fault is a DuplicateValue of a unique index, so that the entity cannot be written
	unrepairable                   // the fault cannot be repaired
	needsEntityWrite               // a write of the entity repairs the fault
	batched                        // the batch repairs the fault
)

// confirmAndNote confirms the candidates of an entity, and notes the faults.
func (p *partition) confirmAndNote(ctx context.Context, entity string, candidates []candidate, b *batch) error {
	faults, err := p.confirm(ctx, entity, candidates, b)
	p.noteFaults(faults)
	if err == errChanging {
		p.count(derived.Unconfirmed, 1)
		err = nil
	}
	return err
}

// confirm confirms the candidates of an entity, and repairs the faults unless DryRun is set: by a
// write of the entity, or by writes of rows that do not belong to the entity and are not in its
// maintainer state. It adds to b, if b is not nil, what is better repaired for many entities
// together. The error is errChanging if a candidate could not be confirmed.
func (p *partition) confirm(
	ctx context.Context, entity string, candidates []candidate, b *batch,
) (faults []Fault, err error) {
	c := &confirmation{
		p: p, entity: entity, candidates: candidates, checks: make([]check, len(candidates)), batch: b, failed: map[string]error{}, cause: errChanging,
	}
	for a := range p.attempts(ctx, entity) {
		var done bool
		if done, err = c.attempt(ctx); done || err != nil {
			break
		}
		a.conflict = c.cause
	}
	faults = c.finishFaults(cmp.Or(err, c.cause))
	var unreadable *unreadableError
	switch {
	case err == errForeign:
		return faults, nil
	case errors.As(err, &unreadable):
		return append(faults, Fault{Definition: unreadable.definition, Kind: Unreadable, Entity: keys.Raw(p.pk, entity), Err: err}), nil
	case err != nil || ctx.Err() != nil:
		return faults, cmp.Or(err, ctx.Err())
	case slices.ContainsFunc(c.checks, func(k check) bool { return k.status == readAgain && k.fault.Kind == "" }):
		return faults, errChanging
	}
	return faults, nil
}

// attempt reads the entity and the rows, and repairs the faults. done reports that another attempt
// is not needed or cannot help.
func (c *confirmation) attempt(ctx context.Context) (done bool, err error) {
	s, err := c.p.readConsistently(ctx, c.entity, c.candidates)
	switch {
	case err == errChanging:
		return false, nil
	case err != nil:
		return true, err
	}
	for i := range c.checks {
		c.checks[i].status = readAgain
	}
	for i := range c.checks {
		if c.checks[i].status, err = c.check(ctx, &c.checks[i], c.candidates[i], s, s.rows[i]); err != nil {
			return true, err
		}
	}
	var definitions []string // that a write of the entity repairs
	shared := true           // all of these have rows that several entities share
	for i, k := range c.checks {
		if k.status == needsEntityWrite {
			d := c.p.snapshots[c.candidates[i].snapshot].maintainer
			definitions, shared = append(definitions, d.Name()), shared && d.Shared()
		}
	}
	switch {
	case len(definitions) == 0:
	case c.any(blocking):
		c.cause = errDuplicateValue
		return true, nil
	case shared && c.batch != nil && !c.any(readAgain) && !c.any(unrepairable):
		c.deferToBatch(s.entity)
		return true, nil
	default:
		if err := c.rewrite(ctx, s, definitions); err != nil {
			c.cause = err
			return !mustReread(err), nil
		}
	}
	return c.any(unrepairable) || !c.any(readAgain), nil
}

// any reports whether a candidate has a status.
func (c *confirmation) any(s status) bool {
	return slices.ContainsFunc(c.checks, func(k check) bool { return k.status == s })
}

// check compares the entity of a consistent read with one row, and repairs a fault that needs no
// write of the entity.
func (c *confirmation) check(
	ctx context.Context, k *check, of candidate, s consistentRead, row *table.Row,
) (status, error) {
	p, d := c.p, c.p.snapshots[of.snapshot].maintainer
	kind, owner, err := p.classify(d, c.entity, of.row, s, row)
	switch {
	case err != nil:
		return readAgain, err
	case kind == "":
		return sound, nil
	case owner != derived.NoEntity:
		switch free, err := p.freeRow(ctx, of, owner); {
		case err == errChanging || mustReread(err):
			c.cause = err
			return readAgain, nil
		case ctx.Err() != nil:
			return readAgain, ctx.Err()
		case err != nil:
			c.failed[d.Name()] = err
		case !free:
			kind = DuplicateValue
		}
	}
	k.fault = Fault{Definition: d.Name(), Kind: kind, Row: keys.Raw(p.pk, of.row), Entity: keys.Raw(p.pk, c.entity)}
	if of.row == stateOnly {
		k.fault.Row = keys.Key{}
	}
	switch {
	case kind == DuplicateValue:
		k.fault.Owner = keys.Raw(p.pk, owner)
		// A write of the entity would insert a unique row, but would leave the details to their
		// owner.
		if _, is := d.(derived.Searched); !is {
			return blocking, nil
		}
		return reportOnly, nil
	case p.opt.DryRun:
		k.fault = p.predictDuplicate(k.fault, of)
		return reportOnly, nil
	case c.failed[d.Name()] != nil:
		return unrepairable, nil
	case s.entity != nil && (kind != Dangling || slices.Contains(s.stateOf(d.Name()), of.row)):
		return needsEntityWrite, nil
	case c.batch != nil && d.Shared() && row != nil:
		k.row = row
		return batched, nil
	}
	switch err := p.removeEntity(ctx, d, row, c.entity); {
	case err == nil:
		return sound, nil
	case mustReread(err):
		c.cause = err
		return readAgain, nil
	default:
		c.failed[d.Name()] = err
		return unrepairable, nil
	}
}

// classify returns the kind of the fault between an entity and a row, "" for none. owner is the
// entity that the row names now, if the row can name only one and names another: a unique row, or
// the entity that holds the details.
func (p *partition) classify(
	d derived.PerEntity, entity, rowKey string, s consistentRead, row *table.Row,
) (kind string, owner string, err error) {
	var wanted, stored []string
	if s.entity != nil {
		if wanted, err = d.WantedRows(s.entity); err != nil {
			return "", "", &unreadableError{definition: d.Name(), error: err}
		}
	}
	if row != nil {
		stored = d.EntitiesIn(row)
	}
	isWanted, isStored := slices.Contains(wanted, rowKey), slices.Contains(stored, entity)
	switch {
	case isWanted && !isStored:
		if len(stored) > 0 && d.WantedContent(s.stored) != nil {
			owner = stored[0]
		}
		return Missing, owner, nil
	case isWanted && p.digest(d.Content(row)) != p.digest(d.WantedContent(s.stored)):
		return Stale, "", nil
	case !isWanted && isStored:
		return Dangling, "", nil
	case rowKey == stateOnly:
		if s.stored != nil && stateDamaged(s.stored) {
			return StateMismatch, "", nil
		}
	case isWanted != slices.Contains(s.stateOf(d.Name()), rowKey):
		return StateMismatch, "", nil
	}
	return "", "", nil
}

// freeRow deletes the row's wrong owner, so that the row can be written for the entity that should
// have it, and reports whether the row is now free: it is not if the owner should have it, or
// cannot be read. With DryRun, it only reports whether the row would be free. The error is
// errChanging if no consistent read was possible.
func (p *partition) freeRow(ctx context.Context, of candidate, owner string) (free bool, err error) {
	d := p.snapshots[of.snapshot].maintainer
	s, err := p.readConsistently(ctx, owner, []candidate{of})
	var unreadable *unreadableError
	switch {
	case err == errForeign, errors.As(err, &unreadable):
		return false, nil
	case err != nil:
		return false, err
	}
	row := s.rows[0]
	if row == nil || !slices.Contains(d.EntitiesIn(row), owner) {
		return true, nil
	}
	switch kind, _, err := p.classify(d, owner, of.row, s, row); {
	case err != nil || kind != Dangling:
		return false, nil
	case p.opt.DryRun:
		return true, nil
	}
	if slices.Contains(s.stateOf(d.Name()), of.row) {
		err = p.releaseRows(ctx, d, s.entity)
	} else {
		err = p.removeEntity(ctx, d, row, owner)
	}
	return err == nil, err
}

// rewrite writes the entity so that the rows of some definitions are repaired. If a definition
// cannot be repaired, it repairs the others.
func (c *confirmation) rewrite(ctx context.Context, s consistentRead, definitions []string) error {
	p := c.p
	mode := derived.RepairMode{CheckUnique: true, Absent: map[string]bool{}, Foreign: maps.Clone(p.foreign)}
	for i, of := range c.candidates {
		mode.Absent[of.row] = s.rows[i] == nil
		if of.row != stateOnly {
			mode.Foreign[of.row] = s.rows[i] != nil && !p.snapshots[of.snapshot].maintainer.Owns(s.rows[i]) && !derived.SameWrite(s.rows[i], s.stored)
		}
	}
	for len(definitions) > 0 {
		if err := p.pacer.Spend(ctx, 2*(1+len(c.candidates))+p.rowsPerWrite()); err != nil {
			return err
		}
		err := p.repairEntity(ctx, s.entity, mode, definitions...)
		var de *table.DerivedError
		switch {
		case err == nil:
			c.replace(needsEntityWrite, sound, definitions...)
			return nil
		case !errors.As(err, &de) || !slices.Contains(definitions, de.Maintainer) || mustReread(err):
			return err
		}
		c.failed[de.Maintainer] = err
		c.replace(needsEntityWrite, unrepairable, de.Maintainer)
		definitions = slices.DeleteFunc(definitions, func(s string) bool { return s == de.Maintainer })
	}
	return nil
}

// replace replaces a status of the candidates of some definitions.
func (c *confirmation) replace(from, to status, definitions ...string) {
	for i := range c.checks {
		if k := &c.checks[i]; k.status == from && slices.Contains(definitions, k.fault.Definition) {
			k.status = to
		}
	}
}

// finishFaults returns the faults, in the order of the candidates, and adds removals to the batch.
// Faults that are left get the reason as their error, unless their definition has one of its own.
func (c *confirmation) finishFaults(reason error) (faults []Fault) {
	for i, k := range c.checks {
		f := k.fault
		switch {
		case f.Kind == "":
			continue
		case c.p.opt.DryRun || f.Kind == DuplicateValue:
		case k.status == sound:
			f.Repaired = true
		case k.status == batched:
			if k.row != nil {
				c.batch.addRemoval(removal{c.candidates[i], k.row, f})
			}
			continue
		default:
			f.Err = cmp.Or(c.failed[f.Definition], reason)
		}
		faults = append(faults, f)
	}
	return faults
}

// deferToBatch leaves to the batch what a write of the entity repairs.
func (c *confirmation) deferToBatch(e tabledoor.Entity) {
	a := addition{entity: e}
	for i := range c.checks {
		if k := &c.checks[i]; k.status == needsEntityWrite {
			a.faults = append(a.faults, k.fault)
			k.status, k.row = batched, nil
		}
	}
	c.batch.mu.Lock()
	defer c.batch.mu.Unlock()
	c.batch.additions = append(c.batch.additions, a)
}

// attempt is an attempt at a confirmation or repair.
type attempt struct {
	number   int   // from 0
	conflict error // set by the attempt if it failed because of a concurrent writer
}

// attempts yields the attempts at a confirmation or repair, with the pauses between them, until
// Retry.ConflictAttempts are used up or ctx ends. It logs the conflicts, with the RowKey of the
// entity, or with the partition if the RowKey is derived.NoEntity. A repair may take longer than
// WriteTimeout.
func (p *partition) attempts(ctx context.Context, entity string) iter.Seq[*attempt] {
	return func(yield func(*attempt) bool) {
		o := door.Table(p.table).Options
		o.WriteTimeout = -1
		conflicts := o.NewConflicts()
		for i := 0; ; i++ {
			a := &attempt{number: i}
			if !yield(a) {
				return
			}
			var log engine.Log // an attempt that made progress is not logged
			if a.conflict != nil {
				log = p.logOf(entity)
			}
			if a.conflict == errChanging {
				a.conflict = table.ErrChanged // more attempts may follow
			}
			if again, _ := conflicts.Wait(ctx, log, a.conflict); !again {
				return
			}
		}
	}
}

// logConflict logs that an entity, or its row, has changed before a repair of many entities, and is
// confirmed again.
func (p *partition) logConflict(ctx context.Context, entity string, err error) {
	if mustReread(err) {
		p.logOf(entity).Conflict(ctx, 0, 0, err)
	}
}

func (p *partition) logOf(entity string) engine.Log {
	log := p.log
	if entity == derived.NoEntity {
		log.Partition = p.pk
	} else {
		log.Key = keys.Raw(p.pk, entity)
	}
	return log
}
