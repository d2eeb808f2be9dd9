package edm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPageLikeOne: an entity of a page has the same content as the entity alone, in whatever order its members come, whichever
// are absent, and whether or not its JSON is kept.
func TestPageLikeOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var entities []string
		for i := range rapid.IntRange(1, 8).Draw(t, "entities") {
			entities = append(entities, drawEntity(t, i))
		}
		r, n := NewReader([]byte(`{"value":[`+strings.Join(entities, ",")+`]}`)), 0
		var got, kept []string
		var all [][]Column
		err := r.Page(func(e Entity) bool {
			if rapid.Bool().Draw(t, "keep") {
				if text := r.Keep().text; text != entities[n] {
					t.Fatalf("kept %s, want %s", text, entities[n])
				}
			}
			columns, err := r.Columns()
			if err != nil {
				t.Fatalf("entity %s: got error %v; want none", entities[n], err)
			}
			all = append(all, columns)
			kept = append(kept, e.PartitionKey+e.RowKey+e.ETag+e.Timestamp.String())
			n++
			return true
		})
		if err != nil || n != len(entities) {
			t.Fatalf("got %d entities, error %v; want %d", n, err, len(entities))
		}
		for i, text := range entities { // after the page, so that memory that entities share would show
			one := NewReader([]byte(text))
			e, err := one.One()
			want, werr := one.Columns()
			if err != nil || werr != nil {
				t.Fatalf("entity %s alone: got errors %v, %v; want none", text, err, werr)
			}
			got = append(got, e.PartitionKey+e.RowKey+e.ETag+e.Timestamp.String())
			if !slices.EqualFunc(all[i], want, Column.Same) {
				t.Fatalf("entity %s: got %v of the page; want %v", text, all[i], want)
			}
		}
		if !slices.Equal(kept, got) {
			t.Fatalf("keys: got %q of the page; want %q", kept, got)
		}
	})
}

// drawEntity returns the JSON of an entity with some members in some order.
func drawEntity(t *rapid.T, i int) string {
	members := []string{
		`"PartitionKey":"p"`, fmt.Sprintf(`"RowKey":"r%d"`, i), `"odata.etag":"W/\"` + fmt.Sprint(i) + `\""`, `"Timestamp":"2020-01-01T00:00:00.0000001Z"`,
	}
	for _, name := range []string{"A", "An", "Ann", "B", "C"} {
		switch rapid.IntRange(0, 6).Draw(t, name) {
		case 0:
			members = append(members, `"`+name+`":`+fmt.Sprint(i))
		case 1:
			members = append(members, `"`+name+`@odata.type":"Edm.Int64","`+name+`":"5"`)
		case 2: // the annotation may come elsewhere
			members = append(members, `"`+name+`@odata.type":"Edm.Guid"`, `"`+name+`":"c9da6455-213d-42c9-9a79-3e9149a57833"`)
		case 3:
			members = append(members, `"`+name+`":"`+rapid.SampledFrom([]string{"", "text", `a\"b\u00e4`, "ä", strings.Repeat("long ", 300)}).Draw(t, "text")+`"`)
		case 4:
			members = append(members, `"`+name+`@odata.type":"Edm.Binary","`+name+`":"`+rapid.SampledFrom([]string{"", "YQ==", "YWJj", strings.Repeat("YWJj", 300)}).Draw(t, "bytes")+`"`)
		case 5:
			members = append(members, `"`+name+`": null `)
		}
	}
	if rapid.Bool().Draw(t, "shuffle") {
		members = rapid.Permutation(members).Draw(t, "members")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestColumnsAsEncoded: columns that were encoded are sent again as they were, together with others and large ones, and the length
// is that of what the SDK would send.
func TestColumnsAsEncoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := NewWriter("p<", "r", 0)
		for i := range rapid.IntRange(0, 6).Draw(t, "columns") {
			first.Put(fmt.Sprintf("P%d", i), rapid.SampledFrom([]Value{
				{Kind: String, S: "text"}, {Kind: String, S: "a<b>&\"ä\u2028"}, {Kind: String, S: strings.Repeat("x&", largeValue)}, {Kind: Int64, I: 7}, {Kind: Double, F: 0.1},
				{Kind: Binary, B: []byte("bytes")}, {Kind: Binary, B: make([]byte, 2*largeValue)}, {Kind: Bool, I: 1},
			}).Draw(t, "value"))
		}
		a, err := first.Finish()
		if err != nil {
			t.Fatal(err)
		}
		again := NewWriter("p<", "r", 0)
		for _, c := range a.Columns() {
			again.PutColumn(c)
		}
		b, err := again.Finish()
		if err != nil {
			t.Fatal(err)
		}
		json := a.Append(nil, nil)
		if got := len(escaped(json)); got != a.Length || b.Length != a.Length {
			t.Fatalf("lengths: got %d and %d; want %d", a.Length, b.Length, got)
		}
		if got := b.Append(nil, nil); string(got) != string(json) {
			t.Fatalf("got %s; want %s", got, json)
		}
		r := NewReader(json)
		if _, err := r.One(); err != nil {
			t.Fatal(err)
		}
		if read, err := r.Columns(); err != nil || !slices.EqualFunc(read, a.Columns(), Column.Same) {
			t.Fatalf("got columns %v, error %v; want %v", read, err, a.Columns())
		}
		other := a.WithKeys("q", "s")
		want := NewWriter("q", "s", 0)
		for _, c := range a.Columns() {
			want.PutColumn(c)
		}
		w, _ := want.Finish()
		if got := string(other.Append(nil, nil)); got != string(w.Append(nil, nil)) || other.Length != w.Length {
			t.Fatalf("under other keys: got %s of length %d; want %s of length %d", got, other.Length, w.Append(nil, nil), w.Length)
		}
	})
}

// TestShapeOfTypes: in a page with entities of two types, each member is learned once.
func TestShapeOfTypes(t *testing.T) {
	t.Parallel()
	var entities []string
	for i := range 100 {
		members := []string{`"PartitionKey":"p"`, fmt.Sprintf(`"RowKey":"r%d"`, i)}
		for j := range 12 {
			members = append(members, fmt.Sprintf(`"Type%dField%d":%d`, i%2, j, i))
		}
		entities = append(entities, "{"+strings.Join(members, ",")+"}")
	}
	r := NewReader([]byte(`{"value":[` + strings.Join(entities, ",") + `]}`))
	if err := r.Page(func(Entity) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got, want := len(r.shape.all), 2+2*12; got != want {
		t.Errorf("members learned: got %d; want %d", got, want)
	}
}
