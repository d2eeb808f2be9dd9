package verify

import (
	"hash/maphash"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// run is a call of Run in progress.
type run[T any] struct {
	*recorder
	pacer       *pace.Limit
	table       *table.Table[T]
	schema      engine.Schema // of the table
	opt         Options
	maintainers []derived.Maintainer[T] // of the definitions that are verified
	elsewhere   []derived.Elsewhere[T]  // of those whose rows are elsewhere
	seed        maphash.Seed
}

func newRun[T any](t *table.Table[T], o *Options) *run[T] {
	if o == nil {
		o = &Options{}
	}
	return &run[T]{
		recorder: newRecorder(o, t.Engine().Log("verify.Run", keys.Key{})),
		pacer:    pace.New(o.Rate),
		table:    t.InMode(func(m *engine.Mode) { m.IgnoreCorruptState = true }),
		schema:   t.Engine().Mode.Schema,
		opt:      *o,
		seed:     maphash.MakeSeed(),
	}
}

// verifies reports whether a definition is one of those that are verified.
func (r *run[T]) verifies(definition string) bool {
	return slices.ContainsFunc(r.maintainers, func(d derived.Maintainer[T]) bool { return d.Name() == definition })
}

// rowsPerWrite returns how many derived rows each write of an entity writes, whatever is repaired.
func (r *run[T]) rowsPerWrite() (n int) {
	for _, d := range derived.MaintainersOf[derived.Maintainer[T]](r.table.Engine()) {
		n += d.RowsPerWrite()
	}
	return n
}

// unverifiedUnique reports whether each write of an entity writes unique rows that are not verified, and so not known.
func (r *run[T]) unverifiedUnique() bool {
	return slices.ContainsFunc(derived.MaintainersOf[derived.PerEntity[T]](r.table.Engine()), func(d derived.PerEntity[T]) bool {
		return d.RowsPerWrite() > 0 && d.Unique() && !r.verifies(d.Name())
	})
}
