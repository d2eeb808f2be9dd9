package index

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// checked is a definition whose rows each follow from entities that they name.
type perEntity[T any] interface {
	maintainer[T]
	// wants are the rows that follow from an entity.
	WantedRows(e *table.Entity[T]) ([]string, error)
	// claims are the RowKeys of the entities that a row names.
	EntitiesIn(row *table.Row) []string
	// part is what a row holds that follows from an entity, and expected what it should hold; nil where that it is there is all.
	Content(row *table.Row) *table.Row
	WantedContent(entity *table.Row) *table.Row
	// released is a row without entities, nil where nothing is left of it.
	Without(row *table.Row, entities ...string) (*table.Row, error)
	// several tells whether a row names several entities, and unique whether one alone can have it.
	Shared() bool
	Unique() bool
}

// suspect is what may be a fault: something between a row and an entity.
type link struct{ row, entity string }

// claim is what may be wrong with an entity: a row of a definition.
type candidate struct {
	snapshot int // of the snapshots
	row      string
}

// newcomer is an entity that a definition has never seen, with what follows from that.
type addition[T any] struct {
	entity *table.Entity[T]
	faults []Fault
}

// inspection is one partition under inspection.
type partitionRun[T any] struct {
	*run[T]
	pk           string
	entitiesRead int   // entities
	requestErr   error // of an errRequest
	snapshots    []*snapshot[T]
	summaries    []perGroup[T]

	candidates      map[string][]candidate // by entity
	excluded        map[string]bool        // entities that cannot be read
	uncounted       []Fault                // of those that have not added to a summary what they should, for sure
	additions       []addition[T]
	firstOwner      map[candidate]string // unique rows that are not there, by the first entity that should have each
	ownerless       []candidate          // rows that name nobody, and that somebody is missing from
	foreign         map[string]bool      // rows among those of the definitions that belong to somebody else
	entitiesWritten atomic.Bool          // entities, so that summaries may have changed
}

// repairing is that of the verifier, with what is known of the partition.
func (in *partitionRun[T]) repairing(anew ...string) repairMode {
	r := in.run.repairing(anew...)
	r.foreign = in.foreign
	return r
}

// partition looks at one partition.
func (v *run[T]) verifyPartition(ctx context.Context, pk string) error {
	in := &partitionRun[T]{run: v, pk: pk, foreign: map[string]bool{}}
	for _, d := range v.maintainers {
		switch d := d.(type) {
		case perEntity[T]:
			shot := &snapshot[T]{maintainer: d, links: map[link]uint64{}, owners: map[string]string{}}
			if err := in.readRows(ctx, shot); err != nil {
				return err
			}
			in.snapshots = append(in.snapshots, shot)
		case perGroup[T]:
			in.summaries = append(in.summaries, d)
		}
	}
	// Entities without maintainer state are counted first; the write that follows does not add them again.
	open := !in.opt.Repair
	for _, sum := range in.summaries {
		if !in.opt.Repair {
			break
		}
		wrong, err := in.addUncounted(ctx, sum)
		if err != nil {
			return err
		}
		open = open || wrong
	}
	in.candidates, in.excluded, in.firstOwner = map[string][]candidate{}, map[string]bool{}, map[candidate]string{}
	if err := in.readEntities(ctx); err != nil {
		return err
	}
	// First what rows say and no entity does, then what entities say: a row that names a wrong one is given up by it, and then by
	// the right one missed.
	said := in.candidates
	in.candidates = map[string][]candidate{}
	for i, shot := range in.snapshots {
		for s := range shot.links {
			if !in.excluded[s.entity] {
				in.addCandidates(s.entity, candidate{i, s.row})
			}
		}
	}
	look := []map[string][]candidate{in.candidates, said}
	if in.opt.Repair && len(in.ownerless) > 0 {
		look = append(look, map[string][]candidate{noEntity: in.ownerless}) // for who was missing may have left meanwhile
	}
	for _, suspects := range look {
		if err := in.confirmAll(ctx, suspects); err != nil {
			return err
		}
	}
	for _, f := range in.uncounted {
		if err := in.countEntity(ctx, f); err != nil {
			return err
		}
	}
	for _, sum := range in.summaries {
		if !open && !in.entitiesWritten.Load() {
			break
		}
		if err := in.verifySummary(ctx, sum, !in.opt.Repair); err != nil {
			return err
		}
	}
	v.count(1, 0, 0)
	return nil
}

