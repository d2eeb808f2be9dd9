package extend_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// badges gives each last name of the company to one employee only: a row for each name, in a partition of all departments. Package
// index has such a maintainer (index.NewUnique).
type badges struct{ table *table.Table[table.Row] }

func (badges) Name() string { return "badges" }
func (badges) MaxRows() int { return 2 }

var errBadgeTaken = errors.New("another employee has this badge")

func (m badges) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.Old != nil && c.New != nil && c.Old.Last == c.New.Last {
		return nil
	}
	company := keys.RawPartition("company")
	there, err := p.Remote(m.table, company)
	if err != nil {
		return err
	}
	if c.Old != nil {
		name := keys.RawRow(c.Old.Last)
		if _, err := there.Load(ctx, name); err != nil {
			return err
		}
		if err := there.Remove(name); err != nil {
			return err
		}
	}
	if c.New == nil {
		return nil
	}
	row := &table.Row{Key: keys.At(company, keys.RawRow(c.New.Last))}
	if err := row.Set("Owner", c.Key.PartitionKey()+"/"+c.Key.RowKey()); err != nil {
		return err
	}
	return there.Insert(row, errBadgeTaken)
}

// A value that is unique in all partitions.
func ExamplePlan_Remote() {
	ctx := context.Background()
	h := &extend.Host{Tables: storagetest.New(nil).Tables(), Outbox: &exampleOutbox{}} // the tables of one service
	rows, err := extend.NewTable(h, "badges", table.Schema[table.Row]{}, nil)
	check(err)
	check(extend.EnsureTable(ctx, rows))
	staff, err := staffOf(h, badges{rows})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Marketing", 2, "Jones", 35})
	fmt.Println(errors.Is(err, errBadgeTaken))
	// Output: true
}
