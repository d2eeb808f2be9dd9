package xmlform

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// ErrDocument is the failure of a body that is not the XML document that the request requires.
var ErrDocument = InvalidDocument(protocol.DocumentFault{})

// InvalidDocument returns the failure for an invalid body.
func InvalidDocument(fault protocol.DocumentFault) *Failure {
	return NewFailure(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.").
		With("<LineNumber>%d</LineNumber><LinePosition>%d</LinePosition>%s", fault.Line, fault.Position, elementOf("Reason", fault.Reason))
}

// ParseDocument decodes a body that is one XML document into root, as xml.Unmarshal does. Only
// comments and space may follow the document.
func ParseDocument(body []byte, root any) *Failure {
	if _, fault := protocol.ParseDocument(body); fault != nil {
		return InvalidDocument(*fault)
	}
	if xml.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), root) != nil {
		return ErrDocument // another root
	}
	return nil
}

// Head is the start of each XML document of the services, with a byte order mark.
const Head = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`

// escape escapes a text as the services do. Quotes are not escaped. A carriage return is, because
// XML parsers drop it.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")

// WriteElement writes an element that contains a text.
func WriteElement(b *bytes.Buffer, name, text string) {
	if text == "" {
		b.WriteString("<" + name + " />")
		return
	}
	b.WriteString("<" + name + ">")
	escape.WriteString(b, text)
	b.WriteString("</" + name + ">")
}

// elementOf returns an element that contains a text.
func elementOf(name, text string) string {
	var b bytes.Buffer
	WriteElement(&b, name, text)
	return b.String()
}

// HTTPTime returns a time as the services write it.
func HTTPTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// CheckName checks the name of a queue or of a container.
func CheckName(name string) *Failure {
	switch {
	case len(name) < 3 || len(name) > 63:
		return ErrNameLength
	case !validName.MatchString(name):
		return ErrName
	}
	return nil
}

// Number returns a number in a query. The number must be between least and most.
func Number(query url.Values, name string, defaultValue, least, most int64) (int64, *Failure) {
	if !query.Has(name) {
		return defaultValue, nil
	}
	value := query.Get(name)
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return 0, InvalidParameter(name, value, "Invalid value")
	case n < least || n > most:
		return 0, OutOfRange(name, value, least, most)
	}
	return n, nil
}

// CheckIncludes checks that the parameter include of a query contains no other words than the given
// ones.
func CheckIncludes(query url.Values, known ...string) *Failure {
	const name = "include"
	for word := range strings.SplitSeq(query.Get(name), ",") {
		if word != "" && !slices.Contains(known, word) {
			return InvalidParameter(name, query.Get(name), "Invalid query parameter value.")
		}
	}
	return nil
}

// Includes reports whether the parameter include of a query contains a word.
func Includes(query url.Values, word string) bool {
	return slices.Contains(strings.Split(query.Get("include"), ","), word)
}

// WriteParameters writes the parameters of a query for a list that are not empty. The names of the
// elements are the names of the parameters.
func WriteParameters(b *bytes.Buffer, query url.Values, elements ...string) {
	for _, element := range elements {
		if value := query.Get(strings.ToLower(element)); value != "" {
			WriteElement(b, element, value)
		}
	}
}

// Metadata is a name and its value.
type Metadata struct{ Name, Value string }

var validMetadataName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseMetadata returns the metadata in the x-ms-meta- headers, sorted by name. Names in Go's
// spelling of headers do not show how the client wrote them; they are stored in lower case.
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
