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

// remote is what a write does in another partition than its home: in another partition of the
// table, or in another table of the service. It is prepared before the write commits, and finished
// afterwards.
type remote struct {
	at          commit.Remote
	table       *Table
	plan        *Plan
	participant *write      // plans the operations of this partition, and finds out what a refusal means
	steps       []step      // what the partition is to become
	prepare     transaction // what prepares the partition
	images      int         // the rows of the preparation that contain new contents
	etags       []azcore.ETag
	stamps      bool // the partition has a stamp
}

// remotes are the remotes of a plan.
type remotes struct {
	write *write
	home  *Plan
	all   []*remote
}

// remote returns the remote of a partition of a table, and begins it if it is new.
func (r *remotes) remote(t *Table, partition string) *remote {
	i := slices.IndexFunc(r.all, func(m *remote) bool { return m.at.Partition == partition && m.table.Same(t) })
	if i >= 0 {
		return r.all[i]
	}
	participant := r.write.participant(t, partition)
	m := &remote{at: commit.Remote{Table: t.Name, Partition: partition}, table: t, participant: participant}
	m.stamps = r.write.keepsStamps(t) || t.Same(r.write.table) && r.write.stamps()
	m.plan = newPlan(participant)
	m.plan.root, m.plan.others = r.write, r
	r.all = append(r.all, m)
	return m
}

// copyFor returns the remotes as they are now, for a copy of the home's plan.
func (r *remotes) copyFor(home *Plan) *remotes {
	c := &remotes{r.write, home, make([]*remote, len(r.all))}
	for i, m := range r.all {
		n := *m
		n.steps = slices.Clone(m.steps)
		n.plan = m.plan.copyRows()
		n.plan.others = c
		c.all[i] = &n
	}
	return c
}

// dropCorrections drops what is known of derived rows of an earlier version of an entity.
func (r *remotes) dropCorrections() {
	for _, participant := range r.write.participants {
		clear(participant.corrections)
	}
}

// readErr returns an error that a read in a remote returned, nil if there is none.
func (r *remotes) readErr() error {
	for _, m := range r.all {
		if m.plan.readErr != nil {
			return m.plan.readErr
		}
	}
	return nil
}

// blamed returns the operation that an error of a remote's plan is about, -1 if none is.
func (r *remotes) blamed() int {
	for _, m := range r.all {
		if m.plan.blamed >= 0 {
			return m.plan.blamed
		}
	}
	return -1
}

// mostOfRemote is how many rows of one remote a transaction of bulk changes, and mostOfMessage the
// bytes that the names of all remotes may have in the message.
const (
	mostOfRemote  = (maxOperations - 2) / 2 // each may need a row for its new content
	mostOfMessage = 20 << 10
)

// tooLarge reports whether the remotes are too many for one write, or have too many rows.
func (r *remotes) tooLarge() bool {
	size := 0
	for _, m := range r.all {
		size += remoteLength(m.at)
		rows := len(m.steps)
		for _, d := range m.plan.rows {
			if d.planned {
				rows++
			}
		}
		if rows > mostOfRemote {
			return true
		}
	}
	return size > mostOfMessage
}

// PossibleRemotes reports whether a write can have these remotes: places, each once, that rows can
// have, and no more than a message may name.
func PossibleRemotes(all []commit.Remote) bool {
	size, seen := 0, map[commit.Remote]bool{}
	for _, r := range all {
		size += remoteLength(r)
		if commit.CheckRemote(r) != nil || seen[commit.Folded(r)] {
			return false
		}
		seen[commit.Folded(r)] = true
	}
	return size <= mostOfMessage
}

// remoteLength is the most bytes that the remote takes in a message, whose characters may be
// escaped.
func remoteLength(r commit.Remote) int { return 40 + len(r.Table) + 6*len([]rune(r.Partition)) }

// participant returns the participant in another partition. It is the same one at each attempt, so
// that it keeps what it knows of rows that were not as a plan expected.
func (w *write) participant(t *Table, partition string) *write {
	i := slices.IndexFunc(w.participants, func(p *write) bool { return p.only == partition && p.table.Same(t) })
	if i < 0 {
		i = len(w.participants)
		w.participants = append(w.participants, &write{table: t, method: w.method, only: partition, home: w, asTransaction: w.asTransaction})
	}
	return w.participants[i]
}

// planOf returns the plan of a partition: the home's, or that of a remote.
func (r *remotes) planOf(of rowReader, partition string) (*Plan, error) {
	t := of.(*Table)
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
	return r.remote(t, partition).plan, nil
}

func reserves(partition string) bool { return len(partition) > 0 && partition[:1] == reserved.First }

// planMoved plans the operations of the write in other partitions.
func (w *write) planMoved(ctx context.Context, r *remotes) error {
	for i := range w.moved {
		op := w.moved[i]
		m := r.remote(op.Table, op.Key.PartitionKey())
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

// complete adds what the maintainers have planned in the remotes to their operations, and leaves
// out remotes in which nothing is to be done.
func (r *remotes) complete(ctx context.Context) error {
	r.all = slices.DeleteFunc(r.all, func(m *remote) bool {
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
func (r *remotes) readUnread(ctx context.Context) (err error) {
	type unread struct {
		*remote
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
		return u.participant.readRow(ctx, u.row.key)
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

// effects returns the effects that follow from the remotes' entities.
func (r *remotes) effects() (all []commit.Effect) {
	for _, m := range r.all {
		for _, e := range m.plan.effects {
			e.Table, e.Partition = m.at.Table, m.at.Partition
			all = append(all, e)
		}
	}
	return all
}

// believing returns a handle that believes commit records in the home of a write.
func (t *Table) believing(home commit.Remote) *Table {
	if t.Knows(home.Table) {
		return t
	}
	return t.WithHomes(home.Table)
}

// place is where the commit record of the write is.
func (w *write) place() commit.Remote {
	return commit.Remote{Table: w.table.Name, Partition: w.partition()}
}

// placesOf returns where remotes are.
func placesOf(remotes []*remote) (all []commit.Remote) {
	for _, m := range remotes {
		all = append(all, m.at)
	}
	return all
}
