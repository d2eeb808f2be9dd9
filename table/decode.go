package table

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// decode turns the entity that the reader has just read into a typed one. stored is its content. mine is false for a row that
// belongs to another type, and err says why: a *keys.KeyError if another layout has made its key, ErrOtherType if the row says so
// itself.
func (s *shape) decode(r *edm.Reader, in edm.Entity, stored edm.Stored) (made entity, mine bool, err error) {
	made = s.newEntity()
	e := made.parts()
	*e.key, *e.etag, *e.timestamp = keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp
	e.row = stored
	if err := s.row.decode(e.value, in.RowKey); err != nil {
		return nil, false, err
	}
	if err := s.partition.decode(e.value, in.PartitionKey); err != nil {
		return nil, false, err
	}
	if mine, err := s.conform(r, e); err != nil {
		return nil, mine, err
	}
	if !e.upgraded {
		e.row = e.row.Own(s.plan, r)
	}
	if s.verify {
		if err := s.agrees(e.value, *e.key); err != nil {
			return nil, !s.row.oneWay, err // only its key tells whose row it is
		}
	}
	return made, true, nil
}

// read is decode for a row that was read as JSON.
func (s *shape) read(r *edm.Reader, in edm.Entity) (entity, bool, error) {
	return s.decode(r, in, in.Stored())
}

// conform decodes the row that the reader has just read, upgraded if it is of an older version.
func (s *shape) conform(r *edm.Reader, e parts) (mine bool, err error) {
	if !s.isRow || s.typed() {
		v, mine, err := s.versionOf(r)
		if err != nil {
			return mine, err
		}
		if s.outdated(v) {
			if r, err = s.upgradeRow(r, e, v); err != nil {
				return true, err
			}
		}
	}
	return true, s.properties(r, e)
}

// properties decodes the properties of the row that the reader has just read.
func (s *shape) properties(r *edm.Reader, e parts) (err error) {
	if row, isRow := e.value.(*Row); isRow {
		row.Key, row.ETag, row.Timestamp = *e.key, *e.etag, *e.timestamp
		row.columns, err = r.Columns()
		return err
	}
	return s.plan.Decode(r, reflect.ValueOf(e.value).Elem())
}

// upgradeRow makes of the row that the reader has just read, of version v, a row of the schema's version.
func (s *shape) upgradeRow(r *edm.Reader, e parts, v int) (*edm.Reader, error) {
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	row := &Row{Key: *e.key, ETag: *e.etag, Timestamp: *e.timestamp, columns: columns}
	for ; v < s.version; v++ {
		f, ok := s.upgrade[v]
		if !ok {
			continue
		}
		if err := f(row); err != nil {
			return nil, fmt.Errorf("upgrade from version %d: %w", v, err)
		}
	}
	w := edm.NewWriter(e.key.PartitionKey(), e.key.RowKey(), len(row.columns)+2)
	own := s.put(w)
	row.write(w, own...)
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	e.row, e.upgraded, e.older = edm.Stored{Columns: body.Columns()}, true, columns
	r, _, err = e.row.Open(body.PartitionKey, body.RowKey)
	return r, err
}

// entityOf is the entity of a row, which may be a copy of all or some of the entity's properties.
func (s *shape) entityOf(row *Row) (entity, error) {
	k, isCopy := row.row().Primary()
	if !isCopy {
		k = row.Key
	}
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(row.columns))
	if isCopy {
		row.write(w, reserved.Owner)
	} else {
		row.write(w)
	}
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	stored := edm.Stored{Columns: body.Columns()}
	r, in, err := stored.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	if in.Timestamp = row.Timestamp; !isCopy {
		in.ETag = string(row.ETag)
		e, _, err := s.decode(r, in, stored)
		if err == nil {
			e.parts().edited = row.edited
		}
		return e, err
	}
	if _, whole := row.Get(reserved.OperationID); whole {
		e, _, err := s.decode(r, in, stored)
		if err == nil {
			e.parts().copied = &engine.Row{Key: k, Columns: body.Columns()}
		}
		return e, err
	}
	return s.partial(r, in, &part{plan: s.plan, columns: body.Columns()})
}

// partial decodes a row of which only part is known.
func (s *shape) partial(r *edm.Reader, in edm.Entity, part *part) (entity, error) {
	if _, err := s.current(r); err != nil {
		return nil, err
	}
	made := s.newEntity()
	e := made.parts()
	*e.key, *e.etag, *e.timestamp, e.part = keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp, part
	if err := errors.Join(s.row.decode(e.value, in.RowKey), s.partition.decode(e.value, in.PartitionKey)); err != nil {
		return nil, err
	}
	return made, s.properties(r, e)
}

// rowToInsert returns a row as a new entity.
func (h handle) rowToInsert(k keys.Key, r *Row) (entity, edm.Body, error) {
	// The limits are checked for the entity that is made of the row: the row may have lost the parts of its columns.
	stored := edm.Stored{Columns: engine.Without(r.columns, reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner, reserved.Parts)}
	if stored.Columns == nil {
		stored.Columns = []edm.Column{}
	}
	in, row, err := stored.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, edm.Body{}, err
	}
	e, _, err := h.shape.decode(in, row, stored)
	if err != nil {
		return nil, edm.Body{}, err
	}
	p := e.parts()
	if v, ok := p.value.(*Row); ok {
		v.Key = k
	}
	// The key may be one that this library would not make: of a row that another program has written, and that was moved.
	var body edm.Body
	if err = h.agree(k, p.value); err == nil {
		err = h.encode(&body, k, p.value, p.row)
	}
	*p.key, *p.known = k, known{}
	return e, body, err
}
