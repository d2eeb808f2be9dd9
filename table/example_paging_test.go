package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Pages for a program that shows one and forgets: the token goes to the browser and comes back.
func ExampleTable_Page() {
	ctx := context.Background()
	staff := sales(nil)
	q := table.Query[employee]{Partition: dept.Of("Sales"), Limit: 3}
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

// A row that is inserted between the page at whose end a cursor was left and the row with which the next page begins is not shown by the
// cursor. A range from behind the last key shows it.
func ExampleCursor_Token() {
	ctx := context.Background()
	staff := sales(nil) // employees 1 to 4
	check(staff.DeleteAny(ctx, employeeKey("Sales", 3)))
	cursor := new(table.Cursor)
	q := table.Query[employee]{Partition: dept.Of("Sales"), PageSize: 2, Limit: 2, Cursor: cursor}
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
	q = table.Query[employee]{Partition: dept.Of("Sales"), Rows: empid.Between(2+1, 999999)}
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println("by the range:", e.Value.ID)
	}
	// Output:
	// by the cursor: 4
	// by the range: 3
	// by the range: 4
}

// A list is left in the middle of a page, and taken up again later.
func ExampleCursor() {
	ctx := context.Background()
	staff := sales(nil)
	cursor := new(table.Cursor)
	q := table.Query[employee]{Partition: dept.Of("Sales"), Cursor: cursor}
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println(e.Value.Last)
		if e.Value.ID == 2 {
			break
		}
	}
	saved := cursor.Token()

	q.Cursor = table.NewCursor(saved) // in another process, perhaps
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println(e.Value.Last)
	}
	fmt.Println(q.Cursor.Done())

	q.Where = age.Ge(40)
	q.Cursor = table.NewCursor(saved)
	for _, err := range staff.List(ctx, q) {
		var refused *table.TokenError
		fmt.Println(errors.As(err, &refused), refused)
	}
	// Output:
	// Jones
	// Smith
	// O'Brien
	// Müller
	// true
	// true continuation token: is of another query
}

// A list that may cost a page and no more.
func ExampleBudget() {
	staff := sales(nil)
	q := table.Query[employee]{Partition: dept.Of("Sales"), PageSize: 3, Budget: table.Budget{Requests: 1}}
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

// Several rows by their keys, ten at a time. An "or" over RowKeys would scan the partition.
func ExampleTable_GetMany() {
	staff := sales(nil)
	for e, err := range staff.GetMany(context.Background(), employeeKey("Sales", 3), employeeKey("Sales", 99), employeeKey("Sales", 1)) {
		if errors.Is(err, table.ErrNotFound) {
			fmt.Println("nobody")
			continue
		}
		check(err)
		fmt.Println(e.Value.Last)
	}
	// Output:
	// O'Brien
	// nobody
	// Jones
}

func ExampleTable_Exists() {
	staff := sales(nil)
	yes, err := staff.Exists(context.Background(), employeeKey("Sales", 1))
	check(err)
	no, err := staff.Exists(context.Background(), employeeKey("Sales", 99))
	check(err)
	fmt.Println(yes, no)
	// Output: true false
}

func ExampleTable_Count() {
	n, err := sales(nil).Count(context.Background(), table.Query[employee]{Partition: dept.Of("Sales"), Where: age.Ge(35)})
	check(err)
	fmt.Println(n)
	// Output: 3
}

func ExampleTable_GetOrInsert() {
	ctx := context.Background()
	staff := sales(nil)
	e, inserted, err := staff.GetOrInsert(ctx, &employee{Department: "Sales", ID: 1, Last: "Weber"})
	check(err)
	fmt.Println(e.Value.Last, inserted)
	e, inserted, err = staff.GetOrInsert(ctx, &employee{Department: "Sales", ID: 9, Last: "Weber"})
	check(err)
	fmt.Println(e.Value.Last, inserted)
	// Output:
	// Jones false
	// Weber true
}

// Which departments are there? One request for each, however many employees they have.
func ExampleTable_Partitions() {
	ctx := context.Background()
	staff := sales(nil)
	_, err := staff.Insert(ctx, &employee{Department: "Marketing", ID: 1, Last: "Cao"})
	check(err)
	for pk, err := range staff.Partitions(ctx) {
		check(err)
		fmt.Println(pk)
	}
	for pk, err := range staff.PartitionsAfter(ctx, dept.Of("Marketing")) {
		check(err)
		fmt.Println("behind Marketing:", pk)
	}
	fmt.Println("through a signature that shows part of them:", staff.Ranged())
	// Output:
	// Marketing
	// Sales
	// behind Marketing: Sales
	// through a signature that shows part of them: false
}

// Work on all partitions, several at a time.
func ExampleTable_EachPartition() {
	ctx := context.Background()
	staff := sales(nil)
	err := staff.EachPartition(ctx, 4, func(ctx context.Context, partition keys.Enc) error {
		n, err := staff.Count(ctx, table.Query[employee]{Partition: partition})
		fmt.Println(partition, n)
		return err
	})
	check(err)
	// Output: Sales 4
}
