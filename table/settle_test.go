package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// announced is a resident whose letter is still to be sent, and the intent that says so.
func announced(t *testing.T) (people *table.Table[resident], s *interposed, d *drawer, e *table.Entity[resident], i *table.CommitRecord) {
	t.Helper()
	ctx := context.Background()
	d = &drawer{}
	people, s = effects(t, d)
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	check(err)
	i, err = people.CommitRecords().Get(ctx, keys.Raw("S"), d.last.OperationID)
	check(err)
	s.Count()
	d.told = nil
	return people, s, d, e, i
}

// TestSettling: a write that carries out an effect takes it off the intent's list and adds its own, in one transaction and without
// another announcement; where no effect is left, the intent is done.
func TestSettling(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, d, e, i := announced(t)
	e.Value.Last = "Smith"
	if err := people.Completing(i, 0).Replace(ctx, e); err != nil || i.State != table.CommitPending || len(i.Effects) != 1 {
		t.Fatal(err, i)
	}
	if got := s.Count(); got != "1 transaction" || len(d.told) > 0 {
		t.Error(got, d.told)
	}
	last := people.Completing(i, 0)
	if err := last.Delete(ctx, e); err != nil || i.State != table.CommitDone {
		t.Fatal(err, i)
	}
	if is, err := people.CommitRecords().Get(ctx, keys.Raw("S"), i.OperationID); err != nil || is.State != table.CommitDone || len(is.Effects) > 0 {
		t.Error(is, err)
	}
	if len(s.Rows("people")) != 1 {
		t.Error(s.Rows("people"))
	}
}

// TestSettlingRaces: what others have settled is not settled again, and what came in its place is not closed unseen.
func TestSettlingRaces(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, _, _, e, mine := announced(t)
	theirs, err := people.CommitRecords().Get(ctx, keys.Raw("S"), mine.OperationID)
	check(err)
	e.Value.Last = "Smith"
	check(people.Completing(theirs, 0).Replace(ctx, e))
	if err := people.Completing(mine, 0).Delete(ctx, e); !errors.Is(err, table.ErrChanged) {
		t.Error(err)
	}
	if err := people.CommitRecords().MarkDone(ctx, mine); !errors.Is(err, table.ErrChanged) || mine.State != table.CommitPending {
		t.Error(err)
	}
	check(people.CommitRecords().MarkDone(ctx, theirs))
	if err := people.CommitRecords().MarkDone(ctx, mine); err != nil || mine.State != table.CommitDone { // for it is done
		t.Error(err)
	}
}

// TestSettlingFaults: whatever happens to its requests, the write and the effect are both done or neither is.
func TestSettlingFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, f := range []storagetest.Fault{
		storagetest.LostResponse(), storagetest.Twice(), storagetest.LostRequest(), storagetest.ExecuteThenRefuse(503, "ServerBusy"), storagetest.NotSent(), storagetest.Cut(0),
		storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"),
	} {
		people, s, _, e, i := announced(t)
		once := true
		s.SetFaults(func(storagetest.Request) (is storagetest.Fault) {
			if once {
				is, once = f, false
			}
			return is
		})
		err := people.Completing(i, 0).Delete(ctx, e)
		done := len(s.Rows("people")) == 1
		is, gerr := people.CommitRecords().Get(ctx, keys.Raw("S"), i.OperationID)
		check(gerr)
		if (err == nil) != done || done != (is.State == table.CommitDone) || is.State != i.State {
			t.Error(f, err, done, is, i)
		}
	}
}

