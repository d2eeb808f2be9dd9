package index_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type Employee struct {
	Department string
	ID         int
	LastName   string
	Email      string
	Age        int
	Skills     []string `table:",json"`
}

var (
	empid    = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	lastName = table.FieldOf(func(e *Employee) *string { return &e.LastName })

	byMail = index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" },
		&index.Options{Unique: true})
	byName = index.New("last", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true },
		nil).Only()
)

var byDept = keys.Partition(dept, func(e *Employee) *string { return &e.Department })

// staffWith is a table of employees, on a service in memory, with definitions.
func staffWith(ctx context.Context, definitions ...aztablekit.Definition[Employee]) *table.Table[Employee] {
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", byDept, empid, definitions...)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, e := range []Employee{
		{"Sales", 152, "Jones", "jonesa@contoso.com", 38, []string{"french"}},
		{"Sales", 223, "Jones", "jonesj@contoso.com", 44, []string{"french", "go"}},
		{"Sales", 300, "Brown", "brownb@contoso.com", 51, nil},
	} {
		if _, err := staff.Insert(ctx, &e); err != nil {
			log.Fatal(err)
		}
	}
	return staff
}

// By address, one request, and by last name.
func Example() {
	ctx := context.Background()
	staff := staffWith(ctx, byMail, byName)
	e, err := byMail.Get(ctx, staff, dept.PartitionKey("Sales"), "JonesJ@contoso.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.ID, e.Value.LastName)
	for e, err := range byName.List(ctx, staff, dept.PartitionKey("Sales"), "Jones") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID, e.Value.Email)
	}

	// An address belongs to one employee.
	e.Value.Email = "brownb@contoso.com"
	err = staff.Replace(ctx, e)
	var taken *table.DerivedError
	if errors.Is(err, table.ErrTaken) && errors.As(err, &taken) {
		fmt.Println("taken by", taken.Owner)
	}
	// Output:
	// 223 Jones
	// 152 jonesa@contoso.com
	// 223 jonesj@contoso.com
	// taken by ('Sales','empid_000300')
}

// Ranges, in the order of the index.
func ExampleIndex_Between() {
	ctx := context.Background()
	staff := staffWith(ctx, byMail, byName)
	sales := dept.PartitionKey("Sales")
	for e := range byMail.Between(ctx, staff, sales, "a", "jonesf") {
		fmt.Println(e.Value.Email)
	}
	for e := range byName.Prefix(ctx, staff, sales, "Jo") {
		fmt.Println(e.Value.ID, e.Value.LastName)
	}
	// Output:
	// brownb@contoso.com
	// jonesa@contoso.com
	// 152 Jones
	// 223 Jones
}

// All that a query of a table can do: limits, cursors, budgets, conditions.
func ExampleIndex_Query() {
	ctx := context.Background()
	staff := staffWith(ctx, byMail, byName)
	sales := dept.PartitionKey("Sales")
	for _, rows := range []keys.RowRange{byName.Rows().All(), byName.Value("Jones"), byName.Rows().Between("Brown", "Cao"), byName.Rows().AtLeast("C"), byName.Rows().AtMost("C"), byName.Rows().Starting("J")} {
		for e := range byName.Query(ctx, staff, table.Query[Employee]{Partition: sales, Rows: rows, Limit: 1}) {
			fmt.Println(e.Value.ID)
		}
	}

	// The keys alone, without the entities.
	for k := range byName.Keys(ctx, staff, table.Query[Employee]{Partition: sales, Rows: byName.Value("Jones")}) {
		fmt.Println(k)
	}
	// Output:
	// 300
	// 152
	// 300
	// 152
	// 300
	// 152
	// ('Sales','empid_000152')
	// ('Sales','empid_000223')
}

// Several values for each entity.
func ExampleNewMulti() {
	ctx := context.Background()
	bySkill := index.NewMulti("skill", keys.Text(), 10, func(e *Employee) []string { return e.Skills }, nil)
	staff := staffWith(ctx, bySkill)
	for e := range bySkill.List(ctx, staff, dept.PartitionKey("Sales"), "french") {
		fmt.Println(e.Value.ID)
	}
	// Output:
	// 152
	// 223
}

