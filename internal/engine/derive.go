package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// readAndMaintain plans one operation: it reads the row if it is not known, and lets the maintainers add to the plan.
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
		p.unread = withReadHint(err, s.adds())
		return p.unread
	}
	// The corrections belong to the version of the entity that was read with them. If the entity has changed since, they are
	// dropped.
	var etag azcore.ETag
	if f.row != nil {
		etag = f.row.ETag
	}
	if was, ok := p.entityVersions[s.Key.RowKey()]; ok && was != etag {
		clear(p.corrections)
		p.others.dropCorrections()
	}
	p.entityVersions[s.Key.RowKey()] = etag
	if err := s.bindToRow(f); err != nil {
		return err
	}
	if s.Before, s.Head = (edm.Stored{}), nil; f.row != nil && headOnly {
		s.Head = f.row
	} else if f.row != nil {
		s.Before = f.row.Stored()
	}
	return s.maintain(ctx, p)
}

// headSuffices reports whether the operation on a wide entity needs to know its head alone: which parts there are. Maintainers must
// see the whole entity, and so must those of other operations of the transaction.
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
		is, was := Find(f.row.Columns, reserved.OperationID), Find(s.Copied.Columns, reserved.OperationID)
		if !edm.Same(is, was) || !SameColumns(Without(f.row.Columns, reserved.Incarnation, reserved.MaintainerState, reserved.Owner, reserved.Parts), s.Copied.Columns) {
			return ErrChanged
		}
	case s.Kind == aztables.TransactionTypeInsertMerge:
		s.Kind = aztables.TransactionTypeUpdateMerge
	case s.Kind == aztables.TransactionTypeInsertReplace:
		s.Kind = aztables.TransactionTypeUpdateReplace
	case !s.replannable && s.Match != f.row.ETag:
		return ErrChanged
	}
	s.Match = f.row.ETag
	return nil
}

// maintain calls the maintainers, and adds their state to the operation. The row before the operation is known.
func (s *step) maintain(ctx context.Context, p *Plan) (err error) {
	m := &s.Table.Mode
	if m.LibraryRows { // of any rows, whose system properties are the caller's
		return s.planRows(p)
	}
	maintained := len(m.Maintainers) > 0 // else only the maintainer state of the row is looked at
	c := &Change{Key: s.Key, before: rowOnce{key: s.Key, stored: s.Before}, newID: p.preview.newID(s.Table.Options.NewID), move: m.Move, counterpart: s.Counterpart}
	if s.Known && s.Upgraded {
		c.before = rowOnce{}
	}
	head := s.Before
	if s.Head != nil && !head.Known() {
		head = edm.Stored{Columns: s.Head.Columns}
	}
	switch c.state, err = stateOf(head, s.Key); {
	case err == nil || m.IgnoreCorruptState && c.state != nil:
	case !maintained && c.state != nil:
		return &Condition{ErrUnknownMaintainer, err}
	default:
		return err
	}
	if c.state.incarnation == m.Move.Renewed {
		c.state.incarnation = ""
	}
	for name := range c.state.before {
		if !slices.ContainsFunc(m.Maintainers, func(m Maintainer) bool { return m.Name() == name }) {
			return fmt.Errorf("%w: %q", ErrUnknownMaintainer, name)
		}
	}
	after, err := s.after(unassignedEnding)
	if err != nil {
		return err
	}
	if maintained {
		if c.Old, err = s.decoded(s.Before); err != nil {
			return err
		}
		if c.New, err = s.decoded(after); err != nil {
			return err
		}
	}
	c.after = rowOnce{key: s.Key, stored: after}
	for _, maintainer := range m.Maintainers {
		c.by = maintainer.Name()
		p.beginMaintainer(s.opIndex, s.Key, c.by, maintainer.MaxRows())
		if err := maintainer.Maintain(ctx, p, c); err != nil {
			if _, is := err.(*DerivedError); is {
				return err // it names the row
			}
			return &DerivedError{Maintainer: c.by, Err: UserCodeError{wire.Redact(err)}}
		}
	}
	if c.state.newIncarnation && !IsID(c.state.incarnation) {
		return errNewID
	}
	if !s.deletes() {
		if err := c.state.put(s.Op, maintained); err != nil {
			return err
		}
	}
	return s.planRows(p)
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
	after, err := s.after(unassignedEnding)
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

// Prepare prepares an operation: its table's maintainers derive rows from it, and its row is read first unless it is
// known or the table writes blindly.
func (op *Op) Prepare() {
	op.Known = op.Known && op.Copied == nil && !op.Edited
	m := &op.Table.Mode
	if op.needsPlanning = len(m.Maintainers) > 0 || m.Parts > 0 || !op.Known && !m.BlindWrites; op.needsPlanning || op.Err != nil {
		return
	}
	switch {
	case op.Copied != nil:
		op.Err = &Condition{ErrNoETag, errCopy}
	case !op.Before.Known():
	case HasState(op.Before, op.Key):
		op.Err = ErrUnknownMaintainer
	case hasParts(op.Before):
		op.Err = ErrUnknownParts
	}
}

// put adds the state to an operation that stores the row, or merges into it. maintained reports that the handle has maintainers.
func (s *entityState) put(op *Op, maintained bool) (err error) {
	merge := op.merges()
	maps.DeleteFunc(s.after, func(_ string, texts []string) bool { return len(texts) == 0 })
	same := !s.corrupt && maps.EqualFunc(s.before, s.after, slices.Equal)
	if merge && same && !s.newIncarnation {
		return nil
	}
	w := edm.NewWriter(op.Key.PartitionKey(), op.Key.RowKey(), len(op.Body.Columns())+4)
	for _, c := range op.Body.Columns() {
		switch c.Name {
		case reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner:
		default:
			w.PutColumn(c)
		}
	}
	if s.tags != "" {
		w.Put(reserved.Owner, edm.Value{Kind: edm.String, S: s.tags})
	}
	if s.incarnation != "" {
		w.Put(reserved.Incarnation, edm.Value{Kind: edm.String, S: s.incarnation})
	}
	if !merge || !same {
		if err := s.write(w, op.Key.RowKey(), merge, maintained); err != nil {
			return err
		}
	}
	if op.StoresID {
		w.Reserve(UnassignedID)
	}
	op.Body, err = w.Finish()
	return err
}
