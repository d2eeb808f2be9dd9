package storagetest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// call is a request, or one operation of a transaction, as it was read.
type call struct {
	method  string
	path    string // below the account, as it was sent
	query   url.Values
	header  http.Header
	body    []byte
	account string
	base    string // the account's address as the client knows it
	level   level
	version string // x-ms-version
	queue   bool   // it is for the Queue service
	grant   *grant // what a shared access signature allows, or nil
	id      string // x-ms-request-id of the answer

	read  *parsed // the body, once it was read as an entity
	batch *batch  // or as a transaction

	bad *failure // what is wrong with an operation of a transaction before it is looked at
}

// parsed is the body of a write.
type parsed struct {
	entity  entity
	keys    [2]*string
	failure *failure
}

// target is what a call's address names.
type target struct {
	table  string // "" for the account, "Tables" for the tables of it, "$batch"
	name   string // of the table that Tables('name') addresses
	pk, rk string
	keyed  bool // one row is addressed
}

// parseTarget reads an address: Tables, Tables('staff'), staff, staff(), staff(PartitionKey='a',RowKey='b'), $batch.
func parseTarget(path string) (t target, err *failure) {
	path, uerr := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if uerr != nil {
		return t, errQuery
	}
	name, args, hasArgs := strings.Cut(path, "(")
	t.table = name
	if strings.Contains(name, "/") || !utf8.ValidString(path) {
		return t, errQuery
	}
	if !hasArgs {
		return t, nil
	}
	args, closed := strings.CutSuffix(args, ")")
	switch {
	case !closed:
		return t, errQuery
	case args == "":
		return t, nil
	}
	if name == "Tables" {
		var rest string
		if t.name, rest, err = quoted(args); err == nil && rest != "" {
			err = errQuery
		}
		return t, err
	}
	t.keyed = true
	var seen [2]bool
	for rest, more := args, true; more; {
		key, value, ok := strings.Cut(rest, "=")
		i := map[string]int{"PartitionKey": 0, "RowKey": 1}[strings.TrimSpace(key)]
		if !ok || seen[i] || i == 0 && strings.TrimSpace(key) != "PartitionKey" {
			return t, errQuery
		}
		seen[i] = true
		var text string
		if text, rest, err = quoted(value); err != nil {
			return t, err
		}
		if rest = strings.TrimSpace(rest); rest != "" && rest[0] != ',' && strings.HasSuffix(rest, "'") {
			f := *errQuery
			f.text = fmt.Sprintf("There is an unterminated string literal at position %d in '%s'.", len(args), args)
			return t, &f
		}
		if i == 0 {
			t.pk = text
		} else {
			t.rk = text
		}
		if rest, more = strings.CutPrefix(rest, ","); !more && rest != "" {
			return t, errQuery
		}
	}
	if !seen[0] || !seen[1] || strings.ContainsAny(t.pk+t.rk, "/") {
		return t, errQuery
	}
	return t, nil
}

// parseQueryString reads a query, in which a semicolon is a character like any other.
func parseQueryString(s string) (url.Values, error) {
	return url.ParseQuery(strings.ReplaceAll(s, ";", "%3B"))
}

// quoted reads a text in quotes, in which a quote is written twice, and what follows it.
func quoted(s string) (text, rest string, err *failure) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "'") {
		return "", "", errQuery
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			return b.String(), s[i+1:], nil
		}
	}
	return "", "", errQuery
}

// address writes a row's keys as answers do: quotes doubled, everything else that is not plain percent-encoded.
func address(pk, rk string) string {
	return "(PartitionKey='" + escapeKey(pk) + "',RowKey='" + escapeKey(rk) + "')"
}

func escapeKey(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'':
			b.WriteString("''")
		case c <= ' ' || c >= 0x7F || strings.IndexByte("\"%<>\\^`{|}#?/", c) >= 0:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// chooseLevel reads which metadata the answer is to carry: $format goes before Accept.
func chooseLevel(accept string, query url.Values) (level, *failure) {
	if f := query.Get("$format"); f != "" {
		accept = f
	}
	accept = strings.ReplaceAll(accept, " ", "")
	for _, l := range []level{none, minimal, full} {
		if strings.Contains(accept, "odata="+string(l)) {
			return l, nil
		}
	}
	if accept == "" || strings.Contains(accept, "json") || strings.Contains(accept, "*/*") {
		return minimal, nil
	}
	return minimal, errMedia
}
