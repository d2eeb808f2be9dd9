package extend_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// farewells writes a letter for each employee who leaves, unless the contract has ended by itself (package expire).
type farewells struct{}

func (farewells) Name() string { return "farewells" }
func (farewells) MaxRows() int { return 0 }

func (farewells) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.Old == nil {
		c.Incarnation() // the first call stores it with the entity
	}
	if c.New == nil && !c.Expired() {
		p.Effect("farewell", 1, fmt.Appendf(nil, "%s (%d)", c.Old.Last, len(c.Incarnation())))
	}
	return nil
}

// Define adds the maintainer, and the handler that the workers of the store call.
func (f farewells) Define(d *extend.Declaration[employee]) error {
	if err := d.Maintain(f); err != nil {
		return err
	}
	return d.Handle(extend.Handler{Kind: "farewell", Handle: func(_ context.Context, j extend.Job) error {
		fmt.Printf("%s of %s: dear %s\n", j.Kind, j.Key, j.Payload)
		return nil
	}})
}

// Effects are work outside the partition. They are stored with the write, and executed once it is committed.
func ExamplePlan_Effect() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, farewells{})
	check(company.Ensure(ctx))
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	check(staff.Delete(ctx, jones))
	check(company.Drain(ctx)) // a server calls Run
	// Output: farewell of ('Sales','empid_000001'): dear Jones (16)
}

// Another process has crashed, or has not found out whether its write was committed.
func ExampleResolve() {
	ctx := context.Background()
	memory := storagetest.New(nil)
	company := aztablekit.Open(memory, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid).Exact()
	check(company.Ensure(ctx))
	memory.SetFaults(storagetest.When(func(storagetest.Request) bool { return true }, storagetest.LostResponse()))
	ending, cancel := context.WithCancel(ctx)
	cancel()
	_, err := staff.Insert(ending, &employee{"Sales", 1, "Jones", 44})
	memory.SetFaults(nil)
	var unknown *table.UnknownError
	if errors.As(err, &unknown) {
		fmt.Println(extend.Resolve(ctx, staff, keys.RawPartition(unknown.Partition), unknown.OperationID))
	}
	fmt.Println(errors.Is(err, context.Canceled))
	// Output: true
}

// TestDeclaration: what a declaration cannot have is refused, and a nil or zero declaration is not used.
func TestDeclaration(t *testing.T) {
	t.Parallel()
	var wrong *table.ValueError
	none := &extend.Declaration[employee]{}
	nothing := extend.Handler{Handle: func(context.Context, extend.Job) error { return nil }}
	for what, err := range map[string]error{
		"a handler without a kind":       none.Handle(nothing),
		"a handler without a function":   none.Handle(extend.Handler{Kind: "letter"}),
		"a maintainer of no declaration": none.Maintain(farewells{}),
		"no declaration":                 (*extend.Declaration[employee])(nil).Maintain(farewells{}),
		"no definition":                  none.Add(nil),
	} {
		if !errors.As(err, &wrong) {
			t.Errorf("%s: got %v; want a *ValueError", what, err)
		}
	}
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	aztablekit.Table(s, "staff", dept, empid, maintained{unnamed{}})
	testkit.Expect(t, "a maintainer without a name is refused", errors.As(s.Err(), &wrong), true)
}

// unnamed is a maintainer without a name, of a definition that has one.
type unnamed struct{ farewells }

func (unnamed) Name() string { return "" }
