package table

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Op is one write, of an entity of any type, for [Transact]. The methods of a Table that end in Op make it of what the
// entity is at that moment; what is wrong with it is reported when it is used. It is not for concurrent use.
type Op struct {
	core   *core
	method string
	kind   aztables.TransactionType
	key    keys.Key
	match  azcore.ETag // "" for an insert or upsert
	body   []byte
	err    error

	room   bool // the body ends with room for the operation ID
	marked bool // it is named there

	// left is the row as it is once this is done, by the body that was sent, as far as that is known; nil if it is not.
	left func(body []byte) []byte

	old         []byte                                  // the row as the entity has it, if it has
	copied      *Row                                    // the copy that the entity was read from, if it was
	upgraded    bool                                    // old is of a newer version than the stored row
	edited      bool                                    // old is not the stored row
	caller      int                                     // which of the caller's it is
	replannable bool                                    // the row was read for it, so it may be tried again where a concurrent writer was faster
	derived     *derivedRow                             // it is none of the caller's
	maintain    func(context.Context, *Plan, *Op) error // plans what follows from it; nil where nothing does
	reads       bool                                    // which reads its row first
	adds        bool                                    // and may add rows

	again func(context.Context) (op Op, there bool, err error) // makes it of the row as it is now, if it is still wanted

	open    func() error              // what has become of the entity since this was made, or nil
	stored  any                       // the *Entity that the row is once this is done, or nil
	done    func(azcore.ETag, []byte) // makes that true, by the ETag and the row as it is then, nil if it is not known
	doubt   func()                    // nobody knows whether it is done
	certain func()                    // it is known that it is not
}

// Err is what is wrong with the operation, as far as can be seen before it is sent.
func (op Op) Err() error {
	if op.core == nil {
		return errNoTable
	}
	return op.core.opError(op.method, op.key, op.usable())
}

// send is a write on its own: one request.
func (op Op) send(ctx context.Context) error {
	if err := op.usable(); err != nil {
		return op.core.opError(op.method, op.key, err)
	}
	_, err := op.core.commit(ctx, op.method, op.key, []Op{op}, false)
	return err
}

// usable is what is wrong with the operation now.
func (op Op) usable() error {
	if op.err != nil || op.open == nil {
		return op.err
	}
	return op.open()
}

// request calls the SDK. It writes into its options, so they are made anew for each call.
func (op Op) request(ctx context.Context) (etag azcore.ETag, err error) {
	c := op.core.client
	update := aztables.UpdateModeReplace
	switch op.kind {
	case aztables.TransactionTypeAdd:
		// A body would repeat what was sent: without it, the response is an ETag.
		ctx = policy.WithHTTPHeader(ctx, http.Header{"Prefer": {"return-no-content"}})
		resp, err := c.AddEntity(ctx, op.body, nil)
		return resp.ETag, err
	case aztables.TransactionTypeDelete:
		_, err := c.DeleteEntity(ctx, op.key.PartitionKey(), op.key.RowKey(), &aztables.DeleteEntityOptions{IfMatch: &op.match})
		return "", err
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeInsertReplace:
		if op.kind == aztables.TransactionTypeInsertMerge {
			update = aztables.UpdateModeMerge
		}
		resp, err := c.UpsertEntity(ctx, op.body, &aztables.UpsertEntityOptions{UpdateMode: update})
		return resp.ETag, err
	}
	if op.kind == aztables.TransactionTypeUpdateMerge {
		update = aztables.UpdateModeMerge
	}
	resp, err := c.UpdateEntity(ctx, op.body, &aztables.UpdateEntityOptions{IfMatch: &op.match, UpdateMode: update})
	return resp.ETag, err
}

// op begins a write.
func (t *Table[T]) op(verb string, kind aztables.TransactionType, k keys.Key) Op {
	return Op{core: &t.core, method: verb, kind: kind, key: k, room: !t.opt.OmitOperationID && kind != aztables.TransactionTypeDelete, left: entire}
}

// entire is what is left by operations that bring the whole row.
func entire(body []byte) []byte { return body }

