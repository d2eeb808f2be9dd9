package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Plan is a transaction while it is planned; see extend.Plan. All maintainers of all its entities,
// of any types, add their rows to it. It has one operation for each RowKey, so that two entities
// that change one row make one operation of it.
type Plan struct {
	table        *Table
	root         *write        // the write itself, also for a participant
	participants *participants // the plans of the write in its other partitions; nil for a preview
	partition    string
	own          map[string]*Table     // the rows of the caller's operations, with their handles
	planned      map[string]edm.Stored // of those that are planned, the content after the transaction; not known for a deleted row
	knownRows
	ahead   *aheadRows // rows that were read ahead; nil for none
	preview *preview   // not nil for a plan that is made only to learn which rows it loads

	lookAhead func(ctx context.Context, row keys.Key) error // before a row is loaded, reads the rows that the rest of the transaction loads; may be nil

	rows    map[string]*derivedRow
	order   []string // of rows
	effects []commit.Effect
	after   afterCommit
	before  []namedWork // see Before
	outer   outer
	late    time.Time       // the plan is not sent after this time, unless it is zero
	first   map[string]bool // the texts that First was asked about
	blamed  int             // the operation that an error of Put is about, if it is not the current one; else -1
	readErr error           // the error of a read, which is about no operation

	// The call of a maintainer.
	op      int // index of the caller's operation
	key     keys.Key
	by      string // the maintainer
	most    int
	touched map[string]bool
}

// knownRows are the derived rows that a write has read because they were not as a plan expected.
type knownRows struct {
	corrections    map[string]readResult
	entityVersions map[string]azcore.ETag // of entities, when the corrections were read
}

// Participant returns the plan of another partition, in which the same maintainer plans rows for
// the same entity.
func (p *Plan) Participant(t *Table, partition string) (*Plan, error) {
	if p.preview != nil {
		return nil, errPreview
	}
	q, err := p.participants.planIn(t, partition)
	if err == nil && q != p {
		q.beginMaintainer(p.op, p.key, p.by, p.most)
	}
	return q, err
}

// derivedRow is what is to become of a row.
type derivedRow struct {
	key      keys.Key
	read     *readResult // nil if the row was not read
	older    bool        // the row was read or written before the write began
	loaded   bool        // the row was loaded: it is written by its ETag, and several maintainers may change it
	owned    bool        // an entity of this transaction owns the row
	gaveUp   keys.Key    // the entity that gives the row up, if one does
	after    *stored.Row // nil if the row will not exist
	planned  bool
	ifExists error // the error if the row exists; nil if it may be replaced

	merge []edm.Column // of a part that exists: the properties that are merged into it; nil if the part is replaced

	op int    // the operation that the row follows from
	by string // its maintainer
}

// Insert plans a row that does not exist. taken is the error if it does; if taken is nil, an
// outdated copy of the same entity is replaced.
func (p *Plan) Insert(r *stored.Row, taken error) error {
	d, err := p.touch(r)
	if err != nil {
		return err
	}
	switch {
	case d.after != nil:
		return p.refuse(d.key, cmp.Or[error](taken, errs.ErrDuplicateRow))
	case taken == nil && !d.owned && p.foreign(d, r):
		return p.refuse(d.key, errs.ErrForeignRow)
	}
	p.make(d, r, taken)
	return nil
}

// Put plans the replacement of a row that the entity owns, or that was loaded.
func (p *Plan) Put(r *stored.Row) error {
	d, err := p.touch(r)
	if err != nil {
		return err
	}
	switch {
	case d.hasDerivedRows():
		return p.refuse(d.key, errs.ErrUnknownMaintainer)
	case d.has(reserved.Parts) && !r.Has(reserved.Parts): // its parts would be lost
		return p.refuse(d.key, errs.ErrUnknownParts)
	}
	if d.after != nil && !d.loaded && (d.op != p.op || d.by != p.by) {
		if d.ifExists == nil {
			return p.refuse(d.key, errs.ErrDuplicateRow)
		}
		// The error is about the other operation: it takes what this entity owns.
		p.blamed = d.op
		return &errs.DerivedError{Maintainer: d.by, Key: d.key, Err: d.ifExists}
	}
	if !d.loaded && p.foreign(d, r) {
		return p.refuse(d.key, errs.ErrForeignRow)
	}
	d.owned = true
	p.make(d, r, nil)
	return nil
}

