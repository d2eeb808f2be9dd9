package edm

import (
	"fmt"
	"reflect"
	"strings"
)

// LimitError reports that a property, an entity, an option or an argument violates a limit of the service.
type LimitError struct {
	Field string // the property, option or argument, or "" for the whole entity
	Limit string // the unit, as a plural; the rule may follow after a semicolon
	Got   int
	Max   int
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%d %s", e.Got, e.Limit)
	if !strings.Contains(s, ";") {
		s += fmt.Sprintf("; at most %d are allowed", e.Max)
	}
	if e.Field != "" {
		s = subject(e.Field) + " has " + s
	}
	return s
}

// subject returns the subject of an error text, as the caller wrote it: an option (Query.Limit), an argument, the name of a table,
// or a property.
func subject(field string) string {
	switch field {
	case "service", "value", "sets", "tables", "table", "credential", "outbox", "maintainers", "Op", "record", "UnknownError", "UpsertMode", "Completing",
		"container", "source", "queue", "poison", "hints", "notifications", "of", "kind", "from", "to", "definitions", "target", "t", "s", "f", "tx", "views", "view", "list", "join", "change", "ops", "other", "cred", "values", "r", "fields":
		return field
	}
	if !strings.HasPrefix(field, `"`) && strings.ContainsAny(field, ". [") { // the name of a property contains none of these
		return field
	}
	return "property " + field
}

// ValueError reports a value or a name that the service cannot store.
type ValueError struct {
	Field  string // the property, option or argument
	Reason string // a predicate, such as "is nil", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data
}

func (e *ValueError) Error() string { return sentence(subject(e.Field), e.Reason) }

// sentence joins a subject and a reason, which is a predicate or a sentence of its own.
func sentence(subject, reason string) string {
	verb, _, _ := strings.Cut(reason, " ")
	switch verb {
	case "is", "was", "has", "must", "belongs", "begins", "cannot", "holds", "contain", "contains", "follows", "stands":
		return subject + " " + reason
	}
	return subject + ": " + reason
}

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError reports a property that does not fit its field, or a malformed response.
type DecodeError struct {
	Field  string // the property, or "" for the whole response
	Reason string // a predicate, such as "is missing", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

func (e *DecodeError) Error() string {
	switch {
	case e.Field == "":
		return sentence("the response", e.Reason)
	case strings.Contains(e.Field, " "): // no property
		return sentence(e.Field, e.Reason)
	}
	return sentence("property "+e.Field, e.Reason)
}

// TypeError reports a Go type that cannot be stored.
type TypeError struct {
	Type   reflect.Type
	Field  string // the field of Type, or "" for the whole type
	Reason string
}

func (e *TypeError) Error() string {
	s := e.Type.String()
	if e.Field != "" {
		s += "." + e.Field
	}
	return sentence(s, e.Reason)
}
