package verify

import (
	"context"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// writeAdditions writes the additions, as many as possible in each transaction, each entity by its ETag. Entities that a concurrent
// writer has changed become candidates.
func (in *partition[T]) writeAdditions(ctx context.Context) error {
	all := in.additions
	in.additions = nil
	skipped, err := in.writeTogether(ctx, all)
	for i, a := range all {
		for _, f := range a.faults {
			switch reason, is := skipped[i]; {
			case !is:
				f.Repaired = true
				in.noteFault(f)
			case reason == nil: // not reached
			case f.Row == keys.Key{} && len(in.snapshots) > 0:
				in.addCandidates(a.entity.Key.RowKey(), candidate{row: stateOnly})
			case f.Row == keys.Key{}:
				f.Err = reason
				in.noteFault(f)
			case slices.ContainsFunc(in.summaries, func(d derived.PerGroup[T]) bool { return d.Name() == f.Definition }):
				in.uncounted = append(in.uncounted, f)
			default:
				j := slices.IndexFunc(in.snapshots, func(s *snapshot[T]) bool { return s.maintainer.Name() == f.Definition })
				in.addCandidates(a.entity.Key.RowKey(), candidate{j, f.Row.RowKey()})
			}
		}
	}
	return err
}

// writeTogether writes entities in as few transactions as possible, with no more rows at a time than may be written in a second. It
// returns why entities were skipped, by their position; nil for those that were not reached.
func (in *partition[T]) writeTogether(ctx context.Context, all []addition[T], definitions ...string) (skipped map[int]error, err error) {
	skipped = map[int]error{}
	// CheckUnique costs a request for each unique row.
	writer, err := in.repairTable(derived.RepairMode{CheckUnique: in.unverifiedUnique(), Foreign: in.foreign}, definitions...)
	if err != nil {
		return nil, err
	}
	for done := 0; done < len(all); {
		rows, n := 0, 0
		for _, a := range all[done:] {
			cost := 1 + len(a.faults) + in.rowsPerWrite()
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
			result, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for _, a := range all[done : done+n] {
					if !yield(writer.ReplaceOp(a.entity), nil) {
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