// foreign reports whether a copy would replace a row of another owner.
func (p *Plan) foreign(d *derivedRow, r *stored.Row) bool {
	return r.IsCopy() && d.read != nil && d.read.row != nil && !stored.SameOwner(d.read.row, r) && !p.deletes(d.read.row)
}

// Remove plans the deletion of a row that the entity owns, or that was loaded.
func (p *Plan) Remove(rowKey string) error {
	d, err := p.touch(&stored.Row{Key: keys.Raw(p.partition, rowKey)})
	if err != nil {
		return err
	}
	switch {
	case d.hasDerivedRows():
		return p.refuse(d.key, errs.ErrUnknownMaintainer)
	case d.has(reserved.Parts):
		return p.refuse(d.key, errs.ErrUnknownParts)
	}
	d.owned, d.gaveUp = true, p.key
	if d.loaded || !d.planned {
		p.make(d, nil, nil)
	}
	return nil
}

// hasDerivedRows reports whether the row is an entity with derived rows of its own, which a plan
// cannot maintain.
func (d *derivedRow) hasDerivedRows() bool {
	return d.loaded && d.read.row != nil && d.read.row.HasState()
}

// has reports whether the row is an entity, by a property: the operation ID, which changes with
// every write, or the incarnation, which does not, or the directory of its parts.
func (d *derivedRow) has(property string) bool {
	return d.loaded && d.read.row != nil && d.read.row.Has(property)
}

// Effect adds work that is due outside the partition.
func (p *Plan) Effect(kind string, version int, payload []byte) {
	p.effects = append(p.effects, commit.Effect{Kind: kind, Version: version, RowKey: p.key.RowKey(), Payload: slices.Clone(payload)})
}

// JoinEffect is Effect for what has one effect of a kind and entity: join returns the payload for
// the payload so far, nil at first.
func (p *Plan) JoinEffect(kind string, version int, join func(payload []byte) []byte) {
	i := slices.IndexFunc(p.effects, func(e commit.Effect) bool { return e.Kind == kind && e.RowKey == p.key.RowKey() })
	if i < 0 {
		p.Effect(kind, version, join(nil))
		return
	}
	p.effects[i].Payload = slices.Clone(join(p.effects[i].Payload))
}

// First returns true the first time that it is called with this text in a plan.
func (p *Plan) First(text string) bool {
	if p.first[text] {
		return false
	}
	p.first[text] = true
	return true
}

// AfterCommit plans a call for the time when the write is known to be committed; see
// extend.Plan.AfterCommit.
func (p *Plan) AfterCommit(name string, call func(context.Context)) {
	p.after = slices.DeleteFunc(slices.Clone(p.after), func(c namedCall) bool { return c.name == name })
	if call != nil {
		p.after = append(p.after, namedCall{name, call})
	}
}

// namedWork is what is done before a transaction is sent.
type namedWork struct {
	name string
	do   func(context.Context) error
}

// Before plans work that is done before the transaction is sent, once for each name and write. It
// must be idempotent, and do no harm if the transaction is never sent. Its error ends the write.
func (p *Plan) Before(name string, do func(context.Context) error) {
	if p.preview == nil {
		p.before = append(slices.Clone(p.before), namedWork{name, do})
	}
}

// NotAfter lets the transaction not be sent after a time; see extend.Plan.NotAfter.
func (p *Plan) NotAfter(t time.Time) {
	if p.late.IsZero() || t.Before(p.late) {
		p.late = t
	}
}

// Retake plans another content for a row that the same maintainer has planned in this transaction,
// for the same or for another entity. It reports whether there is such a row.
func (p *Plan) Retake(r *stored.Row) (bool, error) {
	if r == nil {
		return false, errNil
	}
	if d := p.rows[r.Key.RowKey()]; d == nil || !d.planned || d.by != p.by {
		return false, nil
	}
	d, err := p.touch(r)
	if err != nil {
		return false, err
	}
	p.make(d, r, d.ifExists)
	return true, nil
}

