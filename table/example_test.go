package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// An entity is inserted, replaced, merged, read and deleted. It carries its ETag from one write to the next.
func Example() {
	ctx := context.Background()
	staff := newTable(table.Schema[employee]{
		Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *employee) *int { return &e.ID }),
	})

	jones, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Last: "Jones", Age: 44})
	check(err)
	jones.Value.Age++
	check(staff.Replace(ctx, jones))
	check(staff.Merge(ctx, jones, last.Set("Smith")))

	got, err := staff.Get(ctx, keys.At(dept.PartitionKey("Sales"), empid.RowKey(223)))
	check(err)
	fmt.Println(got.Key, got.Value.Last, got.Value.Age, got.ETag == jones.ETag)
	check(staff.Delete(ctx, got))
	// Output: ('Sales','empid_000223') Smith 45 true
}

// A concurrent writer has changed the row. Replace fails and overwrites nothing.
func ExampleTable_Replace() {
	ctx := context.Background()
	staff := sales(nil)
	mine, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	concurrent, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	concurrent.Value.Age = 50
	check(staff.Replace(ctx, concurrent))

	mine.Value.Last = "Johnson"
	err = staff.Replace(ctx, mine)
	fmt.Println(errors.Is(err, table.ErrChanged))
	var service *azcore.ResponseError
	fmt.Println(errors.As(err, &service), service.StatusCode)
	// Output:
	// true
	// true 412
}

// Update reads the row again after a conflict, so that no concurrent change is lost.
func ExampleTable_Update() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Update(ctx, employeeKey("Sales", 1), func(e *employee) error {
		e.Age++
		return nil
	})
	check(err)
	fmt.Println(e.Value.Age)
	// Output: 31
}

// Merge changes the named properties and no others.
func ExampleTable_Merge() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	check(staff.Merge(ctx, e, last.Set("Johnson"), age.Set(31)))
	fmt.Println(e.Value.Last, e.Value.Age)
	// Output: Johnson 31
}

// MergeAny changes properties of any version of the row.
func ExampleTable_MergeAny() {
	ctx := context.Background()
	staff := sales(nil)
	check(staff.MergeAny(ctx, employeeKey("Sales", 1), age.Set(31)))
	err := staff.MergeAny(ctx, employeeKey("Sales", 99), age.Set(31))
	fmt.Println(errors.Is(err, table.ErrNotFound))
	// Output: true
}

// Upsert inserts or overwrites. The mode says what happens to properties that the value lacks.
func ExampleTable_Upsert() {
	ctx := context.Background()
	staff := sales(nil)
	_, err := staff.Upsert(ctx, &employee{Department: "Sales", ID: 5, Last: "Weber"}, table.ReplaceExisting)
	check(err)
	e, err := staff.Get(ctx, employeeKey("Sales", 5))
	check(err)
	fmt.Println(e.Value.Last)
	// Output: Weber
}

func ExampleTable_Insert() {
	ctx := context.Background()
	staff := sales(nil)
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: "Jones"})
	fmt.Println(errors.Is(err, table.ErrExists))
	_, err = staff.Insert(ctx, &employee{Department: "Sales", ID: 1234567})
	var bad *keys.KeyError
	fmt.Println(errors.As(err, &bad), bad)
	// Output:
	// true
	// true keys: RowKey: component 1, digits(6): "1234567" has too many digits (7, at most 6)
}

// money is stored in two properties.
type money struct {
	Cents    int64
	Currency string
}

func (money) PropertySuffixes() []string       { return []string{"Cents", "Currency"} }
func (m money) PropertyValues() ([]any, error) { return []any{m.Cents, m.Currency}, nil }
func (m *money) SetPropertyValues(v []any) (err error) {
	m.Cents, _ = v[0].(int64)
	m.Currency, _ = v[1].(string)
	return nil
}

