package tables

import (
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// selection is what $select names. A nil selection contains all properties.
type selection struct {
	names []string // in the order of the request, each once
	set   map[string]bool
}

// parseSelection parses $select.
func parseSelection(text string) (*selection, *odata.Failure) {
	if text == "" || text == "*" {
		return nil, nil
	}
	s := &selection{set: map[string]bool{}}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, odata.QuerySyntax
		}
		if !s.set[name] {
			s.names, s.set[name] = append(s.names, name), true
		}
	}
	return s, nil
}

// has reports whether a property is selected.
func (s *selection) has(name string) bool { return s == nil || s.set[name] }

// String returns the part of a metadata address that names the selected properties.
func (s *selection) String() string {
	if s == nil {
		return ""
	}
	return "&$select=" + strings.Join(s.names, ",")
}
