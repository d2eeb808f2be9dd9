package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

var errCopy = errors.New("it was read from a copy of its row: write it by the handle that keeps the copies")

// maintained makes a write one that goes through the table's maintainers. known tells that old is the row as it is stored, nil
// for none; otherwise it is read.
func (t *Table[T]) maintained(op Op, known bool, old []byte) Op {
	known = known && op.copied == nil && !op.edited
	if len(t.maintainers) == 0 && (known || !t.readsFirst) || op.err != nil {
		switch {
		case op.err != nil:
		case op.copied != nil:
			op.err = &condition{ErrNoETag, errCopy}
		case hasState(op.old):
			op.err = ErrUnknownMaintainer
		}
		return op
	}
	op.reads, op.adds = !known, len(t.maintainers) > 0
	op.maintain = func(ctx context.Context, p *Plan, op *Op) error {
		old := old
		if !known {
			f, err := p.find(ctx, op.key)
			if err != nil {
				p.unread = mayNotRead(err, len(t.maintainers) > 0)
				return p.unread
			}
			// What was found of its derived rows is of the version that was there then.
			var etag azcore.ETag
			if f.row != nil {
				etag = f.row.ETag
			}
			if was, ok := p.seen[op.key.RowKey()]; ok && was != etag {
				clear(p.found)
			}
			p.seen[op.key.RowKey()] = etag
			if err := op.meet(f); err != nil {
				return err
			}
			old = f.raw
		}
		return t.derive(ctx, p, op, old, known)
	}
	return op
}

// meet makes an operation that did not know its row one on the version that was found.
func (op *Op) meet(f found) error {
	upsert := op.kind == aztables.TransactionTypeInsertMerge || op.kind == aztables.TransactionTypeInsertReplace
	op.replannable = upsert || op.match == azcore.ETagAny
	switch {
	case f.row == nil && upsert:
		op.kind = aztables.TransactionTypeAdd
		return nil
	case f.row == nil:
		return f.gone
	case op.copied != nil && !op.replannable:
		is, _ := f.row.Get(reserved.OperationID)
		if was, _ := op.copied.Get(reserved.OperationID); is != was || !f.row.WithoutSystemProperties().Same(op.copied) {
			return ErrChanged
		}
	case op.kind == aztables.TransactionTypeInsertMerge:
		op.kind = aztables.TransactionTypeUpdateMerge
	case op.kind == aztables.TransactionTypeInsertReplace:
		op.kind = aztables.TransactionTypeUpdateReplace
	case !op.replannable && op.match != f.row.ETag:
		return ErrChanged
	}
	op.match = f.row.ETag
	return nil
}

// derive adds to a plan what the maintainers make of an operation, and to the operation what they keep with the entity. known tells
// that old is of the entity that the caller has read, and so perhaps upgraded.
func (t *Table[T]) derive(ctx context.Context, p *Plan, op *Op, old []byte, known bool) (err error) {
	c := &Change[T]{Key: op.key, was: old}
	if known && op.upgraded {
		c.was = nil
	}
	look := len(t.maintainers) > 0 // else the handle is guarded, and looks at what is remembered alone
	switch c.state, err = stateOf(old, t.opt.NewID); {
	case err == nil || t.ignoresCorruptState && c.state != nil:
	case !look && c.state != nil:
		return fmt.Errorf("%w: %w", ErrUnknownMaintainer, err)
	default:
		return err
	}
	for name := range c.state.was {
		if !slices.ContainsFunc(t.maintainers, func(m Maintainer[T]) bool { return m.Name() == name }) {
			return fmt.Errorf("%w: %q", ErrUnknownMaintainer, name)
		}
	}
	c.state.whole = look
	if look {
		if c.Old, err = t.valueOf(old); err != nil {
			return err
		}
	}
	switch op.kind {
	case aztables.TransactionTypeDelete:
	case aztables.TransactionTypeUpdateMerge:
		op.left = func(body []byte) []byte { raw, _ := edm.Overlay(old, body); return raw }
		if c.row, err = edm.Overlay(old, op.body); err != nil {
			return err
		}
	default:
		c.row = op.body
	}
	if look {
		if c.New, err = t.valueOf(c.row); err != nil {
			return err
		}
	}
	for _, m := range t.maintainers {
		c.by = m.Name()
		p.turn(op.caller, op.key, c.by, m.MaxRows())
		if err := m.Maintain(ctx, p, c); err != nil {
			if de, is := err.(*DerivedError); is && de.Maintainer == c.by {
				return err // which says itself at which row
			}
			if p.refusal == nil || !errors.Is(err, p.refusal) {
				err = &DerivedError{Maintainer: c.by, Err: foreign{wire.Redact(public(err))}}
			}
			return err
		}
	}
	if c.state.changed && !isID(c.state.incarnation) {
		return errNewID
	}
	p.planned[op.key.RowKey()] = nil
	if c.row == nil {
		return nil
	}
	if op.body, err = c.state.into(op.body, op.key, op.kind == aztables.TransactionTypeUpdateMerge, op.room); err != nil {
		return err
	}
	row := op.body
	if op.kind == aztables.TransactionTypeUpdateMerge {
		if row, err = edm.Overlay(old, op.body); err != nil {
			return err // with its life it is too much
		}
	}
	p.planned[op.key.RowKey()] = row
	return nil
}

