package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// planner lets the maintainers derive rows from the operations of a write. If the write may leave
// out operations, planner finds out how many fit into one transaction with their derived rows.
type planner struct {
	write      *write
	most       int // derived rows of one operation, so far
	alone      int // rows that were to be loaded together with others, and were alone
	operations int // of the transaction, by the last count

	// What planAll results in.
	steps, added []step
	derived      bool // maintainers were asked
	effects      []commit.Effect
	after        afterCommit
	before       []namedWork
	outer        outer
	late         time.Time
	participants []*participant
}

func newPlanner(w *write) *planner {
	k := &planner{write: w, steps: make([]step, len(w.ops))}
	for i := range w.ops {
		k.steps[i].Op, k.steps[i].opIndex = w.ops[i], i
	}
	return k
}

var errNothing = errors.New("all operations were passed over")

// planAll adds the derived steps. failed is the caller's operation that cannot be planned, -1 for
// none.
func (k *planner) planAll(ctx context.Context) (failed int, err error) {
	w := k.write
	k.added, err = w.addedFor(w.table, w.partition(), w.ops...)
	if err != nil {
		return -1, err
	}
	k.derived = len(w.participantOps) > 0 || slices.ContainsFunc(k.steps, func(s step) bool { return s.needsPlanning })
	if !k.derived {
		return -1, nil
	}
	p, failed, err := k.planOperations(ctx, k.begin())
	if err != nil {
		return failed, err
	}
	if len(w.ops)+len(w.participantOps) == 0 {
		return -1, errNothing
	}
	if err := p.confirm(ctx, func(d *derivedRow) bool { return !p.writes(d) }); err != nil {
		return -1, err
	}
	if err := w.planParticipants(ctx, p.participants); err != nil {
		return -1, err
	}
	k.used(p)
	more, failed, err := p.steps(w.table)
	if err != nil {
		return failed, err
	}
	k.steps = append(k.steps, more...)
	if err := k.addParticipants(ctx, p); err != nil {
		return -1, err
	}
	k.effects, k.after, k.before, k.late, k.outer = p.effects, p.after, p.before, p.late, p.outer
	return -1, nil
}

// begin begins the plan of the write, with the rows of all its operations.
func (k *planner) begin() *Plan {
	w := k.write
	p := newPlan(w)
	participants := &participants{write: w, home: p}
	p.participants = participants
	for _, op := range w.participantOps {
		participants.participant(op.Table, op.Key.PartitionKey()).plan.own[op.Key.RowKey()] = op.Table
	}
	for i := range k.steps {
		p.own[k.steps[i].Key.RowKey()] = k.steps[i].Table
	}
	k.operations = k.reserved()
	p.ahead = w.ahead
	if p.ahead == nil {
		p.ahead = new(aheadRows)
	}
	return p
}

// planOperations plans the caller's operations. It returns the plan of those that are left.
func (k *planner) planOperations(ctx context.Context, p *Plan) (planned *Plan, failed int, err error) {
	w := k.write
	for i := 0; i < len(w.ops); {
		if !k.fits(i) {
			k.cut(i)
			break
		}
		var before *Plan
		if w.mayDropTail {
			before = p.copy()
		}
		err := k.planOperation(ctx, p, i)
		switch {
		case p.readErr != nil:
			return nil, -1, p.readErr
		case err == nil && !k.tooMany(p, i):
			i++
			continue
		case w.mayDropTail && err != nil && w.passOver(i, err):
			delete(p.own, k.steps[i].Key.RowKey()) // before has the same map
			k.passOver(i)
		case w.mayDropTail && i > 0:
			// Its error may come from an operation before it, which may itself fail. So it is tried
			// again in the next transaction.
			k.cut(i)
		case p.blamed >= 0:
			return nil, p.blamed, err
		default:
			return nil, i, err
		}
		p = before
	}
	return p, -1, nil
}

// planOperation plans one operation. If the plan has a readErr then, it is not about an operation.
func (k *planner) planOperation(ctx context.Context, p *Plan, i int) error {
	s := &k.steps[i]
	if !s.needsPlanning {
		return nil
	}
	if err := k.readAhead(ctx, p, i); err != nil {
		p.readErr = withReadHint(err, s.adds())
		return p.readErr
	}
	p.lookAhead = func(ctx context.Context, row keys.Key) error { return k.lookAhead(ctx, p, i, row) }
	err := s.readAndMaintain(ctx, p)
	participants := p.participants
	if p.readErr == nil {
		p.readErr = participants.readErr()
	}
	if p.blamed < 0 {
		p.blamed = participants.blamed()
	}
	if err != nil && p.readErr == nil {
		p.readErr = p.confirm(ctx, func(*derivedRow) bool { return true })
	}
	if p.readErr == nil && p.refusedBy(err) {
		first := 0
		if k.write.mayDropTail { // the operations before it may go alone, and are looked at by the service
			first = i
		}
		at := 0
		at, err = k.write.confirmRefusal(ctx, p, k.steps[first:i+1], err)
		if first+at < i {
			p.blamed = first + at
		}
	}
	return err
}

