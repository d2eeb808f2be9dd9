package integration

import (
	"context"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// employee is the entity type of the guide's examples: employees in departments.
type employee struct {
	Department string
	ID         int
	First      string `table:"FirstName"`
	Last       string `table:"LastName"`
	Age        int32
	Email      string
}

var (
	dept  = keys.Text()
	empid = keys.Digits[int](6).Named("empid")

	staffSchema = table.Schema[employee]{
		Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *employee) *int { return &e.ID }),
	}
	first = table.FieldOf(func(e *employee) *string { return &e.First })
	last  = table.FieldOf(func(e *employee) *string { return &e.Last })
	age   = table.FieldOf(func(e *employee) *int32 { return &e.Age })
	mail  = table.FieldOf(func(e *employee) *string { return &e.Email })
)

func at(d string, id int) keys.Key { return keys.At(dept.PartitionKey(d), empid.RowKey(id)) }

var jones = employee{"Sales", 223, "Jessy", "Jones", 44, "jonesj@contoso.com"}

type review struct {
	Department string
	ID, Year   int
	Rating     int32
}

var (
	reviewKey    = keys.Row2(keys.Digits[int](6).Named("review"), keys.Digits[int](4), func(r *review) (*int, *int) { return &r.ID, &r.Year })
	reviewSchema = table.Schema[review]{
		Partition: keys.Partition(dept, func(r *review) *string { return &r.Department }),
		Row:       reviewKey,
	}
)

// keyed is an entity type with any keys.
type keyed struct {
	P, R string
	V    int32
}

var keyedSchema = table.Schema[keyed]{
	Partition: keys.RawPartitionOf(func(r *keyed) *string { return &r.P }),
	Row:       keys.RawRowOf(func(r *keyed) *string { return &r.R }),
}

// newStaff returns a table with employees 1 to n in Sales, and every tenth also in Marketing.
func newStaff(e *env, n int) *table.Table[employee] {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	names := []string{"Jones", "Smith", "O'Brien", "Müller"}
	for i := 1; i <= n; i++ {
		v := employee{"Sales", i, fmt.Sprint("F", i), names[i%4], int32(20 + i), fmt.Sprintf("e%d@contoso.com", i)}
		_, err := staff.Insert(ctx, &v)
		e.must(err)
		if i%10 == 0 {
			v.Department = "Marketing"
			_, err := staff.Insert(ctx, &v)
			e.must(err)
		}
	}
	e.counter.Take()
	return staff
}

// listIDs returns the IDs of the employees that a query finds.
func listIDs(e *env, t *table.Table[employee], q table.Query[employee]) string {
	e.Helper()
	var got []string
	for v, err := range t.List(context.Background(), q) {
		e.must(err)
		got = append(got, fmt.Sprint(v.Value.ID))
	}
	return joined(got)
}

// insertStaff inserts n employees of a department, 100 in a transaction.
func insertStaff(e *env, staff *table.Table[employee], d string, n int) {
	e.Helper()
	var ops []table.Op
	for i := range n {
		ops = append(ops, staff.InsertOp(&employee{Department: d, ID: i + 1, Age: int32(20 + i%40)}))
	}
	for chunk := range slices.Chunk(ops, 100) {
		_, err := table.Transact(context.Background(), chunk...)
		e.must(err)
	}
	e.counter.Take()
}
