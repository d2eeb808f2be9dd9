package storagetest

import (
	"fmt"
	"strings"
	"time"
)

// Type is a type of values in tables.
type Type string

// The types of values. JSON needs no annotation for the first four.
const (
	String   Type = "Edm.String"
	Int32    Type = "Edm.Int32"
	Boolean  Type = "Edm.Boolean"
	Double   Type = "Edm.Double"
	Int64    Type = "Edm.Int64"
	DateTime Type = "Edm.DateTime"
	GUID     Type = "Edm.Guid"
	Binary   Type = "Edm.Binary"
)

// Property is a property of a row. Value is a string (also for GUID, in lower case), int32, bool, float64, int64, time.Time or
// []byte.
type Property struct {
	Name  string
	Type  Type
	Value any
}

// String returns the name and the value as text. Bytes are in quotes.
func (p Property) String() string {
	switch v := p.Value.(type) {
	case []byte:
		return fmt.Sprintf("%s: %q", p.Name, v)
	case time.Time:
		return p.Name + ": " + v.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s: %v", p.Name, p.Value)
}

// Row is a stored row.
type Row struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Properties           []Property
}

// String returns the keys and the properties as text, as in "('Sales','Jones') {Salary: 100}".
func (r Row) String() string {
	quote := func(key string) string { return "'" + strings.ReplaceAll(key, "'", "''") + "'" }
	var all []string
	for _, p := range r.Properties {
		all = append(all, p.String())
	}
	return "(" + quote(r.PartitionKey) + "," + quote(r.RowKey) + ") {" + strings.Join(all, ", ") + "}"
}

// Get returns the value of a property, or nil if the row does not have the property.
func (r Row) Get(name string) any {
	for _, p := range r.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}

// Rows returns the rows of a table in order. Rows makes no request.
func (s *Service) Rows(table string) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	entities := s.tables.Entities(table)
	if len(entities) == 0 {
		return nil
	}
	rows := make([]Row, 0, len(entities))
	for _, e := range entities {
		r := Row{PartitionKey: e.PartitionKey, RowKey: e.RowKey, ETag: e.ETag, Timestamp: e.Timestamp}
		r.Properties = make([]Property, 0, len(e.Properties))
		for _, p := range e.Properties {
			r.Properties = append(r.Properties, Property{p.Name, Type(p.Type), p.Value})
		}
		rows = append(rows, r)
	}
	return rows
}

// TableNames returns the names of the tables in order. TableNames makes no request.
func (s *Service) TableNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables.Tables()
}
