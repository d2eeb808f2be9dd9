package tables

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// The names of resources that are not tables.
const (
	tablesResource = "Tables" // the tables of the account
	batchResource  = "$batch"
)

// address is what a path addresses: the account, a table, an entity, a batch.
type address struct {
	resource  string // a table's name, tablesResource, batchResource, or "" for the account
	tableName string // the name in Tables('name')
	pk, rk    string
	isEntity  bool // the path has keys
}

// parseAddress parses a path: Tables, Tables('staff'), staff, staff(), staff(PartitionKey='a',RowKey='b'), $batch.
func parseAddress(path string) (a address, f *odata.Failure) {
	path, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		return a, odata.QuerySyntax
	}
	name, args, hasArgs := strings.Cut(path, "(")
	a.resource = name
	if strings.Contains(name, "/") || !utf8.ValidString(path) {
		return a, odata.QuerySyntax
	}
	if !hasArgs {
		return a, nil
	}
	args, closed := strings.CutSuffix(args, ")")
	switch {
	case !closed:
		return a, odata.QuerySyntax
	case args == "":
		return a, nil
	}
	if name == "" {
		return a, errNotFound
	}
	if name == tablesResource {
		rest, ok := "", false
		if a.tableName, rest, ok = odata.CutQuoted(args); !ok || rest != "" {
			f = odata.QuerySyntax
		}
		return a, f
	}
	a.isEntity = true
	f = a.parseKeys(args)
	return a, f
}

// parseKeys parses PartitionKey='a',RowKey='b', in any order.
func (a *address) parseKeys(args string) *odata.Failure {
	var hasPartition, hasRow bool
	for rest, more := args, true; more; {
		name, value, ok := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		key, has := &a.pk, &hasPartition
		if name == "RowKey" {
			key, has = &a.rk, &hasRow
		}
		if !ok || *has || name != "PartitionKey" && name != "RowKey" {
			return odata.QuerySyntax
		}
		*has = true
		var text string
		if text, rest, ok = odata.CutQuoted(value); !ok {
			return odata.QuerySyntax
		}
		if rest = strings.TrimSpace(rest); rest != "" && rest[0] != ',' && strings.HasSuffix(rest, "'") {
			return odata.QuerySyntax.WithText("There is an unterminated string literal at position %d in '%s'.", len(args), args)
		}
		*key = text
		if rest, more = strings.CutPrefix(rest, ","); !more && rest != "" {
			return odata.QuerySyntax
		}
	}
	if !hasPartition || !hasRow || strings.Contains(a.pk, "/") || strings.Contains(a.rk, "/") {
		return odata.QuerySyntax
	}
	return nil
}

// formatKeys formats keys as the service does in addresses: with doubled quotes, and percent-encoded.
func formatKeys(pk, rk string) string {
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
