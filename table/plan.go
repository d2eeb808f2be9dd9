package table

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Plan is a transaction while it is planned. All maintainers of all its entities, of any types, add their rows to it. It has one
// operation for each RowKey, so that two entities that change one row make one operation of it.
//
// There are two sorts of derived rows. A row of one entity, such as an index row: the maintainer knows from its maintainer state
// whether the row exists, and uses Insert, Put and Remove, which cost no request. A shared row, such as a list or a sum, follows from
// several entities: Load it first, for 1 request, and then Put or Remove it. A shared row is written by its ETag, and after a conflict
// the whole transaction is replanned.
type Plan struct {
	core      *core
	partition string
	own       map[string]bool        // rows of the caller's operations
	planned   map[string][]byte      // those of them that are planned, as they will be
	seen      map[string]azcore.ETag // of primaries, by the plan before
	found     map[string]found       // rows that were not as an earlier plan took them to be

	read map[string]read // rows of operations that were read ahead

	rows    map[string]*derivedRow
	order   []string // of rows
	effects []Effect
	asked   map[string]bool // by First
	blamed  int             // the operation to be refused where it is another than the one whose turn it is, else -1
	unread  error           // a row could not be read, which is no fault of any operation

	// Whose turn it is, and what for.
	op      int // index of the caller's operation
	key     keys.Key
	by      string
	most    int
	touched map[string]bool
	refusal error // the last of the plan's own
}

// derivedRow is what is to become of a row.
type derivedRow struct {
	key    keys.Key
	read   *found // nil: it was not read
	shared bool   // whoever writes it has seen what the others have made of it
	held   bool   // an entity of this transaction had it before
	after  *Row   // nil: it will not be there
	wrote  bool
	taken  error

	op int // whose it is
	by string
}

// found is a row as it was read, nil where there is none.
type found struct {
	row    *Row
	raw    []byte
	gone   error // what the service answered, where there is none
	hidden bool  // there may be one, which the client's signature does not show
}

// Insert adds a row that does not exist, unless another entity of this transaction removes it. The row's ETag is ignored. If the row
// exists, the write fails with taken. If taken is nil, the row is the maintainer's own and is overwritten; but a copy ([Row.Copy])
// overwrites only a copy of the same entity, and fails with ErrForeignRow otherwise.
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

// Put replaces a row, with all its columns: a row that the entity owned before, or a loaded row, which may also be absent.
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
		// The other is to blame: it takes what this entity has.
		p.blamed = d.op
		p.refusal = &DerivedError{Maintainer: d.by, Key: d.key, Err: d.taken}
		return p.refusal
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

