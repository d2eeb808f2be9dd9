package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Plan is a transaction while it is planned; see table.Plan. All maintainers of all its entities, of any types, add their rows to it. It has
// one operation for each RowKey, so that two entities that change one row make one operation of it.
type Plan struct {
	table     rowReader
	partition string
	own       map[string]bool        // rows of the caller's operations
	planned   map[string]edm.Stored  // those of them that are planned, as they will be; not known for a deleted row
	seen      map[string]azcore.ETag // of entities, by the plan before
	found     map[string]found       // rows that were not as an earlier plan took them to be
	ahead     map[string]aheadRow    // rows of operations that were read ahead

	rows    map[string]*derivedRow
	order   []string // of rows
	effects []Effect
	first   map[string]bool // the texts that First was asked about
	blamed  int             // the operation to be refused if it is not the one whose maintainer is called, else -1
	unread  error           // a row could not be read, which is no fault of any operation

	// The call of a maintainer.
	op      int // index of the caller's operation
	key     keys.Key
	by      string // the maintainer
	most    int
	touched map[string]bool
}

// rowReader reads the rows that a plan needs. A *Table is one.
type rowReader interface {
	find(ctx context.Context, k keys.Key) (found, error)
	each(ctx context.Context, filter, choice string, f func(*Row) bool) error
	RangedRows() bool
}

// derivedRow is what is to become of a row.
type derivedRow struct {
	key    keys.Key
	read   *found // nil if the row was not read
	shared bool   // every maintainer that writes the row has seen what the others made of it
	held   bool   // an entity of this transaction owned the row before
	after  *Row   // nil if the row will not exist
	wrote  bool
	taken  error // the error if the row exists

	op int    // the operation that the row follows from
	by string // its maintainer
}

// Insert adds a row that does not exist; see table.Plan.Insert.
func (p *Plan) Insert(r *Row, taken error) error {
	d, err := p.touch(r)
	if err != nil {
		return err
	}
	switch {
	case d.after != nil:
		return p.refuse(d.key, either(taken, ErrDuplicateRow))
	case taken == nil && !d.held && p.foreign(d, r):
		return p.refuse(d.key, ErrForeignRow)
	}
	p.make(d, r, taken)
	return nil
}

// Put replaces a row; see table.Plan.Put.
func (p *Plan) Put(r *Row) error {
	d, err := p.touch(r)
	if err != nil {
		return err
	}
	if d.hasDerivedRows() {
		return p.refuse(d.key, ErrUnknownMaintainer)
	}
	if d.after != nil && !d.shared && (d.op != p.op || d.by != p.by) {
		if d.taken == nil {
			return p.refuse(d.key, ErrDuplicateRow)
		}
		// The other operation is to blame: it takes what this entity owns.
		p.blamed = d.op
		return &DerivedError{Maintainer: d.by, Key: d.key, Err: d.taken}
	}
	if !d.shared && p.foreign(d, r) {
		return p.refuse(d.key, ErrForeignRow)
	}
	d.held = true
	p.make(d, r, nil)
	return nil
}

// foreign reports whether a copy would replace a row that was read meanwhile, and that is not a copy of the same entity.
func (p *Plan) foreign(d *derivedRow, r *Row) bool {
	return r.isCopy() && d.read != nil && d.read.row != nil && !sameOwner(d.read.row, r) && !p.deletes(d.read.row)
}

// Remove deletes a row; see table.Plan.Remove.
func (p *Plan) Remove(rowKey string) error {
	d, err := p.touch(&Row{Key: keys.Stored(p.partition, rowKey)})
	if err != nil {
		return err
	}
	if d.hasDerivedRows() {
		return p.refuse(d.key, ErrUnknownMaintainer)
	}
	d.held = true
	if d.shared || !d.wrote {
		p.make(d, nil, nil)
	}
	return nil
}

// hasDerivedRows reports whether the row is an entity with derived rows of its own, which a plan cannot maintain.
func (d *derivedRow) hasDerivedRows() bool {
	return d.shared && d.read.row != nil && d.read.row.hasState()
}

// has reports whether the row is an entity, by a property: the operation ID, which changes with every write, or the
// incarnation, which does not.
func (d *derivedRow) has(property string) bool {
	return d.shared && d.read.row != nil && d.read.row.Has(property)
}

// Load reads a shared row; see table.Plan.Load.
func (p *Plan) Load(ctx context.Context, rowKey string) (*Row, error) {
	d, err := p.at(keys.Stored(p.partition, rowKey))
	if err != nil {
		return nil, err
	}
	if d.read == nil {
		f, err := p.find(ctx, d.key)
		switch {
		case err != nil:
			return nil, err
		case f.hidden:
			return nil, p.refuse(d.key, ErrRanged)
		}
		d.read = &f
	}
	if d.shared = true; !d.wrote {
		d.after = d.read.row
	}
	return d.after, nil
}

// Entity returns the row of an entity as the transaction leaves it; see table.Plan.Entity.
func (p *Plan) Entity(ctx context.Context, rowKey string) (*Row, error) {
	k := keys.Stored(p.partition, rowKey)
	if row, planned := p.planned[rowKey]; planned {
		if !row.Known() {
			return nil, nil
		}
		columns, err := row.Decoded()
		return &Row{Key: k, Columns: columns}, err
	}
	if p.own[rowKey] {
		f, err := p.find(ctx, k)
		return f.row, err
	}
	return p.Load(ctx, rowKey)
}

