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
type checked[T any] interface {
	maintainer[T]
	// wants are the rows that follow from an entity.
	wants(e *table.Entity[T]) ([]string, error)
	// claims are the RowKeys of the entities that a row names.
	claims(row *table.Row) []string
	// part is what a row holds that follows from an entity, and expected what it should hold; nil where that it is there is all.
	part(row *table.Row) *table.Row
	expected(entity *table.Row) *table.Row
	// released is a row without entities, nil where nothing is left of it.
	released(row *table.Row, entities ...string) (*table.Row, error)
	// several tells whether a row names several entities, and unique whether one alone can have it.
	several() bool
	unique() bool
}

// suspect is what may be a fault: something between a row and an entity.
type suspect struct{ row, entity string }

// claim is what may be wrong with an entity: a row of a definition.
type claim struct {
	def int // of the snapshots
	row string
}

// newcomer is an entity that a definition has never seen, with what follows from that.
type newcomer[T any] struct {
	e      *table.Entity[T]
	faults []Fault
}

// inspection is one partition under inspection.
type inspection[T any] struct {
	*verifier[T]
	pk    string
	read  int   // entities
	cause error // of an errRequest
	shots []*snapshot[T]
	sums  []counted[T]

	suspects map[string][]claim // by entity
	bad      map[string]bool    // entities that cannot be read
	sumsOff  []Fault            // of those that have not added to a summary what they should, for sure
	new      []newcomer[T]
	wanted   map[claim]string // unique rows that are not there, by the first entity that should have each
	empty    []claim          // rows that name nobody, and that somebody is missing from
	foreign  map[string]bool  // rows among those of the definitions that belong to somebody else
	wrote    atomic.Bool      // entities, so that summaries may have changed
}

// repairing is that of the verifier, with what is known of the partition.
func (in *inspection[T]) repairing(anew ...string) repairing {
	r := in.verifier.repairing(anew...)
	r.foreign = in.foreign
	return r
}

// partition looks at one partition.
func (v *verifier[T]) partition(ctx context.Context, pk string) error {
	in := &inspection[T]{verifier: v, pk: pk, foreign: map[string]bool{}}
	for _, d := range v.defs {
		switch d := d.(type) {
		case checked[T]:
			shot := &snapshot[T]{def: d, seen: map[suspect]uint64{}, owners: map[string]string{}}
			if err := in.shoot(ctx, shot); err != nil {
				return err
			}
			in.shots = append(in.shots, shot)
		case counted[T]:
			in.sums = append(in.sums, d)
		}
	}
	// Entities without maintainer state are counted first; the write that follows does not add them again.
	open := !in.opt.Repair
	for _, sum := range in.sums {
		if !in.opt.Repair {
			break
		}
		wrong, err := in.precount(ctx, sum)
		if err != nil {
			return err
		}
		open = open || wrong
	}
	in.suspects, in.bad, in.wanted = map[string][]claim{}, map[string]bool{}, map[claim]string{}
	if err := in.entities(ctx); err != nil {
		return err
	}
	// First what rows say and no entity does, then what entities say: a row that names a wrong one is given up by it, and then by
	// the right one missed.
	said := in.suspects
	in.suspects = map[string][]claim{}
	for i, shot := range in.shots {
		for s := range shot.seen {
			if !in.bad[s.entity] {
				in.suspect(s.entity, claim{i, s.row})
			}
		}
	}
	look := []map[string][]claim{in.suspects, said}
	if in.opt.Repair && len(in.empty) > 0 {
		look = append(look, map[string][]claim{nobody: in.empty}) // for who was missing may have left meanwhile
	}
	for _, suspects := range look {
		if err := in.look(ctx, suspects); err != nil {
			return err
		}
	}
	for _, f := range in.sumsOff {
		if err := in.again(ctx, f); err != nil {
			return err
		}
	}
	for _, sum := range in.sums {
		if !open && !in.wrote.Load() {
			break
		}
		if err := in.recount(ctx, sum, !in.opt.Repair); err != nil {
			return err
		}
	}
	v.tally(1, 0, 0)
	return nil
}

