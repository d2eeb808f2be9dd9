package main

import (
	"fmt"
	"io"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// printedAttributes are the attributes that are the same at each run. IDs and URLs are left out.
var printedAttributes = []string{
	"net.peer.name", "db.collection.name", "db.operation.batch.size", "db.response.status_code", "http.status_code",
	"aztablekit.attempt", "aztablekit.outcome",
}

// printTree prints spans below their parents. The spans are in the order in which they began.
func printTree[S sdktrace.ReadOnlySpan](out io.Writer, spans []S) error {
	children := map[trace.SpanID][]S{}
	for _, s := range spans {
		children[s.Parent().SpanID()] = append(children[s.Parent().SpanID()], s)
	}
	var text strings.Builder
	var print func(parent trace.SpanID, indent string)
	print = func(parent trace.SpanID, indent string) {
		for _, s := range children[parent] {
			fmt.Fprintf(&text, "%s%s%s%s\n", indent, s.Name(), attributesOf(s), statusOf(s))
			print(s.SpanContext().SpanID(), indent+"    ")
		}
	}
	print(trace.SpanID{}, "")
	_, err := io.WriteString(out, text.String())
	return err
}

// attributesOf returns the printed attributes of a span.
func attributesOf(s sdktrace.ReadOnlySpan) (text string) {
	values := attribute.NewSet(s.Attributes()...)
	for _, key := range printedAttributes {
		v, has := values.Value(attribute.Key(key))
		if !has {
			continue
		}
		value := v.String()
		if strings.Contains(value, " ") {
			value = fmt.Sprintf("%q", value)
		}
		text += fmt.Sprintf(" %s=%s", key, value)
	}
	return text
}

// statusOf returns the first line of the status, if it is an error.
func statusOf(s sdktrace.ReadOnlySpan) string {
	if s.Status().Code != codes.Error {
		return ""
	}
	first, _, _ := strings.Cut(s.Status().Description, "\n")
	return " ERROR " + strings.TrimSuffix(first, ":")
}
