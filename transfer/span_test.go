package transfer

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFilters: the queries for a span ask for its rows, and no query compares both keys but in one partition.
func TestFilters(t *testing.T) {
	t.Parallel()
	at := func(pk, rk string) *place { return &place{pk, rk} }
	for _, c := range []struct {
		span
		want []string
	}{
		{span{}, []string{""}},
		{span{place{"b", ""}, nil}, []string{"PartitionKey ge 'b'"}},
		{span{place{"b", ""}, at("d", "")}, []string{"PartitionKey ge 'b' and PartitionKey lt 'd'"}},
		{span{place{"b", "2 "}, nil}, []string{"PartitionKey eq 'b' and RowKey ge '2 '", "PartitionKey ge 'b '"}},
		{span{place{"b", "2 "}, at("b", "5")}, []string{"PartitionKey eq 'b' and RowKey ge '2 ' and RowKey lt '5'"}},
		{span{place{"b", "2 "}, at("d", "5")}, []string{"PartitionKey eq 'b' and RowKey ge '2 '", "PartitionKey ge 'b ' and PartitionKey lt 'd'", "PartitionKey eq 'd' and RowKey lt '5'"}},
		{span{place{"", ""}, at("d", "5")}, []string{"PartitionKey lt 'd'", "PartitionKey eq 'd' and RowKey lt '5'"}},
		{span{place{"b", ""}, at("b", "5")}, []string{"PartitionKey eq 'b' and RowKey lt '5'"}},
		{span{place{"", "2 "}, at("", "5")}, []string{"PartitionKey eq '' and RowKey ge '2 ' and RowKey lt '5'"}},
		{span{place{"b'", "2 "}, at("b' ", "")}, []string{"PartitionKey eq 'b''' and RowKey ge '2 '"}},
	} {
		if got := c.filters(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q; want %q", c.span, got, c.want)
		}
	}
}

// TestGaps: each place of a table is in a span that is covered, or in one gap.
func TestGaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) place {
			return place{fmt.Sprint(rapid.IntRange(0, 3).Draw(t, name+" pk")), fmt.Sprint(rapid.IntRange(0, 3).Draw(t, name+" rk"))}
		}
		spans := func(name string) (s span) {
			s.From = some(name)
			if end := some(name + " end"); end.compare(s.From) > 0 {
				s.To = &end
			}
			return s
		}
		whole := spans("whole")
		var covered []span
		for i := range rapid.IntRange(0, 5).Draw(t, "spans") {
			covered = append(covered, spans(fmt.Sprint("span ", i)))
		}
		left := gaps(whole, slices.Clone(covered))
		if slices.ContainsFunc(left, span.isEmpty) {
			t.Fatalf("%v without %v: got %v; want no empty gap", whole, covered, left)
		}
		for pk := range 5 {
			for rk := range 5 {
				p := place{fmt.Sprint(pk), fmt.Sprint(rk)}
				n := 0
				for _, s := range left {
					if s.contains(p) {
						n++
					}
				}
				want := 0
				if whole.contains(p) && !slices.ContainsFunc(covered, func(s span) bool { return s.contains(p) }) {
					want = 1
				}
				if n != want {
					t.Fatalf("%v in %v without %v: got it in %d gaps; want %d", p, whole, covered, n, want)
				}
			}
		}
	})
}
