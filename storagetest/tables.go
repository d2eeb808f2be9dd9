package storagetest

import "time"

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

// Row is a stored row.
type Row struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Properties           []Property
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
	var rows []Row
	for _, e := range s.tables.Entities(table) {
		r := Row{PartitionKey: e.PartitionKey, RowKey: e.RowKey, ETag: e.ETag, Timestamp: e.Timestamp}
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
