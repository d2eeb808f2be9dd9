package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// errRequest says that compareEntity failed because of a request, whose error is in requestErr, and not because of the entity.
var errRequest = errors.New("request")

// readEntities reads the entities of the partition and compares them with the snapshots.
func (in *partition[T]) readEntities(ctx context.Context) error {
	for row, err := range in.scan(ctx, in.schema.Rows()) {
		if err != nil {
			return err
		}
		if in.table.Engine().Ranged() {
			return table.ErrRanged
		}
		e, err := in.table.Entity(derived.AsEntity(row))
		if derived.IsForeign(err) {
			in.excluded[row.Key.RowKey()] = true // its rows are verified with the table of its type
			continue
		}
		if err == nil {
			if err = row.Key.Err(); err == nil { // the service accepts keys that this library does not
				err = in.compareEntity(ctx, e, row)
			}
		}
		if err == errRequest {
			return in.requestErr
		} else if err != nil {
			in.excluded[row.Key.RowKey()] = true
			in.noteFault(Fault{Kind: Unreadable, Entity: row.Key, Err: err})
		}
		in.count(0, 1, 0)
		if in.entitiesRead++; in.entitiesRead%1000 == 0 {
			in.noteProgress()
		}
	}
	if in.table.Engine().Ranged() {
		return table.ErrRanged
	}
	return in.writeAdditions(ctx)
}

// comparison is what the comparison of an entity with the snapshots finds.
type comparison struct {
	faults     []Fault
	candidates []candidate // one for each fault

	// unsure says that a fault must be confirmed, because the row may have changed since the snapshot. Without it, the entity alone
	// shows all faults: it wants rows that its maintainer state does not record, or records rows that it does not want.
	unsure bool
}

func (c *comparison) add(f Fault, of candidate) {
	c.faults = append(c.faults, f)
	c.candidates = append(c.candidates, of)
}

// compareEntity compares an entity with the snapshots. It deletes the links that the entity explains. An error is one of the
// definitions' functions, or errRequest.
func (in *partition[T]) compareEntity(ctx context.Context, e *table.Entity[T], row *table.Row) error {
	wanted := make([][]string, len(in.snapshots))
	states := make([][]string, len(in.summaries))
	var err error
	for i, s := range in.snapshots {
		if wanted[i], err = s.maintainer.WantedRows(e); err != nil {
			return err
		}
	}
	for i, sum := range in.summaries {
		if states[i], err = sum.StateOf(e); err != nil {
			return err
		}
	}
	var c comparison
	for i := range in.snapshots {
		in.compareRows(&c, i, e, row, wanted[i])
	}
	var uncounted []Fault
	for i, sum := range in.summaries {
		recorded := recordedGroup(row, sum)
		if !slices.Equal(states[i], recorded) {
			group := append(slices.Clone(states[i]), recorded...)[0]
			uncounted = append(uncounted, Fault{Definition: sum.Name(), Kind: StateMismatch, Row: keys.Stored(in.pk, group), Entity: e.Key})
		}
	}
	if stateDamaged(row) && (c.unsure || len(c.faults)+len(uncounted) == 0) {
		name := in.maintainers[0].Name()
		if len(in.snapshots) > 0 {
			name = in.snapshots[0].maintainer.Name() // of the candidate
		}
		c.add(Fault{Definition: name, Kind: StateMismatch, Entity: e.Key}, candidate{row: stateOnly})
	}
	switch {
	case len(c.faults)+len(uncounted) == 0:
	case c.unsure && in.opt.Repair:
		in.uncounted = append(in.uncounted, uncounted...)
		in.addCandidates(e.Key.RowKey(), c.candidates...)
	case c.unsure:
		in.noteFaults(uncounted)
		in.addCandidates(e.Key.RowKey(), c.candidates...)
	case in.opt.Repair:
		in.additions = append(in.additions, addition[T]{e, append(c.faults, uncounted...)})
		if len(in.additions) == 1000 {
			if in.requestErr = in.writeAdditions(ctx); in.requestErr != nil {
				return errRequest
			}
		}
	default:
		for i, f := range c.faults {
			c.faults[i] = in.predictConflict(f, c.candidates[i])
		}
		in.noteFaults(append(c.faults, uncounted...))
	}
	return nil
}

// compareRows compares the rows of an entity with a snapshot.
func (in *partition[T]) compareRows(found *comparison, i int, e *table.Entity[T], row *table.Row, wanted []string) {
	s := in.snapshots[i]
	d := s.maintainer
	recorded, _ := derived.SplitState(row.Engine().MaintainerState(d.Name()))
	want := in.digest(d.WantedContent(row))
	for _, rk := range wanted {
		l, c := link{rk, e.Key.RowKey()}, candidate{i, rk}
		got, exists := s.links[l]
		delete(s.links, l)
		if exists && got == want && slices.Contains(recorded, rk) {
			continue
		}
		found.unsure = found.unsure || exists || slices.Contains(recorded, rk) || d.Unique() && s.owners[rk] != ""
		kind := StateMismatch
		if !exists {
			kind = Missing
			ownerless := link{rk, derived.NoEntity}
			if _, is := s.links[ownerless]; is { // the row of no entity becomes the row of this one
				delete(s.links, ownerless)
				in.ownerless = append(in.ownerless, c)
			}
			if d.Unique() && in.firstOwner[c] == "" {
				in.firstOwner[c] = e.Key.RowKey()
			}
		}
		found.add(Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key}, c)
	}
	for _, rk := range recorded {
		if slices.Contains(wanted, rk) {
			continue
		}
		l := link{rk, e.Key.RowKey()}
		kind := StateMismatch
		if _, exists := s.links[l]; exists {
			kind = Dangling
		}
		delete(s.links, l)
		found.add(Fault{Definition: d.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key}, candidate{i, rk})
	}
}

// recordedGroup returns the maintainer state of an entity for a summary, nil if it records no group.
func recordedGroup[T any](row *table.Row, sum derived.PerGroup[T]) []string {
	texts := row.Engine().MaintainerState(sum.Name())
	if derived.IsUnknownGroup(texts) {
		return nil
	}
	return texts
}

// stateDamaged reports whether another program has damaged the properties of an entity that its rows depend on, so that the entity
// must be written again.
func stateDamaged(row *table.Row) bool {
	_, isCopy := row.Engine().Primary()
	return isCopy || row.Engine().StateCorrupt()
}

// predictConflict returns a fault of a run without repair as a repair would report it: of two entities that lack the same unique
// row, only the first gets it.
func (in *partition[T]) predictConflict(f Fault, c candidate) Fault {
	if first := in.firstOwner[c]; f.Kind == Missing && first != "" && first != f.Entity.RowKey() {
		f.Kind, f.Owner = Conflict, keys.Stored(in.pk, first)
	}
	return f
}
