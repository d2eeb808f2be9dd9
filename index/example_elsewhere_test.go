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

// wholeCompany is a table of employees whose definitions have their rows elsewhere, and its store.
func wholeCompany(ctx context.Context, definitions ...aztablekit.Definition[Employee]) (*table.Table[Employee], *aztablekit.Store) {
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", byDept, empid, definitions...)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, e := range []Employee{
		{"Sales", 223, "Jones", "jonesj@contoso.com", 44, []string{"chess", "golf"}}, {"Marketing", 152, "Jones", "jonesa@contoso.com", 38, []string{"golf"}},
		{"Sales", 300, "Brown", "brownb@contoso.com", 51, nil},
	} {
		if _, err := staff.Insert(ctx, &e); err != nil {
			log.Fatal(err)
		}
	}
	return staff, company
}

// Look-ups over all departments, by an index that a worker keeps.
func ExampleNewGlobal() {
	ctx := context.Background()
	byName := index.NewGlobal("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil)
	staff, company := wholeCompany(ctx, byName)
	if err := company.Drain(ctx); err != nil { // in a service: Run
		log.Fatal(err)
	}
	for e, err := range byName.List(ctx, staff, "Jones") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Key, e.Value.Email)
	}
	// Output:
	// ('Marketing','empid_000152') jonesa@contoso.com
	// ('Sales','empid_000223') jonesj@contoso.com
}

// Several values of an entity.
func ExampleNewGlobalMulti() {
	ctx := context.Background()
	byTag := index.NewGlobalMulti("tag", keys.Text(), 5, func(e *Employee) []string { return e.Skills }, nil)
	staff, company := wholeCompany(ctx, byTag)
	if err := company.Drain(ctx); err != nil {
		log.Fatal(err)
	}
	golf, err := table.Collect(byTag.Keys(ctx, staff, "golf", table.Query[Employee]{}))
	fmt.Println(golf, err)
	// Output: [('Marketing','empid_000152') ('Sales','empid_000223')] <nil>
}

// An address belongs to one employee of the company, whatever the department.
func ExampleNewUnique() {
	ctx := context.Background()
	byEmail := index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, nil)
	staff, _ := wholeCompany(ctx, byEmail)
	e, err := byEmail.Get(ctx, staff, "JonesA@contoso.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Key, e.Value.LastName)
	_, err = staff.Insert(ctx, &Employee{Department: "Research", ID: 1, Email: "jonesa@contoso.com"})
	fmt.Println(errors.Is(err, table.ErrTaken))
	// Output:
	// ('Marketing','empid_000152') Jones
	// true
}

// The employees who have some addresses. An address that no employee has is reported.
func ExampleUnique_GetMany() {
	ctx := context.Background()
	byEmail := index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, nil)
	staff, _ := wholeCompany(ctx, byEmail)
	for e, err := range byEmail.GetMany(ctx, staff, "brownb@contoso.com", "nobody@contoso.com", "jonesa@contoso.com") {
		switch {
		case errors.Is(err, table.ErrNotFound):
			fmt.Println("none")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(e.Key)
		}
	}
	// Output:
	// ('Sales','empid_000300')
	// none
	// ('Marketing','empid_000152')
}

// Several unique values of an entity: a skill that one employee has is that of no other.
func ExampleNewUniqueMulti() {
	ctx := context.Background()
	only := index.NewUniqueMulti("only", keys.Text(), 5, func(e *Employee) []string { return e.Skills }, nil)
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", byDept, empid, only)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err := staff.Insert(ctx, &Employee{Department: "Sales", ID: 1, Skills: []string{"chess", "golf"}})
	fmt.Println(err)
	_, err = staff.Insert(ctx, &Employee{Department: "Marketing", ID: 2, Skills: []string{"golf"}})
	fmt.Println(errors.Is(err, table.ErrTaken))
	// Output:
	// <nil>
	// true
}

// Pointers are right when the write returns, without a worker. One partition for all allows ranges of values.
func ExampleGlobal_In() {
	ctx := context.Background()
	byName := index.NewGlobal("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only().In(func(*Employee) keys.PartitionKey {
		return keys.RawPartition("names")
	})
	staff, _ := wholeCompany(ctx, byName)
	for e, err := range byName.Between(ctx, staff, keys.RawPartition("names"), "A", "K") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.LastName, e.Key)
	}
	// Output:
	// Brown ('Sales','empid_000300')
	// Jones ('Marketing','empid_000152')
	// Jones ('Sales','empid_000223')
}

// A page of the entities that have a value.
func ExampleGlobal_Page() {
	ctx := context.Background()
	byName := index.NewGlobal("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
	staff, _ := wholeCompany(ctx, byName)
	page, err := byName.Page(ctx, staff, "Jones", table.Query[Employee]{Limit: 1}, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Entities), page.Token != "")
	// Output: 1 true
}
