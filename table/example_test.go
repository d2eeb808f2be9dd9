package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The life of an entity. The schema binds the keys to fields; the entity carries its ETag from one write to the next.
func Example() {
	ctx := context.Background()
	staff := newTable(table.Schema[employee]{
		Partition: keys.Bind1(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Bind1(empid, func(e *employee) *int { return &e.ID }),
	})

	jones, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Last: "Jones", Age: 44})
	check(err)
	jones.Value.Age++
	check(staff.Replace(ctx, jones))
	check(staff.Merge(ctx, jones, last.Set("Smith")))

	got, err := staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(223)))
	check(err)
	fmt.Println(got.Key, got.Value.Last, got.Value.Age, got.ETag == jones.ETag)
	check(staff.Delete(ctx, got))
	// Output: ('Sales','empid_000223') Smith 45 true
}

// Somebody else was faster: nothing is overwritten.
func ExampleTable_Replace() {
	ctx := context.Background()
	staff := sales(nil)
	mine, err := staff.Get(ctx, at("Sales", 1))
	check(err)
	theirs, err := staff.Get(ctx, at("Sales", 1))
	check(err)
	theirs.Value.Age = 50
	check(staff.Replace(ctx, theirs))

	mine.Value.Last = "Johnson"
	err = staff.Replace(ctx, mine)
	fmt.Println(errors.Is(err, table.ErrChanged))
	var service *azcore.ResponseError
	fmt.Println(errors.As(err, &service), service.StatusCode)
	// Output:
	// true
	// true 412
}

// Update starts again from a fresh read where it lost a race, so nothing that others write is lost.
func ExampleTable_Update() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Update(ctx, at("Sales", 1), func(e *employee) error {
		e.Age++
		return nil
	})
	check(err)
	fmt.Println(e.Value.Age)
	// Output: 31
}

// Merge sends the named properties and leaves all others alone.
func ExampleTable_Merge() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, at("Sales", 1))
	check(err)
	check(staff.Merge(ctx, e, last.Set("Johnson"), age.Set(31)))
	fmt.Println(e.Value.Last, e.Value.Age)
	// Output: Johnson 31
}

// MergeAny sets properties without reading the row, past any ETag.
func ExampleTable_MergeAny() {
	ctx := context.Background()
	staff := sales(nil)
	check(staff.MergeAny(ctx, at("Sales", 1), age.Set(31)))
	err := staff.MergeAny(ctx, at("Sales", 99), age.Set(31))
	fmt.Println(errors.Is(err, table.ErrNotFound))
	// Output: true
}

// Upsert writes whether the row exists or not. The mode says what becomes of properties that the value lacks.
func ExampleTable_Upsert() {
	ctx := context.Background()
	staff := sales(nil)
	_, err := staff.Upsert(ctx, &employee{Department: "Sales", ID: 5, Last: "Weber"}, table.ReplaceExisting)
	check(err)
	e, err := staff.Get(ctx, at("Sales", 5))
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
	// true keys: RowKey: part 1, digits(6): "1234567" has too many digits (7, at most 6)
}

// Ranges of keys come from the layout, conditions from the fields. An error is yielded once and ends the list.
func ExampleTable_List() {
	ctx := context.Background()
	staff := sales(nil)
	q := table.Query[employee]{
		Partition: dept.Of("Sales"),
		Rows:      empid.Between(2, 4),
		Where:     table.Or(last.Eq("O'Brien"), age.Ge(45)),
		Limit:     10,
	}
	for e, err := range staff.List(ctx, q) {
		check(err)
		fmt.Println(e.Value.ID, e.Value.Last)
	}
	// Output:
	// 3 O'Brien
	// 4 Müller
}

// A query that would read the whole table is refused, unless that is asked for by name.
func ExampleTable_Explain() {
	staff := sales(nil)
	_, err := staff.Explain(table.Query[employee]{Where: age.Ge(40)})
	fmt.Println(errors.Is(err, table.ErrTableScan))
	ex, err := staff.Explain(table.Query[employee]{Partition: dept.Of("Sales"), Rows: empid.AtLeast(2), Where: last.Eq("O'Brien")})
	check(err)
	fmt.Println(ex.Class, ex.Comparisons)
	fmt.Println(ex.Filter)
	// Output:
	// true
	// range query 4
	// PartitionKey eq 'Sales' and RowKey ge 'empid_000002' and RowKey lt 'empid`' and (LastName eq 'O''Brien')
}

// A narrower type is a projection: only its properties travel, with the keys.
func ExampleAs() {
	ctx := context.Background()
	type name struct {
		Last string `table:"LastName"`
	}
	names, err := table.As[name](sales(nil))
	check(err)
	for n, err := range names.List(ctx, table.Query[employee]{Partition: dept.Of("Sales"), Limit: 2}) {
		check(err)
		fmt.Println(n.Key.RowKey(), n.Value.Last)
	}
	// Output:
	// empid_000001 Jones
	// empid_000002 Smith
}

// Rows shows what is stored, for code that does not know the type.
func ExampleTable_Rows() {
	ctx := context.Background()
	staff := sales(nil)
	for row, err := range staff.Rows(ctx, table.Query[employee]{Partition: dept.Of("Sales"), Limit: 1}) {
		check(err)
		for name, value := range row.All() {
			fmt.Println(row.Key.RowKey(), name, row.Type(name), value)
		}
	}
	// Output:
	// empid_000001 Age Edm.Int32 30
	// empid_000001 LastName Edm.String Jones
}

// Requests are counted by kind, in production as in tests.
func ExampleCounter() {
	ctx := context.Background()
	var counter table.Counter
	staff := sales(&counter)
	_, err := staff.Update(ctx, at("Sales", 1), func(e *employee) error { e.Age++; return nil })
	check(err)
	fmt.Println(counter.Take())
	// Output: 1 get, 1 replace
}

// A client that you make yourself gets what account's clients have.
func ExampleClientOptions() {
	var counter table.Counter
	options := &aztables.ClientOptions{ClientOptions: table.ClientOptions(azcore.ClientOptions{Transport: memory}, &counter)}
	service, err := aztables.NewServiceClientFromConnectionString(memory.ConnectionString(), options)
	check(err)
	staff, err := table.New(service, sales(nil).Name(), staffSchema, nil)
	check(err)
	_, err = staff.Get(context.Background(), at("Sales", 1))
	check(err)
	fmt.Println(counter.Take())
	// Output: 1 get
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

// A field over several properties, a list over numbered ones, and a map for the rest.
func ExampleComposite() {
	ctx := context.Background()
	type contract struct {
		Salary  money
		Bonuses []int64        `table:"bonus,each=12"`
		Other   map[string]any `table:",extra"`
	}
	contracts := newTable(table.Schema[contract]{})
	k := keys.At(keys.Raw("Sales"), keys.Raw("223"))
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
