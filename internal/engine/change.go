package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Maintainer derives rows and effects from the entities of a table; see table.Maintainer.
type Maintainer interface {
	Name() string
	MaxRows() int
	Maintain(ctx context.Context, p *Plan, c *Change) error
}

// Decoder decodes the content of a row as a reader would find it.
type Decoder interface {
	Value(k keys.Key, row edm.Stored) (any, error)
}

// Change is the change of one entity. Its rows are decoded once, for all maintainers.
type Change struct {
	Key      keys.Key
	Old, New any // the values that the Decoder made, nil if there is no row

	before, after rowOnce
	state         *entityState
	by            string // the maintainer that is called
	newID         func() string
}

// rowOnce is a row that is decoded when it is first asked for.
type rowOnce struct {
	key     keys.Key
	stored  edm.Stored
	decoded *Row
}

func (r *rowOnce) row() (*Row, error) {
	if r.decoded != nil || !r.stored.Known() {
		return r.decoded, nil
	}
	columns, err := r.stored.Decoded()
	if err != nil {
		return nil, err
	}
	r.decoded = &Row{Key: r.key, Columns: Without(columns, reserved.Incarnation, reserved.MaintainerState, reserved.Owner)}
	return r.decoded, nil
}

// Row returns the row as it will be stored, without incarnation and maintainer state, nil if it is deleted.
func (c *Change) Row() (*Row, error) { return c.after.row() }

// OldRow returns the row as it is stored, without incarnation and maintainer state, nil if there is none, or if the caller's is upgraded.
func (c *Change) OldRow() (*Row, error) { return c.before.row() }

// StateMissing reports whether the entity exists and has no readable maintainer state.
func (c *Change) StateMissing() bool { return !c.state.isNew && (!c.state.stored || c.state.corrupt) }

// Incarnation returns the incarnation of the entity. The first call creates it, unless the entity is being deleted.
func (c *Change) Incarnation() string {
	if c.state.incarnation == "" && c.New != nil {
		c.state.incarnation, c.state.newIncarnation = c.newID(), true
	}
	return c.state.incarnation
}

// State returns the state that the maintainer stored with the last write.
func (c *Change) State() []string { return c.state.before[c.by] }

// SetState stores the maintainer's state with the entity.
func (c *Change) SetState(texts ...string) { c.state.after[c.by] = texts }

// derive plans one operation: it reads the row if it must, and lets the maintainers add to the plan.
func (s *step) derive(ctx context.Context, p *Plan) error {
	if s.Known {
		return s.maintain(ctx, p)
	}
	f, err := p.find(ctx, s.Key)
	if err != nil {
		p.unread = mayNotRead(err, s.adds())
		return p.unread
	}
	// What was found of its derived rows is of the version that was there then.
	var etag azcore.ETag
	if f.row != nil {
		etag = f.row.ETag
	}
	if was, ok := p.seen[s.Key.RowKey()]; ok && was != etag {
		clear(p.found)
	}
	p.seen[s.Key.RowKey()] = etag
	if err := s.meet(f); err != nil {
		return err
	}
	if s.Before = (edm.Stored{}); f.row != nil {
		s.Before = f.row.Stored()
	}
	return s.maintain(ctx, p)
}

// meet makes an operation that did not know its row an operation on the version that was found.
func (s *step) meet(f found) error {
	s.replannable = s.upserts() || s.Match == azcore.ETagAny
	switch {
	case f.row == nil && s.upserts():
		s.Kind = aztables.TransactionTypeAdd
		return nil
	case f.row == nil:
		return f.gone
	case s.Copied != nil && !s.replannable:
		is, was := Find(f.row.Columns, reserved.OperationID), Find(s.Copied.Columns, reserved.OperationID)
		if !edm.Same(is, was) || !SameColumns(Without(f.row.Columns, reserved.Incarnation, reserved.MaintainerState, reserved.Owner), s.Copied.Columns) {
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
	maintained := len(m.Maintainers) > 0 // else only the maintainer state of the row is looked at
	c := &Change{Key: s.Key, before: rowOnce{key: s.Key, stored: s.Before}, newID: s.Table.Options.NewID}
	if s.Known && s.Upgraded {
		c.before = rowOnce{}
	}
	switch c.state, err = stateOf(s.Before, s.Key); {
	case err == nil || m.IgnoreCorruptState && c.state != nil:
	case !maintained && c.state != nil:
		return &Condition{ErrUnknownMaintainer, err}
	default:
		return err
	}
	for name := range c.state.before {
		if !slices.ContainsFunc(m.Maintainers, func(m Maintainer) bool { return m.Name() == name }) {
			return fmt.Errorf("%w: %q", ErrUnknownMaintainer, name)
		}
	}
	after, err := s.after(Unnamed)
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
		p.turn(s.caller, s.Key, c.by, maintainer.MaxRows())
		if err := maintainer.Maintain(ctx, p, c); err != nil {
			if _, is := err.(*DerivedError); is {
				return err // which says itself at which row
			}
			return &DerivedError{Maintainer: c.by, Err: Foreign{wire.Redact(err)}}
		}
	}
	if c.state.newIncarnation && !IsID(c.state.incarnation) {
		return errNewID
	}
	if p.planned[s.Key.RowKey()] = (edm.Stored{}); s.deletes() {
		return nil
	}
	if err := c.state.put(&s.Op, maintained); err != nil {
		return err
	}
	if after, err = s.after(Unnamed); err != nil {
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
	return s.Table.Mode.Decoder.Value(s.Key, row)
}

var errCopy = errors.New("it was read from a copy of its row: write it by the handle that keeps the copies")