// of is op for an entity that was read.
func (t *Table[T]) of(verb string, kind aztables.TransactionType, e *Entity[T], entire bool) Op {
	op := t.op(verb, kind, keys.Key{})
	if op.err = e.usable(entire); e != nil {
		op.key, op.match, op.stored = e.Key, e.ETag, e
		op.old, op.copied, op.upgraded, op.edited = e.raw, e.copied, e.upgraded, e.edited
		op.doubt, op.certain = func() { e.doubtful = true }, func() { e.doubtful = false }
		op.open = func() error {
			if e.doubtful {
				return errDoubt
			}
			return nil
		}
	}
	return op
}

// InsertOp is [Table.Insert] as part of a transaction. [Stored] gives the entity.
func (t *Table[T]) InsertOp(v *T) Op { return t.insertOp("Insert", t.keyOf(v), v) }

// InsertAtOp is [Table.InsertAt] as part of a transaction.
func (t *Table[T]) InsertAtOp(k keys.Key, v *T) Op { return t.insertOp("InsertAt", k, v) }

func (t *Table[T]) insertOp(verb string, k keys.Key, v *T) Op {
	op := t.op(verb, aztables.TransactionTypeAdd, k)
	if op.body, op.err = t.create(k, v, nil); op.err != nil {
		return op
	}
	e := &Entity[T]{Value: *v, Key: k}
	op.stored, op.done = e, e.renew
	return t.maintained(op, true, nil)
}

// UpsertOp is [Table.Upsert] as part of a transaction. [Stored] gives the entity.
func (t *Table[T]) UpsertOp(v *T, mode UpsertMode) Op {
	return t.upsertOp("Upsert", t.keyOf(v), v, mode)
}

// UpsertAtOp is [Table.UpsertAt] as part of a transaction.
func (t *Table[T]) UpsertAtOp(k keys.Key, v *T, mode UpsertMode) Op {
	return t.upsertOp("UpsertAt", k, v, mode)
}

func (t *Table[T]) upsertOp(verb string, k keys.Key, v *T, mode UpsertMode) Op {
	op := t.op(verb, aztables.TransactionTypeInsertReplace, k)
	if op.body, op.err = t.create(k, v, nil); op.err != nil {
		return op
	}
	e := &Entity[T]{Value: *v, Key: k}
	op.stored = e
	switch mode {
	case ReplaceExisting:
		op.done = e.renew
	case MergeExisting:
		op.left = nil
		op.kind, op.done = aztables.TransactionTypeInsertMerge, func(etag azcore.ETag, _ []byte) { e.renew(etag, nil) }
		if t.schema.Version > 0 {
			op.err = &ValueError{Field: "UpsertMode", Reason: "MergeExisting cannot be used where rows have versions, for it does not see that of the row: Update, or ReplaceExisting"}
		}
	default:
		op.err = &ValueError{Field: "UpsertMode", Reason: "must be ReplaceExisting or MergeExisting"}
	}
	return t.maintained(op, false, nil)
}

// ReplaceOp is [Table.Replace] as part of a transaction.
func (t *Table[T]) ReplaceOp(e *Entity[T]) Op {
	op := t.replaceOp("Replace", e)
	return t.maintained(op, true, op.old)
}

// ReplaceAnyOp is [Table.ReplaceAny] as part of a transaction.
func (t *Table[T]) ReplaceAnyOp(e *Entity[T]) Op {
	op := t.replaceOp("ReplaceAny", e, incarnationProperties...) // e may be older than the row
	op.match = azcore.ETagAny
	return t.maintained(op, false, nil)
}

func (t *Table[T]) replaceOp(verb string, e *Entity[T], except ...string) Op {
	op := t.of(verb, aztables.TransactionTypeUpdateReplace, e, true)
	if op.err != nil {
		return op
	}
	if t.agrees(&e.Value, e.Key) != nil {
		op.err = ErrKeyChanged
		return op
	}
	op.body, op.err = t.encode(e.Key, &e.Value, e.raw, except...)
	op.done = e.renew
	return op
}

