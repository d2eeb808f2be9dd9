package table

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// create is encode for a row that may not exist yet. Lists must show its key. Lists may not show
// the key of a row that was read ([keys.Raw]).
func (h handle) create(to *edm.Body, k keys.Key, value any, was edm.Stored, except ...string) error {
	if h.writeErr(k) == nil && !h.engine.Mode.LibraryRows { // lists show an empty RowKey
		if err := keys.At(keys.RawPartition(k.PartitionKey()), keys.RawRow(cmp.Or(k.RowKey(), "empty"))).Err(); err != nil {
			return err
		}
	}
	return h.encode(to, k, value, was, except...)
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

// agree returns an error if a key is invalid or is not the key of the value.
func (h handle) agree(k keys.Key, value any) error {
	if err := h.writeErr(k); err != nil {
		return err
	}
	return h.schema.agrees(value, k)
}

// newWriter begins an entity. Maintainers and parts need its columns.
func (h handle) newWriter(k keys.Key) *edm.Writer {
	if m := &h.engine.Mode; len(m.Maintainers) > 0 || m.Parts > 0 || h.schema.isRow {
		return edm.NewWriter(k.PartitionKey(), k.RowKey(), h.schema.codec.Fields()+1)
	}
	return h.schema.codec.TextWriter(k.PartitionKey(), k.RowKey())
}

// encode sets a Body to the whole of a value under a key, and the other columns of the stored row,
// except for some properties. The caller has checked that the key and the value agree.
func (h handle) encode(to *edm.Body, k keys.Key, value any, was edm.Stored, except ...string) error {
	if value == nil {
		return errNil
	}
	if err := h.writeErr(k); err != nil {
		return err
	}
	if row, ok := value.(*Row); ok && h.engine.Mode.Parts == 0 {
		value = row.flat()
	}
	w := h.newWriter(k)
	row, isRow := value.(*Row)
	if !isRow && h.schema.typed() {
		h.schema.codec.Expect(w, reflect.ValueOf(value).Elem())
	}
	own := h.schema.put(w)
	if isRow {
		own = slices.Concat(own, []string{reserved.OperationID}, except)
	} else if len(except) > 0 {
		own = slices.Concat(own, except)
	}
	if isRow && !was.Known() {
		own = append(own, stored.StateProperties()...) // a new row has no state of another row
		if !h.engine.Mode.LibraryRows {
			own = append(own, reserved.Owner)
		}
	}
	if isRow && was.Known() {
		if err := row.writeOver(w, was, h.engine.Mode.LibraryRows, own...); err != nil {
			return err
		}
	} else if isRow {
		write(w, row.columns(), own)
	} else {
		h.schema.codec.Encode(w, reflect.ValueOf(value).Elem(), was)
		h.schema.codec.PutUnknown(w, was, own...)
	}
	h.reserveID(w)
	return w.FinishTo(to)
}

// reserveID counts the operation ID, if the table's rows have one.
func (h handle) reserveID(w *edm.Writer) {
	if !h.engine.Options.OmitOperationID {
		w.Reserve(stored.UnassignedID)
	}
}

// encodeSets returns the properties that a merge sets. stored is the row as it was read, if it was.
func (h handle) encodeSets(k keys.Key, sets []set, was edm.Stored) (edm.Body, error) {
	if err := h.writeErr(k); err != nil {
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
				return edm.Body{}, &ValueError{Property: true, Field: h.schema.fieldName(s), Reason: "is set twice"}
			}
		}
		if s.name == "" {
			h.schema.codec.EncodeField(w, s.path, s.element, s.value, was)
		} else if err := putNamed(w, s.name, s.value); err != nil {
			return edm.Body{}, err
		}
	}
	h.reserveID(w)
	return w.Finish()
}

func (s *schema) fieldName(change set) string {
	if change.name != "" || len(change.path) == 0 {
		return change.name
	}
	return s.codec.Type.FieldByIndex(change.path).Name
}

