package table

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// create is encode for a row that may not exist yet. Lists must show its key. The key of a row that was read ([keys.Stored]) may be
// one that lists do not show.
func (h handle) create(to *edm.Body, k keys.Key, value any, stored edm.Stored, except ...string) error {
	if k.Err() == nil && !h.engine.Mode.LibraryRows {
		if err := keys.At(keys.Raw(k.PartitionKey()), keys.Raw(k.RowKey())).Err(); err != nil {
			return err
		}
	}
	return h.encode(to, k, value, stored, except...)
}

// createNew is create for a new entity. agrees reports that the key was made of the value.
func (h handle) createNew(to *edm.Body, k keys.Key, value any, agrees bool) error {
	if agrees {
		return h.encode(to, k, value, edm.Stored{}) // the binding has checked the key
	}
	if value != nil {
		if err := h.agree(k, value); err != nil {
			return err
		}
	}
	return h.create(to, k, value, edm.Stored{})
}

// agree returns the error of a key that is invalid, or not that of the value.
func (h handle) agree(k keys.Key, value any) error {
	if err := k.Err(); err != nil {
		return err
	}
	return h.shape.agrees(value, k)
}

// newWriter begins an entity. Maintainers and parts need its columns.
func (h handle) newWriter(k keys.Key) *edm.Writer {
	if m := &h.engine.Mode; len(m.Maintainers) > 0 || m.Parts > 0 || h.shape.isRow {
		return edm.NewWriter(k.PartitionKey(), k.RowKey(), h.shape.plan.Fields()+1)
	}
	return h.shape.plan.TextWriter(k.PartitionKey(), k.RowKey())
}

// encode sets a Body to the whole of a value under a key, and the other columns of the stored row, except for some properties. The
// caller has checked that the key and the value agree.
func (h handle) encode(to *edm.Body, k keys.Key, value any, stored edm.Stored, except ...string) error {
	if value == nil {
		return errNil
	}
	if err := k.Err(); err != nil {
		return err
	}
	if row, ok := value.(*Row); ok && h.engine.Mode.Parts == 0 {
		value = row.flat()
	}
	w := h.newWriter(k)
	row, isRow := value.(*Row)
	if !isRow && h.shape.typed() {
		h.shape.plan.Expect(w, reflect.ValueOf(value).Elem())
	}
	own := h.shape.put(w)
	if isRow {
		own = slices.Concat(own, []string{reserved.OperationID}, except)
	} else if len(except) > 0 {
		own = slices.Concat(own, except)
	}
	if isRow && !stored.Known() {
		own = append(own, engine.StateProperties()...) // a new row has none of another's
		if !h.engine.Mode.LibraryRows {
			own = append(own, reserved.Owner)
		}
	}
	if isRow && stored.Known() {
		if err := row.over(w, stored, h.engine.Mode.LibraryRows, own...); err != nil {
			return err
		}
	} else if isRow {
		row.write(w, own...)
	} else {
		h.shape.plan.Encode(w, reflect.ValueOf(value).Elem(), stored)
		h.shape.plan.PutUnknown(w, stored, own...)
	}
	h.reserveID(w)
	return w.FinishTo(to)
}

// reserveID counts the operation ID, if the table's rows have one.
func (h handle) reserveID(w *edm.Writer) {
	if !h.engine.Options.OmitOperationID {
		w.Reserve(engine.UnassignedID)
	}
}

// encodeSets returns the properties that a merge sets. stored is the row as it was read, if it was.
func (h handle) encodeSets(k keys.Key, sets []set, stored edm.Stored) (edm.Body, error) {
	if err := k.Err(); err != nil {
		return edm.Body{}, err
	}
	if len(sets) == 0 {
		return edm.Body{}, &ValueError{Field: "sets", Reason: "a merge needs at least one property to set"}
	}
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(sets)+1)
	for i, s := range sets {
		if s.err != nil {
			return edm.Body{}, s.err
		}
		for _, other := range sets[:i] {
			if other.name == s.name && other.element == s.element && slices.Equal(other.path, s.path) {
				return edm.Body{}, &ValueError{Property: true, Field: h.shape.fieldName(s), Reason: "is set twice"}
			}
		}
		if s.name == "" {
			h.shape.plan.EncodeField(w, s.path, s.element, s.value, stored)
		} else if err := putNamed(w, s.name, s.value); err != nil {
			return edm.Body{}, err
		}
	}
	h.reserveID(w)
	return w.Finish()
}

func (s *shape) fieldName(change set) string {
	if change.name != "" || len(change.path) == 0 {
		return change.name
	}
	return s.plan.Type.FieldByIndex(change.path).Name
}

// putNamed writes a property that a merge of a Row sets.
func putNamed(w *edm.Writer, name string, v reflect.Value) error {
	x, err := edm.NamedOperand(name, v)
	switch {
	case err != nil:
		return err
	case edm.IsSystem(name):
		return &ValueError{Property: true, Field: name, Reason: "belongs to the library"}
	case x.Kind == edm.Absent:
		return &ValueError{Property: true, Field: name, Reason: "a merge cannot make a property absent; use Replace"}
	}
	w.Put(name, x)
	return nil
}

// merged returns what a merge of e sends. If the row is known, it must be one that can be stored afterwards.
func (h handle) merged(e parts, sets []set) (body edm.Body, err error) {
	inParts := e.part != nil && e.part.parts != nil
	switch {
	case e.upgraded:
		return body, ErrOldVersion
	case !e.row.Known() && !inParts && h.shape.version > 0:
		return body, fmt.Errorf("%w, and its version is not known", ErrPartial)
	}
	stored := e.row
	if inParts {
		stored = edm.Stored{Columns: e.part.columns}
	}
	if body, err = h.encodeSets(*e.key, sets, stored); err != nil {
		return body, err
	}
	if h.shape.oneWay() {
		changed := reflect.New(h.shape.typ)
		changed.Elem().Set(reflect.ValueOf(e.value).Elem())
		apply(changed.Interface(), sets)
		if h.shape.agrees(changed.Interface(), *e.key) != nil {
			return body, ErrKeyChanged
		}
	}
	if e.row.Known() {
		id := edm.Column{}
		if !h.engine.Options.OmitOperationID {
			id = engine.UnassignedID
		}
		_, err = e.row.Overlay(e.key.PartitionKey(), e.key.RowKey(), body.Columns(), id, reserved.OperationID)
	}
	return body, err
}

// apply makes the changes of a merge to a value.
func apply(value any, sets []set) {
	to := reflect.ValueOf(value).Elem()
	for _, s := range sets {
		if row, ok := value.(*Row); ok {
			x, _ := edm.NamedOperand(s.name, s.value) // it has been written
			row.put(s.name, x)
			continue
		}
		if field := to.FieldByIndex(s.path); s.element > 0 {
			edm.SetElement(field, s.element-1, s.value)
		} else {
			field.Set(s.value)
		}
	}
}
