package table

import (
	"context"
	"net/http"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Get reads one entity by its key: a point query, the cheapest there is. 1 request. Errors: ErrNotFound, ErrTableNotFound,
// *keys.KeyError, *DecodeError where the row does not fit T.
func (t *Table[T]) Get(ctx context.Context, k keys.Key) (_ *Entity[T], err error) {
	ctx, end := t.span(ctx, "Get")
	defer func() { end(err) }()
	return t.get(ctx, "Get", k)
}

func (t *Table[T]) get(ctx context.Context, op string, k keys.Key) (*Entity[T], error) {
	if err := k.Err(); err != nil {
		return nil, t.opError(op, k, err)
	}
	ctx, cancel := bound(ctx, t.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := t.client.GetEntity(call.Read(ctx), k.PartitionKey(), k.RowKey(), nil)
	if err != nil {
		return nil, t.readError(op, k, err)
	}
	body, err := call.Body()
	if err != nil {
		return nil, t.readError(op, k, err)
	}
	r := edm.NewReader(body)
	in, err := r.One()
	if err != nil {
		return nil, t.opError(op, k, err)
	}
	e, _, err := t.decode(r, in)
	if err != nil {
		return nil, t.opError(op, k, err)
	}
	if e.ETag == "" {
		e.ETag = resp.ETag // a service that sends it in the header alone
	}
	return e, nil
}

// Insert stores a new entity under the key that the schema makes of its fields. 1 request. Errors: ErrExists, also where an
// earlier Insert with an unknown outcome was done after all; ErrUnknownOutcome; ErrTableNotFound; *LimitError, *ValueError
// and *keys.KeyError before any request. Headers that the context carries by policy.WithHTTPHeader are not sent, for the
// library sets one in the same way.
func (t *Table[T]) Insert(ctx context.Context, v *T) (*Entity[T], error) {
	return t.insert(ctx, "Insert", t.keyOf(v), v)
}

// InsertAt is Insert under an explicit key, for schemas that leave a binding out. Fields that are bound must agree with
// the key.
func (t *Table[T]) InsertAt(ctx context.Context, k keys.Key, v *T) (*Entity[T], error) {
	return t.insert(ctx, "InsertAt", k, v)
}

func (t *Table[T]) insert(ctx context.Context, op string, k keys.Key, v *T) (_ *Entity[T], err error) {
	ctx, end := t.span(ctx, op)
	defer func() { end(err) }()
	body, err := t.encode(k, v, nil)
	if err != nil {
		return nil, t.opError(op, k, err)
	}
	// The reply would repeat what was sent: without it, the reply is an ETag.
	ctx = policy.WithHTTPHeader(ctx, http.Header{"Prefer": {"return-no-content"}})
	var etag azcore.ETag
	err = t.write(ctx, op, k, func(ctx context.Context) error {
		resp, err := t.client.AddEntity(ctx, body, nil)
		etag = resp.ETag
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Entity[T]{Value: *v, Key: k, ETag: etag, Timestamp: stamp(etag), raw: body}, nil
}

// UpsertMode says what becomes of a row that exists.
type UpsertMode int

// The modes of Upsert. There is no default: the two differ in what they delete.
const (
	ReplaceExisting UpsertMode = iota + 1 // properties that the value lacks are deleted
	MergeExisting                         // properties that the value lacks, absent ones included, stay
)

// Upsert stores an entity whether its row exists or not, past any ETag: the last writer wins. 1 request; idempotent. After
// MergeExisting the entity does not know the whole row, so Replace refuses it. Errors are those of Insert but for
// ErrExists.
func (t *Table[T]) Upsert(ctx context.Context, v *T, mode UpsertMode) (*Entity[T], error) {
	return t.upsert(ctx, "Upsert", t.keyOf(v), v, mode)
}

// UpsertAt is Upsert under an explicit key; see [Table.InsertAt].
func (t *Table[T]) UpsertAt(ctx context.Context, k keys.Key, v *T, mode UpsertMode) (*Entity[T], error) {
	return t.upsert(ctx, "UpsertAt", k, v, mode)
}

func (t *Table[T]) upsert(ctx context.Context, op string, k keys.Key, v *T, mode UpsertMode) (_ *Entity[T], err error) {
	ctx, end := t.span(ctx, op)
	defer func() { end(err) }()
	e := &Entity[T]{Value: *v, Key: k}
	o := &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}
	body, err := t.encode(k, v, nil)
	if err != nil {
		return nil, t.opError(op, k, err)
	}
	switch mode {
	case ReplaceExisting:
		e.raw = body
	case MergeExisting:
		o.UpdateMode, e.state = aztables.UpdateModeMerge, partial
	default:
		return nil, t.opError(op, k, &ValueError{Field: "UpsertMode", Reason: "must be ReplaceExisting or MergeExisting"})
	}
	err = t.write(ctx, op, k, func(ctx context.Context) error {
		resp, err := t.client.UpsertEntity(ctx, body, o)
		e.ETag = resp.ETag
		return err
	})
	if err != nil {
		return nil, err
	}
	e.Timestamp = stamp(e.ETag)
	return e, nil
}

// Replace stores e.Value in place of the row, if the row is still as e was read: by its ETag. Columns that T does not know
// stay. 1 request. Errors: ErrChanged; ErrNotFound where the row is gone; ErrKeyChanged; ErrPartial; ErrNoETag;
// ErrUnknownOutcome; *LimitError and *ValueError before any request.
func (t *Table[T]) Replace(ctx context.Context, e *Entity[T]) error {
	return t.replace(ctx, "Replace", e, e.ETag)
}

// ReplaceAny is Replace past the ETag: what others have written since e was read is lost.
func (t *Table[T]) ReplaceAny(ctx context.Context, e *Entity[T]) error {
	return t.replace(ctx, "ReplaceAny", e, azcore.ETagAny)
}

func (t *Table[T]) replace(ctx context.Context, op string, e *Entity[T], match azcore.ETag) (err error) {
	ctx, end := t.span(ctx, op)
	defer func() { end(err) }()
	if err := e.usable(true); err != nil {
		return t.opError(op, e.Key, err)
	}
	if t.agrees(&e.Value, e.Key) != nil {
		return t.opError(op, e.Key, ErrKeyChanged)
	}
	body, err := t.encode(e.Key, &e.Value, e.raw)
	if err != nil {
		return t.opError(op, e.Key, err)
	}
	etag, err := t.update(ctx, op, e.Key, body, match, aztables.UpdateModeReplace)
	if err != nil {
		return e.doubt(err)
	}
	e.ETag, e.Timestamp, e.raw = etag, stamp(etag), body
	return nil
}

// Merge sets properties of the row, if the row is still as e was read, and leaves all others alone. The fields of e.Value
// that are not named are not sent, and local changes to them stay local. 1 request. Errors are those of Replace, ErrPartial
// aside; a Set of a key's field, of a list or of an absent value is a *ValueError.
func (t *Table[T]) Merge(ctx context.Context, e *Entity[T], sets ...Set[T]) (err error) {
	ctx, end := t.span(ctx, "Merge")
	defer func() { end(err) }()
	if err := e.usable(false); err != nil {
		return t.opError("Merge", e.Key, err)
	}
	body, err := t.encodeSets(e.Key, sets)
	if err != nil {
		return t.opError("Merge", e.Key, err)
	}
	raw := e.raw
	if raw != nil {
		if raw, err = edm.Overlay(raw, body); err != nil {
			return t.opError("Merge", e.Key, err)
		}
	}
	etag, err := t.update(ctx, "Merge", e.Key, body, e.ETag, aztables.UpdateModeMerge)
	if err != nil {
		return e.doubt(err)
	}
	v := reflect.ValueOf(&e.Value).Elem()
	for _, s := range sets {
		v.FieldByIndex(s.path).Set(s.value)
	}
	e.ETag, e.Timestamp, e.raw = etag, stamp(etag), raw
	return nil
}

// MergeAny sets properties of the row under k past any ETag, without reading it. 1 request; idempotent. Errors are those of
// Merge but for ErrChanged.
func (t *Table[T]) MergeAny(ctx context.Context, k keys.Key, sets ...Set[T]) (err error) {
	ctx, end := t.span(ctx, "MergeAny")
	defer func() { end(err) }()
	body, err := t.encodeSets(k, sets)
	if err != nil {
		return t.opError("MergeAny", k, err)
	}
	_, err = t.update(ctx, "MergeAny", k, body, azcore.ETagAny, aztables.UpdateModeMerge)
	return err
}

// Delete deletes the row, if it is still as e was read. 1 request. Errors: ErrChanged; ErrNotFound where the row is gone;
// ErrNoETag; ErrUnknownOutcome.
func (t *Table[T]) Delete(ctx context.Context, e *Entity[T]) error {
	if err := e.usable(false); err != nil {
		return t.opError("Delete", e.Key, err)
	}
	return e.doubt(t.delete(ctx, "Delete", e.Key, e.ETag))
}

// DeleteAny deletes the row under k past any ETag. 1 request; the row is gone however often it is called, but all calls
// after the first return ErrNotFound.
func (t *Table[T]) DeleteAny(ctx context.Context, k keys.Key) error {
	return t.delete(ctx, "DeleteAny", k, azcore.ETagAny)
}

func (t *Table[T]) delete(ctx context.Context, op string, k keys.Key, match azcore.ETag) (err error) {
	ctx, end := t.span(ctx, op)
	defer func() { end(err) }()
	if err := k.Err(); err != nil {
		return t.opError(op, k, err)
	}
	return t.write(ctx, op, k, func(ctx context.Context) error {
		_, err := t.client.DeleteEntity(ctx, k.PartitionKey(), k.RowKey(), &aztables.DeleteEntityOptions{IfMatch: &match})
		return err
	})
}

// update sends a body by ETag.
func (t *Table[T]) update(ctx context.Context, op string, k keys.Key, body []byte, match azcore.ETag, mode aztables.UpdateMode) (etag azcore.ETag, err error) {
	err = t.write(ctx, op, k, func(ctx context.Context) error {
		// The SDK writes into its options: they are made anew for each call.
		resp, err := t.client.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &match, UpdateMode: mode})
		etag = resp.ETag
		return err
	})
	return etag, err
}

// write makes one try of a write and judges its outcome.
func (t *Table[T]) write(ctx context.Context, op string, k keys.Key, send func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return t.opError(op, k, err) // nothing was sent, so nothing is unknown
	}
	ctx, cancel := bound(ctx, t.opt.WriteTimeout)
	defer cancel()
	var call wire.Call
	if err := send(call.Write(ctx, t.tryTimeout())); err != nil {
		return t.writeError(op, k, &call, err)
	}
	return nil
}
