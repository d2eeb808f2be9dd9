package verify

import (
	"context"
	"slices"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// writeAdditions writes the additions, as many as possible in each transaction, each entity by its ETag. Entities that a concurrent
// writer has changed become candidates.
func (p *partition[T]) writeAdditions(ctx context.Context) error {
	all := p.additions
	p.additions = nil
	skipped, err := p.writeTogether(ctx, all)
	for i, a := range all {
		p.logConflict(ctx, a.entity.Key.RowKey(), skipped[i])
		for _, f := range a.faults {
			switch reason, is := skipped[i]; {
			case !is:
				f.Repaired = true
				p.noteFault(f)
			case reason == nil: // not reached
			case f.Row == keys.Key{} && len(p.snapshots) > 0:
				p.addCandidates(a.entity.Key.RowKey(), candidate{row: stateOnly})
			case f.Row == keys.Key{}:
				f.Err = reason
				p.noteFault(f)
			case slices.ContainsFunc(p.summaries, func(d derived.PerGroup[T]) bool { return d.Name() == f.Definition }):
				p.miscounted = append(p.miscounted, f)
			default:
				j := slices.IndexFunc(p.snapshots, func(s *snapshot[T]) bool { return s.maintainer.Name() == f.Definition })
				p.addCandidates(a.entity.Key.RowKey(), candidate{j, f.Row.RowKey()})
			}
		}
	}
	return err
}

// writeTogether writes entities in as few transactions as possible, with no more rows at a time than may be written in a second. It
// returns why entities were skipped, by their position; nil for those that were not reached.
func (p *partition[T]) writeTogether(ctx context.Context, all []addition[T], definitions ...string) (skipped map[int]error, err error) {
	skipped = map[int]error{}
	// CheckUnique costs a request for each unique row.
	writer, err := p.repairTable(derived.RepairMode{CheckUnique: p.unverifiedUnique(), Foreign: p.foreign}, definitions...)
	stop := func(done int, err error) (map[int]error, error) {
		for i := done; i < len(all); i++ {
			skipped[i] = nil
		}
		return skipped, err
	}
	if err != nil {
		return stop(0, err)
	}
	for done := 0; done < len(all); {
		rows, n := 0, 0
		for _, a := range all[done:] {
			cost := 1 + len(a.faults) + p.rowsPerWrite()
			if p.opt.Rate > 0 && n > 0 && rows+cost > p.opt.Rate {
				break
			}
			rows, n = rows+cost, n+1
		}
		if err = p.pacer.Spend(ctx, rows); err != nil {
			n = 0
		} else {
			p.entitiesWritten.Store(true)
			var result bulk.Result
			result, err = bulk.Run(ctx, func(yield func(table.Op, error) bool) {
				for _, a := range all[done : done+n] {
					if !yield(writer.TouchOp(a.entity), nil) {
						return
					}
				}
			}, &bulk.Options{Skip: func(i int, err error) bool { skipped[done+i] = err; return true }})
			n = result.ResumeAt
		}
		if err != nil {
			return stop(done+n, err)
		}
		done += n
	}
	return skipped, nil
}
