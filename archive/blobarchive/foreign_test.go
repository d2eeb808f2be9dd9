package blobarchive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// foreignContents are contents under the name of an archived row that no destination has stored there.
func foreignContents() []string {
	const good = `{"format":1,"partitionKey":"S","rowKey":"a","incarnation":"0000000000000001","kind":"k","moves":[],"time":"2026-01-02T03:04:05Z","put":"P","row":{"PartitionKey":"S","RowKey":"a","Last":"x"}}`
	all := []string{"", "null", "{}", "[]", "1", `"text"`, "<html>", "\x00", "\xff", good + good, good[:len(good)-1], strings.Repeat("[", 100_000), good + strings.Repeat(" ", 17<<20),
		"https://example.com/S/a/0000000000000001.json", "../../S/b/0000000000000001.json"}
	for _, replaced := range [][2]string{
		{`"format":1`, `"format":2`}, {`"format":1`, `"format":"1"`}, {`"format":1,`, ""}, {`"partitionKey":"S"`, `"partitionKey":"T"`}, {`"rowKey":"a"`, `"rowKey":"b"`}, {`"rowKey":"a"`, `"rowKey":null`},
		{`0000000000000001`, `0000000000000002`}, {`0000000000000001`, `../../../../etc`}, {`"RowKey":"a"`, `"RowKey":"b"`}, {`"PartitionKey":"S",`, ``}, {`"PartitionKey":"S"`, `"PartitionKey":1`},
		{`"row":{`, `"row":[{`}, {`"Last":"x"`, `"Last@odata.type":"Edm.Int64","Last":"x"`}, {`"Last":"x"`, `"Last@odata.type":"Edm.Nothing","Last":"x"`}, {`2026-01-02`, `2026-13-02`}, {`"moves":[]`, `"moves":"x"`},
	} {
		all = append(all, strings.Replace(good, replaced[0], replaced[1], 1))
	}
	return all
}

// TestForeign: a blob of another program, or with other content, is never read as a row, replaced or deleted.
func TestForeign(t *testing.T) {
	t.Parallel()
	for i, content := range foreignContents() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			fx := newFixture(t)
			id := idOf("a", incarnation)
			fx.put(archived(t, idOf("b", incarnation), "own"), "")
			fx.putForeign("S/a/"+incarnation+".json", content, map[string]*string{"Tombstone": to.Ptr("false")})
			if r, err := fx.Get(ctx, id); !errors.Is(err, table.ErrForeignRow) || r != nil {
				t.Errorf("Get: got %+v, %v; want ErrForeignRow", r, err)
			}
			if err := fx.Put(ctx, archived(t, id, "new"), ""); !errors.Is(err, table.ErrChanged) {
				t.Errorf("Put: got error %v; want ErrChanged", err)
			}
			expect(t, "Incarnations", listed(t, fx.Incarnations(ctx, id.Key), isForeign), "")
			expect(t, "List", listed(t, fx.List(ctx, keys.RawPartition("S")), isForeign), "b=own foreign")
			fx.service.Advance(24 * time.Hour)
			must(t, fx.Sweep(ctx, keys.RawPartition("S"), fx.service.Now()))
			if got := string(fx.service.StoredBlobs("old")[0].Content()); got != content {
				t.Errorf("got content %.100q; want %.100q", got, content)
			}
		})
	}
}

// TestForeignNames: blobs with other names are foreign to a list, and no row.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fx := newFixture(t)
	r := archived(t, idOf("a", incarnation), "own")
	fx.put(r, "")
	content := string(fx.service.StoredBlobs("old")[0].Content())
	n := 0
	for _, name := range []string{
		"S/a", "S/a/", "S/a/x.json", "S/a/" + incarnation, "S/a/" + incarnation + ".JSON", "S/a/" + incarnation + ".json.json", "S/a/" + incarnation + ".json/x", "S/~61/" + incarnation + ".json", "S/a~2/" + incarnation + ".json",
		"S//" + incarnation + ".json", "S/a/b/" + incarnation + ".json", "S/a/" + strings.ToLower("A000000000000001") + ".json", "S/%61/" + incarnation + ".json",
	} {
		fx.putForeign(name, content, nil)
		n++
	}
	for _, name := range []string{"x", "S", "s/a/" + incarnation + ".json", "~53/a/" + incarnation + ".json"} {
		fx.putForeign(name, content, nil)
	}
	expect(t, "List", listed(t, fx.List(ctx, keys.RawPartition("S")), isForeign), "a=own"+strings.Repeat(" foreign", n))
	expect(t, "Incarnations", listed(t, fx.Incarnations(ctx, r.Key), isForeign), "a=own")
}

// TestSystemProperties: the incarnation, the maintainer state and the tags in a stored row do not reach the table that the row is
// restored to.
func TestSystemProperties(t *testing.T) {
	t.Parallel()
	fx := newFixture(t)
	fx.putForeign("S/a/"+incarnation+".json", `{"format":1,"partitionKey":"S","rowKey":"a","incarnation":"0000000000000001","kind":"k","time":"2026-01-02T03:04:05Z",`+
		`"row":{"PartitionKey":"S","RowKey":"a","Last":"x","_life":"AAAAAAAAAAAAAAAA","_op":"x","_ix@odata.type":"Edm.Binary","_ix":"AAAA","_sys":"y"}}`, nil)
	r, err := fx.Get(t.Context(), idOf("a", incarnation))
	must(t, err)
	var names []string
	for name := range r.Row.All() {
		names = append(names, name)
	}
	expect(t, "properties", strings.Join(names, " "), "Last _op")
	expect(t, "incarnation", r.Row.Incarnation(), "")
}
