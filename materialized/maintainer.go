package materialized

import (
	"context"
	"strings"

	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// maintainer adds the effects of a view to the writes of entities.
type maintainer[T, V any] struct {
	*View[T, V]
	from *table.Table[T]
}

var _ maintain.Maintainer[struct{}] = (*maintainer[struct{}, struct{}])(nil)

func (v *View[T, V]) maintainer(from *table.Table[T]) attached[T] { return &maintainer[T, V]{v, from} }

func (m *maintainer[T, V]) Name() string { return prefix + m.name }

// MaxRows is 0: no derived entity is in the entity's transaction.
func (m *maintainer[T, V]) MaxRows() int { return 0 }

func (m *maintainer[T, V]) inline() bool { return m.opt.Inline }

// Maintain compares what the entity contributes with what its maintainer state records. A change names the derived entity that the
// entity had, and the one that it will have.
func (m *maintainer[T, V]) Maintain(_ context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
	want, err := m.of(c.New, c.Key)
	if err != nil {
		return err
	}
	had, digest := recorded(c.State())
	if had == (keys.Key{}) && c.Old != nil {
		// The entity is older than the view, which Verify may have filled since.
		if was, err := m.of(c.Old, c.Key); err == nil {
			had = was.key
		}
	}
	c.SetState(stateOf(want.key, want.digest)...)
	if had == want.key && digest == want.digest {
		return nil
	}
	var changed []keys.Key
	if had != (keys.Key{}) {
		changed = append(changed, had)
	}
	if want.value != nil && want.key != had {
		changed = append(changed, want.key)
	}
	reconcile.Plan(p, kindOf(m.from), m.Name(), changed...)
	return nil
}

// owner returns the owner of the notes of the view.
func (m *maintainer[T, V]) owner() string {
	return "view/" + strings.ToLower(m.from.Name()) + "/" + m.from.Engine().Mode.Schema.Scope() + "/" + m.name
}
