package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestInsertRow: a row becomes a new entity, with columns that its type does not know, an incarnation of its own and derived
// rows.
func TestInsertRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := townWithEffects(t, &memoryOutbox{})
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	row, err := e.Row()
	noError(t, err)
	noError(t, row.Set("Hobby", "chess"))
	was, _ := row.Get("_life")
	noError(t, people.Delete(ctx, e))
	s.Count()
	again, err := door.InsertRow[*table.Entity[resident]](ctx, people, e.Key, (*stored.Row)(row))
	if err != nil || again.Value != e.Value {
		t.Fatalf("got %+v, %v; want no error and again.Value == e.Value", again, err)
	}
	if got := s.Count().String(); got != "1 transaction" {
		t.Errorf("got %q; want %q", got, "1 transaction")
	}
	is, err := tabledoor.GetRow(ctx, people, e.Key)
	noError(t, err)
	hobby, _ := is.Get("Hobby")
	if incarnation, _ := is.Get("_life"); hobby != "chess" || incarnation == was || incarnation == nil {
		t.Errorf(`got %v, %v; want chess, and another incarnation than %v`, hobby, incarnation, was)
	}
	copied, err := tabledoor.GetRow(ctx, people, keys.At(keys.RawPartition("S"), keys.RawRow("email_a")))
	noError(t, err)
	if hobby, _ := copied.Get("Hobby"); hobby != "chess" {
		t.Errorf("got %v; want %q", hobby, "chess")
	}
	if _, err := door.InsertRow[*table.Entity[resident]](ctx, people, e.Key, (*stored.Row)(row)); !errors.Is(err, table.ErrExists) {
		t.Errorf("got %v; want ErrExists", err)
	}
	var ke *keys.KeyError
	if _, err := door.InsertRow[*table.Entity[resident]](ctx, people, keys.At(keys.RawPartition("S"), keys.RawRow("q_1")), (*stored.Row)(row)); !errors.As(err, &ke) {
		t.Errorf("got %v; want a *keys.KeyError", err)
	}
	if _, err := door.InsertRow[*table.Entity[resident]](ctx, people, e.Key, nil); err == nil {
		t.Error("got no error for a nil row; want one")
	}
}

// TestRowJSON: a row is encoded and decoded unchanged, with all types and system properties.
func TestRowJSON(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := townWithEffects(t, &memoryOutbox{})
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	row, err := e.Row()
	noError(t, err)
	for name, v := range map[string]any{
		"Int64": int64(math.MaxInt64), "Int32": int32(-1), "Whole": 3.0, "NaN": math.NaN(), "Inf": math.Inf(1), "Bool": true, "Text": "", "Quote": `"'<é😀`,
		"Time": time.Date(2026, 11, 21, 1, 2, 3, 456789100, time.UTC), "Guid": [16]byte{1, 2}, "Bytes": []byte{}, "More": []byte{0, 255},
	} {
		noError(t, row.Set(name, v))
	}
	b, err := json.Marshal(row)
	noError(t, err)
	if value, err := json.Marshal(*row); err != nil || string(value) != string(b) {
		t.Errorf("got %s; want no error and string(value) == %q", value, string(b))
	}
	var again table.Row
	noError(t, json.Unmarshal(b, &again))
	if again.Key != row.Key || len((*stored.Row)(&again).Columns()) != len((*stored.Row)(row).Columns()) || again.Incarnation() == "" || again.Incarnation() != row.Incarnation() || len((*stored.Row)(&again).MaintainerState("email")) != 1 {
		t.Errorf(`got %s; want again.Key == row.Key and len((*stored.Row)(again).Columns) == %v and again.Incarnation() != "" and again.Incarnation() == %q and len((*stored.Row)(again).MaintainerState("email")) == 1`, b, len((*stored.Row)(row).Columns()), row.Incarnation())
	}
	for name := range row.All() {
		is, _ := again.Get(name)
		want, _ := row.Get(name)
		if again.Type(name) != row.Type(name) || fmt.Sprint(is) != fmt.Sprint(want) {
			t.Errorf("%s: got %v %s; want %v %s", name, is, again.Type(name), want, row.Type(name))
		}
	}
	noError(t, people.Delete(ctx, e))
	if _, err := door.InsertRow[*table.Entity[resident]](ctx, people, again.Key, (*stored.Row)(&again)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "null", "17", `{"PartitionKey":1}`, `{"PartitionKey":"a","RowKey":"b","X":{}}`, string(b[:len(b)/2])} {
		if err := new(table.Row).UnmarshalJSON([]byte(bad)); err == nil || strings.Contains(err.Error(), "the response") {
			t.Errorf("%q: got error %v; want one about the JSON, which is no response", bad, err)
		}
	}
}
