package tables

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

const maxPage = 1000

// query is the query string of a query of entities or of tables.
type query struct {
	filter    *odata.Filter
	selected  *selection
	top       int
	start     position
	nextTable *string
}

// parseQuery parses the query string.
func (c *call) parseQuery() (q query, f *odata.Failure) {
	q.top = maxPage
	for _, name := range slices.Sorted(maps.Keys(c.Query)) { // so that the same query fails with the same error
		values := c.Query[name]
		if len(values) != 1 {
			return q, odata.QuerySyntax
		}
		value := values[0]
		switch name {
		case "$filter":
			if q.filter, f = odata.ParseFilter(value); f == nil && q.filter.Comparisons() > odata.MaxComparisons && !c.options.Lenient {
				f = odata.InvalidInput
			}
		case "$select":
			q.selected, f = parseSelection(value)
		case "$top":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxPage {
				f = odata.InvalidInput
			}
			q.top = n
		case "NextPartitionKey":
			q.start.pk, f = parseToken(value)
		case "NextRowKey":
			q.start.rk, f = parseToken(value)
		case "NextTableName":
			q.nextTable, f = parseToken(value)
		case "$orderby", "$skip", "$expand", "$inlinecount", "$count", "$skiptoken":
			f = odata.NotImplemented
		}
		if f != nil {
			return q, f
		}
	}
	if q.start.rk != nil && q.start.pk == nil {
		return q, odata.InvalidInput
	}
	if q.filter == nil {
		q.filter = &odata.Filter{}
	}
	return q, nil
}

// query executes a query of entities and returns one page, which a fault may shorten.
func (c *call) query(a address, in protocol.Injection) *response {
	t := c.store.table(a.resource)
	if t == nil {
		return refuse(errTableNotFound)
	}
	q, f := c.parseQuery()
	if f == nil {
		f = c.permits("r")
	}
	if f == nil && (c.Get("If-Match") != "" || c.Get("If-None-Match") != "") {
		f = odata.NotImplemented
	}
	if f != nil {
		return refuse(f)
	}
	if in.PageLimit != nil {
		q.top = min(q.top, *in.PageLimit)
	}
	r := &response{status: http.StatusOK, contentType: c.level.ContentType(), dataVersion: dataVersion3}
	var w odata.Writer
	w.Open()
	if c.level != odata.NoMetadata {
		w.Member("odata.metadata", c.Base+"/$metadata#"+a.resource+c.selectionAsSent(q))
	}
	w.Key("value")
	w.WriteByte('[')
	n, first := 0, ""
	t.scan(q.filter.KeyRange("PartitionKey"), q.filter.KeyRange("RowKey"), q.start, func(e *entity) bool {
		if !c.grant.covers(e.pk, e.rk) || !q.filter.Matches(e) {
			return true
		}
		if in.PartitionPage && n > 0 && e.pk != first {
			r.next = http.Header{}
			r.next.Set("x-ms-continuation-NextPartitionKey", formatToken(e.pk))
			return false
		}
		if n == q.top {
			r.next = http.Header{}
			r.next.Set("x-ms-continuation-NextPartitionKey", formatToken(e.pk))
			r.next.Set("x-ms-continuation-NextRowKey", formatToken(e.rk))
			return false
		}
		if n > 0 {
			w.WriteByte(',')
		}
		if n++; n == 1 {
			first = e.pk
		}
		c.writeEntity(&w, e, a.resource, q.selected)
		return true
	})
	w.WriteString("]}")
	r.body = w.Bytes()
	return r
}

// selectionAsSent returns the text of the metadata address that names the selected properties, also
// of an empty selection.
func (c *call) selectionAsSent(q query) string {
	if c.Query.Has("$select") && q.selected == nil {
		return "&$select=" + c.Query.Get("$select")
	}
	return q.selected.String()
}

// A continuation token is 1!length!text, where text is the base64 of a key in an alphabet that is
// plain in URLs.
var (
	toTokenAlphabet   = strings.NewReplacer("=", "-", "/", "_", "+", "*")
	fromTokenAlphabet = strings.NewReplacer("-", "=", "_", "/", "*", "+")
)

func formatToken(key string) string {
	text := toTokenAlphabet.Replace(base64.StdEncoding.EncodeToString([]byte(key)))
	return "1!" + strconv.Itoa(len(text)) + "!" + text
}

// parseToken returns the key in a continuation token.
func parseToken(s string) (*string, *odata.Failure) {
	version, rest, ok := strings.Cut(s, "!")
	length, text, ok2 := strings.Cut(rest, "!")
	n, err := strconv.Atoi(length)
	key, keyErr := base64.StdEncoding.DecodeString(fromTokenAlphabet.Replace(text))
	if !ok || !ok2 || !strings.HasPrefix(version, "1") || err != nil || n != len(text) || keyErr != nil {
		return nil, odata.InvalidInput
	}
	k := string(key)
	return &k, nil
}

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

// String returns the text of a metadata address that names the selected properties.
func (s *selection) String() string {
	if s == nil {
		return ""
	}
	return "&$select=" + strings.Join(s.names, ",")
}
