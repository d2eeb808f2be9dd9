package verify

import (
	"hash/maphash"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// run is a call of Run in progress.
type run[T any] struct {
	*recorder
	*pacer
	table       *table.Table[T]
	opt         Options
	maintainers []derived.Maintainer[T] // of the definitions that are verified
	attempts    int                     // at a confirmation or repair that concurrent writers disturb
	seed        maphash.Seed
}

func newRun[T any](t *table.Table[T], o *Options) *run[T] {
	if o == nil {
		o = &Options{}
	}
	return &run[T]{
		recorder: newRecorder(o, t.Engine().Log("verify.Run", keys.Key{})),
		pacer:    &pacer{rate: o.Rate},
		table:    t.IgnoreCorruptState(),
		opt:      *o,
		attempts: t.Common().Retry.ConflictAttempts,
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

// repair says how a write of an entity repairs its derived rows.
type repair struct {
	rewrite     []string        // definitions whose rows are written again, also if they seem unchanged
	release     string          // a definition of which the entity releases wrong rows, and takes none
	checkUnique bool            // unique rows are read before they are replaced
	absent      map[string]bool // RowKeys of wanted rows that did not exist
	foreign     map[string]bool // RowKeys of foreign rows
}

// repairTable returns a handle whose writes of entities make a repair.
func (v *run[T]) repairTable(r repair) *table.Table[T] {
	return v.table.ReplaceMaintainers(func(m table.Maintainer[T]) table.Maintainer[T] {
		d, is := m.(derived.Maintainer[T])
		if !is {
			return m
		}
		_, perGroup := m.(derived.PerGroup[T])
		return d.InRepairMode(derived.RepairMode{
			Active:       true,
			Rewrite:      slices.Contains(r.rewrite, m.Name()),
			CheckUnique:  r.checkUnique,
			RowsRead:     v.verifies(m),
			ReleaseOnly:  r.release == m.Name(),
			CountsGroups: perGroup && v.verifies(m),
			Absent:       r.absent,
			Foreign:      r.foreign,
		})
	})
}