// beginMaintainer begins the call of a maintainer.
func (p *Plan) beginMaintainer(op int, k keys.Key, by string, most int) {
	p.op, p.key, p.by, p.most, p.blamed = op, k, by, most, -1
	clear(p.touched)
}

// rowFor returns the row under a key of the partition that is not a row of the caller's operations.
func (p *Plan) rowFor(k keys.Key) (*derivedRow, error) {
	switch {
	case k.Err() != nil:
		return nil, k.Err()
	case k.PartitionKey() != p.partition:
		return nil, p.refuse(k, errs.ErrOtherPartition)
	case p.own[k.RowKey()] != nil:
		return nil, p.refuse(k, errs.ErrDuplicateRow)
	case strings.HasPrefix(k.RowKey(), reserved.CommitRecord), strings.HasPrefix(k.RowKey(), reserved.Prepared):
		return nil, p.refuse(k, &errs.ValueError{Field: edm.RowKey, Reason: "begins with " + k.RowKey()[:3] + ", as those of commit records and preparations do"})
	}
	d := p.rows[k.RowKey()]
	if d == nil {
		d = &derivedRow{key: k, op: p.op, by: p.by}
		if f, ok := p.corrections[k.RowKey()]; ok {
			d.read = &f
		}
		p.rows[k.RowKey()] = d
		p.order = append(p.order, k.RowKey())
	}
	return d, nil
}

// touch is rowFor for a row that is written, and counts it.
func (p *Plan) touch(r *stored.Row) (*derivedRow, error) {
	if r == nil {
		return nil, errNil
	}
	d, err := p.rowFor(r.Key)
	if err != nil {
		return nil, err
	}
	if p.touched == nil {
		p.touched = map[string]bool{}
	}
	if p.touched[r.Key.RowKey()] = true; len(p.touched) > p.most {
		return nil, p.refuse(r.Key, &errs.LimitError{Limit: "rows of one entity from the maintainer, whose MaxRows says less", Got: len(p.touched), Max: p.most})
	}
	return d, nil
}

// make plans what becomes of a row.
func (p *Plan) make(d *derivedRow, r *stored.Row, taken error) {
	d.after, d.planned, d.ifExists, d.op, d.by = r, true, taken, p.op, p.by
}

// PlanError is returned by a maintainer that fails with an error of its Plan, which names the row.
// Any other error of a maintainer comes from its own code.
type PlanError struct{ Err error }

func (e PlanError) Error() string { return e.Err.Error() }

// refuse returns a *DerivedError for a row that cannot be planned.
func (p *Plan) refuse(k keys.Key, err error) error {
	return &errs.DerivedError{Maintainer: p.by, Key: k, Err: err}
}

// deletes reports whether a row is a copy of an entity that this transaction deletes, so that the
// copy has no owner.
func (p *Plan) deletes(row *stored.Row) bool {
	k, isCopy := row.Primary()
	after, planned := p.planned[k.RowKey()]
	return isCopy && planned && !after.Known()
}

// exists reports whether a derived row exists before the transaction, and in which version.
func (p *Plan) exists(d *derivedRow) (exists bool, match azcore.ETag) {
	if d.read == nil {
		return d.owned, azcore.ETagAny
	}
	// If another entity has the unique value, plan an insert all the same: the service refuses it,
	// and the error becomes the taken one.
	exists = d.read.row != nil && (d.owned || d.ifExists == nil || stored.SameOwner(d.read.row, d.after) || p.deletes(d.read.row))
	if exists {
		return true, d.read.row.ETag
	}
	return false, azcore.ETagAny
}

// writes reports whether a derived row takes an operation.
func (p *Plan) writes(d *derivedRow) bool {
	exists, _ := p.exists(d)
	return d.planned && (exists || d.after != nil)
}

// copy returns the plan as it is now, with its participants.
func (p *Plan) copy() *Plan {
	c := p.copyRows()
	c.participants = p.participants.copyFor(c)
	return c
}

func (p *Plan) copyRows() *Plan {
	c := *p
	c.planned, c.order, c.effects, c.first = maps.Clone(p.planned), slices.Clone(p.order), slices.Clone(p.effects), maps.Clone(p.first)
	c.rows, c.touched = make(map[string]*derivedRow, len(p.rows)), nil // a plan that is previewed calls maintainers, too
	for rk, d := range p.rows {
		row := *d
		c.rows[rk] = &row
	}
	return &c
}

