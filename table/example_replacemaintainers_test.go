package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// logged prints the key of each entity whose derived rows are written.
type logged struct{ table.Maintainer[employee] }

func (m logged) Maintain(ctx context.Context, p *table.Plan, c *table.Change[employee]) error {
	fmt.Println(m.Name(), c.Key)
	return m.Maintainer.Maintain(ctx, p, c)
}

// A handle whose maintainers print what they do.
func ExampleTable_ReplaceMaintainers() {
	ctx := context.Background()
	staff, err := newTable(staffSchema).With(bySeat{})
	check(err)
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 7})
	check(err)
	loud := staff.ReplaceMaintainers(func(m table.Maintainer[employee]) table.Maintainer[employee] { return logged{m} })
	check(loud.Replace(ctx, jones))
	// Output: seat ('Sales','empid_000001')
}
