package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Op is one write, of an entity of any type, for [Transact]. Methods of Table whose names end in Op
// return it. It contains the values that the entity had then. Transact returns its errors. It is
// not for concurrent use.
type Op struct {
	_          [0]func() // it cannot be compared
	*operation           // nil for the zero Op
}

// operation is what an Op consists of, in one allocation.
type operation struct {
	op     engine.Op
	target target
}

// engine returns the operation without the entity that it stores.
func (op Op) engine() *engine.Op {
	if op.operation == nil {
		return new(engine.Op)
	}
	return &op.op
}

// stored returns the entity that the row is once the operation is applied, nil for none.
func (op Op) stored() entity {
	if op.operation == nil || op.target.use == removes {
		return nil
	}
	return op.target.entity
}

// Err returns the error of the operation that is known before it is sent.
func (op Op) Err() error { return op.engine().Check() }

// send is a write on its own.
func (op Op) send(ctx context.Context) error { return op.op.Send(ctx) }

// maintain decides whether the operation needs a plan of its table's maintainers.
func (op Op) maintain() { op.op.DecidePlanning() }

// target is the entity that an operation was made of.
type target struct {
	entity
	change  *change // nil for none
	use     targetUse
	wasRead bool // its row was known before
}

// change is what an operation changes of its entity besides the ETag and what is known of the row.
type change struct {
	sets []set    // of a merge
	key  keys.Key // of a Move
}

// targetUse is what an operation does with its entity.
type targetUse uint8

const (
	makesEntity targetUse = iota // the entity is new: nothing can be wrong with it, and no caller has it yet
	storesEntity
	mergesUpsert // the whole row is not known afterwards
	mergesSets
	touches
	pins
	removes
	rekeys
)

// wasStored reports whether the operation is on the row of the entity, and not on a row that it
// inserts.
func (t *target) wasStored() bool {
	return t.use != makesEntity && t.use != mergesUpsert && t.use != rekeys
}

// Usable returns an error if the entity is in doubt.
func (t *target) Usable() error {
	if t.wasStored() && t.fields().doubtful {
		return errDoubt
	}
	return nil
}

// SetInDoubt notes whether the outcome of the write is unknown.
func (t *target) SetInDoubt(doubtful bool) {
	if t.wasStored() {
		t.fields().doubtful = doubtful
	}
}

// Applied updates the entity with the stored ETag and content.
func (t *target) Applied(etag azcore.ETag, row edm.Stored) {
	if t.use == removes {
		return
	}
	e := t.fields()
	switch t.use {
	case mergesUpsert:
		row = edm.Stored{}
	case mergesSets:
		apply(e.value, t.change.sets)
	case pins:
		upgraded, older := e.upgraded, e.older // the row is of the version that it was
		e.renew(etag, e.row)
		e.upgraded, e.older = upgraded, older
		return
	case rekeys:
		*e.key = t.change.key
		if r, isRow := e.value.(*Row); isRow {
			r.Key = t.change.key
		}
	}
	if (t.use == mergesSets || t.use == touches) && (!t.wasRead || e.upgraded) {
		row = edm.Stored{} // the entity has not become whole by a write that has read the row, or that has left it of an older version
	}
	e.renew(etag, row)
}

// begin begins an operation.
func (h handle) begin(method string, kind aztables.TransactionType, k keys.Key) Op {
	op := Op{operation: new(operation)}
	o := &op.op
	o.Table, o.Method, o.Kind, o.Key = h.engine, method, kind, k
	o.StoresID = !h.engine.Options.OmitOperationID && kind != aztables.TransactionTypeDelete
	return op
}

// setEntity sets the entity that an operation is made of.
func (op Op) setEntity(e entity, use targetUse) {
	op.target.entity, op.target.use = e, use
	op.op.Target = &op.target
}

// beginEntity is begin for an entity that was read. Its content is the row before the operation;
// whole asks that it is known.
func (h handle) beginEntity(method string, kind aztables.TransactionType, e entity, use targetUse, whole bool) (op Op, p entityFields) {
	op, p = h.begin(method, kind, keys.Key{}), e.fields()
	if p.value == nil {
		op.op.Err = errNil
		return op, p
	}
	op.op.Err = either(either(h.writeErr(*p.key), p.usable(whole)), p.decodeCopy())
	op.op.Key, op.op.Match = *p.key, *p.etag
	op.op.Before, op.op.Copied, op.op.Upgraded, op.op.Edited = p.row, p.copied, p.upgraded, p.edited
	op.op.Known = p.row.Known()
	if p.partial != nil {
		op.op.Head = p.partial.head
	}
	op.setEntity(e, use)
	op.target.wasRead = p.row.Known()
	return op, p
}

// sendStoring sends an operation that stores an entity, and returns the entity.
func sendStoring[T any](ctx context.Context, op Op) (*Entity[T], error) {
	return typed[T](op.stored(), op.send(ctx))
}