// entities reads the entities of the partition and compares them with what the rows have said.
func (in *inspection[T]) entities(ctx context.Context) error {
	for row, err := range in.paced(ctx, in.table.Range()) {
		if err != nil {
			return err
		}
		if in.table.Ranged() {
			return ErrRanged
		}
		e, err := in.table.Entity(original(row))
		if foreign(err) {
			in.bad[row.Key.RowKey()] = true // what rows say of it is not for this type to judge
			continue
		}
		if err == nil {
			if err = row.Key.Err(); err == nil { // which the service takes, and this library does not
				err = in.entity(ctx, e, row)
			}
		}
		if err == errRequest {
			return in.cause
		} else if err != nil {
			in.bad[row.Key.RowKey()] = true
			in.found(Fault{Kind: Unreadable, Entity: row.Key, Err: err})
		}
		in.tally(0, 1, 0)
		if in.read++; in.read%1000 == 0 {
			in.progress()
		}
	}
	if in.table.Ranged() {
		return ErrRanged
	}
	return in.introduce(ctx)
}

// foreign tells that a row is somebody else's.
func foreign(err error) bool {
	var ke *keys.KeyError
	return errors.As(err, &ke) || errors.Is(err, table.ErrOtherType)
}

// original is a row that is where entities are, without what says that it is a copy: for there are none.
func original(row *table.Row) *table.Row {
	r := *row
	if _, isCopy := row.Primary(); isCopy {
		r.Tag("", true)
	}
	return &r
}

// harmed tells whether others have harmed what an entity keeps for its rows, so that it must be written.
func harmed(row *table.Row) bool {
	_, isCopy := row.Primary()
	return isCopy || row.StateCorrupt()
}

// entity compares an entity with what the rows have said.
func (in *inspection[T]) entity(ctx context.Context, e *table.Entity[T], row *table.Row) error {
	n := newcomer[T]{e: e}
	known := false // what is suspected of it may have come, or gone, since the rows were read
	var off []Fault
	var suspects []claim
	wants, shares := make([][]string, len(in.shots)), make([][]string, len(in.sums))
	var err error
	for i, shot := range in.shots {
		if wants[i], err = shot.def.wants(e); err != nil {
			return err
		}
	}
	for i, sum := range in.sums {
		if shares[i], err = sum.shareNow(e); err != nil {
			return err
		}
	}
	for i, shot := range in.shots {
		want := wants[i]
		remembered, _ := remembered(row.MaintainerState(shot.def.Name()))
		digest := in.digest(shot.def.expected(row))
		for _, rk := range want {
			s := suspect{rk, e.Key.RowKey()}
			is, there := shot.seen[s]
			delete(shot.seen, s)
			if there && is == digest && slices.Contains(remembered, rk) {
				continue
			}
			suspects = append(suspects, claim{i, rk})
			known = known || there || slices.Contains(remembered, rk) || shot.def.unique() && shot.owners[rk] != "" // who is another
			kind := Missing
			if there {
				kind = Forgotten
			} else {
				empty := suspect{rk, nobody}
				if _, is := shot.seen[empty]; is { // it will be this one's
					delete(shot.seen, empty)
					in.empty = append(in.empty, claim{i, rk})
				}
				if c := (claim{i, rk}); shot.def.unique() && in.wanted[c] == "" {
					in.wanted[c] = e.Key.RowKey()
				}
			}
			n.faults = append(n.faults, Fault{Definition: shot.def.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key})
		}
		for _, rk := range remembered {
			if !slices.Contains(want, rk) {
				// This the entity says itself, so it is so for sure.
				s := suspect{rk, e.Key.RowKey()}
				kind := Forgotten
				if _, there := shot.seen[s]; there {
					kind = Dangling
				}
				delete(shot.seen, s)
				suspects = append(suspects, claim{i, rk})
				n.faults = append(n.faults, Fault{Definition: shot.def.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key})
			}
		}
	}
	for i, sum := range in.sums {
		share := shares[i]
		if remembered := countedOf(row.MaintainerState(sum.Name())); !slices.Equal(share, remembered) {
			group := append(slices.Clone(share), remembered...)[0]
			off = append(off, Fault{Definition: sum.Name(), Kind: Forgotten, Row: keys.Stored(in.pk, group), Entity: e.Key})
		}
	}
	if harmed(row) && (known || len(n.faults)+len(off) == 0) {
		name := in.defs[0].Name()
		if len(in.shots) > 0 {
			name = in.shots[0].def.Name() // as on a second look
		}
		n.faults = append(n.faults, Fault{Definition: name, Kind: Forgotten, Entity: e.Key})
		suspects = append(suspects, claim{})
	}
	switch {
	case len(n.faults)+len(off) == 0 && len(suspects) == 0:
	case known && in.opt.Repair:
		in.sumsOff = append(in.sumsOff, off...)
		in.suspect(e.Key.RowKey(), suspects...)
	case known:
		in.foundAll(off)
		in.suspect(e.Key.RowKey(), suspects...)
	case in.opt.Repair:
		n.faults = append(n.faults, off...)
		in.new = append(in.new, n)
		if len(in.new) == 1000 {
			if in.cause = in.introduce(ctx); in.cause != nil {
				return errRequest
			}
		}
	default:
		// Whoever writes the entity by these definitions lets it remember that, so this is so for sure.
		for i, f := range n.faults {
			n.faults[i] = in.foretold(f, suspects[i])
		}
		in.foundAll(append(n.faults, off...))
	}
	return nil
}

