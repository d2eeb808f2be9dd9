package lease_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// saving is an entity of the examples.
type saving struct {
	Department string
	Number     int
	Balance    int64
}

// payday says that a department has got its interest for a day.
type payday struct{ Department, Date string }

var (
	dept   = keys.Partition(keys.Text(), func(a *saving) *string { return &a.Department })
	number = keys.Row(keys.Digits[int](6), func(a *saving) *int { return &a.Number })

	paidBy = keys.Partition(keys.Text(), func(p *payday) *string { return &p.Department })
	paidOn = keys.Row(keys.Text(), func(p *payday) *string { return &p.Date })
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// office is a program of an example.
type office struct {
	leases   *lease.Leases
	accounts *table.Table[saving]
	days     *table.Table[payday]
}

// openOffice opens the store of a program.
func openOffice(service *storagetest.Service, owner string) *office {
	company := aztablekit.Open(service, "company", &aztablekit.Options{Daily: -1})
	o := &office{
		leases:   lease.New(company, "leases", &lease.Options{Owner: owner}),
		accounts: aztablekit.Table(company, "accounts", dept, number),
		days:     aztablekit.Table(company, "days", paidBy, paidOn),
	}
	check(company.Ensure(context.Background()))
	return o
}

// One program at a time pays interest. The writes of a program that is not the last one are refused.
func Example() {
	ctx := context.Background()
	o := openOffice(storagetest.New(nil), "machine 1")
	_, err := o.accounts.Insert(ctx, &saving{"Sales", 1, 100})
	check(err)
	err = o.leases.Elect(ctx, "interest", func(ctx context.Context, held *lease.Lease) error {
		sales, err := held.In(ctx, o.accounts, dept.Of("Sales"))
		if err != nil {
			return err
		}
		for a, err := range o.accounts.List(ctx, table.Query[saving]{Partition: dept.Of("Sales")}) {
			if err != nil {
				return err
			}
			a.Value.Balance += a.Value.Balance / 50
			if _, err := table.Transact(ctx, sales.Guard(), o.accounts.ReplaceOp(a)); err != nil {
				return err
			}
			fmt.Println("paid with fence", held.Fence(), "and now", a.Value.Balance)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// paid with fence 1 and now 102
	// <nil>
}

// Leases are declared in a store, whose Ensure creates their table.
func ExampleNew() {
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", nil)
	leases := lease.New(company, "leases", &lease.Options{TTL: 30 * time.Second})
	check(company.Ensure(context.Background()))
	held, err := leases.Acquire(context.Background(), "invoices")
	fmt.Println(held.Name(), err, service.TableNames())
	// Output: invoices <nil> [companywork leases]
}

// Acquire does not wait: another program has the lease.
func ExampleLeases_Acquire() {
	ctx := context.Background()
	service := storagetest.New(nil)
	one, two := openOffice(service, "machine 1"), openOffice(service, "machine 2")
	held, err := one.leases.Acquire(ctx, "invoices")
	check(err)
	_, err = two.leases.Acquire(ctx, "invoices")
	var other *lease.HeldError
	if errors.As(err, &other) {
		fmt.Println(other.Owner, "has it, with fence", other.Fence)
	}
	check(held.Release(ctx))
	held, err = two.leases.Acquire(ctx, "invoices")
	check(err)
	fmt.Println("then machine 2, with fence", held.Fence())
	// Output:
	// machine 1 has it, with fence 1
	// then machine 2, with fence 2
}

// The context of the function ends when the lease is lost, or when the context of the call ends.
func ExampleLeases_Elect() {
	ctx, cancel := context.WithCancel(context.Background())
	o := openOffice(storagetest.New(nil), "machine 1")
	err := o.leases.Elect(ctx, "invoices", func(ctx context.Context, held *lease.Lease) error {
		fmt.Println("leader, with fence", held.Fence())
		cancel() // the program is to end
		<-ctx.Done()
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// leader, with fence 1
	// context canceled
}

// Two machines begin a job, which is done once: a row says so.
func ExampleLeases_Try() {
	ctx := context.Background()
	service := storagetest.New(nil)
	for _, machine := range []string{"machine 1", "machine 2"} {
		o := openOffice(service, machine)
		err := o.leases.Try(ctx, "interest", func(ctx context.Context, held *lease.Lease) error {
			sales, err := held.In(ctx, o.days, paidBy.Of("Sales"))
			if err != nil {
				return err
			}
			_, err = o.days.Get(ctx, keys.At(paidBy.Of("Sales"), paidOn.Of("2026-11-30")))
			if !errors.Is(err, table.ErrNotFound) {
				return err // nil: another machine has done it
			}
			fmt.Println(machine, "pays interest")
			_, err = table.Transact(ctx, sales.Guard(), o.days.InsertOp(&payday{"Sales", "2026-11-30"}))
			return err
		})
		if errors.As(err, new(*lease.HeldError)) {
			err = nil // another machine is doing it
		}
		check(err)
	}
	// Output: machine 1 pays interest
}

// A holder renews its lease before it ends. Elect does so by itself.
func ExampleLease_Renew() {
	ctx := context.Background()
	held, err := openOffice(storagetest.New(nil), "machine 1").leases.Acquire(ctx, "invoices")
	check(err)
	before := held.Until()
	time.Sleep(time.Millisecond)
	check(held.Renew(ctx))
	fmt.Println(held.Until().After(before))
	// Output: true
}

// A released lease is not believed in any more.
func ExampleLease_Release() {
	ctx := context.Background()
	held, err := openOffice(storagetest.New(nil), "machine 1").leases.Acquire(ctx, "invoices")
	check(err)
	fmt.Println(held.Err())
	check(held.Release(ctx))
	fmt.Println(errors.Is(held.Err(), lease.ErrLost))
	// Output:
	// <nil>
	// true
}

// A holder enters a partition, and thereby shuts the holder before it out.
func ExampleLease_In() {
	ctx := context.Background()
	service := storagetest.New(nil)
	one, two := openOffice(service, "machine 1"), openOffice(service, "machine 2")
	first, err := one.leases.Acquire(ctx, "interest")
	check(err)
	sales, err := first.In(ctx, one.accounts, dept.Of("Sales"))
	check(err)
	_, err = table.Transact(ctx, sales.Guard(), one.accounts.InsertOp(&saving{"Sales", 1, 100}))
	check(err)
	check(first.Release(ctx))

	second, err := two.leases.Acquire(ctx, "interest")
	check(err)
	_, err = second.In(ctx, two.accounts, dept.Of("Sales"))
	check(err)
	for _, row := range service.Rows("accounts") {
		fmt.Println(row.RowKey)
	}
	// Output:
	// 000001
	// ~h|interest|0000000000000000002
	// ~h|interest|head
	// ~c
}

// A guard makes a transaction that of a holder. Storage refuses it once another holder has entered the partition; and after the holder has released its lease, it is not sent.
func ExamplePartition_Guard() {
	ctx := context.Background()
	o := openOffice(storagetest.New(nil), "machine 1")
	held, err := o.leases.Acquire(ctx, "interest")
	check(err)
	sales, err := held.In(ctx, o.accounts, dept.Of("Sales"))
	check(err)
	_, err = table.Transact(ctx, sales.Guard(), o.accounts.InsertOp(&saving{"Sales", 1, 100}))
	check(err)
	check(held.Release(ctx))
	_, err = table.Transact(ctx, sales.Guard(), o.accounts.InsertOp(&saving{"Sales", 2, 100}))
	fmt.Println(errors.Is(err, lease.ErrLost))
	// Output: true
}

// The table of leases was lost. The partition has seen greater fences than its lease, and Raise makes them greater again.
func ExampleLeases_Raise() {
	ctx := context.Background()
	service := storagetest.New(nil)
	o := openOffice(service, "machine 1")
	for range 3 {
		held, err := o.leases.Acquire(ctx, "interest")
		check(err)
		_, err = held.In(ctx, o.accounts, dept.Of("Sales"))
		check(err)
		check(held.Release(ctx))
	}
	_, err := service.Tables().NewClient("leases").DeleteEntity(ctx, "interest", "lease", nil)
	check(err)

	o = openOffice(service, "machine 1")
	held, err := o.leases.Acquire(ctx, "interest")
	check(err)
	_, err = held.In(ctx, o.accounts, dept.Of("Sales"))
	check(held.Release(ctx))
	var restored *lease.RestoredError
	if errors.As(err, &restored) {
		fmt.Println(restored.Fence, restored.Entered)
		check(o.leases.Raise(ctx, "interest", restored.Entered))
	}
	held, err = o.leases.Acquire(ctx, "interest")
	check(err)
	_, err = held.In(ctx, o.accounts, dept.Of("Sales"))
	fmt.Println(held.Fence(), err)
	// Output:
	// 1 3
	// 5 <nil>
}