// TestSettlingRefusals: misuse is told before any request.
func TestSettlingRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _, e, i := announced(t)
	var ve *table.ValueError
	for what, err := range map[string]error{
		"no such effect": people.Completing(i, 1).Delete(ctx, e),
		"below":          people.Completing(i, -1).Delete(ctx, e),
		"nil":            people.Completing(nil, 0).Delete(ctx, e),
		"not live":       people.Completing(&table.CommitRecord{Partition: keys.Raw("S"), Effects: i.Effects}, 0).Delete(ctx, e),
	} {
		if !errors.As(err, &ve) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := table.Transact(ctx, people.Completing(i, 0).DeleteOp(e), people.Completing(i, 0).InsertOp(&resident{"S", 2, "Cao", "b"}))
	if !errors.As(err, &ve) {
		t.Error(err)
	}
	if _, err := people.Completing(i, 0).Insert(ctx, &resident{"T", 2, "Cao", "b"}); !errors.Is(err, table.ErrOtherPartition) {
		t.Error(err)
	}
	if got := s.Count(); got != "none" {
		t.Error(got)
	}
	once := people.Completing(i, 0)
	check(once.Delete(ctx, e))
	if _, err := once.Insert(ctx, &resident{"S", 2, "Cao", "b"}); !errors.As(err, &ve) {
		t.Error(err)
	}
}

// TestInsertRow: a row becomes a new entity elsewhere, with columns that its type does not know, a life of its own, and what
// maintainers derive.
func TestInsertRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _, e, _ := announced(t)
	row, err := e.Row()
	check(err)
	check(row.Set("Hobby", "chess"))
	was, _ := row.Get("_life")
	check(people.Delete(ctx, e))
	s.Count()
	again, err := people.InsertRow(ctx, e.Key, row)
	if err != nil || again.Value != e.Value {
		t.Fatal(again, err)
	}
	if got := s.Count(); got != "1 transaction" {
		t.Error(got)
	}
	is, err := people.GetRow(ctx, e.Key)
	check(err)
	hobby, _ := is.Get("Hobby")
	if life, _ := is.Get("_life"); hobby != "chess" || life == was || life == nil {
		t.Error(hobby, life)
	}
	copied, err := people.GetRow(ctx, keys.At(keys.Raw("S"), keys.Raw("email_a")))
	check(err)
	if hobby, _ := copied.Get("Hobby"); hobby != "chess" {
		t.Error(hobby)
	}
	if _, err := people.InsertRow(ctx, e.Key, row); !errors.Is(err, table.ErrExists) {
		t.Error(err)
	}
	var ke *keys.KeyError
	if _, err := people.InsertRow(ctx, keys.At(keys.Raw("S"), keys.Raw("q_1")), row); !errors.As(err, &ke) {
		t.Error(err)
	}
	if _, err := people.InsertRow(ctx, e.Key, nil); err == nil {
		t.Error("a nil row is stored")
	}
}

// TestRowJSON: a row is written and read back whole, with every type and what the library keeps in it.
func TestRowJSON(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, _, _, e, _ := announced(t)
	row, err := e.Row()
	check(err)
	for name, v := range map[string]any{
		"Int64": int64(math.MaxInt64), "Int32": int32(-1), "Whole": 3.0, "NaN": math.NaN(), "Inf": math.Inf(1), "Bool": true, "Text": "", "Quote": `"'<é😀`,
		"Time": time.Date(2026, 11, 21, 1, 2, 3, 456789100, time.UTC), "Guid": [16]byte{1, 2}, "Bytes": []byte{}, "More": []byte{0, 255},
	} {
		check(row.Set(name, v))
	}
	b, err := json.Marshal(row)
	check(err)
	if value, err := json.Marshal(*row); err != nil || string(value) != string(b) {
		t.Errorf("%s", value)
	}
	var again table.Row
	check(json.Unmarshal(b, &again))
	if again.Key != row.Key || again.Len() != row.Len() || again.Incarnation() == "" || again.Incarnation() != row.Incarnation() || len(again.MaintainerState("email")) != 1 {
		t.Errorf("%s", b)
	}
	for name := range row.All() {
		is, _ := again.Get(name)
		want, _ := row.Get(name)
		if again.Type(name) != row.Type(name) || fmt.Sprint(is) != fmt.Sprint(want) {
			t.Errorf("%s is %v %s, not %v %s", name, is, again.Type(name), want, row.Type(name))
		}
	}
	check(people.Delete(ctx, e))
	if _, err := people.InsertRow(ctx, again.Key, &again); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "null", "17", `{"PartitionKey":1}`, `{"PartitionKey":"a","RowKey":"b","X":{}}`, string(b[:len(b)/2])} {
		if err := new(table.Row).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%q is read as a row", bad)
		}
	}
}
