package eventual

import "testing"

// TestPlausibleHistory: a message's counts are at most its deliveries before the current one, together and each.
func TestPlausibleHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deliveries int64
		is, want   history
	}{
		{1, history{Uncounted: 1, Outages: 1}, history{}},
		{1, history{Failed: 1}, history{}},
		{1, history{Isolated: 1}, history{}},
		{2, history{Uncounted: 1, Outages: 1}, history{Uncounted: 1, Outages: 1}},
		{2, history{Failed: 1, Isolated: 1}, history{Failed: 1}},
		{4, history{Uncounted: 1, Failed: 1, Isolated: 1, Outages: 2}, history{Uncounted: 1, Failed: 1, Isolated: 1, Outages: 1}},
		{4, history{Uncounted: -1, Failed: 4, Isolated: 3, Outages: -1}, history{Isolated: 3}},
	} {
		if got := c.is.plausible(c.deliveries); got != c.want {
			t.Errorf("delivery %d with %+v: got %+v; want %+v", c.deliveries, c.is, got, c.want)
		}
	}
}
