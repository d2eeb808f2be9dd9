package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Page is for programs that show one page at a time. The browser keeps the token.
func ExampleTable_Page() {
	ctx := context.Background()
	staff := sales(nil)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 3}
	for token := ""; ; {
		page, err := staff.Page(ctx, q, token)
		check(err)
		fmt.Println(len(page.Entities), "from", page.Entities[0].Value.Last)
		if token = page.Token; token == "" {
			return
		}
	}
	// Output:
	// 3 from Jones
	// 1 from Müller
}

// A cursor does not yield a row that is inserted between its position and the first row of the next page. A range behind the
// last key does.
func ExampleCursor_Token() {
	ctx := context.Background()
	staff := sales(nil) // employees 1 to 4
	check(staff.DeleteAny(ctx, employeeKey("Sales", 3)))
	cursor := new(table.Cursor)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 2, Limit: 2, Cursor: cursor}
	for _, err := range staff.List(ctx, q) {
		check(err) // employees 1 and 2
	}
	_, err := staff.Insert(ctx, &employee{"Sales", 3, "Cao", 40})
	check(err)
	q.Cursor = table.NewCursor(cursor.Token())
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println("by the cursor:", e.Value.ID)
	}
	q = table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: empid.Rows().Between(2+1, 999999)}
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println("by the range:", e.Value.ID)
	}
	// Output:
	// by the cursor: 4
	// by the range: 3
	// by the range: 4
}

// A list stops in the middle of a page and resumes later.
func ExampleCursor() {
	ctx := context.Background()
	staff := sales(nil)
	cursor := new(table.Cursor)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), Cursor: cursor}
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println(e.Value.Last)
		if e.Value.ID == 2 {
			break
		}
	}
	saved := cursor.Token()

	q.Cursor = table.NewCursor(saved) // possibly in another process
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println(e.Value.Last)
	}
	fmt.Println(q.Cursor.Done())

	q.Where = age.Ge(40)
	q.Cursor = table.NewCursor(saved)
	for _, err := range staff.List(ctx, q) {
		var refused *table.ValueError
		fmt.Println(errors.As(err, &refused), refused)
	}
	// Output:
	// Jones
	// Smith
	// O'Brien
	// Müller
	// true
	// true token is of another query
}

// A budget of one request.
func ExampleBudget() {
	staff := sales(nil)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 3, Budget: table.Budget{Requests: 1}}
	for e, err := range staff.List(context.Background(), q) {
		if errors.Is(err, table.ErrBudget) {
			fmt.Println("there is more")
			break
		}
		check(err)
		fmt.Println(e.Value.Last)
	}
	// Output:
	// Jones
	// Smith
	// O'Brien
	// there is more
}

// The second page travels while the loop works on the first one. A loop that writes files or calls other services for each page takes
// about half the time.
func ExampleQuery_readAhead() {
	staff := sales(nil)
	var stats table.Stats
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 2, ReadAhead: true, Stats: &stats}
	for e, err := range staff.List(context.Background(), q) {
		check(err)
		fmt.Println(e.Value.Last, stats.Requests)
	}
	// Output:
	// Jones 2
	// Smith 2
	// O'Brien 2
	// Müller 2
}

// GetMany reads rows by their keys, ten at a time. A filter with "or" over RowKeys would scan the partition.
func ExampleTable_GetMany() {
	staff := sales(nil)
	for e, err := range staff.GetMany(context.Background(), employeeKey("Sales", 3), employeeKey("Sales", 99), employeeKey("Sales", 1)) {
		if errors.Is(err, table.ErrNotFound) {
			fmt.Println("not found")
			continue
		}
		check(err)
		fmt.Println(e.Value.Last)
	}
	// Output:
	// O'Brien
	// not found
	// Jones
}

func ExampleTable_Count() {
	n, err := sales(nil).Count(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: age.Ge(35)})
	check(err)
	fmt.Println(n)
	// Output: 3
}

// Partitions makes one request for each partition, however many rows the partition has.
func ExampleTable_Partitions() {
	ctx := context.Background()
	staff := sales(nil)
	_, err := staff.Insert(ctx, &employee{Department: "Marketing", ID: 1, Last: "Cao"})
	check(err)
	for pk, err := range staff.Partitions(ctx, keys.PartitionRange{}) {
		check(err)
		fmt.Println(pk)
	}
	// Output:
	// Marketing
	// Sales
}

// Partitions continues behind a partition.
func ExampleTable_Partitions_behind() {
	ctx := context.Background()
	staff := sales(nil)
	_, err := staff.Insert(ctx, &employee{Department: "Marketing", ID: 1, Last: "Cao"})
	check(err)
	all := keys.RawPartitions("", "")
	for pk, err := range staff.Partitions(ctx, all.Behind(dept.PartitionKey("Marketing"))) {
		check(err)
		fmt.Println(pk)
	}
	// Output: Sales
}

// EachPartition works on several partitions at a time.
func ExampleEachPartition() {
	ctx := context.Background()
	staff := sales(nil)
	done, err := table.EachPartition(ctx, staff, &table.Pass{Concurrency: 4}, func(ctx context.Context, partition keys.PartitionKey) error {
		n, err := staff.Count(ctx, table.Query[employee]{Partition: partition})
		fmt.Println(partition, n)
		return err
	})
	check(err)
	fmt.Println("through", done.Through.PartitionKey())
	// Output:
	// Sales 4
	// through Sales
}

// Collect is for lists that are short, or whose length the query bounds.
func ExampleCollect() {
	ctx := context.Background()
	staff := sales(nil)
	all, err := table.Collect(staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 100}))
	check(err)
	fmt.Println(len(all), all[0].Value.Last)
	// Output: 4 Jones
}
