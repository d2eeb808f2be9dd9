package table

import (
	"net/url"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// A shape as the engine's Schema, through which packages of this module see a schema.
var _ engine.Schema = (*shape)(nil)

// Rows returns the range of the RowKeys of the schema, every key but the library's if it binds none.
func (s *shape) Rows() keys.Range {
	if s.row.all.IsSet() {
		return s.row.all
	}
	return engine.EveryKey
}

// Partitions returns the range of the PartitionKeys of the schema, unset if it binds none.
func (s *shape) Partitions() keys.Range { return s.partition.all }

// Scope names T among the types of the table.
func (s *shape) Scope() string {
	from, _, _ := s.Rows().Bounds()
	if s.name == "" {
		return from
	}
	return from + "?" + url.PathEscape(s.name)
}

// Mine reports whether a row, or the entity that the row is a copy of, can be T's.
func (s *shape) Mine(row *engine.Row) bool {
	k, isCopy := row.Primary()
	if !isCopy {
		k = row.Key
	}
	if k.Err() != nil || !s.Rows().Contains(k.RowKey()) {
		return false
	}
	if v := engine.Find(row.Columns, reserved.Type); v.Kind != edm.Absent && s.name != "" && v.Any() != any(s.name) {
		return false
	}
	return s.row.decode(s.newValue(), k.RowKey()) == nil
}

// Value returns a pointer to the value that a reader would find in a row.
func (s *shape) Value(k keys.Key, row edm.Stored) (any, error) {
	r, in, err := row.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	e, _, err := s.decode(r, in, row)
	if err != nil {
		return nil, err
	}
	return e.parts().value, nil
}

// Upgraded returns a row of an older version as a row of the schema's version, and any other row as it is.
func (s *shape) Upgraded(row *engine.Row) *engine.Row {
	if s.version == 0 || engine.Find(row.Columns, reserved.Version).I >= int64(s.version) {
		return row
	}
	e, err := s.entityOf(rowOf(row))
	if err != nil || !e.parts().upgraded {
		return row
	}
	return &engine.Row{Key: row.Key, ETag: row.ETag, Timestamp: row.Timestamp, Columns: e.parts().row.Columns}
}

// Type returns T and its name in rows.
func (s *shape) Type() (reflect.Type, string) { return s.typ, s.name }

// Query returns a query as the engine takes it for the entities of T.
func (s *shape) Query(q any) *engine.Query {
	return s.query(q.(interface{ engine() engine.Query }).engine(), true)
}

// Read returns the entity of the row that the reader has just read.
func (s *shape) Read(r *edm.Reader, in edm.Entity) (any, bool, error) {
	e, mine, err := s.read(r, in)
	return e, mine, err
}

// Properties returns the properties in which fields are stored.
func (s *shape) Properties(fields ...any) (names []string, err error) {
	for _, f := range fields {
		more, err := f.(interface {
			properties(*edm.Plan) ([]string, error)
		}).properties(s.plan)
		if err != nil {
			return nil, public(err)
		}
		names = append(names, more...)
	}
	return names, nil
}

// Projected returns a value as it is read back with these properties and the keys alone.
func (s *shape) Projected(value any, properties ...string) (any, error) {
	p, err := s.projected(value, properties)
	return p, public(err)
}

func (s *shape) projected(value any, properties []string) (any, error) {
	w := edm.NewWriter("p", "r", s.plan.Fields())
	e := s.newEntity().parts()
	if row, ok := value.(*Row); ok {
		row.write(w, reserved.OperationID)
		*e.key = row.Key
	} else {
		s.plan.Encode(w, reflect.ValueOf(value).Elem(), edm.Stored{})
	}
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	stored := edm.Stored{Columns: (&engine.Row{Columns: body.Columns()}).Project(properties...).Columns}
	r, _, err := stored.Open("p", "r")
	if err != nil {
		return nil, err
	}
	if err := s.properties(r, e); err != nil {
		return nil, err
	}
	for _, b := range []*binding{&s.partition, &s.row} {
		to := b.fields(e.value)
		for i, from := range b.fields(value) {
			reflect.ValueOf(to[i]).Elem().Set(reflect.ValueOf(from).Elem())
		}
	}
	return e.value, nil
}
