package index

import (
	"context"
	"slices"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// uniqueElsewhere writes the rows of unique values in other partitions, in one write with their
// entities. A row is a pointer to its entity. The entity says at every instant whether it has the
// value, and the row excludes that two entities do.
type uniqueElsewhere struct {
	*elsewhereMaintainer
	most int // rows of one entity
}

func (m *uniqueElsewhere) MaxRows() int { return m.most }

// AlsoWrites implements host.AlsoWriter.
func (m *uniqueElsewhere) AlsoWrites() []string { return []string{m.rows.Name()} }

// Kind returns "": the rows change together with their entities.
func (m *uniqueElsewhere) Kind() string { return "" }

func (m *uniqueElsewhere) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	return &uniqueElsewhere{m.elsewhereMaintainer.InRepairMode(mode).(*elsewhereMaintainer), m.most}
}

// Maintain gives up the values that the entity does not have any more, and takes the values that it
// has now.
func (m *uniqueElsewhere) Maintain(_ context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.rowsOf(c.New, c.Key)
	if err != nil {
		return err
	}
	had, _, err := m.recorded(c.State())
	if err != nil {
		return err
	}
	for _, k := range slices.Concat(had, unrecorded(c, len(had) > 0, m.rowsOf)) {
		if slices.Contains(want, k) {
			continue
		}
		there, err := door.Participant(p, door.Table(m.rows), k.PartitionKey())
		if err == nil {
			err = there.Remove(k.Row()) // the engine reads the row (participants.readUnread), and it stays if it is another entity's
		}
		if err != nil {
			return err
		}
	}
	var state []string
	for _, k := range want {
		state = append(state, stateText(k))
		if slices.Contains(had, k) && !m.mode.Rewrite {
			continue
		}
		there, err := door.Participant(p, door.Table(m.rows), k.PartitionKey())
		if err != nil {
			return err
		}
		if err := there.Insert(pointerTo(c.Key, k), derived.ErrTaken); err != nil {
			return err
		}
	}
	c.SetState(state...)
	return nil
}

// WantedContent is what verify compares the row of a value with.
func (m *uniqueElsewhere) WantedContent(entity *table.Row, row keys.Key) *table.Row {
	return pointerTo(entity.Key, row)
}

func pointerTo(entity, row keys.Key) *table.Row {
	return derived.Copy(&table.Row{Key: entity}, row, "")
}
