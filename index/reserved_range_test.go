package index_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestReservedRanges: ranges of a unique index with Reserved contain the same entities as without, both bounds included.
func TestReservedRanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	text := keys.Ordered()
	for _, reserved := range []bool{false, true} {
		byEmail := index.New("mail", text, func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: true, Reserved: reserved})
		staff, s := newStaff(t, byEmail)
		insertAll(t, staff, s, worker{"S", 1, "A", "a", 1, nil}, worker{"S", 2, "B", "b", 1, nil}, worker{"S", 3, "C", "c", 1, nil}, worker{"S", 4, "D", "cc", 1, nil}, worker{"S", 5, "E", "d", 1, nil})
		testkit.Expect(t, "b to c", ids(t, byEmail.Between(ctx, staff, sales, "b", "c")), []int{2, 3})
		for what, c := range map[string]struct {
			r    keys.RowRange
			want []int
		}{
			"at least c":         {byEmail.Rows().AtLeast("c"), []int{3, 4, 5}},
			"at most b":          {byEmail.Rows().AtMost("b"), []int{1, 2}},
			"before c":           {byEmail.Rows().Before("c"), []int{1, 2}},
			"begins with c":      {byEmail.Rows().Starting("c"), []int{3, 4}},
			"b to cc":            {byEmail.Rows().Between("b", "cc"), []int{2, 3, 4}},
			"c":                  {byEmail.Value("c"), []int{3}},
			"layout, b to c":     {text.Named("mail").Rows().Between("b", "c"), []int{2, 3}},
			"layout, at least c": {text.Named("mail").Rows().AtLeast("c"), []int{3, 4, 5}},
		} {
			got := ids(t, byEmail.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: c.r}))
			testkit.Expect(t, fmt.Sprint("reserved ", reserved, ", ", what), got, c.want)
		}
	}
}
