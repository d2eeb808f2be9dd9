package expire_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// Visit is a visit of a museum, for which a place is reserved until a time.
type Visit struct {
	Museum, Visitor string
	Until           time.Time
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A reservation that ends, is extended, and is used once.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	service := storagetest.New(&storagetest.Options{Now: func() time.Time { return now }})

	museum := keys.Partition(keys.Text(), func(v *Visit) *string { return &v.Museum })
	visitor := keys.Row(keys.Text().Named("visitor"), func(v *Visit) *string { return &v.Visitor })
	ends := expire.At(func(v *Visit) time.Time { return v.Until }, nil)
	told := eventual.On("told", func(c *eventual.Change[Visit]) (string, bool) {
		return c.Key.RowKey(), c.Expired()
	}, func(_ context.Context, _ eventual.Job, who string) error {
		fmt.Println("the reservation is over:", who)
		return nil
	})
	sweeps := ends.Job("sweep") // for a table that outgrows one program
	city := aztablekit.Open(service, "city", &aztablekit.Options{Now: func() time.Time { return now }})
	visits := aztablekit.Table(city, "visits", museum, visitor, ends, told, sweeps)
	check(city.Ensure(ctx))

	for _, who := range []string{"ann", "bob"} {
		_, err := visits.Insert(ctx, &Visit{"louvre", who, now.Add(time.Hour)})
		check(err)
	}
	ann := keys.At(museum.Of("louvre"), visitor.Of("ann"))
	longer := func(v *Visit) error { v.Until = v.Until.Add(2 * time.Hour); return nil }
	_, err := ends.Extend(ctx, visits, ann, longer)
	check(err)

	now = now.Add(2 * time.Hour)
	bob := keys.At(museum.Of("louvre"), visitor.Of("bob"))
	_, err = ends.Extend(ctx, visits, bob, longer)
	fmt.Println("bob is late:", errors.Is(err, table.ErrNotFound))

	v, err := ends.Take(ctx, visits, ann)
	check(err)
	fmt.Println(v.Value.Visitor, "comes in")
	_, err = ends.Take(ctx, visits, ann)
	fmt.Println("again:", errors.Is(err, table.ErrNotFound))
	check(city.Drain(ctx))

	_, err = visits.Insert(ctx, &Visit{"louvre", "cy", now.Add(time.Minute)})
	check(err)
	now = now.Add(2 * time.Hour)
	done, err := ends.Sweep(ctx, visits, nil) // the store's RunDaily does it
	check(err)
	fmt.Printf("%s: %d due, %d deleted\n", ends.Name(), done.Rows, done.Changed)
	check(sweeps.Start(ctx, visits, "today", struct{}{}, nil))
	check(city.Drain(ctx))
	// Output:
	// bob is late: true
	// ann comes in
	// again: true
	// the reservation is over: visitor_bob
	// ends: 1 due, 1 deleted
	// the reservation is over: visitor_cy
}
