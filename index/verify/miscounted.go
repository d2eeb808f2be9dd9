package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
)

// repairMiscounted writes an entity whose recorded contribution to a summary is not what it should be. The entity itself shows
// the fault, which needs no confirmation.
func (p *partition[T]) repairMiscounted(ctx context.Context, f Fault) error {
	d := p.summaries[slices.IndexFunc(p.summaries, func(d derived.PerGroup[T]) bool { return d.Name() == f.Definition })]
	f.Err = errChanging
	for a := range p.attempts(ctx, f.Entity.RowKey()) {
		e, row, err := p.getEntity(ctx, f.Entity.RowKey())
		var unreadable *unreadableError
		switch {
		case err == errForeign || errors.As(err, &unreadable):
			f.Err = err
			p.noteFault(f)
			return nil
		case err != nil:
			return err
		}
		var state []string
		if e != nil {
			if state, f.Err = d.StateOf(e); f.Err != nil {
				break
			}
		}
		if e == nil || slices.Equal(state, recordedGroup(row, d)) {
			f.Err = nil // a concurrent writer has repaired or deleted the entity
			break
		}
		if err := p.pacer.Spend(ctx, 3+p.rowsPerWrite()); err != nil { // the entity, the group that it leaves and the group that it joins
			return err
		}
		if f.Err = p.repairEntity(ctx, e, derived.RepairMode{CheckUnique: true, Foreign: p.foreign}); f.Err == nil || !mustReread(f.Err) {
			break
		}
		a.conflict = f.Err
	}
	if mustReread(f.Err) {
		p.noteUnconfirmed()
		return ctx.Err()
	}
	f.Repaired = f.Err == nil
	p.noteFault(f)
	return ctx.Err()
}
