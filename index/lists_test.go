package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestFullListShrinks: an entity can leave a list that is too long; targets and lists have errors of their own.
func TestFullListShrinks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, teams)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 1, nil})
	list := &table.Row{Key: keys.At(sales, keys.RawRow("team_Jones"))}
	for n, at := 0, 0; n < 19; n++ {
		var part []string
		for range 3000 {
			part = append(part, fmt.Sprintf("w_%06d", at))
			at++
		}
		name := "EmployeeIDs"
		if n > 0 {
			name += fmt.Sprint(n + 1)
		}
		check(t, list.Set(name, strings.Join(part, "/")))
	}
	*list = *(*table.Row)((*stored.Row)(list).Own("team:w_"))
	_, err := door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false).Upsert(ctx, list, table.ReplaceExisting)
	check(t, err)
	check(t, staff.DeleteAny(ctx, at(1)))
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "members", len(k), 19*3000-1)

	bad := index.NewDetails("bad", "Bad", func(w *worker) (keys.RowKey, bool) { return keys.RawRow(w.Last), true }, email)
	staff, s = newStaff(t, bad)
	var ke *keys.KeyError
	if _, err := staff.Insert(ctx, &worker{"S", 1, "a/b", "", 1, nil}); !errors.As(err, &ke) {
		t.Error(err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}

// TestListGrows: a list grows over the end of its first property, and shrinks again, member by member.
func TestListGrows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	long := schema
	long.Row = keys.Row(keys.Digits[int](18).Named(strings.Repeat("w", 400)), func(w *worker) *int { return &w.ID })
	staff, _ := attached(t, long, extend.Definition[worker](nameLists))
	parts := func() (n int) {
		row, err := staff.GetRow(ctx, keys.Raw("S", "~x|nl_Jones"))
		check(t, err)
		return len((*stored.Row)(row).Columns()) - 1 // whose it is
	}
	const n = 100
	for i := range n {
		_, err := staff.Insert(ctx, &worker{"S", i, "Jones", "", 1, nil})
		check(t, err)
		if i == 0 {
			testkit.Expect(t, "parts", parts(), 1)
		}
	}
	testkit.Expect(t, "parts", parts(), 2)
	all, err := nameLists.Keys(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "members", len(all), n)
	for _, k := range all[:n/2] {
		check(t, staff.DeleteAny(ctx, k))
	}
	testkit.Expect(t, "parts", parts(), 1)
	all, err = nameLists.Keys(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "members", len(all), n/2)
}
