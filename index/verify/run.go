package verify

import (
	"context"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/table"
)

// run is a call of Run in progress.
type run[T any] struct {
	*recorder
	*pacer
	table       *table.Table[T]
	opt         Options
	maintainers []derived.Maintainer[T] // of the definitions that are verified
	seed        maphash.Seed
}

func newRun[T any](t *table.Table[T], o *Options) *run[T] {
	if o == nil {
		o = &Options{}
	}
	return &run[T]{
		recorder: newRecorder(o),
		pacer:    &pacer{rate: o.Rate},
		table:    t.IgnoreCorruptState(),
		opt:      *o,
		seed:     maphash.MakeSeed(),
	}
}

// verifies reports whether a maintainer is one of those that are verified.
func (v *run[T]) verifies(m table.Maintainer[T]) bool {
	return slices.ContainsFunc(v.maintainers, func(d derived.Maintainer[T]) bool { return d.Name() == m.Name() })
}

// rowsPerWrite returns how many derived rows each write of an entity writes, whatever is repaired.
func (v *run[T]) rowsPerWrite() (n int) {
	for _, m := range v.table.Maintainers() {
		if d, is := m.(derived.Maintainer[T]); is {
			n += d.RowsPerWrite()
		}
	}
	return n
}

// unverifiedUnique reports whether each write of an entity writes unique rows that are not verified, and so not known.
func (v *run[T]) unverifiedUnique() bool {
	return slices.ContainsFunc(v.table.Maintainers(), func(m table.Maintainer[T]) bool {
		d, is := m.(derived.PerEntity[T])
		return is && d.RowsPerWrite() > 0 && d.Unique() && !v.verifies(m)
	})
}

// repairTable returns a handle whose writes of entities repair derived rows: the mode holds for all definitions, but Rewrite and
// ReleaseOnly only for those that are named.
func (v *run[T]) repairTable(mode derived.RepairMode, definitions ...string) *table.Table[T] {
	return v.table.ReplaceMaintainers(func(m table.Maintainer[T]) table.Maintainer[T] {
		d, is := m.(derived.Maintainer[T])
		if !is {
			return m
		}
		_, perGroup := m.(derived.PerGroup[T])
		named, mode := slices.Contains(definitions, m.Name()), mode
		mode.Rewrite, mode.ReleaseOnly = named && !mode.ReleaseOnly, named && mode.ReleaseOnly
		mode.Active, mode.RowsRead, mode.CountsGroups = true, v.verifies(m), perGroup && v.verifies(m)
		return d.InRepairMode(mode)
	})
}

// attempts yields the numbers of the attempts at a confirmation or repair, with the pauses between them, until
// Retry.ConflictAttempts are used up or ctx ends. A repair may take longer than WriteTimeout.
func (v *run[T]) attempts(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		o := v.table.Engine().Options
		o.WriteTimeout = -1
		conflicts := o.Conflicts()
		for i := 0; yield(i); i++ {
			if again, _ := conflicts.Again(ctx); !again {
				return
			}
		}
	}
}
