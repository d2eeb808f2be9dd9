package table_test

import (
	"context"
	"hash/maphash"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestScan: a scan gives the rows of Rows, their system properties, and the entities and numbers that the rows would give.
func TestScan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, err := bare.With(newTable(staffSchema), byAgeCopy{})
	noError(t, err)
	for i := range 3 {
		_, err = staff.Insert(ctx, &employee{"Sales", 1 + i, "Jones", int32(40 + i)})
		noError(t, err)
	}
	// A row that has more than T, and one that is no employee.
	raw := door.Rows[table.Table[table.Row]](door.Table(staff), true)
	for _, rowKey := range []string{"empid_000009", "empid_x"} {
		row := table.Row{Key: keys.Raw("Sales", rowKey)}
		for name, v := range map[string]any{"LastName": "Ünal \"x\"", "Age": int32(3), "Long": int64(1) << 60, "Float": math.Inf(1), "Bool": true, "Time": time.Unix(1, 100).UTC(), "ID": [16]byte{1}, "Bytes": []byte{1, 2}, "_own": ""} {
			noError(t, row.Set(name, v))
		}
		_, err = raw.Insert(ctx, &row)
		noError(t, err)
	}
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales")}
	rows, err := table.Collect(staff.Rows(ctx, q))
	noError(t, err)
	h, i := stored.NewHasher(maphash.MakeSeed()), 0
	noError(t, door.Scan(ctx, staff, &q, true, h, func(s *engine.Scanned) bool {
		want := (*stored.Row)(rows[i])
		i++
		got, err := s.Row()
		noError(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got row %+v; want %+v", got, want)
		}
		if part, w := s.System(), want.Project(reserved.Properties...); part.Key != want.Key || part.ETag != want.ETag || !reflect.DeepEqual(part.Columns(), w.Columns()) {
			t.Errorf("%v: got system properties %+v; want %+v", s.Key, part, w)
		}
		if got, want := s.Sum(), h.Sum(want); got != want {
			t.Errorf("%v: got sum %d; want %d", s.Key, got, want)
		}
		entity := want.WithoutSystemProperties()
		if got, want := s.SumOfCopy(true, nil, ""), h.Sum(entity.Copy(want.Key, "")); got != want {
			t.Errorf("%v: got sum %d of a full copy; want %d", s.Key, got, want)
		}
		some := []string{"Age", "Bytes"}
		if got, want := s.SumOfCopy(false, some, "P1"), h.Sum(entity.Project(some...).Copy(want.Key, "P1")); got != want {
			t.Errorf("%v: got sum %d of a copy of some properties; want %d", s.Key, got, want)
		}
		_, isCopy := want.Primary()
		e, err := staff.Entity(rows[i-1])
		switch made, is := s.Entity().(*table.Entity[employee]); {
		case is != (err == nil && !isCopy):
			t.Errorf("%v: got an entity: %v; want one: %v; copy: %v, error of Entity: %v", s.Key, is, err == nil && !isCopy, isCopy, err)
		case is && (made.Key != e.Key || made.ETag != e.ETag || !made.Timestamp.Equal(e.Timestamp) || made.Value != e.Value):
			t.Errorf("got %+v; want %+v", made, e)
		}
		return true
	}))
	if i != len(rows) || i != 8 {
		t.Errorf("got %d rows; want the %d of Rows, 5 entities and 3 copies", i, len(rows))
	}
	i = 0
	noError(t, door.Scan(ctx, staff, &q, false, h, func(s *engine.Scanned) bool {
		if e := s.Entity(); e != nil {
			t.Errorf("got entity %+v of a scan without entities; want nil", e)
		}
		i++
		return i < 2
	}))
	if i != 2 {
		t.Errorf("got %d rows of a scan that ends after 2", i)
	}
}

// TestSums: rows have the same number if they have the same properties, in whatever order.
func TestSums(t *testing.T) {
	t.Parallel()
	row := func(properties ...any) *stored.Row {
		r := new(table.Row)
		for i := 0; i < len(properties); i += 2 {
			noError(t, r.Set(properties[i].(string), properties[i+1]))
		}
		return (*stored.Row)(r)
	}
	at := time.Date(2024, 5, 6, 7, 8, 9, 123456700, time.UTC)
	different := []*stored.Row{
		row(), row("A", "1"), row("A", int32(1)), row("A", int64(1)), row("A", 1.0), row("A", true), row("A", []byte("1")), row("A", "2"), row("B", "1"),
		row("A", "1", "B", "2"), row("A", "2", "B", "1"), row("A", "1B2"), row("A", ""), row("A", []byte{}), row("A", 0.0), row("A", math.Copysign(0, -1)), row("A", math.NaN()),
		row("A", at), row("A", at.Add(100*time.Nanosecond)), row("A", at.Add(time.Second)), row("A", at.AddDate(5000, 0, 0)), row("A", [16]byte{1}), row("A", [16]byte{}), row("A", "", "B", ""),
	}
	h, other := stored.NewHasher(maphash.MakeSeed()), map[uint64]*stored.Row{}
	for _, r := range different {
		if was, is := other[h.Sum(r)]; is {
			t.Errorf("got the same sum for %+v and %+v", was.Columns(), r.Columns())
		}
		other[h.Sum(r)] = r
	}
	if a, b := h.Sum(row("A", "1", "B", int32(2))), h.Sum(row("B", int32(2), "A", "1")); a != b {
		t.Errorf("got sums %d and %d for two orders; want the same", a, b)
	}
	if h.Sum(nil) != 0 {
		t.Error("got a sum of no row; want 0")
	}
}