// newPlan begins the plan of a write, or of one of its participants.
func newPlan(w *write) *Plan {
	if w.corrections == nil {
		w.corrections, w.entityVersions = map[string]readResult{}, map[string]azcore.ETag{}
	}
	return &Plan{table: w.table, root: w, partition: w.partition(), own: map[string]*Table{}, planned: map[string]edm.Stored{}, knownRows: w.knownRows, rows: map[string]*derivedRow{}, first: map[string]bool{}, blamed: -1}
}

// steps returns the operations on a table that make the derived rows what they are to be. failed is
// the caller's operation that has the derived row of err.
func (p *Plan) steps(t *Table) (steps []step, failed int, err error) {
	steps, ops := make([]step, 0, len(p.order)), make([]Op, len(p.order))
	for i, rk := range p.order {
		d := p.rows[rk]
		if !p.writes(d) {
			continue
		}
		exists, match := p.exists(d)
		s := step{Op: &ops[i], opIndex: d.op, derived: d}
		s.Table, s.Key, s.Match = t, d.key, match
		switch {
		case exists && d.after == nil:
			s.Kind = aztables.TransactionTypeDelete
		case exists && d.merge != nil:
			s.Kind = aztables.TransactionTypeUpdateMerge
		case exists:
			s.Kind = aztables.TransactionTypeUpdateReplace
		default:
			s.Kind, s.Match = aztables.TransactionTypeAdd, ""
		}
		if d.after != nil {
			columns := d.after.Columns()
			if s.merges() {
				columns = d.merge
			}
			after := stored.New(d.key, columns)
			if s.Body, s.StoresID, err = after.Body(d.has(reserved.OperationID) && !d.after.IsCopy(), d.has(reserved.Incarnation), d.has(reserved.Parts)); err != nil {
				return nil, d.op, &errs.DerivedError{Maintainer: d.by, Key: d.key, Err: err}
			}
		}
		steps = append(steps, s)
	}
	return steps, -1, nil
}

// Change is the change of one entity. Its rows are decoded once, for all maintainers.
type Change struct {
	Key      keys.Key
	Old, New any // the values that the Schema made, nil if there is no row

	before, after rowOnce
	state         *entityState
	by            string // the maintainer that is called
	newID         func() string
	move          Move
	counterpart   *keys.Key
	expired       bool
}

// rowOnce is a row that is decoded when it is first asked for.
type rowOnce struct {
	key     keys.Key
	stored  edm.Stored
	decoded *stored.Row
}

func (r *rowOnce) row() (*stored.Row, error) {
	if r.decoded != nil || !r.stored.Known() {
		return r.decoded, nil
	}
	columns, err := r.stored.Decoded()
	if err != nil {
		return nil, err
	}
	r.decoded = stored.New(r.key, stored.OwnProperties(columns))
	return r.decoded, nil
}

// Row returns the row as it will be stored, without incarnation and maintainer state, nil if it is
// deleted.
func (c *Change) Row() (*stored.Row, error) { return c.after.row() }

// OldRow returns the row as it is stored, without incarnation and maintainer state, nil if there is
// none, or if the caller's is upgraded.
func (c *Change) OldRow() (*stored.Row, error) { return c.before.row() }

// StateMissing reports whether the entity exists and has no readable maintainer state.
func (c *Change) StateMissing() bool { return !c.state.isNew && (!c.state.stored || c.state.corrupt) }

// Incarnation returns the incarnation of the entity. The first call creates it, unless the entity
// is being deleted.
func (c *Change) Incarnation() string {
	if c.state.incarnation == "" && c.New != nil {
		c.state.incarnation, c.state.newIncarnation = c.newID(), true
	}
	return c.state.incarnation
}

// Expired reports whether the entity is deleted because it is over.
func (c *Change) Expired() bool { return c.expired }

// Archived reports whether the entity is deleted because it is stored in another place now.
func (c *Change) Archived() bool { return c.move.Away && c.New == nil }

// Counterpart returns the key that the entity has had before a move, or has after it; nil if the
// entity does not move.
func (c *Change) Counterpart() *keys.Key { return c.counterpart }