// A field stored in several properties, a list in numbered properties, and a map of all other properties.
func ExampleComposite() {
	ctx := context.Background()
	type contract struct {
		Salary  money
		Bonuses []int64        `table:"bonus,each=12"`
		Other   map[string]any `table:",extra"`
	}
	contracts := newTable(table.Schema[contract]{})
	k := keys.At(keys.RawPartition("Sales"), keys.RawRow("223"))
	c, err := contracts.InsertAt(ctx, k, &contract{money{450000, "CHF"}, []int64{100, 200}, map[string]any{"Remark": "since 2012"}})
	check(err)
	row, err := c.Row()
	check(err)
	for name, value := range row.All() {
		fmt.Println(name, value)
	}
	// Output:
	// SalaryCents 450000
	// SalaryCurrency CHF
	// bonus00 100
	// bonus01 200
	// Remark since 2012
}

func ExampleTable_Get() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, keys.At(dept.PartitionKey("Sales"), empid.RowKey(3)))
	check(err)
	fmt.Println(e.Value.Last, e.Value.Age)
	_, err = staff.Get(ctx, keys.At(dept.PartitionKey("Sales"), empid.RowKey(99)))
	fmt.Println(errors.Is(err, table.ErrNotFound))
	// Output:
	// O'Brien 40
	// true
}

// Delete deletes the version that was read. DeleteAny deletes any version.
func ExampleTable_Delete() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	check(staff.Delete(ctx, e))
	fmt.Println(errors.Is(staff.Delete(ctx, e), table.ErrNotFound))
	// Output: true
}

func ExampleTable_DeleteAny() {
	ctx := context.Background()
	staff := sales(nil)
	check(staff.DeleteAny(ctx, employeeKey("Sales", 1)))
	fmt.Println(errors.Is(staff.DeleteAny(ctx, employeeKey("Sales", 1)), table.ErrNotFound))
	// Output: true
}

// ReplaceAny overwrites the changes of concurrent writers.
func ExampleTable_ReplaceAny() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	check(staff.MergeAny(ctx, e.Key, age.Set(99)))
	e.Value.Last = "Johnson"
	check(staff.ReplaceAny(ctx, e))
	e, err = staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	fmt.Println(e.Value.Last, e.Value.Age)
	// Output: Johnson 30
}

// A schema without bindings is for tables whose keys do not depend on the type.
func ExampleTable_InsertAt() {
	ctx := context.Background()
	type exampleNotification struct{ Text string }
	notes := newTable(table.Schema[exampleNotification]{})
	k := keys.At(keys.RawPartition("2026"), keys.RawRow("first"))
	_, err := notes.InsertAt(ctx, k, &exampleNotification{"hello"})
	check(err)
	_, err = notes.UpsertAt(ctx, k, &exampleNotification{"hello again"}, table.ReplaceExisting)
	check(err)
	n, err := notes.Get(ctx, k)
	check(err)
	fmt.Println(n.Key, n.Value.Text)
	// Output: ('2026','first') hello again
}

// Ensure creates the table of a definition's own rows, and does nothing if the table exists.
func ExampleTable_Ensure() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	notes, err := host.NewTable(company, "notes", staffSchema, nil)
	check(err)
	fmt.Println(notes.Ensure(ctx))
	// Output: <nil>
}

// The error says which operation failed, on which row, and why.
func ExampleOpError() {
	staff := sales(nil)
	_, err := staff.Get(context.Background(), employeeKey("Sales", 99))
	var op *table.OpError
	fmt.Println(errors.As(err, &op), op.Op, op.Key, op.Code, errors.Is(err, table.ErrNotFound))
	// Output: true Get ('Sales','empid_000099') ResourceNotFound true
}

// The service's limits are checked before anything is sent.
func ExampleLimitError() {
	staff := sales(nil)
	_, err := staff.Insert(context.Background(), &employee{Department: "Sales", ID: 5, Last: string(make([]byte, 40_000))})
	var limit *table.LimitError
	fmt.Println(errors.As(err, &limit), limit)
	// Output: true property LastName has 40000 UTF-16 units; at most 32768 are allowed
}

// Key makes the key of a value as Insert does, and keys.At makes it of the layouts.
func ExampleTable_Key() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, staff.Key(employee{Department: "Sales", ID: 1}))
	check(err)
	fmt.Println(e.Value.Last, e.Key == keys.At(dept.PartitionKey("Sales"), empid.RowKey(1)))
	// Output: Jones true
}