// entities reads the entities of the partition and compares them with what the rows have said.
func (in *partitionRun[T]) readEntities(ctx context.Context) error {
	for row, err := range in.scan(ctx, in.table.Range()) {
		if err != nil {
			return err
		}
		if in.table.Ranged() {
			return ErrRanged
		}
		e, err := in.table.Entity(asEntityRow(row))
		if isForeign(err) {
			in.excluded[row.Key.RowKey()] = true // what rows say of it is not for this type to judge
			continue
		}
		if err == nil {
			if err = row.Key.Err(); err == nil { // which the service takes, and this library does not
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
			in.progress()
		}
	}
	if in.table.Ranged() {
		return ErrRanged
	}
	return in.writeAdditions(ctx)
}

// foreign tells that a row is somebody else's.
func isForeign(err error) bool {
	var ke *keys.KeyError
	return errors.As(err, &ke) || errors.Is(err, table.ErrOtherType)
}

// original is a row that is where entities are, without what says that it is a copy: for there are none.
func asEntityRow(row *table.Row) *table.Row {
	r := *row
	if _, isCopy := row.Primary(); isCopy {
		r.Tag("", true)
	}
	return &r
}

// harmed tells whether others have harmed what an entity keeps for its rows, so that it must be written.
func stateDamaged(row *table.Row) bool {
	_, isCopy := row.Primary()
	return isCopy || row.StateCorrupt()
}

// entity compares an entity with what the rows have said.
func (in *partitionRun[T]) compareEntity(ctx context.Context, e *table.Entity[T], row *table.Row) error {
	n := addition[T]{entity: e}
	known := false // what is suspected of it may have come, or gone, since the rows were read
	var off []Fault
	var suspects []candidate
	wants, shares := make([][]string, len(in.snapshots)), make([][]string, len(in.summaries))
	var err error
	for i, shot := range in.snapshots {
		if wants[i], err = shot.maintainer.WantedRows(e); err != nil {
			return err
		}
	}
	for i, sum := range in.summaries {
		if shares[i], err = sum.StateOf(e); err != nil {
			return err
		}
	}
	for i, shot := range in.snapshots {
		want := wants[i]
		remembered, _ := splitState(row.MaintainerState(shot.maintainer.Name()))
		digest := in.digest(shot.maintainer.WantedContent(row))
		for _, rk := range want {
			s := link{rk, e.Key.RowKey()}
			is, there := shot.links[s]
			delete(shot.links, s)
			if there && is == digest && slices.Contains(remembered, rk) {
				continue
			}
			suspects = append(suspects, candidate{i, rk})
			known = known || there || slices.Contains(remembered, rk) || shot.maintainer.Unique() && shot.owners[rk] != "" // who is another
			kind := Missing
			if there {
				kind = StateMismatch
			} else {
				empty := link{rk, noEntity}
				if _, is := shot.links[empty]; is { // it will be this one's
					delete(shot.links, empty)
					in.ownerless = append(in.ownerless, candidate{i, rk})
				}
				if c := (candidate{i, rk}); shot.maintainer.Unique() && in.firstOwner[c] == "" {
					in.firstOwner[c] = e.Key.RowKey()
				}
			}
			n.faults = append(n.faults, Fault{Definition: shot.maintainer.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key})
		}
		for _, rk := range remembered {
			if !slices.Contains(want, rk) {
				// This the entity says itself, so it is so for sure.
				s := link{rk, e.Key.RowKey()}
				kind := StateMismatch
				if _, there := shot.links[s]; there {
					kind = Dangling
				}
				delete(shot.links, s)
				suspects = append(suspects, candidate{i, rk})
				n.faults = append(n.faults, Fault{Definition: shot.maintainer.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key})
			}
		}
	}
	for i, sum := range in.summaries {
		share := shares[i]
		if remembered := contributionState(row.MaintainerState(sum.Name())); !slices.Equal(share, remembered) {
			group := append(slices.Clone(share), remembered...)[0]
			off = append(off, Fault{Definition: sum.Name(), Kind: StateMismatch, Row: keys.Stored(in.pk, group), Entity: e.Key})
		}
	}
	if stateDamaged(row) && (known || len(n.faults)+len(off) == 0) {
		name := in.maintainers[0].Name()
		if len(in.snapshots) > 0 {
			name = in.snapshots[0].maintainer.Name() // as on a second look
		}
		n.faults = append(n.faults, Fault{Definition: name, Kind: StateMismatch, Entity: e.Key})
		suspects = append(suspects, candidate{})
	}
	switch {
	case len(n.faults)+len(off) == 0 && len(suspects) == 0:
	case known && in.opt.Repair:
		in.uncounted = append(in.uncounted, off...)
		in.addCandidates(e.Key.RowKey(), suspects...)
	case known:
		in.noteFaults(off)
		in.addCandidates(e.Key.RowKey(), suspects...)
	case in.opt.Repair:
		n.faults = append(n.faults, off...)
		in.additions = append(in.additions, n)
		if len(in.additions) == 1000 {
			if in.requestErr = in.writeAdditions(ctx); in.requestErr != nil {
				return errRequest
			}
		}
	default:
		// Whoever writes the entity by these definitions lets it remember that, so this is so for sure.
		for i, f := range n.faults {
			n.faults[i] = in.predictConflict(f, suspects[i])
		}
		in.noteFaults(append(n.faults, off...))
	}
	return nil
}

func (in *partitionRun[T]) noteFaults(all []Fault) {
	for _, f := range all {
		in.noteFault(f)
	}
}

// foretold is a fault of a report: a row that two entities should have alone will be one's.
func (in *partitionRun[T]) predictConflict(f Fault, c candidate) Fault {
	if first := in.firstOwner[c]; f.Kind == Missing && first != "" && first != f.Entity.RowKey() {
		f.Kind, f.Owner = Conflict, keys.Stored(in.pk, first)
	}
	return f
}

// errRequest stands for an error that is none of the entity's.
var errRequest = errors.New("request")

func (in *partitionRun[T]) addCandidates(entity string, all ...candidate) {
	for _, c := range all {
		if entity == noEntity || !slices.Contains(in.candidates[entity], c) { // what is nobody's comes once, and may be much
			in.candidates[entity] = append(in.candidates[entity], c)
		}
	}
}

// introduce writes entities that a definition has never seen, as many in a transaction as go, each by its ETag. Those that others
// have changed meanwhile are suspects.
func (in *partitionRun[T]) writeAdditions(ctx context.Context, definitions ...string) error {
	all := in.additions
	in.additions = nil
	skipped, err := in.writeTogether(ctx, all, definitions...)
	for i, n := range all {
		for _, f := range n.faults {
			switch reason, is := skipped[i]; {
			case !is:
				f.Repaired = true
				in.noteFault(f)
			case reason == nil: // it was not reached
			case f.Row == keys.Key{} && len(in.snapshots) > 0:
				in.addCandidates(n.entity.Key.RowKey(), candidate{})
			case f.Row == keys.Key{}:
				f.Err = reason
				in.noteFault(f)
			case slices.ContainsFunc(in.summaries, func(d perGroup[T]) bool { return d.Name() == f.Definition }):
				in.uncounted = append(in.uncounted, f)
			default:
				j := slices.IndexFunc(in.snapshots, func(s *snapshot[T]) bool { return s.maintainer.Name() == f.Definition })
				in.addCandidates(n.entity.Key.RowKey(), candidate{j, f.Row.RowKey()})
			}
		}
	}
	return err
}

// together writes entities in as few transactions as there can be, not more of their rows at a time than may be written in a second, and
// tells which were not written: why, or nil.
func (in *partitionRun[T]) writeTogether(ctx context.Context, all []addition[T], definitions ...string) (skipped map[int]error, err error) {
	skipped = map[int]error{}
	r := in.repairing(definitions...)
	r.owners = !in.uniqueRowsVerified() // a request for each unique row
	wctx := r.context(ctx)
	for done := 0; done < len(all); {
		rows, n := 0, 0
		for _, e := range all[done:] {
			cost := 1 + len(e.faults) + in.rowsPerWrite()
			if in.opt.Rate > 0 && n > 0 && rows+cost > in.opt.Rate {
				break
			}
			rows, n = rows+cost, n+1
		}
		if err = in.pace(ctx, rows); err != nil {
			n = 0
		} else {
			in.entitiesWritten.Store(true)
			var result table.BulkResult
			result, err = table.Bulk(wctx, func(yield func(table.Op, error) bool) {
				for _, n := range all[done : done+n] {
					if !yield(in.table.ReplaceOp(n.entity), nil) {
						return
					}
				}
			}, &table.BulkOptions{Skip: func(i int, err error) bool { skipped[done+i] = err; return true }})
			n = result.ResumeAt
		}
		if err != nil {
			for i := done + n; i < len(all); i++ {
				skipped[i] = nil
			}
			return skipped, err
		}
		done += n
	}
	return skipped, nil
}