// namedValue returns the stored value of a property that is given by its name.
func namedValue(name string, v reflect.Value) (edm.Value, error) {
	of, err := edm.NamedOperand(name, v.Type())
	if err != nil {
		return edm.Value{}, err
	}
	return of.Value(v)
}

// putNamed writes a property that a merge of a Row sets.
func putNamed(w *edm.Writer, name string, v reflect.Value) error {
	if err := edm.CheckName(name); err != nil && !edm.IsSystem(name) {
		return err
	}
	x, err := namedValue(name, v)
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

// merged returns what a merge of e sends. If the row is known, it must be one that can be stored
// afterwards.
func (h handle) merged(e entityFields, sets []set) (body edm.Body, err error) {
	inParts := e.partial != nil && e.partial.parts != nil
	switch {
	case e.upgraded:
		return body, errs.ErrOldVersion
	case !e.row.Known() && !inParts && h.schema.version > 0:
		return body, fmt.Errorf("%w, and its version is not known", errs.ErrPartial)
	}
	was := e.row
	if inParts {
		was = edm.Stored{Columns: e.partial.columns}
	}
	if body, err = h.encodeSets(*e.key, sets, was); err != nil {
		return body, err
	}
	if h.schema.oneWay() {
		changed := reflect.New(h.schema.typ)
		changed.Elem().Set(reflect.ValueOf(e.value).Elem())
		apply(changed.Interface(), sets)
		if h.schema.agrees(changed.Interface(), *e.key) != nil {
			return body, ErrKeyChanged
		}
	}
	if e.row.Known() {
		id := edm.Column{}
		if !h.engine.Options.OmitOperationID {
			id = stored.UnassignedID
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
			x, _ := namedValue(s.name, s.value) // it has been written
			row.put(s.name, x)
			continue
		}
		field := to.FieldByIndex(s.path)
		if s.element > 0 {
			edm.SetElement(field, s.element-1, s.value)
		} else {
			field.Set(s.value)
		}
	}
}

// decode turns the entity that the reader has just read into a typed one. stored is its content.
// mine is false for a row that belongs to another type, and err says why: a *keys.KeyError if
// another layout has made its key, ErrForeignRow if the row says so itself. A row with the name of
// the layout that the layout cannot read is T's, with the *keys.KeyError.
func (s *schema) decode(r *edm.Reader, in edm.Entity, was edm.Stored) (made entity, mine bool, err error) {
	made = s.newEntity()
	e := made.fields()
	*e.key, *e.etag, *e.timestamp = keys.Raw(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp
	e.row = was
	if err := s.decodeKey(e.value, in); err != nil {
		mine, wrong := s.inFamily(r, in)
		return nil, mine, cmp.Or(wrong, err)
	}
	if mine, err := s.conform(r, e); err != nil {
		return nil, mine, err
	}
	if !e.upgraded {
		e.row = e.row.Own(s.codec, r)
	}
	if s.verify {
		if err := s.agrees(e.value, *e.key); err != nil {
			return nil, !s.row.OneWay, err // only its key tells whose row it is
		}
	}
	return made, true, nil
}

// read is decode for a row that was read as JSON.
func (s *schema) read(r *edm.Reader, in edm.Entity) (entity, bool, error) {
	return s.decode(r, in, in.Stored())
}

// conform decodes the row that the reader has just read, upgraded if it is of an older version.
func (s *schema) conform(r *edm.Reader, e entityFields) (mine bool, err error) {
	if !s.isRow || s.typed() {
		v, mine, err := s.versionOf(r)
		if err != nil {
			return mine, err
		}
		if s.merged != nil && v == s.version {
			older, is, err := s.mergedVersion(r, e)
			if err != nil {
				return true, err
			}
			if is {
				v, e.merged = older, true
			}
		}
		if e.merged || s.outdated(v) {
			if r, err = s.upgradeRow(r, e, v); err != nil {
				return true, err
			}
		}
	}
	return true, s.properties(r, e)
}

// properties decodes the properties of the row that the reader has just read.
func (s *schema) properties(r *edm.Reader, e entityFields) (err error) {
	if row, isRow := e.value.(*Row); isRow {
		row.Key, row.ETag, row.Timestamp = *e.key, *e.etag, *e.timestamp
		columns, err := r.Columns()
		row.stored().SetColumns(columns)
		return err
	}
	value := reflect.ValueOf(e.value).Elem()
	s.codec.SetTimestamp(value, *e.timestamp)
	return s.codec.Decode(r, value)
}

// upgradeRow makes of the row that the reader has just read, of version v, a row of the schema's
// version.
func (s *schema) upgradeRow(r *edm.Reader, e entityFields, v int) (*edm.Reader, error) {
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	row := e.rowWith(columns)
	for ; v < s.version; v++ {
		f, ok := s.upgrade[v]
		if !ok {
			continue
		}
		if err := f(row); err != nil {
			return nil, fmt.Errorf("upgrade from version %d: %w", v, err)
		}
	}
	w := edm.NewWriter(e.key.PartitionKey(), e.key.RowKey(), len(row.columns())+2)
	own := s.put(w)
	write(w, row.columns(), own)
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	e.row, e.upgraded, e.older = edm.Stored{Columns: body.Columns()}, true, columns
	r, _, err = e.row.Open(body.PartitionKey, body.RowKey)
	return r, err
}

// entityOf is the entity of a row, which may be a copy of all or some of the entity's properties.
func (s *schema) entityOf(row *Row) (entity, error) {
	k, isCopy := row.stored().Primary()
	if !isCopy {
		k = row.Key
	}
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(row.columns()))
	var own []string
	if isCopy {
		own = []string{reserved.Owner}
	}
	write(w, row.columns(), own)
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	was := edm.Stored{Columns: body.Columns()}
	r, in, err := was.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	in.Timestamp = row.Timestamp
	if !isCopy {
		in.ETag = string(row.ETag)
		e, _, err := s.decode(r, in, was)
		if err == nil {
			e.fields().edited = row.stored().Edited()
		}
		return e, err
	}
	if _, whole := row.Get(reserved.OperationID); whole {
		e, _, err := s.decode(r, in, was)
		if err == nil {
			e.fields().copied = stored.New(k, body.Columns())
		}
		return e, err
	}
	return s.partial(r, in, &partialRow{codec: s.codec, columns: body.Columns()})
}

// partial decodes a row of which only some properties are known.
func (s *schema) partial(r *edm.Reader, in edm.Entity, part *partialRow) (entity, error) {
	if _, err := s.current(r); err != nil {
		return nil, err
	}
	made := s.newEntity()
	e := made.fields()
	*e.key, *e.etag, *e.timestamp, e.partial = keys.Raw(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp, part
	if err := errors.Join(s.row.Decode(e.value, in.RowKey), s.partition.Decode(e.value, in.PartitionKey)); err != nil {
		return nil, err
	}
	return made, s.properties(r, e)
}

// rowToInsert returns a row as a new entity.
func (h handle) rowToInsert(k keys.Key, r *Row) (entity, edm.Body, error) {
	// The limits are checked for the entity that is made of the row: the row may have lost the
	// parts of its columns.
	content := edm.Stored{Columns: stored.Without(r.columns(), reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner, reserved.Parts)}
	if content.Columns == nil {
		content.Columns = []edm.Column{}
	}
	in, row, err := content.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, edm.Body{}, err
	}
	e, _, err := h.schema.decode(in, row, content)
	if err != nil {
		return nil, edm.Body{}, err
	}
	p := e.fields()
	if v, ok := p.value.(*Row); ok {
		v.Key = k
	}
	// The key may be one that this library would not make: of a row that another program has
	// written, and that was moved.
	var body edm.Body
	if err = h.agree(k, p.value); err == nil {
		err = h.encode(&body, k, p.value, p.row)
	}
	*p.key, *p.known = k, known{}
	return e, body, err
}
