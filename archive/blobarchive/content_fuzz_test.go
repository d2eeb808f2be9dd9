package blobarchive

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// FuzzDecode: any content is a row of its own ID, which is stored in the same form again, or foreign.
func FuzzDecode(f *testing.F) {
	id := archive.ID{Key: keys.Raw("S", "a"), Incarnation: "0000000000000001"}
	row := &table.Row{Key: id.Key}
	if err := errors.Join(row.Set("Last", "<Jones>\u2028"), row.Set("Salary", int64(5)), row.Set("Bytes", []byte{255})); err != nil {
		f.Fatal(err)
	}
	for _, r := range []*archive.ArchivedRow{{ID: id, Kind: "k"}, {ID: id, Kind: "k", Row: row, Moves: []string{"m"}, Time: time.Unix(1, 100)}} {
		b, err := encode(r, "p")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"format":1,"partitionKey":"S","rowKey":"a","incarnation":"0000000000000001","row":{"PartitionKey":"S","RowKey":"a","X@odata.type":"Edm.Guid","X":"x"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, put, err := decode(b, id)
		if err != nil {
			if !errors.Is(err, table.ErrForeignRow) {
				t.Errorf("got error %v; want ErrForeignRow", err)
			}
			return
		}
		if r.ID != id || r.Row != nil && r.Row.Key != id.Key {
			t.Fatalf("got a row of %v; want %v", r.ID, id)
		}
		first, err := encode(r, put)
		if err != nil {
			return // such as a property that no row can have
		}
		again, put2, err := decode(first, id)
		if err != nil {
			t.Fatalf("got error %v for %s; want none", err, first)
		}
		if second, err := encode(again, put2); err != nil || !slices.Equal(first, second) {
			t.Errorf("got %s, %v; want %s", second, err, first)
		}
	})
}

// FuzzParseName: a name belongs to one ID or to none.
func FuzzParseName(f *testing.F) {
	for _, name := range []string{"S/a/0000000000000001.json", "~/a/0000000000000001.json", "S/~2e~2e/0000000000000001.json", "S/a/x.json", "S/a/0000000000000001"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := parseName(name); ok && (nameOf(id) != name || id.Err() != nil) {
			t.Errorf("%q: got %v, whose name is %q", name, id, nameOf(id))
		}
	})
}
