package verify

import (
	"context"

	"github.com/aztablekit/aztablekit/index/internal/derived"
)

// verifyPartition verifies one partition.
func (r *run[T]) verifyPartition(ctx context.Context, pk string) error {
	p := newPartition(r, pk)
	for _, d := range r.maintainers {
		switch d := d.(type) {
		case derived.PerEntity[T]:
			if err := p.takeSnapshot(ctx, d); err != nil {
				return err
			}
		case derived.PerGroup[T]:
			p.summaries = append(p.summaries, d)
		}
	}
	recount := !p.opt.Repair
	if p.opt.Repair {
		for _, sum := range p.summaries {
			open, err := p.addUncounted(ctx, sum)
			if err != nil {
				return err
			}
			recount = recount || open
		}
	}
	if err := p.readEntities(ctx); err != nil {
		return err
	}
	// First the rows that should not exist: they may hold a unique value that another entity must get.
	fromEntities := p.candidates
	p.candidates = map[string][]candidate{}
	// The digests that are left are of rows whose entity was not read, or neither should have the row nor records it.
	for i, s := range p.snapshots {
		for l := range s.digests {
			if !p.excluded[l.entity] {
				p.addCandidates(l.entity, candidate{i, l.row})
			}
		}
	}
	passes := []map[string][]candidate{p.candidates, fromEntities}
	if p.opt.Repair && len(p.ownerless) > 0 {
		// The entity that an ownerless row should name may have been deleted meanwhile.
		passes = append(passes, map[string][]candidate{derived.NoEntity: p.ownerless})
	}
	for _, candidates := range passes {
		if err := p.confirmAll(ctx, candidates); err != nil {
			return err
		}
	}
	for _, f := range p.miscounted {
		if err := p.repairMiscounted(ctx, f); err != nil {
			return err
		}
	}
	if recount || p.entitiesWritten.Load() {
		for _, sum := range p.summaries {
			if err := p.verifyGroups(ctx, sum, !p.opt.Repair); err != nil {
				return err
			}
		}
	}
	r.count(1, 0, 0)
	return nil
}
