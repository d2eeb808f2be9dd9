package odata

// Type is a type of OData values.
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

// Property is a named value: a string (also for GUID, in lower case), int32, bool, float64, int64, time.Time or []byte.
type Property struct {
	Name  string
	Type  Type
	Value any
}
