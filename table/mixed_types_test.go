package table_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestUnregisteredType: a row with the name of an unregistered type is a Row. So is a row without a name that two types could
// have.
func TestUnregisteredType(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type badge struct {
		ID   int
		Name string
	}
	row := keys.Row(keys.Digits[int](3), func(b *badge) *int { return &b.ID })
	for what, c := range map[string]struct {
		properties, typ string
		want            string
	}{
		"named, no such type":          {`"_type":"contractor","Name":"x"`, "", "*table.Entity[github.com/aztablekit/aztablekit/table.Row]"},
		"unnamed, two types could fit": {`"Name":"Madonna"`, "badge", "*table.Entity[github.com/aztablekit/aztablekit/table.Row]"},
		"named":                        {`"_type":"badge","Name":"x"`, "badge", "*table.Entity[github.com/aztablekit/aztablekit/table_test.badge"},
		"named, and the other untyped": {`"_type":"person","_v":2`, "", "*table.Entity[github.com/aztablekit/aztablekit/table_test.person]"},
	} {
		_, w := personTable(t, c.properties)
		s := sdkClient(t, w)
		persons, err := bare.NewTable(s, "people", personSchema(), singleAttempt())
		noError(t, err)
		badges, err := bare.NewTable(s, "people", table.Schema[badge]{Partition: keys.OnePartition[badge]("p"), Row: row, Type: c.typ}, singleAttempt())
		noError(t, err)
		types, err := table.NewMixed(persons, badges)
		noError(t, err)
		x, err := types.Get(ctx, personKey)
		if got := fmt.Sprintf("%T", x); err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %s, %v; want no error and strings.HasPrefix(got, c.want)", what, got, err)
		}
		cursor, n := new(table.Cursor), 0
		for x, err := range types.List(ctx, table.Query[table.Row]{Partition: keys.RawPartition("p"), Cursor: cursor, Limit: 5}) {
			if got := fmt.Sprintf("%T", x); err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, listed: got %s, %v; want no error and strings.HasPrefix(got, c.want)", what, got, err)
			}
			n++
		}
		if n != 1 || !cursor.Done() {
			t.Errorf("%s: got %d, done %v; want n == 1 and cursor.Done()", what, n, cursor.Done())
		}
	}
}

// TestAmbiguousTypes: table.NewMixed refuses types that it cannot tell apart.
func TestAmbiguousTypes(t *testing.T) {
	t.Parallel()
	s := sdkClient(t, noRequests(t))
	open := func(name, typ string, l keys.Component[int]) *table.Table[person] {
		tab, err := bare.NewTable(s, name, table.Schema[person]{Row: keys.Row(l, func(p *person) *int { return &p.ID }), Type: typ}, singleAttempt())
		noError(t, err)
		return tab
	}
	digits, named := keys.Digits[int](3), keys.Digits[int](3).Named("emp")
	for what, c := range map[string]struct {
		tables []table.Handle
		ok     bool
	}{
		"none":                      {nil, false},
		"one":                       {[]table.Handle{open("ttt", "", digits)}, true},
		"two ranges":                {[]table.Handle{open("ttt", "", digits), open("ttt", "", named)}, true},
		"ranges that touch":         {[]table.Handle{open("ttt", "", digits), open("ttt", "", keys.Digits[int](4))}, true},
		"one range":                 {[]table.Handle{open("ttt", "", digits), open("ttt", "", digits)}, false},
		"one range, two types":      {[]table.Handle{open("ttt", "a", digits), open("ttt", "b", digits)}, true},
		"one range, the same type":  {[]table.Handle{open("ttt", "a", digits), open("ttt", "a", digits)}, false},
		"two ranges, the same type": {[]table.Handle{open("ttt", "a", digits), open("ttt", "a", named)}, true},
		"two tables":                {[]table.Handle{open("ttt", "a", digits), open("uuu", "b", digits)}, false},
	} {
		if _, err := table.NewMixed(c.tables...); (err == nil) != c.ok {
			t.Errorf("%s: got %v; want no error: %v", what, err, c.ok)
		}
	}
}
