package verify

import (
	"context"

	"github.com/aztablekit/aztablekit/index/internal/derived"
)

// verifyPartition verifies one partition.
func (v *run[T]) verifyPartition(ctx context.Context, pk string) error {
	in := newPartition(v, pk)
	for _, d := range v.maintainers {
		switch d := d.(type) {
		case derived.PerEntity[T]:
			if err := in.takeSnapshot(ctx, d); err != nil {
				return err
			}
		case derived.PerGroup[T]:
			in.summaries = append(in.summaries, d)
		}
	}
	recount := !in.opt.Repair
	if in.opt.Repair {
		for _, sum := range in.summaries {
			open, err := in.addUncounted(ctx, sum)
			if err != nil {
				return err
			}
			recount = recount || open
		}
	}
	if err := in.readEntities(ctx); err != nil {
		return err
	}
	// First the rows that should not exist: they may hold a unique value that another entity must get.
	fromEntities := in.candidates
	in.candidates = map[string][]candidate{}
	for i, s := range in.snapshots {
		for l := range s.links {
			if !in.excluded[l.entity] {
				in.addCandidates(l.entity, candidate{i, l.row})
			}
		}
	}
	passes := []map[string][]candidate{in.candidates, fromEntities}
	if in.opt.Repair && len(in.ownerless) > 0 {
		// The entity that an ownerless row should name may have been deleted meanwhile.
		passes = append(passes, map[string][]candidate{derived.NoEntity: in.ownerless})
	}
	for _, candidates := range passes {
		if err := in.confirmAll(ctx, candidates); err != nil {
			return err
		}
	}
	for _, f := range in.uncounted {
		if err := in.repairUncounted(ctx, f); err != nil {
			return err
		}
	}
	for _, sum := range in.summaries {
		if !recount && !in.entitiesWritten.Load() {
			break
		}
		if err := in.verifyGroups(ctx, sum, !in.opt.Repair); err != nil {
			return err
		}
	}
	v.count(1, 0, 0)
	return nil
}