// addParticipants adds to the plan what follows from the plans in other partitions.
func (k *planner) addParticipants(ctx context.Context, p *Plan) error {
	participants := p.participants
	if len(participants.all) == 0 {
		return nil
	}
	p.effects = append(p.effects, participants.effects()...)
	for _, m := range participants.all {
		p.after = append(p.after, m.plan.after...)
		p.before = append(p.before, m.plan.before...)
		p.outer = p.outer.join(m.plan.outer)
		if !m.plan.late.IsZero() {
			p.NotAfter(m.plan.late)
		}
	}
	if err := participants.complete(ctx); err != nil {
		return err
	}
	k.participants = participants.all
	if len(k.participants) == 0 {
		return nil
	}
	e, err := participantsEffect(placesOf(k.participants))
	p.effects = append(p.effects, e)
	return err
}

// reserved is the number of operations that the commit record and the features take.
func (k *planner) reserved() (n int) {
	if k.write.exact || k.write.outbox != nil {
		n++
	}
	return n + len(k.added)
}

// fits reports, before an operation is planned, whether the operations before it have left room for
// one like them: nothing is read for an operation that is not sent.
func (k *planner) fits(i int) bool {
	need := 1
	if k.steps[i].needsPlanning {
		need += k.most
	}
	return !k.write.mayDropTail || i == 0 || k.operations+need <= maxOperations
}

// tooMany reports whether the operations so far are too many. One operation never is, by the limit
// on what maintainers derive from it.
func (k *planner) tooMany(p *Plan, i int) bool {
	if !k.write.mayDropTail {
		return false
	}
	used := i + 1 + k.reserved()
	for _, d := range p.rows {
		if p.writes(d) {
			used++
		}
	}
	k.most = max(k.most, used-k.operations-1)
	k.operations = used
	return i > 0 && (used > maxOperations || p.participants.tooLarge())
}

// cut leaves an operation and the operations behind it to another transaction.
func (k *planner) cut(i int) {
	k.write.ops, k.write.later, k.steps = k.write.ops[:i], k.write.ops[i:], k.steps[:i]
}

// passOver leaves an operation out.
func (k *planner) passOver(i int) {
	w := k.write
	w.ops = slices.Delete(slices.Clone(w.ops), i, i+1)
	k.steps = slices.Delete(k.steps, i, i+1)
	for ; i < len(k.steps); i++ {
		k.steps[i].opIndex = i
	}
}

// readAhead reads the rows of the operations that follow, together, unless the row of this
// operation is known.
func (k *planner) readAhead(ctx context.Context, p *Plan, i int) error {
	if s := &k.steps[i]; !s.reads() || p.ahead.knows(s.wanted(p)) {
		return nil
	}
	var ahead []wantedRow
	for j := i; j < k.end(i); j++ {
		if s := &k.steps[j]; s.reads() && !p.ahead.knows(s.wanted(p)) {
			ahead = append(ahead, s.wanted(p))
		}
	}
	if len(ahead) < 2 {
		return nil
	}
	return p.ahead.read(ctx, ahead)
}

// mostAlone is how many rows may be alone before no other rows are sought any more. Without this
// bound, n operations whose maintainers scan before they load would be planned n²/2 times: a
// preview ends at a scan.
const mostAlone = 4

// lookAhead reads a row that the plan of an operation loads, together with the rows that the
// operations after it load.
func (k *planner) lookAhead(ctx context.Context, p *Plan, i int, row keys.Key) error {
	end := k.end(i)
	if k.alone >= mostAlone || end <= i+1 {
		return nil
	}
	read, err := p.readTogether(ctx, k.write.table, row, k.steps[i+1:end])
	if !read {
		k.alone++
	}
	return err
}

// end returns the end of the operations, from i on, for which rows are read together: of those that
// go into this transaction, as far as is known, and of a few more. Rows that this transaction does
// not use stay known for the next one.
func (k *planner) end(i int) int {
	if !k.write.mayDropTail {
		return len(k.steps)
	}
	left := float64(maxOperations - k.operations)
	for begin := i; i < len(k.steps) && (left > 0 || i < begin+FanOut); i++ {
		left -= 1 + k.expected(begin, &k.steps[i])
	}
	return i
}

