package xmlform

import (
	"bytes"
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Metadata is a name and its value.
type Metadata struct{ Name, Value string }

var validMetadataName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseMetadata returns the metadata in the x-ms-meta- headers, sorted by name. Names in Go's spelling of headers do not tell how the
// client wrote them; they are stored in lower case.
func ParseMetadata(header http.Header) (all []Metadata, f *Failure) {
	for name, values := range header {
		if !protocol.IsMetadata(name) {
			continue
		}
		key := name[len(protocol.MetadataPrefix):]
		if name == http.CanonicalHeaderKey(name) {
			key = strings.ToLower(key)
		}
		switch {
		case key == "":
			return nil, ErrEmptyMetadataKey
		case !validMetadataName.MatchString(key):
			return nil, ErrMetadata
		}
		all = append(all, Metadata{key, strings.TrimSpace(strings.Join(values, ","))})
	}
	slices.SortFunc(all, func(a, b Metadata) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// SetMetadata adds metadata to the header of a response.
func SetMetadata(header http.Header, all []Metadata) {
	for _, m := range all {
		header.Set("x-ms-meta-"+m.Name, m.Value)
	}
}

// WriteMetadata writes metadata as XML.
func WriteMetadata(b *bytes.Buffer, all []Metadata) {
	if all == nil {
		b.WriteString("<Metadata />")
		return
	}
	b.WriteString("<Metadata>")
	for _, m := range all {
		WriteElement(b, m.Name, m.Value)
	}
	b.WriteString("</Metadata>")
}
