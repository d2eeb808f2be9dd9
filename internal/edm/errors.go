package edm

import (
	"fmt"
	"reflect"
)

// LimitError is a limit of the service that a property, an entity or a filter exceeds.
type LimitError struct {
	Field string // the property, or "" for the entity as a whole
	Limit string // what is limited, with its unit
	Got   int
	Max   int
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%s: %d, at most %d", e.Limit, e.Got, e.Max)
	if e.Field != "" {
		s = "property " + e.Field + ": " + s
	}
	return s
}

// ValueError is a value or a name that the service cannot store.
type ValueError struct {
	Field  string
	Reason string
	Err    error // what the field's own type says; it may hold data, so the text leaves it out
}

func (e *ValueError) Error() string { return "property " + e.Field + ": " + e.Reason }

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError is a property that does not fit its field, or a reply that cannot be read.
type DecodeError struct {
	Field  string // the property, or "" for the reply as a whole
	Reason string
	Err    error // what the field's own type says; it may hold data, so the text leaves it out
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

func (e *DecodeError) Error() string {
	if e.Field == "" {
		return "reply: " + e.Reason
	}
	return "property " + e.Field + ": " + e.Reason
}

// TypeError is a Go type that cannot be stored.
type TypeError struct {
	Type   reflect.Type
	Field  string // the field of Type, or "" for the type as a whole
	Reason string
}

func (e *TypeError) Error() string {
	s := e.Type.String()
	if e.Field != "" {
		s += "." + e.Field
	}
	return s + ": " + e.Reason
}