// valueOf is what a reader finds in a row, nil if there is none.
func (t *Table[T]) valueOf(raw []byte) (*T, error) {
	if raw == nil {
		return nil, nil
	}
	r := edm.NewReader(raw)
	in, err := r.One()
	if err != nil {
		return nil, err
	}
	e, _, err := t.decode(r, in)
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

// kept is what a primary row keeps for its maintainers.
type entityState struct {
	incarnation string
	tags        string // what others keep in it; see Row.Tag
	changed     bool   // the life is new
	corrupt     bool   // what was remembered cannot be read
	stored      bool   // the row has a property for it
	fresh       bool   // there is no row as yet
	whole       bool   // the handle has maintainers
	was, is     map[string][]string
	newID       func() string
}

// keptIn reads it from a row, nil for none. Where what maintainers remember cannot be read, it has the rest, with the error.
func stateOf(old []byte, newID func() string) (*entityState, error) {
	k := &entityState{was: map[string][]string{}, is: map[string][]string{}, newID: newID}
	if old == nil {
		k.fresh = true
		return k, nil
	}
	r := edm.NewReader(old)
	in, err := r.One()
	if err != nil {
		return nil, err
	}
	life, err1 := r.Find(reserved.Incarnation)
	ix, err2 := r.Find(reserved.MaintainerState)
	if err := either(err1, err2); err != nil {
		return nil, err
	}
	mark, err := r.Find(reserved.Owner)
	if err != nil {
		return nil, err
	}
	k.stored = ix.Kind != edm.Absent
	if isID(life.S) {
		k.incarnation = life.S
	}
	if strings.HasPrefix(mark.S, "/") {
		k.tags = mark.S
	}
	was, err := stateIn(ix, in.RowKey)
	if err != nil {
		k.corrupt = true
		return k, err
	}
	k.was = was
	return k, nil
}

// remembers tells whether maintainers have left something with a row.
func hasState(row []byte) bool {
	if !bytes.Contains(row, []byte(`"`+reserved.MaintainerState+`"`)) {
		return false
	}
	k, err := stateOf(row, nil)
	return err != nil || len(k.was) > 0
}

// into writes it into the body of an operation that stores the row, or that merges into it.
func (k *entityState) into(body []byte, key keys.Key, merge, room bool) ([]byte, error) {
	maps.DeleteFunc(k.is, func(_ string, texts []string) bool { return len(texts) == 0 })
	same := !k.corrupt && maps.EqualFunc(k.was, k.is, slices.Equal)
	if merge && same && !k.changed {
		return body, nil
	}
	columns, err := columnsOf(body)
	if err != nil {
		return nil, err
	}
	w := edm.NewWriter(nil, key.PartitionKey(), key.RowKey())
	(&Row{columns: columns}).write(w, reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner)
	if k.tags != "" {
		w.Put(reserved.Owner, edm.Value{Kind: edm.String, S: k.tags})
	}
	if k.incarnation != "" {
		w.Put(reserved.Incarnation, edm.Value{Kind: edm.String, S: k.incarnation})
	}
	if !merge || !same {
		if err := k.put(w, key.RowKey(), merge); err != nil {
			return nil, err
		}
	}
	if room {
		reserve(w)
	}
	return w.Finish()
}

// remember writes what maintainers remember. If that is nothing, a new row, and a row that has the property already, get an empty one,
// which tells them from rows whose maintainer state is lost. It is empty of bytes, since a header is of one RowKey alone, and other
// programs may copy the row under another key. A row whose state is lost stays without: its derived rows may still exist.
func (k *entityState) put(w *edm.Writer, rowKey string, merge bool) error {
	b := []byte{}
	if len(k.is) > 0 {
		b = encodeState(k.is, rowKey)
	}
	if len(b) > maxState {
		return &LimitError{Field: reserved.MaintainerState, Limit: "bytes that maintainers remember of an entity", Got: len(b), Max: maxState}
	}
	if len(k.is) > 0 || k.stored && (merge || k.whole) || k.fresh && k.whole {
		w.Put(reserved.MaintainerState, edm.Value{Kind: edm.Binary, B: b})
	}
	return nil
}
