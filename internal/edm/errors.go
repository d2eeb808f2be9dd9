package edm

import (
	"fmt"
	"reflect"
	"strings"
)

// LimitError reports that a property, an entity, an option or an argument violates a limit of the service.
type LimitError struct {
	Field    string // the property, option or argument, or "" for the whole entity
	Limit    string // the unit, as a plural; the rule may follow after a semicolon
	Got      int
	Max      int
	Property bool // Field is a property
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%d %s", e.Got, e.Limit)
	if !strings.Contains(s, ";") {
		s += fmt.Sprintf("; at most %d are allowed", e.Max)
	}
	if e.Field != "" {
		s = subject(e.Field, e.Property) + " has " + s
	}
	return s
}

// subject returns the subject of an error text: a property, or an option (Query.Limit) or an argument as the caller wrote it.
func subject(field string, property bool) string {
	if property {
		return "property " + field
	}
	return field
}

// ValueError reports a value or a name that the service cannot store.
type ValueError struct {
	Field  string // the property, option or argument
	Reason string // a predicate, such as "is nil", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data

	Property bool // Field is a property
}

func (e *ValueError) Error() string { return sentence(subject(e.Field, e.Property), e.Reason) }

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
