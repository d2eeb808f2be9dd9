package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// participant is what a write does in another partition than its home: in another partition of the
// table, or in another table of the service. It is prepared before the write commits, and finished
// afterwards.
type participant struct {
	at      commit.Place
	table   *Table
	plan    *Plan
	write   *write      // plans the operations of this partition, and finds out what a refusal means
	steps   []step      // what the partition is to become
	prepare transaction // what prepares the partition
	images  int         // the rows of the preparation that contain new contents
	etags   []azcore.ETag
}

// participants are the participants of a plan.
type participants struct {
	write *write
	home  *Plan
	all   []*participant
}

// participant returns the participant of a partition of a table, and begins it if it is new.
func (r *participants) participant(t *Table, partition string) *participant {
	i := slices.IndexFunc(r.all, func(m *participant) bool { return m.at.Partition == partition && m.table.Same(t) })
	if i >= 0 {
		return r.all[i]
	}
	write := r.write.participantWrite(t, partition)
	m := &participant{at: commit.Place{Table: t.Name, Partition: partition}, table: t, write: write}
	m.plan = newPlan(write)
	m.plan.root, m.plan.participants = r.write, r
	r.all = append(r.all, m)
	return m
}

// copyFor returns the participants as they are now, for a copy of the home's plan.
func (r *participants) copyFor(home *Plan) *participants {
	c := &participants{r.write, home, make([]*participant, len(r.all))}
	for i, m := range r.all {
		n := *m
		n.steps = slices.Clone(m.steps)
		n.plan = m.plan.copyRows()
		n.plan.participants = c
		c.all[i] = &n
	}
	return c
}

// dropCorrections drops what is known of derived rows of an earlier version of an entity.
func (r *participants) dropCorrections() {
	for _, in := range r.write.participantWrites {
		clear(in.corrections)
	}
}

// readErr returns an error that a read in a participant returned, nil if there is none.
func (r *participants) readErr() error {
	for _, m := range r.all {
		if m.plan.readErr != nil {
			return m.plan.readErr
		}
	}
	return nil
}

// blamed returns the operation that an error of a participant's plan is about, -1 if none is.
func (r *participants) blamed() int {
	for _, m := range r.all {
		if m.plan.blamed >= 0 {
			return m.plan.blamed
		}
	}
	return -1
}

// mostOfParticipant is how many rows of one participant a transaction of bulk changes, and
// mostOfMessage the bytes that the names of all participants may have in the message.
const (
	mostOfParticipant = (maxOperations - 2) / 2 // each may need a row for its new content
	mostOfMessage     = 20 << 10
)

// tooLarge reports whether the participants are too many for one write, or have too many rows.
func (r *participants) tooLarge() bool {
	size := 0
	for _, m := range r.all {
		size += placeLength(m.at)
		rows := len(m.steps)
		for _, d := range m.plan.rows {
			if d.planned {
				rows++
			}
		}
		if rows > mostOfParticipant {
			return true
		}
	}
	return size > mostOfMessage
}

// PossibleParticipants reports whether a write can have these participants: places, each once, that
// rows can have, and no more than a message may name.
func PossibleParticipants(all []commit.Place) bool {
	size, seen := 0, map[commit.Place]bool{}
	for _, r := range all {
		size += placeLength(r)
		if r.Check() != nil || seen[r.Folded()] {
			return false
		}
		seen[r.Folded()] = true
	}
	return size <= mostOfMessage
}

// placeLength is the most bytes that the participant takes in a message, whose characters may be
// escaped.
func placeLength(r commit.Place) int { return 40 + len(r.Table) + 6*len([]rune(r.Partition)) }

// participantWrite returns the write in another partition. It is the same one at each attempt, so
// that it keeps what it knows of rows that were not as a plan expected.
func (w *write) participantWrite(t *Table, partition string) *write {
	i := slices.IndexFunc(w.participantWrites, func(p *write) bool { return p.only == partition && p.table.Same(t) })
	if i < 0 {
		i = len(w.participantWrites)
		in := &write{table: t, method: w.method, asTransaction: w.asTransaction}
		in.only, in.home = partition, w
		w.participantWrites = append(w.participantWrites, in)
	}
	return w.participantWrites[i]
}

