package keys_test

import (
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/ticks"
	"github.com/aztablekit/aztablekit/keys"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
	for _, c := range []struct {
		t        time.Time
		ticks    int64
		up, down string
	}{
		{first, 0, "0000000000000000000", "3155378975999999999"},
		{last, 3155378975999999999, "3155378975999999999", "0000000000000000000"},
		{time.Unix(0, 0), 621355968000000000, "0621355968000000000", "2534023007999999999"},
		{time.Date(2014, 7, 31, 18, 0, 0, 100, time.FixedZone("", 2*3600)), 635424192000000001, "0635424192000000001", "2519954783999999998"},
	} {
		n, ok := ticks.Of(c.t)
		if n != c.ticks || !ok || !ticks.IsValid(n) {
			t.Errorf("%v: got %d, valid %v; want %d", c.t, n, ok, c.ticks)
		}
		if back := ticks.Time(n); !back.Equal(c.t) || back.Location() != time.UTC {
			t.Errorf("got %v, want %v", back, c.t)
		}
		up, down := keys.Time(), keys.Desc(keys.Time())
		if up.RowKey(c.t).String() != c.up || down.RowKey(c.t).String() != c.down {
			t.Errorf("%v: got %v and %v, want %s and %s", c.t, up.RowKey(c.t), down.RowKey(c.t), c.up, c.down)
		}
		if twice := keys.Desc(keys.Desc(keys.Time())); twice.RowKey(c.t).String() != c.up {
			t.Errorf("inverted twice: got %v, want %s", twice.RowKey(c.t), c.up)
		}
	}
	for _, bad := range []time.Time{first.Add(-1), last.Add(100), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if n, ok := ticks.Of(bad); ok {
			t.Errorf("the ticks of %v: got %d, want none", bad, n)
		}
		if keys.Desc(keys.Time()).RowKey(bad).Err() == nil {
			t.Errorf("the key of %v: got no error, want one", bad)
		}
	}
	for _, n := range []int64{-1, ticks.Max + 1} {
		if ticks.IsValid(n) {
			t.Errorf("%d ticks: got a valid number, want none", n)
		}
	}
}