// InsertOp is [Table.Insert] as an operation of a transaction. [Stored] gives the entity.
func (t *Table[T]) InsertOp(v *T) Op {
	e := newEntity(v)
	return t.h.insert("Insert", t.h.schema.keyOf(e.fields().value), e, true)
}

// newEntity returns an entity that is to be stored, nil for a nil value.
//
//go:noinline
func newEntity[T any](v *T) entity {
	if v == nil {
		return (*Entity[T])(nil)
	}
	return &Entity[T]{Value: *v}
}

func (h handle) insertAt(k keys.Key, e entity) Op { return h.insert("InsertAt", k, e, false) }

// insert is the operation of Insert and InsertAt. agrees reports that the key was made of the
// value.
func (h handle) insert(method string, k keys.Key, e entity, agrees bool) Op {
	op := h.begin(method, aztables.TransactionTypeAdd, k)
	p := e.fields().setKey(k)
	if op.op.Err = h.createNew(&op.op.Body, k, p.value, agrees); op.op.Err != nil {
		return op
	}
	op.op.Known = true
	op.setEntity(e, makesEntity)
	op.maintain()
	return op
}

// UpsertOp is [Table.Upsert] as an operation of a transaction: without Options.BlindWrites, the row
// is read first. [Stored] gives the entity.
func (t *Table[T]) UpsertOp(v *T, mode UpsertMode) Op {
	e := newEntity(v)
	return t.h.upsert("Upsert", t.h.schema.keyOf(e.fields().value), e, mode, true)
}

func (h handle) upsert(method string, k keys.Key, e entity, mode UpsertMode, agrees bool) Op {
	op := h.begin(method, aztables.TransactionTypeInsertReplace, k)
	p := e.fields().setKey(k)
	if op.op.Err = h.createNew(&op.op.Body, k, p.value, agrees); op.op.Err != nil {
		return op
	}
	use := makesEntity
	switch mode {
	case ReplaceExisting:
	case MergeExisting:
		op.op.Kind, use = aztables.TransactionTypeInsertMerge, mergesUpsert
		if field := h.schema.codec.ChunksIn(op.op.Body.Columns()); field != "" {
			op.op.Err = &ValueError{Property: true, Field: field, Reason: "is stored in chunks, of which MergeExisting would leave the surplus ones of the old value: use Update, or ReplaceExisting"}
		}
		if h.schema.version > 0 {
			op.op.Err = &ValueError{Field: "UpsertMode", Reason: "is MergeExisting, which does not read the version of the row, and rows of this table have versions: use Update, or ReplaceExisting"}
		}
	default:
		op.op.Err = &ValueError{Field: "UpsertMode", Reason: "must be ReplaceExisting or MergeExisting"}
	}
	op.setEntity(e, use)
	op.maintain()
	return op
}

// ReplaceOp is [Table.Replace] as an operation of a transaction.
func (t *Table[T]) ReplaceOp(e *Entity[T]) Op { return t.h.replace("Replace", e) }

func (h handle) replace(method string, e entity) Op {
	op := h.replacement(method, e)
	op.maintain()
	return op
}

func (h handle) replaceAny(e entity) Op {
	op := h.replacement("ReplaceAny", e, stored.StateProperties()...) // e may be older than the row
	op.op.Match, op.op.Known = azcore.ETagAny, false
	op.maintain()
	return op
}

func (h handle) replacement(method string, e entity, except ...string) Op {
	op, p := h.beginEntity(method, aztables.TransactionTypeUpdateReplace, e, storesEntity, true)
	if op.op.Err != nil {
		return op
	}
	if h.schema.agrees(p.value, *p.key) != nil {
		op.op.Err = ErrKeyChanged
		return op
	}
	op.op.Err = h.encode(&op.op.Body, *p.key, p.value, p.row, except...)
	return op
}

// MergeOp is [Table.Merge] as an operation of a transaction.
func (t *Table[T]) MergeOp(e *Entity[T], changes ...Set[T]) Op { return t.h.merge(e, sets(changes)) }

func (h handle) merge(e entity, changes []set) Op {
	op, p := h.beginEntity("Merge", aztables.TransactionTypeUpdateMerge, e, mergesSets, false)
	if op.op.Err != nil {
		return op
	}
	if op.op.Body, op.op.Err = h.merged(p, changes); op.op.Err != nil {
		return op
	}
	op.target.change = &change{sets: changes}
	op.maintain()
	return op
}

func (h handle) mergeAny(k keys.Key, changes []set) Op {
	op := h.begin("MergeAny", aztables.TransactionTypeUpdateMerge, k)
	op.op.Match = azcore.ETagAny
	switch op.op.Body, op.op.Err = h.encodeSets(k, changes, edm.Stored{}); {
	case op.op.Err != nil:
	case h.schema.oneWay():
		op.op.Err = &ValueError{Field: "sets", Reason: "a key of this table is computed from fields and not read back, so a merge must see the entity: Get it and use Merge"}
	case h.schema.version > 0:
		op.op.Err = &ValueError{Field: "sets", Reason: "rows of this table have versions, so a merge must see the entity: Get it and use Merge"}
	}
	op.maintain()
	return op
}