func (in *inspection[T]) foundAll(all []Fault) {
	for _, f := range all {
		in.found(f)
	}
}

// foretold is a fault of a report: a row that two entities should have alone will be one's.
func (in *inspection[T]) foretold(f Fault, c claim) Fault {
	if first := in.wanted[c]; f.Kind == Missing && first != "" && first != f.Entity.RowKey() {
		f.Kind, f.Owner = Conflict, keys.Stored(in.pk, first)
	}
	return f
}

// errRequest stands for an error that is none of the entity's.
var errRequest = errors.New("request")

func (in *inspection[T]) suspect(entity string, all ...claim) {
	for _, c := range all {
		if entity == nobody || !slices.Contains(in.suspects[entity], c) { // what is nobody's comes once, and may be much
			in.suspects[entity] = append(in.suspects[entity], c)
		}
	}
}

// introduce writes entities that a definition has never seen, as many in a transaction as go, each by its ETag. Those that others
// have changed meanwhile are suspects.
func (in *inspection[T]) introduce(ctx context.Context, definitions ...string) error {
	all := in.new
	in.new = nil
	skipped, err := in.together(ctx, all, definitions...)
	for i, n := range all {
		for _, f := range n.faults {
			switch reason, is := skipped[i]; {
			case !is:
				f.Repaired = true
				in.found(f)
			case reason == nil: // it was not reached
			case f.Row == keys.Key{} && len(in.shots) > 0:
				in.suspect(n.e.Key.RowKey(), claim{})
			case f.Row == keys.Key{}:
				f.Err = reason
				in.found(f)
			case slices.ContainsFunc(in.sums, func(d counted[T]) bool { return d.Name() == f.Definition }):
				in.sumsOff = append(in.sumsOff, f)
			default:
				j := slices.IndexFunc(in.shots, func(s *snapshot[T]) bool { return s.def.Name() == f.Definition })
				in.suspect(n.e.Key.RowKey(), claim{j, f.Row.RowKey()})
			}
		}
	}
	return err
}

// together writes entities in as few transactions as there can be, not more of their rows at a time than may be written in a second, and
// tells which were not written: why, or nil.
func (in *inspection[T]) together(ctx context.Context, all []newcomer[T], definitions ...string) (skipped map[int]error, err error) {
	skipped = map[int]error{}
	r := in.repairing(definitions...)
	r.owners = !in.lookedAt() // a request for each unique row
	wctx := r.context(ctx)
	for done := 0; done < len(all); {
		rows, n := 0, 0
		for _, e := range all[done:] {
			cost := 1 + len(e.faults) + in.alongside()
			if in.opt.Rate > 0 && n > 0 && rows+cost > in.opt.Rate {
				break
			}
			rows, n = rows+cost, n+1
		}
		if err = in.pace(ctx, rows); err != nil {
			n = 0
		} else {
			in.wrote.Store(true)
			var result table.BulkResult
			result, err = table.Bulk(wctx, func(yield func(table.Op, error) bool) {
				for _, n := range all[done : done+n] {
					if !yield(in.table.ReplaceOp(n.e), nil) {
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