// MergeOp is [Table.Merge] as part of a transaction.
func (t *Table[T]) MergeOp(e *Entity[T], sets ...Set[T]) Op {
	op := t.of("Merge", aztables.TransactionTypeUpdateMerge, e, false)
	if op.err != nil {
		return op
	}
	if op.body, op.err = t.merged(e, sets); op.err != nil {
		return op
	}
	old := e.raw
	op.left = func(body []byte) (raw []byte) {
		if old != nil {
			raw, _ = edm.Overlay(old, body) // as merged has seen it
		}
		return raw
	}
	op.done = func(etag azcore.ETag, raw []byte) {
		apply(&e.Value, sets)
		e.renew(etag, ifRead(old, raw))
	}
	return t.maintained(op, old != nil, old)
}

// ifRead is the row as it was left, for an entity that was read: one that was not has not become whole by a write that has looked.
func ifRead(old, left []byte) []byte {
	if old == nil {
		return nil
	}
	return left
}

// MergeAnyOp is [Table.MergeAny] as part of a transaction.
func (t *Table[T]) MergeAnyOp(k keys.Key, sets ...Set[T]) Op {
	op := t.op("MergeAny", aztables.TransactionTypeUpdateMerge, k)
	op.match, op.left = azcore.ETagAny, nil
	switch op.body, op.err = t.encodeSets(k, sets, nil); {
	case op.err != nil:
	case t.oneWay():
		op.err = &ValueError{Field: "sets", Reason: "a key of this table is computed from fields and not read back, so a merge must see the entity: Get it and use Merge"}
	case t.schema.Version > 0:
		op.err = &ValueError{Field: "sets", Reason: "rows of this table have versions, so a merge must see the entity: Get it and use Merge"}
	}
	return t.maintained(op, false, nil)
}

// TouchOp is [Table.Touch] as part of a transaction.
func (t *Table[T]) TouchOp(e *Entity[T]) Op {
	op := t.of("Touch", aztables.TransactionTypeUpdateMerge, e, false)
	if op.err != nil {
		return op
	}
	if e.upgraded {
		op.err = ErrOldVersion // what is derived would be of the new one
		return op
	}
	w := edm.NewWriter(nil, e.Key.PartitionKey(), e.Key.RowKey())
	if op.room {
		reserve(w)
	}
	op.body, op.err = w.Finish()
	old := e.raw
	op.left = func(body []byte) (raw []byte) {
		if old != nil {
			raw, _ = edm.Overlay(old, body)
		}
		return raw
	}
	op.done = func(etag azcore.ETag, raw []byte) { e.renew(etag, ifRead(old, raw)) }
	return t.maintained(op, old != nil, old)
}

// PinOp writes nothing, but lets the transaction fail with ErrChanged or ErrNotFound unless the row is still as e was
// read: what one row must hold for another to be written. It renews the row's ETag and Timestamp, so two transactions that
// pin the same row exclude each other.
func (t *Table[T]) PinOp(e *Entity[T]) Op {
	op := t.of("Pin", aztables.TransactionTypeUpdateMerge, e, false)
	if op.err != nil {
		return op
	}
	if e.copied != nil {
		op.err = ErrNoETag
		return op
	}
	op.room, op.left = false, func([]byte) []byte { return e.raw }
	op.body, op.done = keysAlone(e.Key), func(etag azcore.ETag, _ []byte) {
		upgraded := e.upgraded // the row is of the version that it was
		e.renew(etag, e.raw)
		e.upgraded = upgraded
	}
	return op
}

// DeleteOp is [Table.Delete] as part of a transaction.
func (t *Table[T]) DeleteOp(e *Entity[T]) Op {
	op := t.of("Delete", aztables.TransactionTypeDelete, e, false)
	op.stored = nil
	return t.maintained(op, op.old != nil, op.old)
}

// DeleteAnyOp is [Table.DeleteAny] as part of a transaction.
func (t *Table[T]) DeleteAnyOp(k keys.Key) Op {
	op := t.op("DeleteAny", aztables.TransactionTypeDelete, k)
	op.match, op.err = azcore.ETagAny, k.Err()
	return t.maintained(op, false, nil)
}
