package verify

import (
	"hash/maphash"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// run is a call of Run in progress.
type run[T any] struct {
	*recorder
	*pacer
	table       *table.Table[T]
	schema      engine.Schema // of the table
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
		recorder: newRecorder(o),
		pacer:    &pacer{rate: o.Rate},
		table:    t.InMode(func(m *engine.Mode) { m.IgnoreCorruptState = true }),
		schema:   t.Engine().Mode.Schema,
		opt:      *o,
		attempts: t.Engine().Options.Retry.ConflictAttempts,
		seed:     maphash.MakeSeed(),
	}
}

// verifies reports whether a definition is one of those that are verified.
func (v *run[T]) verifies(definition string) bool {
	return slices.ContainsFunc(v.maintainers, func(d derived.Maintainer[T]) bool { return d.Name() == definition })
}

// rowsPerWrite returns how many derived rows each write of an entity writes, whatever is repaired.
func (v *run[T]) rowsPerWrite() (n int) {
	for _, d := range derived.MaintainersOf[derived.Maintainer[T]](v.table.Engine()) {
		n += d.RowsPerWrite()
	}
	return n
}

// unverifiedUnique reports whether each write of an entity writes unique rows that are not verified, and so not known.
func (v *run[T]) unverifiedUnique() bool {
	return slices.ContainsFunc(derived.MaintainersOf[derived.PerEntity[T]](v.table.Engine()), func(d derived.PerEntity[T]) bool {
		return d.RowsPerWrite() > 0 && d.Unique() && !v.verifies(d.Name())
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
func (v *run[T]) repairTable(r repair) (*table.Table[T], error) {
	all := derived.MaintainersOf[table.Maintainer[T]](v.table.Engine())
	for i, m := range all {
		d, is := m.(derived.Maintainer[T])
		if !is {
			continue
		}
		_, perGroup := m.(derived.PerGroup[T])
		all[i] = d.InRepairMode(derived.RepairMode{
			Active:       true,
			Rewrite:      slices.Contains(r.rewrite, m.Name()),
			CheckUnique:  r.checkUnique,
			RowsRead:     v.verifies(m.Name()),
			ReleaseOnly:  r.release == m.Name(),
			CountsGroups: perGroup && v.verifies(m.Name()),
			Absent:       r.absent,
			Foreign:      r.foreign,
		})
	}
	return v.table.InMode(func(m *engine.Mode) { m.Maintainers = nil }).With(all...)
}
