package azt

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// tableOf returns a handle of a table, for rows of any type.
func tableOf(acc *account.Account, name string) (*table.Table[table.Row], error) {
	t, err := bare.NewTable(acc.Tables(), name, table.Schema[table.Row]{}, nil)
	if err != nil {
		return nil, usage("%s", strings.TrimPrefix(err.Error(), "table: New: "))
	}
	return t, nil
}

// rowsOf yields the rows of a filter as they are stored, with some properties, all if choice is "".
// 1 request for each 1,000.
func rowsOf(ctx context.Context, t table.Handle, filter, choice string) iter.Seq2[*stored.Row, error] {
	return func(yield func(*stored.Row, error) bool) {
		on := true
		err := door.Table(t).Physical(ctx, filter, choice, func(in edm.Entity, columns []edm.Column) bool {
			on = yield(stored.Of(in, columns), nil)
			return on
		}, nil)
		if err != nil && on {
			yield(nil, fmt.Errorf("table %s: %w", t.Name(), err))
		}
	}
}

// whatItIs says what a row is: an entity, or a row of the library, and of which definition it is.
func whatItIs(r *stored.Row) (what, of string) {
	rk := r.Key.RowKey()
	if kind, of, is := libraryRow(r); is {
		return kind, of
	}
	switch {
	case r.Has(reserved.Part):
		return "part", family(rk)
	case r.IsCopy():
		return "index row", family(rk)
	case r.Owner() != "":
		of, _, _ = strings.Cut(r.Owner(), ":")
		return "shared row", of
	}
	of = stored.Find(r.Columns(), reserved.Type).S
	if of == "" {
		of = family(rk)
	}
	return "entity", of
}

// libraryKinds are the rows whose keys the library owns.
var libraryKinds = []struct{ prefix, what string }{
	{reserved.CommitRecord, "commit record"},
	{reserved.ScheduledSweep, "clean-up note"},
	{reserved.Tombstone, "tombstone"},
	{reserved.Restored, "restored note"},
	{reserved.Blob, "row of a blob"},
	{reserved.Prepared, "preparation"},
	{reserved.Stamp, "stamp"},
	{reserved.View, "note of a view"},
	{reserved.Holder, "row of a lease"},
}

// libraryRow says what a row is whose key the library owns.
func libraryRow(r *stored.Row) (what, of string, is bool) {
	rk := r.Key.RowKey()
	if !strings.HasPrefix(rk, reserved.First) {
		return "", "", false
	}
	if key, is := strings.CutPrefix(rk, reserved.Derived); is {
		return "index row", family(key), true
	}
	if r.Key.PartitionKey() == reserved.Catalogue {
		return "definitions", "", true
	}
	for _, k := range libraryKinds {
		if strings.HasPrefix(rk, k.prefix) {
			return k.what, stored.Find(r.Columns(), stateProperty).S, true
		}
	}
	return "row of the library", "", true
}

// stateProperty is the state of a commit record, as package engine stores it.
const stateProperty = "State"

// propertiesOfKind are the properties by which whatItIs goes.
var propertiesOfKind = strings.Join([]string{edm.PartitionKey, edm.RowKey, edm.Timestamp, reserved.Owner, reserved.Part, reserved.Type, reserved.Mark, stateProperty}, ",")

// family returns the name with which a key of a layout begins, such as empid of empid_000223; ""
// for other keys.
func family(rk string) string {
	name, _, is := strings.Cut(rk, "_")
	if !is || strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
		return ""
	}
	return name
}

// described joins the two words of whatItIs.
func described(r *stored.Row) string {
	what, of := whatItIs(r)
	if of != "" {
		what += " " + of
	}
	if stored.HasMark(r.Columns()) {
		what += ", prepared"
	}
	return what
}

// withoutParts says that a wide entity was read without its parts.
func withoutParts(r *stored.Row, joined bool) string {
	if joined || !r.Has(reserved.Parts) {
		return ""
	}
	return ", its parts not read"
}

// valueText returns a value as it is shown.
func valueText(v edm.Value) string {
	switch v.Kind {
	case edm.String:
		return plain(v.S)
	case edm.Binary:
		return "0x" + hex.EncodeToString(v.B)
	case edm.DateTime:
		return v.T.UTC().Format("2006-01-02T15:04:05.9999999Z")
	}
	return edm.Plain(v)
}

// typeName returns the name of a type without Edm.
func typeName(k edm.Kind) string { return strings.TrimPrefix(k.String(), "Edm.") }

// oneLine returns the properties of a row as one text, those of the library left out.
func oneLine(columns []edm.Column) string {
	var b strings.Builder
	for _, c := range columns {
		if edm.IsSystem(c.Name) || c.Value.Kind == edm.Absent {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		text := c.Value.S
		if c.Value.Kind != edm.String {
			text = valueText(c.Value)
		}
		text = shown(text)
		if _, is := ofForm(text); is && c.Value.Kind == edm.String { // such as the text 30
			text = strconv.Quote(text)
		}
		b.WriteString(plain(c.Name) + "=" + text)
	}
	return b.String()
}

// jsonOf returns a row as the service has it, with the types of its properties.
func jsonOf(r *stored.Row) json.RawMessage {
	columns := append(r.Columns()[:len(r.Columns()):len(r.Columns())], edm.Column{Name: edm.Timestamp, Value: edm.Value{Kind: edm.DateTime, T: r.Timestamp}})
	w := edm.NewCopyWriter(r.Key.PartitionKey(), r.Key.RowKey(), r.Columns())
	for _, c := range r.Columns() {
		c.Part = 0
		w.PutColumn(c)
	}
	b, err := w.Finish()
	if err != nil { // more than a row can have, such as a joined one
		return anyJSON(r.Key, columns)
	}
	at := columns[len(columns)-1]
	return b.Append(nil, at.Ending())
}

// anyJSON is jsonOf for rows of any size.
func anyJSON(k keys.Key, columns []edm.Column) json.RawMessage {
	all := map[string]any{edm.PartitionKey: k.PartitionKey(), edm.RowKey: k.RowKey()}
	for _, c := range columns {
		switch v := c.Value; v.Kind {
		case edm.Absent:
		case edm.String, edm.Int32, edm.Bool:
			all[c.Name] = v.Any()
		case edm.Binary:
			all[c.Name], all[c.Name+"@odata.type"] = v.B, v.Kind.String()
		default:
			all[c.Name], all[c.Name+"@odata.type"] = valueText(v), v.Kind.String()
		}
	}
	b, _ := json.Marshal(all)
	return b
}
