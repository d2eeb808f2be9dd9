package index

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

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
	// released is a row without an entity, nil where nothing is left of it.
	released(row *table.Row, entity keys.Key) (*table.Row, error)
}

// suspect is what may be a fault: something between a row and an entity.
type suspect struct{ row, entity string }

// snapshot is what the rows of a definition have said.
type snapshot[T any] struct {
	def  checked[T]
	seen map[suspect]uint64
}

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
	read  int // entities
	shots []*snapshot[T]
	sums  []counted[T]

	suspects map[string][]claim // by entity
	new      []newcomer[T]
}

// partition looks at one partition.
func (v *verifier[T]) partition(ctx context.Context, pk string) error {
	in := &inspection[T]{verifier: v, pk: pk}
	for _, d := range v.defs {
		switch d := d.(type) {
		case checked[T]:
			shot := &snapshot[T]{def: d, seen: map[suspect]uint64{}}
			if err := in.shoot(ctx, shot); err != nil {
				return err
			}
			in.shots = append(in.shots, shot)
		case counted[T]:
			in.sums = append(in.sums, d)
		}
	}
	in.suspects = map[string][]claim{}
	if err := in.entities(ctx); err != nil {
		return err
	}
	for i, shot := range in.shots {
		for s := range shot.seen {
			in.suspect(s.entity, claim{i, s.row})
		}
	}
	if err := in.look(ctx); err != nil {
		return err
	}
	for _, sum := range in.sums {
		if err := in.recount(ctx, sum); err != nil {
			return err
		}
	}
	v.tally(1, 0, 0)
	return nil
}