// expected returns how many derived rows an operation will have, after n operations: as many as
// those had, or those of the last plan, or as many as its maintainers may add.
func (k *planner) expected(n int, s *step) (rows float64) {
	known := k.write.ahead
	switch {
	case !s.needsPlanning:
		return 0
	case n > 0:
		return k.mean(n)
	case known != nil && known.counted:
		return known.mean
	}
	for _, m := range s.Table.Mode.Maintainers {
		rows += float64(m.MaxRows())
	}
	return rows + float64(s.Table.Mode.Parts)
}

// mean returns how many derived rows each of n planned operations has, on average.
func (k *planner) mean(n int) float64 {
	return float64(k.operations-k.reserved()-n) / float64(n)
}

// used drops the known rows that the plan has used, and notes for the next plan how many rows an
// operation has.
func (k *planner) used(p *Plan) {
	if k.write.ahead == nil { // no later plan asks
		return
	}
	for i := range k.steps {
		p.ahead.use(k.steps[i].Key.RowKey())
	}
	for rk := range p.rows {
		p.ahead.use(rk)
	}
	if k.write.mayDropTail {
		p.ahead.mean, p.ahead.counted = max(0, k.mean(len(k.steps))), true
	}
}

// readAndMaintain plans one operation: it reads the row if it is not known, and lets the
// maintainers add to the plan.
func (s *step) readAndMaintain(ctx context.Context, p *Plan) error {
	s.own()
	headOnly := s.headSuffices(p)
	if s.Known || headOnly && s.Head != nil && (s.merges() || s.deletes()) {
		return s.maintain(ctx, p)
	}
	var f readResult
	var err error
	if headOnly {
		f, err = p.readRow(ctx, s.Key)
	} else {
		f, err = p.readEntity(ctx, s.Table, s.Key)
	}
	if err != nil {
		p.readErr = withReadHint(err, s.adds())
		return p.readErr
	}
	if f, err = s.aliveFor(ctx, p, f); err != nil {
		return err
	}
	// The corrections belong to the version of the entity that was read with them. If the entity
	// has changed since, they are dropped.
	var etag azcore.ETag
	if f.row != nil {
		etag = f.row.ETag
	}
	if was, ok := p.entityVersions[s.Key.RowKey()]; ok && was != etag {
		clear(p.corrections)
		if p.preview == nil {
			p.participants.dropCorrections()
		}
	}
	p.entityVersions[s.Key.RowKey()] = etag
	if err := s.bindToRow(f); err != nil {
		return err
	}
	s.Before, s.Head = (edm.Stored{}), nil
	if f.row != nil && headOnly {
		s.Head = f.row
	} else if f.row != nil {
		s.Before = f.row.Stored()
	}
	return s.maintain(ctx, p)
}

// headSuffices reports whether the operation on a wide entity needs to know its head alone: which
// parts there are. Maintainers must see the whole entity, and so must those of other operations of
// the transaction.
func (s *step) headSuffices(p *Plan) bool {
	merges := s.merges() || s.Kind == aztables.TransactionTypeInsertMerge
	return s.Table.Mode.Parts > 0 && !s.adds() && s.Copied == nil && (!merges || len(p.own) == 1)
}

// bindToRow makes an operation whose row was not known an operation on the version that was read.
func (s *step) bindToRow(f readResult) error {
	s.replannable = s.upserts() || s.Match == azcore.ETagAny
	switch {
	case f.row == nil && s.upserts():
		s.Kind = aztables.TransactionTypeAdd
		return nil
	case f.row == nil:
		return f.gone
	case s.Copied != nil && !s.replannable:
		if !stored.SameID(f.row.Columns(), s.Copied.Columns()) || !stored.Same(stored.Without(f.row.Columns(), reserved.Incarnation, reserved.MaintainerState, reserved.Owner, reserved.Parts), s.Copied.Columns()) {
			return errs.ErrChanged
		}
	case s.Kind == aztables.TransactionTypeInsertMerge:
		s.Kind = aztables.TransactionTypeUpdateMerge
	case s.Kind == aztables.TransactionTypeInsertReplace:
		s.Kind = aztables.TransactionTypeUpdateReplace
	case !s.replannable && s.Match != f.row.ETag:
		return errs.ErrChanged
	}
	s.Match = f.row.ETag
	return nil
}