// Remove deletes a row that the entity owned, unless another entity in the same transaction takes it over.
func (p *Plan) Remove(row keys.Enc) error {
	s, err := row.Result()
	if err != nil {
		return err
	}
	d, err := p.touch(&Row{Key: keys.Stored(p.partition, s)})
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

// strange tells whether the row is an entity that has derived rows of its own, which a plan cannot keep.
func (d *derivedRow) hasDerivedRows() bool {
	return d.shared && d.read.row != nil && hasState(d.read.raw)
}

// has tells whether the row is an entity of somebody's, by a property: the name, which changes with every write, and the life,
// which does not.
func (d *derivedRow) has(property string) bool {
	return d.shared && d.read.row != nil && d.read.row.Type(property) != ""
}

// Load reads a shared row of the partition, and returns it as the transaction leaves it so far; nil if there is none. It may be an
// entity of another type, which keeps its incarnation; an entity with derived rows of its own cannot be written here
// (ErrUnknownMaintainer). If the row cannot be read, the write fails. A row that is loaded and not written is not protected against
// concurrent writers. 1 request for each row of a transaction.
func (p *Plan) Load(ctx context.Context, row keys.Enc) (*Row, error) {
	s, err := row.Result()
	if err != nil {
		return nil, err
	}
	d, err := p.at(keys.Stored(p.partition, s))
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
	if d.after == nil {
		return nil, nil
	}
	r := *d.after
	return &r, nil
}

// Entity returns the row of an entity of the partition, of any type, as the transaction leaves it as far as it is planned; nil if
// there is none. It is for reading only. At most 1 request.
func (p *Plan) Entity(ctx context.Context, row keys.Enc) (*Row, error) {
	s, err := row.Result()
	if err != nil {
		return nil, err
	}
	k := keys.Stored(p.partition, s)
	if raw, planned := p.planned[s]; planned {
		if raw == nil {
			return nil, nil
		}
		columns, err := columnsOf(raw)
		return &Row{Key: k, columns: columns}, err
	}
	if p.own[s] {
		f, err := p.find(ctx, k)
		return f.row, err
	}
	return p.Load(ctx, row)
}

// mayNotRead is the error of a write that could not read its row first. A caller that may write and not read gets a way out.
func mayNotRead(err error, must bool) error {
	var re *azcore.ResponseError
	if must || !errors.As(err, &re) || re.StatusCode != http.StatusForbidden {
		return err
	}
	return &condition{errMayNotRead, err}
}

var errMayNotRead = errors.New("the row must be read before it is written, and this client may not read it; set Options.BlindWrites if the table's rows have no derived rows")

// read is what reading a row has given.
type read struct {
	found found
	err   error
}

// readAhead reads the rows of operations that must see them, several at a time. If some of the operations may be left to another
// transaction, it reads only for those that surely go into this one: whose maintainers add nothing.
func (p *Plan) readAhead(ctx context.Context, ops []Op, some bool) {
	var ks []keys.Key
	for _, op := range ops {
		if op.reads && (!some || !op.adds) {
			ks = append(ks, op.key)
		} else if some && op.adds {
			break
		}
	}
	if len(ks) < 2 {
		return
	}
	p.read = map[string]read{}
	i := 0
	inOrder(ctx, ks, p.core.find, func(f found, err error) bool {
		p.read[ks[i].RowKey()] = read{f, err}
		i++
		return err == nil
	})
}

// find reads a row for the plan.
func (p *Plan) find(ctx context.Context, k keys.Key) (found, error) {
	if r, ok := p.read[k.RowKey()]; ok {
		if r.err != nil {
			p.unread = r.err
		}
		return r.found, r.err
	}
	f, err := p.core.find(ctx, k)
	if err != nil {
		p.unread = err
	}
	return f, err
}

// Effect adds work that is due outside the partition once the transaction is committed. The outbox's workers execute it at least once,
// by the handler of this kind. version is the version of the payload's form. All effects of a transaction together have 256 KiB as
// they are stored, which is about 190 KiB of payload. Without an outbox, the write fails with ErrNoOutbox.
func (p *Plan) Effect(kind string, version int, payload []byte) {
	p.effects = append(p.effects, Effect{Kind: kind, Version: version, RowKey: p.key.RowKey(), Payload: slices.Clone(payload)})
}

// First reports whether it is called with a text for the first time while this transaction is planned: for work that is to be done
// once for all entities of a transaction. A replanned transaction begins anew.
func (p *Plan) First(text string) bool {
	if p.asked[text] {
		return false
	}
	p.asked[text] = true
	return true
}

// turn says whose turn it is.
func (p *Plan) turn(op int, k keys.Key, by string, most int) {
	p.op, p.key, p.by, p.most, p.touched = op, k, by, most, map[string]bool{}
	p.blamed, p.refusal = -1, nil
}

// at is the row under a key of the partition that is not one of the caller's.
func (p *Plan) at(k keys.Key) (*derivedRow, error) {
	switch {
	case k.Err() != nil:
		return nil, k.Err()
	case k.PartitionKey() != p.partition:
		return nil, p.refuse(k, ErrOtherPartition)
	case p.own[k.RowKey()]:
		return nil, p.refuse(k, ErrDuplicateRow)
	case strings.HasPrefix(k.RowKey(), reserved.CommitRecord):
		return nil, p.refuse(k, &ValueError{Field: edm.RowKey, Reason: "begins as those of intents do"})
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

// touch is at for a row that is written.
func (p *Plan) touch(r *Row) (*derivedRow, error) {
	if r == nil {
		return nil, errNil
	}
	d, err := p.at(r.Key)
	if err != nil {
		return nil, err
	}
	if p.touched[r.Key.RowKey()] = true; len(p.touched) > p.most {
		return nil, p.refuse(r.Key, &LimitError{Limit: "rows that MaxRows announces", Got: len(p.touched), Max: p.most})
	}
	return d, nil
}

// make makes a row what the maintainer whose turn it is wants.
func (p *Plan) make(d *derivedRow, r *Row, taken error) {
	d.after, d.wrote, d.taken, d.op, d.by = r, true, taken, p.op, p.by
}

func (p *Plan) refuse(k keys.Key, err error) error {
	p.refusal = &DerivedError{Maintainer: p.by, Key: k, Err: err}
	return p.refusal
}

func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// deletes tells whether a row is a copy of an entity that this transaction deletes: nobody has it then.
func (p *Plan) deletes(row *Row) bool {
	k, isCopy := row.Primary()
	left, planned := p.planned[k.RowKey()]
	return isCopy && planned && left == nil
}

// exists tells whether a derived row is there before the transaction, and of which version.
func (p *Plan) exists(d *derivedRow) (exists bool, match azcore.ETag) {
	if d.read == nil {
		return d.held, azcore.ETagAny
	}
	// A unique value that nobody here gives up is inserted, whatever was there when it was read.
	if exists = d.read.row != nil && (d.held || d.taken == nil || sameOwner(d.read.row, d.after) || p.deletes(d.read.row)); exists {
		return true, d.read.row.ETag
	}
	return false, azcore.ETagAny
}

// writes tells whether a derived row takes an operation.
func (p *Plan) writes(d *derivedRow) bool {
	exists, _ := p.exists(d)
	return d.wrote && (exists || d.after != nil)
}

// steps are the operations that make the derived rows what they are to be. failed is the caller's operation that has the one
// which cannot be.
func (p *Plan) steps() (ops []Op, failed int, err error) {
	for _, rk := range p.order {
		d := p.rows[rk]
		exists, match := p.exists(d)
		op := Op{core: p.core, key: d.key, match: match, caller: d.op, derived: d}
		switch {
		case !p.writes(d):
			continue
		case exists && d.after == nil:
			op.kind = aztables.TransactionTypeDelete
		case exists:
			op.kind = aztables.TransactionTypeUpdateReplace
		default:
			op.kind, op.match = aztables.TransactionTypeAdd, ""
		}
		if d.after != nil {
			if op.body, op.room, err = d.after.encode(d.key, d.has(reserved.OperationID) && !d.after.isCopy(), d.has(reserved.Incarnation)); err != nil {
				return nil, d.op, &DerivedError{Maintainer: d.by, Key: d.key, Err: public(err)}
			}
			op.left = entire
		}
		ops = append(ops, op)
	}
	return ops, -1, nil
}