// The guide's index entities: one row that lists the ids.
func ExampleNewLists() {
	ctx := context.Background()
	lists := index.NewLists("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true },
		&index.ListOptions{Property: "EmployeeIDs"})
	staff := staffWith(ctx, lists)
	q := table.Query[Employee]{Partition: dept.PartitionKey("Sales"), Rows: keys.RawRow("name_Jones").Point()}
	rows, err := table.Collect(staff.Rows(ctx, q))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Get("EmployeeIDs"))
	members, err := lists.Keys(ctx, staff, dept.PartitionKey("Sales"), "Jones")
	fmt.Println(len(members), err)
	for e := range lists.List(ctx, staff, dept.PartitionKey("Sales"), "Brown") {
		fmt.Println(e.Value.ID)
	}
	// Output:
	// empid_000152/empid_000223 true
	// 2 <nil>
	// 300
}

// A group in one row.
func ExampleNewSummary() {
	ctx := context.Background()
	ages := index.NewSummary("ages", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true },
		nil, index.Measure[Employee]{Name: "Age", Of: func(e *Employee) (int64, bool) { return int64(e.Age), e.Age > 0 }})
	staff := staffWith(ctx, ages)
	jones, err := ages.Get(ctx, staff, dept.PartitionKey("Sales"), "Jones")
	if err != nil {
		log.Fatal(err)
	}
	age := jones.Measures["Age"]
	fmt.Println(jones.Count, "of", age.Min, "to", age.Max, "years,", age.Sum, "together")
	for group := range ages.All(ctx, staff, dept.PartitionKey("Sales")) {
		fmt.Println(group.Value, group.Count)
	}
	// Output:
	// 2 of 38 to 44 years, 82 together
	// Brown 1
	// Jones 2
}

// The head of a department, in the department's own row.
func ExampleNewDetails() {
	type Department struct {
		Name         string
		Budget       int
		HeadLastName string
	}
	ctx := context.Background()
	row := keys.RawRow("department")
	head := index.NewDetails("head", "Head", func(e *Employee) (keys.RowKey, bool) { return row, e.Age > 60 }, lastName)
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	departments := aztablekit.Table(company, "staff", keys.Partition(dept, func(d *Department) *string { return &d.Name }), keys.OneRow[Department]("department"))
	staff := aztablekit.Table(company, "staff", byDept, empid, head)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := departments.Insert(ctx, &Department{Name: "Sales", Budget: 1000}); err != nil {
		log.Fatal(err)
	}
	if _, err := staff.Insert(ctx, &Employee{Department: "Sales", ID: 1, LastName: "Weber", Age: 61}); err != nil {
		log.Fatal(err)
	}
	sales, err := departments.Get(ctx, keys.At(dept.PartitionKey("Sales"), row))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", sales.Value)
	// Output: {Name:Sales Budget:1000 HeadLastName:Weber}
}

// By last name and age: all of one name, the oldest first.
func ExampleIndex_Rows() {
	type key struct {
		Name string
		Age  int
	}
	ctx := context.Background()
	layout := keys.Row2(keys.Ordered().Named("na"), keys.Desc(keys.Digits[int](3)), func(k *key) (*string, *int) { return &k.Name, &k.Age })
	byNameAndAge := index.New("nameage", layout,
		func(e *Employee) (key, bool) { return key{e.LastName, e.Age}, true }, nil)
	staff := staffWith(ctx, byNameAndAge)
	q := table.Query[Employee]{Partition: dept.PartitionKey("Sales"), Rows: layout.Under("Jones").All()}
	for e, err := range byNameAndAge.Query(ctx, staff, q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.LastName, e.Value.Age)
	}
	// Output:
	// Jones 44
	// Jones 38
}

// A page of an index, and the token of the next one for a browser to keep.
func ExampleIndex_Page() {
	ctx := context.Background()
	staff := staffWith(ctx, byMail, byName)
	q := table.Query[Employee]{Partition: dept.PartitionKey("Sales"), Rows: byName.Value("Jones"), Limit: 1}
	for token := ""; ; {
		page, err := byName.Page(ctx, staff, q, token)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range page.Entities {
			fmt.Println(e.Value.ID, e.Value.LastName)
		}
		if token = page.Token; token == "" {
			return
		}
	}
	// Output:
	// 152 Jones
	// 223 Jones
}