// Scan calls f for the rows of a range as they will be after the transaction, without the row of the changing entity, until f returns
// false; see table.Plan.Scan.
func (p *Plan) Scan(ctx context.Context, rows keys.Range, f func(*Row) bool) error {
	if err := rows.Err(); err != nil {
		return err
	}
	var filter filter
	filter.key(edm.PartitionKey, "eq", p.partition)
	filter.keys(edm.RowKey, rows)
	stopped := false
	err := p.table.each(ctx, filter.b.String(), "", func(r *Row) bool {
		rk := r.Key.RowKey()
		_, planned := p.planned[rk]
		if planned || rk == p.key.RowKey() || !rows.Contains(rk) {
			return true
		}
		stopped = !f(r)
		return !stopped
	})
	if err == nil && !stopped && p.table.RangedRows() {
		err = ErrRanged
	}
	if err != nil {
		p.unread = err
		return err
	}
	for rk, row := range p.planned {
		if stopped || !row.Known() || rk == p.key.RowKey() || !rows.Contains(rk) {
			continue
		}
		columns, err := row.Decoded()
		if err != nil {
			return err
		}
		stopped = !f(&Row{Key: keys.Stored(p.partition, rk), Columns: columns})
	}
	return nil
}

// aheadRow is what reading a row ahead has given.
type aheadRow struct {
	found found
	err   error
}

// find reads a row for the plan.
func (p *Plan) find(ctx context.Context, k keys.Key) (found, error) {
	if r, ok := p.ahead[k.RowKey()]; ok {
		if r.err != nil {
			p.unread = r.err
		}
		return r.found, r.err
	}
	f, err := p.table.find(ctx, k)
	if err != nil {
		p.unread = err
	}
	return f, err
}

// Effect adds work that is due outside the partition; see table.Plan.Effect.
func (p *Plan) Effect(kind string, version int, payload []byte) {
	p.effects = append(p.effects, Effect{Kind: kind, Version: version, RowKey: p.key.RowKey(), Payload: slices.Clone(payload)})
}

// First reports whether it is called with a text for the first time while the transaction is planned.
func (p *Plan) First(text string) bool {
	if p.first[text] {
		return false
	}
	p.first[text] = true
	return true
}

// turn begins the call of a maintainer.
func (p *Plan) turn(op int, k keys.Key, by string, most int) {
	p.op, p.key, p.by, p.most, p.touched = op, k, by, most, map[string]bool{}
	p.blamed = -1
}

// at returns the row under a key of the partition that is not a row of the caller's operations.
func (p *Plan) at(k keys.Key) (*derivedRow, error) {
	switch {
	case k.Err() != nil:
		return nil, k.Err()
	case k.PartitionKey() != p.partition:
		return nil, p.refuse(k, ErrOtherPartition)
	case p.own[k.RowKey()]:
		return nil, p.refuse(k, ErrDuplicateRow)
	case strings.HasPrefix(k.RowKey(), reserved.CommitRecord):
		return nil, p.refuse(k, &ValueError{Field: edm.RowKey, Reason: "begins with " + reserved.CommitRecord + ", as those of commit records do"})
	}
	d := p.rows[k.RowKey()]
	if d == nil {
		d = &derivedRow{key: k, op: p.op, by: p.by}
		if f, ok := p.found[k.RowKey()]; ok {
			d.read = &f
		}
		p.rows[k.RowKey()] = d
		p.order = append(p.order, k.RowKey())
	}
	return d, nil
}

// touch is at for a row that is written, and counts it.
func (p *Plan) touch(r *Row) (*derivedRow, error) {
	if r == nil {
		return nil, errNil
	}
	d, err := p.at(r.Key)
	if err != nil {
		return nil, err
	}
	if p.touched[r.Key.RowKey()] = true; len(p.touched) > p.most {
		return nil, p.refuse(r.Key, &LimitError{Limit: "rows of one entity from the maintainer, whose MaxRows says less", Got: len(p.touched), Max: p.most})
	}
	return d, nil
}

// make plans what becomes of a row.
func (p *Plan) make(d *derivedRow, r *Row, taken error) {
	d.after, d.wrote, d.taken, d.op, d.by = r, true, taken, p.op, p.by
}

// refuse returns the error of a row that cannot be planned.
func (p *Plan) refuse(k keys.Key, err error) error {
	return &DerivedError{Maintainer: p.by, Key: k, Err: err}
}

// deletes reports whether a row is a copy of an entity that this transaction deletes, so that the copy has no owner.
func (p *Plan) deletes(row *Row) bool {
	k, isCopy := row.Primary()
	after, planned := p.planned[k.RowKey()]
	return isCopy && planned && !after.Known()
}

// exists reports whether a derived row exists before the transaction, and in which version.
func (p *Plan) exists(d *derivedRow) (exists bool, match azcore.ETag) {
	if d.read == nil {
		return d.held, azcore.ETagAny
	}
	// A unique value that no entity of the transaction gives up is inserted, whatever was there when it was read.
	if exists = d.read.row != nil && (d.held || d.taken == nil || sameOwner(d.read.row, d.after) || p.deletes(d.read.row)); exists {
		return true, d.read.row.ETag
	}
	return false, azcore.ETagAny
}

// writes reports whether a derived row takes an operation.
func (p *Plan) writes(d *derivedRow) bool {
	exists, _ := p.exists(d)
	return d.wrote && (exists || d.after != nil)
}

// copy returns the plan as it is now.
func (p *Plan) copy() *Plan {
	c := *p
	c.planned, c.order, c.effects, c.first = maps.Clone(p.planned), slices.Clone(p.order), slices.Clone(p.effects), maps.Clone(p.first)
	c.rows = make(map[string]*derivedRow, len(p.rows))
	for rk, d := range p.rows {
		row := *d
		c.rows[rk] = &row
	}
	return &c
}