// shoot reads the rows of a definition.
func (in *inspection[T]) shoot(ctx context.Context, shot *snapshot[T]) error {
	take := func(row *table.Row, err error) error {
		if err == nil {
			err = in.pace(ctx, 1)
		}
		if err != nil {
			return err
		}
		in.tally(0, 0, 1)
		for _, entity := range shot.def.claims(row) {
			shot.seen[suspect{row.Key.RowKey(), entity}] = in.digest(shot.def.part(row))
		}
		return nil
	}
	partition := keys.Stored(in.pk, "").Partition()
	if d, ok := shot.def.(elsewhere); ok {
		for e, err := range in.table.Untyped(false).List(ctx, table.Query[table.Row]{Partition: partition, Where: d.held()}) {
			var row *table.Row
			if err == nil {
				row = &e.Value
			}
			if err := take(row, err); err != nil {
				return err
			}
		}
	}
	for _, r := range shot.def.ranges() {
		for row, err := range in.table.Rows(ctx, table.Query[T]{Partition: partition, Rows: r}) {
			if err := take(row, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// elsewhere is a definition whose rows are found by a condition.
type elsewhere interface{ held() table.Cond[table.Row] }

// digest tells contents apart.
func (v *verifier[T]) digest(row *table.Row) uint64 {
	if row == nil {
		return 0
	}
	var sum uint64
	for name, value := range row.All() { // in any order
		var h maphash.Hash
		h.SetSeed(v.seed)
		fmt.Fprintf(&h, "%s %s %v", name, row.Type(name), value)
		sum += h.Sum64()
	}
	return sum
}

// entities reads the entities of the partition and compares them with what the rows have said.
func (in *inspection[T]) entities(ctx context.Context) error {
	for row, err := range in.table.Rows(ctx, table.Query[T]{Partition: keys.Stored(in.pk, "").Partition(), Rows: in.table.Range()}) {
		if err != nil {
			return err
		}
		e, err := in.table.Entity(row)
		if foreign(err) {
			continue
		}
		if err == nil {
			err = in.pace(ctx, 1)
		}
		if err == nil {
			err = in.entity(ctx, e, row)
		}
		if err != nil {
			return err
		}
		in.tally(0, 1, 0)
		if in.read++; in.read%1000 == 0 {
			in.progress()
		}
	}
	return in.introduce(ctx)
}

// foreign tells that a row is somebody else's.
func foreign(err error) bool {
	var ke *keys.KeyError
	return errors.As(err, &ke) || errors.Is(err, table.ErrOtherType)
}

func (in *inspection[T]) entity(ctx context.Context, e *table.Entity[T], row *table.Row) error {
	n := newcomer[T]{e: e}
	known := false // it has suspects of definitions that it knows
	var suspects []claim
	for i, shot := range in.shots {
		want, err := shot.def.wants(e)
		if err != nil {
			return fmt.Errorf("%v: %w", e.Key, err)
		}
		remembered, _ := remembered(row.Remembered(shot.def.Name()))
		digest := in.digest(shot.def.expected(row))
		for _, rk := range want {
			s := suspect{rk, e.Key.RowKey()}
			is, there := shot.seen[s]
			delete(shot.seen, s)
			if there && is == digest && slices.Contains(remembered, rk) {
				continue
			}
			suspects = append(suspects, claim{i, rk})
			known = known || len(remembered) > 0 || there && is != digest
			kind := Missing
			if there {
				kind = Forgotten
			}
			n.faults = append(n.faults, Fault{Definition: shot.def.Name(), Kind: kind, Row: keys.Stored(in.pk, rk), Entity: e.Key})
		}
		for _, rk := range remembered {
			if !slices.Contains(want, rk) {
				s := suspect{rk, e.Key.RowKey()}
				delete(shot.seen, s)
				suspects, known = append(suspects, claim{i, rk}), true
			}
		}
	}
	for _, sum := range in.sums {
		share, err := sum.shareNow(e)
		if err != nil {
			return fmt.Errorf("%v: %w", e.Key, err)
		}
		if remembered := row.Remembered(sum.Name()); !slices.Equal(share, remembered) {
			group := append(share, remembered...)[0]
			n.faults = append(n.faults, Fault{Definition: sum.Name(), Kind: Forgotten, Row: keys.Stored(in.pk, group), Entity: e.Key})
			if !in.opt.Repair {
				in.found(n.faults[len(n.faults)-1]) // for sure: the entity says both
			}
		}
	}
	if len(n.faults) > 0 && in.opt.Repair && !known {
		in.new = append(in.new, n)
		if len(in.new) == 1000 {
			return in.introduce(ctx)
		}
		return nil
	}
	in.suspect(e.Key.RowKey(), suspects...)
	return nil
}

func (in *inspection[T]) suspect(entity string, all ...claim) {
	for _, c := range all {
		if !slices.Contains(in.suspects[entity], c) {
			in.suspects[entity] = append(in.suspects[entity], c)
		}
	}
}

// introduce writes entities that a definition has never seen, as many in a transaction as go, each by its ETag. Those that others
// have changed meanwhile are suspects.
func (in *inspection[T]) introduce(ctx context.Context) error {
	if len(in.new) == 0 {
		return nil
	}
	if err := in.pace(ctx, len(in.new)); err != nil {
		return err
	}
	skipped := map[int]error{}
	_, err := table.Bulk(force(ctx), func(yield func(table.Op, error) bool) {
		for _, n := range in.new {
			if !yield(in.table.ReplaceOp(n.e), nil) {
				return
			}
		}
	}, &table.BulkOptions{Skip: func(i int, err error) bool { skipped[i] = err; return true }})
	if err != nil {
		return err
	}
	for i, n := range in.new {
		for _, f := range n.faults {
			if skipped[i] == nil {
				f.Repaired = true
				in.found(f)
				continue
			}
			for j, shot := range in.shots {
				if shot.def.Name() == f.Definition {
					in.suspect(n.e.Key.RowKey(), claim{j, f.Row.RowKey()})
				}
			}
			for _, sum := range in.sums {
				if sum.Name() == f.Definition {
					if err := in.again(ctx, sum, f); err != nil {
						return err
					}
				}
			}
		}
	}
	in.new = nil
	return nil
}

// force is a context in which writes make what is derived anew.
func force(ctx context.Context) context.Context { return context.WithValue(ctx, forcing{}, true) }
