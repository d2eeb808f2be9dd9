package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// of returns the remote of a partition of a table, and begins it if it is new.
func (r *remotes) of(t *Table, partition string) *remote {
	i := slices.IndexFunc(r.all, func(m *remote) bool { return m.at.Partition == partition && m.table.Same(t) })
	if i >= 0 {
		return r.all[i]
	}
	part := r.write.partOf(t, partition)
	m := &remote{at: commit.Remote{Table: t.Name, Partition: partition}, table: t, part: part}
	m.plan = newPlan(part)
	m.plan.others = r
	r.all = append(r.all, m)
	return m
}

// copyFor returns the remotes as they are now, for a copy of the home's plan.
func (r *remotes) copyFor(home *Plan) otherPlans {
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
	for _, part := range r.write.parts {
		clear(part.corrections)
	}
}

// unread returns an error that a read in a remote returned, nil if there is none.
func (r *remotes) unread() error {
	for _, m := range r.all {
		if m.plan.unread != nil {
			return m.plan.unread
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

// mostOfRemote is how many rows of one remote a transaction of bulk changes, and mostOfMessage the bytes that the names of all remotes
// may have in the message.
const (
	mostOfRemote  = (maxOperations - 2) / 2 // each may need a row for its new content
	mostOfMessage = 20 << 10
)

// over reports whether the remotes are too many for one write, or have too many rows.
func (r *remotes) over() bool {
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

// PossibleRemotes reports whether a write with a home can have these remotes: other places, each once, that rows can have, and no more
// than a message may name.
func PossibleRemotes(home commit.Remote, all []commit.Remote) bool {
	size, seen := 0, map[commit.Remote]bool{commit.Folded(home): true}
	for _, r := range all {
		size += remoteLength(r)
		if commit.CheckRemote(r) != nil || seen[commit.Folded(r)] {
			return false
		}
		seen[commit.Folded(r)] = true
	}
	return size <= mostOfMessage
}

// remoteLength is the most bytes that the remote takes in a message, whose characters may be escaped.
func remoteLength(r commit.Remote) int { return 40 + len(r.Table) + 6*len([]rune(r.Partition)) }

// partOf returns the part of the write in another partition. It is the same one at each attempt, so that it keeps what it knows of
// rows that were not as a plan expected.
func (w *write) partOf(t *Table, partition string) *write {
	i := slices.IndexFunc(w.parts, func(p *write) bool { return p.only == partition && p.table.Same(t) })
	if i < 0 {
		i = len(w.parts)
		w.parts = append(w.parts, &write{table: t, method: w.method, only: partition, asTransaction: w.asTransaction})
	}
	return w.parts[i]
}

// planOf returns the plan of a partition: the home's, or that of a remote.
func (r *remotes) planOf(of rowReader, partition string) (*Plan, error) {
	t := of.(*Table)
	home := r.write.table
	switch {
	case keys.Stored(partition, "r").Err() != nil:
		return nil, keys.Stored(partition, "r").Err()
	case !t.SameService(home):
		return nil, &errs.ValueError{Field: "table", Reason: "is of another service than " + home.Name + ", so that no commit record covers both; give a table of the same client"}
	case reserves(partition):
		return nil, &errs.ValueError{Field: edm.PartitionKey, Reason: "begins with ~; such partitions belong to the library"}
	case partition == r.write.partition() && t.Same(home):
		return r.home, nil
	}
	return r.of(t, partition).plan, nil
}

func reserves(partition string) bool { return len(partition) > 0 && partition[:1] == reserved.First }

// planMoved plans the operations of the write in other partitions.
func (w *write) planMoved(ctx context.Context, r *remotes) error {
	for i := range w.moved {
		op := w.moved[i]
		m := r.of(op.Table, op.Key.PartitionKey())
		s := step{Op: op, opIndex: i}
		if s.needsPlanning {
			if err := s.readAndMaintain(ctx, m.plan); err != nil {
				return cmp.Or(m.plan.unread, err)
			}
		}
		m.steps = append(m.steps, s)
	}
	return nil
}

// planned adds what the maintainers have planned in the remotes to their operations, and leaves out remotes in which nothing is to be
// done.
func (r *remotes) planned(ctx context.Context) error {
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

// readUnread reads the derived rows that the plans would write without knowing them: their ETags must be known. A copy that an
// entity gives up and that is another entity's by now stays.
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
		return u.part.readRow(ctx, u.row.key)
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

// prepareSteps makes the transaction that prepares: the preparation first, then each row, marked, then new contents.
func (m *remote) prepareSteps(id string, home commit.Remote) (transaction, error) {
	p := &preparation{key: preparationKey(m.at.Partition, id), home: home}
	var rows, images []step
	for i := range m.steps {
		s := m.steps[i]
		r := preparedRow{RowKey: s.Key.RowKey(), Fate: fateOf(&s)}
		mk := stored.Mark{ID: id, Home: home, Fate: r.Fate, ETag: s.Match}
		switch r.Fate {
		case stored.FatePart:
		case stored.FateInsert:
			body, err := withMark(s.sent(), mk, s.StoresID)
			if err != nil {
				return transaction{}, err
			}
			s.own()
			s.Body, s.head = body, nil
		default:
			if s.Match == "" || s.Match == azcore.ETagAny {
				return transaction{}, fmt.Errorf("the row %v would be prepared without its ETag", s.Key)
			}
			if r.Fate == stored.FateReplace {
				r.Image = len(images) + 1
				mk.Image = r.Image
				image := s
				image.Op = &Op{Table: m.table, Kind: aztables.TransactionTypeAdd, Key: imageKey(m.at.Partition, id, r.Image), StoresID: s.StoresID}
				image.Body, image.head = s.sent().WithKeys(image.Key.PartitionKey(), image.Key.RowKey()), nil
				images = append(images, image)
			}
			body, err := withMark(&edm.Body{PartitionKey: s.Key.PartitionKey(), RowKey: s.Key.RowKey()}, mk, false)
			if err != nil {
				return transaction{}, err
			}
			s.Op = &Op{Table: m.table, Kind: aztables.TransactionTypeUpdateMerge, Key: s.Key, Match: s.Match, Body: body}
			s.head = nil
		}
		p.rows = append(p.rows, r)
		rows = append(rows, s)
	}
	first := step{Op: &Op{Table: m.table, Kind: aztables.TransactionTypeAdd, Key: p.key}, opIndex: -1}
	var err error
	if first.Body, err = p.body(); err != nil {
		return transaction{}, err
	}
	m.images = len(images)
	t := transaction{steps: slices.Concat([]step{first}, rows, images), batch: true}
	return t, sized(t.steps)
}

func fateOf(s *step) stored.Fate {
	switch {
	case s.inserts() && stored.Find(s.sent().Columns(), reserved.Part).Kind != edm.Absent:
		return stored.FatePart
	case s.inserts():
		return stored.FateInsert
	case s.deletes():
		return stored.FateDelete
	}
	return stored.FateReplace
}

// withMark returns a body with a mark. storesID reports that it gets an operation ID, too.
func withMark(b *edm.Body, m stored.Mark, storesID bool) (edm.Body, error) {
	w := edm.NewWriter(b.PartitionKey, b.RowKey, len(b.Columns())+1)
	for _, c := range b.Columns() {
		w.PutColumn(c)
	}
	w.PutColumn(m.Column())
	if storesID {
		w.Reserve(stored.UnassignedID)
	}
	return w.Finish()
}

// finishTransaction makes the transaction that finishes, by the ETags of the preparation.
func (m *remote) finishTransaction(id string, home commit.Remote) (transaction, error) {
	p := &preparation{key: preparationKey(m.at.Partition, id), home: home, etag: m.etags[0]}
	first, err := p.end(m.table)
	if err != nil {
		return transaction{}, err
	}
	steps := []step{first}
	for i := range m.steps {
		s := m.steps[i]
		etag := m.etags[1+i]
		switch fateOf(&s) {
		case stored.FatePart:
			continue
		case stored.FateInsert, stored.FateReplace:
			s.own()
			s.Kind, s.Match = aztables.TransactionTypeUpdateReplace, etag
		case stored.FateDelete:
			s.own()
			s.Match = etag
		}
		steps = append(steps, s)
	}
	for n := range m.images {
		s, err := libraryStep(m.table, aztables.TransactionTypeDelete, imageKey(m.at.Partition, id, n+1), azcore.ETagAny, nil)
		if err != nil {
			return transaction{}, err
		}
		steps = append(steps, s)
	}
	return transaction{steps: steps, batch: true}, nil
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

// rollBack rolls back what the write has prepared, or may have, so that it never commits. If it fails, programs that read a
// prepared row, or a worker, do that.
func (w *write) rollBack(ctx context.Context) (failed error) {
	home := w.place()
	for _, m := range w.currentPlan.remotes {
		if err := m.table.believing(home).finishPrepared(ctx, m.at.Partition, w.id, finisher{home: &home, exclude: true}); err != nil {
			failed = err
		}
	}
	return failed
}

// rollBackRefused makes sure that a refused write never commits, and rolls back what it has prepared. committed reports that it has
// committed before.
func (w *write) rollBackRefused(ctx context.Context) (committed bool, err error) {
	record, err := w.table.abort(ctx, w.partition(), w.id, placesOf(w.currentPlan.remotes)...)
	if err != nil || record != commit.Aborted {
		return err == nil, err
	}
	if w.rollBack(ctx) != nil {
		w.notification = nil // it stays, and a worker rolls back
	}
	return false, nil
}

// finish finishes the remotes of a committed write, all at the same time. If it fails, programs that read a prepared row, or a
// worker, do that.
func (w *write) finish(ctx context.Context) {
	if len(w.currentPlan.remotes) == 0 {
		return
	}
	InOrder(ctx, w.currentPlan.remotes, func(ctx context.Context, m *remote) (struct{}, error) {
		w.finishRemote(ctx, m)
		return struct{}{}, nil
	}, func(struct{}, error) bool { return true })
}

func (w *write) finishRemote(ctx context.Context, m *remote) {
	if m.etags != nil {
		if t, err := m.finishTransaction(w.id, w.place()); err == nil {
			withID(t.steps, w.id)
			etags, _, verdict, _ := m.table.transact(ctx, t.steps)
			if verdict == wire.Done {
				m.finished(etags)
				return
			}
		}
	}
	home := w.place()
	_ = m.table.believing(home).finishPrepared(ctx, m.at.Partition, w.id, finisher{home: &home})
	m.finished(nil)
}

// finished keeps the ETags that the rows of the caller's operations have now.
func (m *remote) finished(etags []azcore.ETag) {
	m.part.out.etags = make([]azcore.ETag, len(m.steps))
	n := 0
	for i := range m.steps {
		if m.part.out.etags[i] = stored.Superseded; etags == nil || fateOf(&m.steps[i]) == stored.FatePart {
			continue
		}
		n++
		m.part.out.etags[i] = etags[n]
	}
}

// appliedRemotes gives the targets of the operations in the remotes their stored rows.
func (w *write) appliedRemotes() {
	for _, m := range w.currentPlan.remotes {
		for i := range m.steps {
			if s := &m.steps[i]; s.derived == nil {
				s.applied(m.part.out.etags[i], idEnding(w.id))
			}
		}
	}
}

// FanOut is how many requests travel at a time: as many idle connections as the SDK's transport keeps for one host.
const FanOut = 10

// InOrder works on each item, FanOut at a time, and hands out the results in the order of the items, until yield returns false.
// When it returns, no work goes on.
func InOrder[X, R any](ctx context.Context, items []X, work func(context.Context, X) (R, error), yield func(R, error) bool) {
	if len(items) == 0 {
		return
	}
	type result struct {
		r   R
		err error
	}
	const ahead = 4 * FanOut
	var (
		wg      sync.WaitGroup
		next    = make(chan int, ahead) // begun and not yet handed out, so it never blocks
		results = make([]chan result, len(items))
	)
	ctx, cancel := context.WithCancel(ctx)
	defer wg.Wait()
	defer close(next)
	defer cancel()
	for range min(FanOut, len(items)) {
		wg.Go(func() {
			for i := range next {
				r, err := work(ctx, items[i])
				results[i] <- result{r, err}
			}
		})
	}
	begun := 0
	for i := range items {
		for ; begun < min(len(items), i+ahead); begun++ {
			results[begun] = make(chan result, 1)
			next <- begun
		}
		got := <-results[i]
		results[i] = nil
		if !yield(got.r, got.err) {
			return
		}
	}
}
