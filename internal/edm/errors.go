package edm

import (
	"fmt"
	"reflect"
	"strings"
)

// LimitError is a limit of the service that a property, an entity or a filter exceeds, or falls short of.
type LimitError struct {
	Field string // the property, option or argument, or "" for the entity as a whole
	Limit string // what is counted: a plural
	Got   int
	Max   int
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%d %s", e.Got, e.Limit)
	if !strings.Contains(s, ";") { // which tells the rule
		s += fmt.Sprintf("; at most %d are allowed", e.Max)
	}
	if e.Field != "" {
		s = subject(e.Field) + " has " + s
	}
	return s
}

// subject is what an error is about, as the caller wrote it: an option (Query.Limit), an argument, a table's name, or a property.
func subject(field string) string {
	switch field {
	case "service", "value", "sets", "tables", "table", "credential", "outbox", "maintainers", "Op", "CommitRecord", "UnknownError", "UpsertMode", "Completing",
		"queue", "poison", "hints", "of", "kind", "from", "to", "definitions", "target":
		return field
	}
	if !strings.HasPrefix(field, `"`) && strings.ContainsAny(field, ". [") { // which no property's name holds
		return field
	}
	return "property " + field
}

// ValueError is a value or a name that the service cannot store.
type ValueError struct {
	Field  string
	Reason string
	Err    error // what the field's own type says; it may hold data, so the text leaves it out
}

func (e *ValueError) Error() string {
	verb, _, _ := strings.Cut(e.Reason, " ")
	switch verb {
	case "is", "was", "has", "must", "belongs", "begins", "cannot", "holds", "follows", "stands":
		return subject(e.Field) + " " + e.Reason
	}
	return subject(e.Field) + ": " + e.Reason
}

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError is a property that does not fit its field, or a response that cannot be read.
type DecodeError struct {
	Field  string // the property, or "" for the response as a whole
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