// planIn returns the plan of a partition: the home's, or that of a participant.
func (r *participants) planIn(t *Table, partition string) (*Plan, error) {
	home := r.write.table
	switch {
	case keys.Raw(partition, "r").Err() != nil:
		return nil, keys.Raw(partition, "r").Err()
	case !t.SameService(home):
		return nil, &errs.ValueError{Field: "table", Reason: "is of another service than " + home.Name + ", so that no commit record covers both; give a table of the same client"}
	case reserves(partition):
		return nil, &errs.ValueError{Field: edm.PartitionKey, Reason: "begins with ~; such partitions belong to the library"}
	case partition == r.write.partition() && t.Same(home):
		return r.home, nil
	}
	return r.participant(t, partition).plan, nil
}

func reserves(partition string) bool { return len(partition) > 0 && partition[:1] == reserved.First }

// planParticipants plans the operations of the write in other partitions.
func (w *write) planParticipants(ctx context.Context, r *participants) error {
	for i := range w.participantOps {
		op := w.participantOps[i]
		m := r.participant(op.Table, op.Key.PartitionKey())
		s := step{Op: op, opIndex: len(w.ops) + i}
		if s.needsPlanning {
			err := s.readAndMaintain(ctx, m.plan)
			if m.plan.readErr == nil && m.plan.refusedBy(err) {
				_, err = w.confirmRefusal(ctx, m.plan, append(slices.Clip(m.steps), s), err)
			}
			if err != nil {
				return cmp.Or(m.plan.readErr, err)
			}
		}
		if err := s.replaceWhole(); err != nil {
			return err
		}
		m.steps = append(m.steps, s)
	}
	return nil
}

// complete adds what the maintainers have planned in the participants to their operations, and
// leaves out participants in which nothing is to be done.
func (r *participants) complete(ctx context.Context) error {
	r.all = slices.DeleteFunc(r.all, func(m *participant) bool {
		return len(m.steps) == 0 && !slices.ContainsFunc(m.plan.order, func(rk string) bool { return m.plan.writes(m.plan.rows[rk]) })
	})
	if err := r.readUnread(ctx); err != nil {
		return err
	}
	for _, m := range r.all {
		more, _, err := m.plan.steps(m.table)
		if err != nil {
			return err
		}
		m.steps = append(m.steps, more...)
	}
	return nil
}

// readUnread reads the derived rows that the plans would write without knowing them: their ETags
// must be known. A copy that an entity gives up and that is another entity's by now stays.
func (r *participants) readUnread(ctx context.Context) (err error) {
	type unread struct {
		*participant
		row *derivedRow
	}
	var all []unread
	for _, m := range r.all {
		for _, rk := range m.plan.order {
			d := m.plan.rows[rk]
			if exists, match := m.plan.exists(d); m.plan.writes(d) && exists && match == azcore.ETagAny {
				all = append(all, unread{m, d})
			}
		}
	}
	i := 0
	InOrder(ctx, all, func(ctx context.Context, u unread) (readResult, error) {
		return u.write.readRow(ctx, u.row.key)
	}, func(f readResult, e error) bool {
		d := all[i].row
		i++
		if e != nil {
			err = e
			return false
		}
		d.read = &f
		if f.row != nil {
			if k, isCopy := f.row.Primary(); isCopy && d.gaveUp != (keys.Key{}) && k != d.gaveUp {
				d.owned, d.planned = false, d.planned && d.after != nil
			}
		}
		return true
	})
	return err
}

// effects returns the effects that follow from the participants' entities.
func (r *participants) effects() (all []commit.Effect) {
	for _, m := range r.all {
		for _, e := range m.plan.effects {
			e.Table, e.Partition = m.at.Table, m.at.Partition
			all = append(all, e)
		}
	}
	return all
}

// believing returns a handle that believes commit records in the home of a write.
func (t *Table) believing(home commit.Place) *Table {
	if t.Knows(home.Table) {
		return t
	}
	return t.WithHomes(home.Table)
}

// place is where the commit record of the write is.
func (w *write) place() commit.Place {
	return commit.Place{Table: w.table.Name, Partition: w.partition()}
}

// placesOf returns where participants are.
func placesOf(participants []*participant) (all []commit.Place) {
	for _, m := range participants {
		all = append(all, m.at)
	}
	return all
}
