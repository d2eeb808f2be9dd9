package extend_test

import (
	"context"
	"fmt"
	"path"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// named is a definition: the copies of [byName], and a table of its own that the store creates.
type named struct{ notes *table.Table[table.Row] }

func (*named) Name() string { return "name" }

func (n *named) Define(d *extend.Declaration[employee]) error {
	h := d.Host()
	var err error
	if n.notes, err = extend.NewTable(h, "notes", table.Schema[table.Row]{}, nil); err != nil {
		return err
	}
	err = d.Needs(func(*table.Table[employee]) (extend.Parts, error) {
		return extend.Parts{Tables: []string{h.TableName("notes")}, Ensure: []extend.Task{{Name: "table notes", Do: func(ctx context.Context) error { return extend.EnsureTable(ctx, n.notes) }}}}, nil
	})
	if err != nil {
		return err
	}
	return d.Attach(func(t *table.Table[employee]) (*table.Table[employee], error) { return extend.With(t, byName{}) })
}

// A definition of a program's own stands among those of the library.
func ExampleDefinition() {
	ctx := context.Background()
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", nil)
	dept := keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6), func(e *employee) *int { return &e.ID }).Named("empid")
	staff := aztablekit.Table(company, "staff", dept, empid, &named{})
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	for _, row := range service.Rows("staff") {
		fmt.Println(row.RowKey)
	}
	fmt.Println(service.TableNames())
	// Output:
	// empid_000001
	// name_Jones
	// ~c
	// [companywork notes staff]
}

// A thing of a store that belongs to no table, such as a log, adds what it needs, or says what is wrong.
func ExampleHost() {
	queueOf := func(s extend.Store, name string) (string, error) {
		h := extend.HostOf(s)
		var wrong error
		if name == "" {
			wrong = &table.ValueError{Field: "name", Reason: "is empty"}
		}
		create := func(ctx context.Context) error {
			_, err := h.Account.Queue(h.LowerName(name)).Create(ctx, nil)
			return err
		}
		return h.LowerName(name), h.Declare("queue "+name, extend.Parts{Ensure: []extend.Task{{Name: "queue " + name, Do: create}}}, wrong)
	}
	service := storagetest.New(nil)
	store := aztablekit.Open(service, "company", &aztablekit.Options{Prefix: "Test"})
	fmt.Println(queueOf(store, "mail"))
	fmt.Println(store.Ensure(context.Background()), service.QueueNames())
	fmt.Println(queueOf(store, "print"))
	_, err := queueOf(aztablekit.Open(service, "company", nil), "")
	fmt.Println(err)
	// Output:
	// testmail <nil>
	// <nil> [testmail]
	// testprint queue print: the declaration is too late: declare everything before Ensure, Run and the other methods of the store
	// name is empty
}

// A thing that stores blobs.
func ExampleHost_Container() {
	company := aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Prefix: "Test"})
	photos, err := company.Host().Container("photos")
	check(err)
	fmt.Println(path.Base(photos.URL()))
	// Output: testphotos
}

// A test of a definition needs no store.
func ExampleNewDeclaration() {
	base, memory := openStaff()
	d := extend.NewDeclaration(&extend.Host{Tables: memory.Tables()}, base)
	check((&named{}).Define(d))
	staff, parts, err := d.Declared()
	check(err)
	fmt.Println(staff.Name(), parts[0].Ensure[0].Name)
	// Output: staff table notes
}
