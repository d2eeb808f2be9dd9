package table

import "github.com/aztablekit/aztablekit/internal/engine"

// ReplaceMaintainers returns a handle of the same table that has replace(m) in place of each maintainer m, for programs that repair
// derived rows: a maintainer may have a mode in which it writes rows that seem unchanged. The replacement must have the name of m,
// and need no more rows than m. Entities that were read by one of the two handles can be written by the other.
func (t *Table[T]) ReplaceMaintainers(replace func(Maintainer[T]) Maintainer[T]) *Table[T] {
	c := t.InMode(func(m *engine.Mode) { m.Maintainers = make([]engine.Maintainer, len(t.maintainers)) })
	c.maintainers = make([]Maintainer[T], len(t.maintainers))
	for i, m := range t.maintainers {
		c.maintainers[i] = replace(m)
		c.h.engine.Mode.Maintainers[i] = maintainerOf[T]{c.maintainers[i]}
	}
	return c
}