func (h handle) touch(e entity) Op {
	if h.engine.Mode.Repairs {
		return h.rewrite(e)
	}
	op, p := h.beginEntity("Touch", aztables.TransactionTypeUpdateMerge, e, touches, false)
	if op.op.Err != nil {
		return op
	}
	if p.upgraded {
		op.op.Err = errs.ErrOldVersion // what is derived would be of the new one
		return op
	}
	w := edm.NewWriter(p.key.PartitionKey(), p.key.RowKey(), 0)
	h.reserveID(w)
	op.op.Body, op.op.Err = w.Finish()
	op.maintain()
	return op
}

// rewrite is the touch of a repair: it replaces the row by itself, as it is stored, so that the
// maintainers write their state again.
func (h handle) rewrite(e entity) Op {
	op, p := h.beginEntity("Touch", aztables.TransactionTypeUpdateReplace, e, touches, true)
	if op.op.Err != nil {
		return op
	}
	if p.upgraded {
		op.op.Before, op.op.Upgraded = edm.Stored{Columns: p.older}, false
	}
	columns, err := op.op.Before.Decoded()
	if err != nil {
		op.op.Err = err
		return op
	}
	w := edm.NewWriter(p.key.PartitionKey(), p.key.RowKey(), len(columns)+1)
	for _, c := range columns {
		if c.Name != reserved.OperationID {
			w.PutColumn(c)
		}
	}
	h.reserveID(w)
	op.op.Body, op.op.Err = w.Finish()
	op.maintain()
	return op
}

func (h handle) pin(e entity) Op {
	op, p := h.beginEntity("Pin", aztables.TransactionTypeUpdateMerge, e, pins, false)
	if op.op.Err != nil {
		return op
	}
	if p.copied != nil {
		op.op.Err = errs.ErrNoETag
		return op
	}
	op.op.StoresID, op.op.Keeps = false, engine.KeepsRow
	op.op.Body, op.op.Err = edm.NewWriter(p.key.PartitionKey(), p.key.RowKey(), 0).Finish()
	return op
}

// DeleteOp is [Table.Delete] as an operation of a transaction.
func (t *Table[T]) DeleteOp(e *Entity[T]) Op { return t.h.remove(e) }

func (h handle) remove(e entity) Op {
	op, _ := h.beginEntity("Delete", aztables.TransactionTypeDelete, e, removes, false)
	op.maintain()
	return op
}

// DeleteAnyOp is [Table.DeleteAny] as an operation of a transaction.
func (t *Table[T]) DeleteAnyOp(k keys.Key) Op { return t.h.removeAny(k) }

func (h handle) removeAny(k keys.Key) Op {
	op := h.begin("DeleteAny", aztables.TransactionTypeDelete, k)
	op.op.Match, op.op.Err = azcore.ETagAny, h.writeErr(k)
	op.maintain()
	return op
}

// writeErr returns the error of a key whose row cannot be written. A row of another program may
// have an empty RowKey. Maintainers cannot name such an entity, and so it has no derived rows and
// no effects; nor can it have parts.
func (h handle) writeErr(k keys.Key) error {
	if len(h.engine.Mode.Maintainers) > 0 || h.engine.Mode.Parts > 0 {
		return k.Err()
	}
	return engine.AddressErr(k)
}

// UpsertMode says what Upsert does with the other properties of a row that exists.
type UpsertMode int

// The modes of Upsert. There is no default: the two differ in what they delete.
const (
	ReplaceExisting UpsertMode = iota + 1 // properties that the value lacks are deleted
	MergeExisting                         // properties that the value lacks, absent ones included, stay; not for values in chunks
)

// Exact returns a handle of the same table whose writes also store a commit record, a small row
// ~i|… beside the entity, in the same transaction. After a lost response, the commit record proves
// that the write was applied. If there is none, the library stores an abort record in its place,
// and the write can never commit, even if its request arrives later. The outcome is unknown only if
// no abort record could be stored: because the context or the write's time has ended, or because
// the service refuses the abort record. The error is then an [UnknownError], which can be resolved
// later.
//
// Requests: as without Exact; 1 or 2 more after a lost response. If an insert finds its row, 1
// more: it stores an abort record, because a late copy of its request could succeed once the row is
// deleted. The same is true of other writes without an ETag. The work of a day of the store deletes
// commit records two or three days after the write.
func (t *Table[T]) Exact() *Table[T] {
	return &Table[T]{t.h.exact()}
}

func (h handle) exact() handle { return h.inMode(func(m *engine.Mode) { m.Exact = true }) }