// maintain calls the maintainers, and adds their state to the operation. The row before the
// operation is known.
func (s *step) maintain(ctx context.Context, p *Plan) (err error) {
	m := &s.Table.Mode
	if m.LibraryRows { // of any rows, whose system properties are the caller's
		return s.planRows(p)
	}
	maintained := len(m.Maintainers) > 0 // else only the maintainer state of the row is looked at, and what features keep in it
	c := &Change{Key: s.Key, before: rowOnce{key: s.Key, stored: s.Before}, newID: p.preview.newID(s.Table.Options.NewID), move: m.Move, counterpart: s.Counterpart, expired: m.Ending}
	if s.Known && s.Upgraded {
		c.before = rowOnce{}
	}
	c.state, err = s.stateBefore()
	if err != nil {
		return err
	}
	after, err := s.contentAfter(unassignedEnding)
	if err != nil {
		return err
	}
	c.after = rowOnce{key: s.Key, stored: after}
	if maintained || m.keepsProperty() {
		if err := s.callMaintainers(ctx, p, c, after); err != nil {
			return err
		}
	}
	if c.state.newIncarnation && !commit.IsID(c.state.incarnation) {
		return errNewID
	}
	if !s.deletes() {
		if err := c.state.put(s.Op, maintained); err != nil {
			return err
		}
	}
	return s.planRows(p)
}

// stateBefore returns the state of the row before the operation. It must be readable, and of
// maintainers that the handle has.
func (s *step) stateBefore() (*entityState, error) {
	m := &s.Table.Mode
	state, err := stateOf(s.headBefore(), s.Key)
	switch {
	case err == nil || m.IgnoreCorruptState && state != nil:
	case len(m.Maintainers) == 0 && state != nil:
		return nil, errs.With(errs.ErrUnknownMaintainer, err)
	default:
		return nil, err
	}
	if state.incarnation == m.Move.Renewed {
		state.incarnation = ""
	}
	for name := range state.before {
		if m.Maintainer(name) == nil {
			return nil, fmt.Errorf("%w: %q", errs.ErrUnknownMaintainer, name)
		}
	}
	return state, nil
}

// headBefore returns the row before the operation: of a wide entity perhaps the head alone.
func (s *step) headBefore() edm.Stored {
	if s.Head != nil && !s.Before.Known() {
		return edm.Stored{Columns: s.Head.Columns()}
	}
	return s.Before
}

// callMaintainers lets the maintainers see the entity before and after the change.
func (s *step) callMaintainers(ctx context.Context, p *Plan, c *Change, after edm.Stored) (err error) {
	if c.Old, err = s.decoded(s.Before); err != nil {
		return err
	}
	if c.New, err = s.decoded(after); err != nil {
		return err
	}
	lease, err := p.root.lease(ctx, s.Table.Mode.Guard)
	if err != nil {
		return err
	}
	if !s.deletes() {
		if err := s.storeFeatures(p, c, after); err != nil {
			return err
		}
	}
	value := c.New
	for _, m := range s.Table.Mode.Maintainers {
		c.by, c.New = m.Name(), value
		if lease != nil && !lease.Keeps(c.by) {
			if len(c.state.before[c.by]) == 0 {
				continue
			}
			c.New = nil // the rows that the entity records are dropped, as if it were deleted
		}
		p.beginMaintainer(s.opIndex, s.Key, c.by, m.MaxRows())
		err := m.Maintain(ctx, p, c)
		if err == nil {
			continue
		}
		if own, is := err.(PlanError); is {
			return own.Err
		}
		return &errs.DerivedError{Maintainer: c.by, Err: errs.UserCodeError{Err: wire.Redact(err)}}
	}
	return nil
}

// planRows plans the rows of the parts, and notes what the entity will be.
func (s *step) planRows(p *Plan) error {
	if err := s.planParts(p); err != nil {
		return err
	}
	p.planned[s.Key.RowKey()] = edm.Stored{}
	if s.deletes() {
		return nil
	}
	after, err := s.contentAfter(unassignedEnding)
	if err != nil {
		return err // with its state it is too large
	}
	p.planned[s.Key.RowKey()] = after
	return nil
}

// decoded returns the value of a row, nil if there is none.
func (s *step) decoded(row edm.Stored) (any, error) {
	if !row.Known() {
		return nil, nil
	}
	return s.Table.Mode.Schema.Value(s.Key, row)
}

var errCopy = errors.New("it was read from a copy of its row: write it by the handle that keeps the copies")

// refusedBy reports whether an error is the refusal of a maintainer, when rows are loaded.
func (p *Plan) refusedBy(err error) bool {
	loaded := func(rk string) bool { return p.rows[rk].loaded }
	return errors.As(err, new(*errs.DerivedError)) && slices.ContainsFunc(p.order, loaded)
}