// Restored returns the incarnation that the inserted entity had in another place, "" if it does not
// come from there.
func (c *Change) Restored() string {
	if c.Old != nil {
		return ""
	}
	return c.move.Restored
}

// State returns the state that the maintainer stored with the last write.
func (c *Change) State() []string { return c.state.before[c.by] }

// SetState stores the maintainer's state with the entity.
func (c *Change) SetState(texts ...string) { c.state.after[c.by] = texts }

// Maintainer derives rows and effects from the entities of a table; see extend.Maintainer.
type Maintainer interface {
	Name() string
	MaxRows() int
	Maintain(ctx context.Context, p *Plan, c *Change) error
	Typed() any              // the extend.Maintainer[T], or the bare.Maintainer
	Of(typed any) Maintainer // another one of the same sort, as the engine calls it
}

// ParticipantsEffect is the kind of the effect of a write over several partitions, whose payload
// names its participants: a worker finishes there what the write has left.
const ParticipantsEffect = reserved.Prepared

// ParticipantsWork is the payload of a ParticipantsEffect.
type ParticipantsWork struct {
	Participants []commit.Place `json:"remotes"` // as it is stored
}

// participantsEffect is the effect of a write with participants, for the workers.
func participantsEffect(participants []commit.Place) (commit.Effect, error) {
	b, err := json.Marshal(ParticipantsWork{participants})
	return commit.Effect{Kind: ParticipantsEffect, Version: 1, Payload: b}, err
}

// Completion is effects of a commit record that a write completes in its own transaction.
type Completion struct {
	Record  commit.Record
	Effects []int
	Stored  *commit.Record // the caller's, which becomes the record as it is stored then; nil if the caller gave none

	done bool
	left []commit.Effect // what the record contains once the write is applied
}

// setCompletion adds what an operation completes to the write.
func (w *write) setCompletion(c *Completion) error {
	fail := func(reason string) error { return &errs.ValueError{Field: "Completing", Reason: reason} }
	switch {
	case c == nil || c == w.completes:
		return nil
	case w.completes != nil:
		return fail("a transaction can complete the effects of one handle")
	case c.Stored == nil:
		return fail("the commit record is nil")
	case c.done:
		return fail("the handle has completed its effects; it serves one write")
	case c.Record.State != commit.Pending || len(c.Effects) == 0 || slices.ContainsFunc(c.Effects, func(n int) bool { return n < 0 || n >= len(c.Record.Effects) }):
		return fail("the commit record is not pending, or has no such effect")
	}
	if partition, err := c.Record.Partition.Result(); err != nil || partition != w.partition() {
		return errs.ErrOtherPartition
	}
	w.completes = c
	return nil
}

// completionStep is the first step of a write that completes effects: the row of the commit record,
// by its ETag, so that the write fails there when it arrives once more.
func (w *write) completionStep(effects []commit.Effect) (step, error) {
	c := w.completes
	c.left = nil
	for i, e := range c.Record.Effects {
		if !slices.Contains(c.Effects, i) {
			c.left = append(c.left, e)
		}
	}
	c.left = append(c.left, effects...)
	state := commit.Pending
	if len(c.left) == 0 {
		state = commit.Done
	}
	s := step{Op: &Op{Table: w.table, Kind: aztables.TransactionTypeUpdateReplace, Key: RecordKey(w.partition(), c.Record.OperationID), Match: commit.ETagOf(&c.Record), StoresID: true}, opIndex: -1}
	var err error
	s.Body, err = recordBody(s.Key, state, c.left, true)
	return s, err
}

// updateCompleted makes the commit record what is stored.
func (w *write) updateCompleted(etags []azcore.ETag) {
	c := w.completes
	if c == nil {
		return
	}
	c.done = true
	etag := etags[0]
	if w.currentTransaction.record { // the write's own comes first
		etag = etags[len(etags)-1]
	}
	c.Record.Effects, c.Record.State = c.left, commit.Pending
	commit.SetETag(&c.Record, cmp.Or(etag, stored.UnknownETag))
	if len(c.left) == 0 {
		c.Record.State = commit.Done
	}
	*c.Stored = c.Record
}
