package largeentity_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// Photos of employees, which the store sweeps each day.
func ExampleIn() {
	ctx := context.Background()
	dept := keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	photos := largeentity.In[employee]("photos", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, photos)
	check(company.Ensure(ctx))

	k := keys.At(dept.Of("Sales"), empid.Of(1))
	photo, err := photos.Upload(ctx, staff, k, strings.NewReader(strings.Repeat("x", 100_000)), "")
	check(err)
	_, err = staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: "Jones", Photo: photo})
	check(err)
	r, e, err := photos.OpenAt(ctx, staff, k, func(e *employee) largeentity.Blob { return e.Photo })
	check(err)
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	check(err)
	fmt.Println(e.Value.Last, n)

	swept, err := photos.Sweep(ctx, staff, &table.Pass{DryRun: true}) // company.RunDaily sweeps
	check(err)
	checked, err := company.Verify(ctx, nil)
	check(err)
	fmt.Println(swept.Counts["linked"], checked.Faults == 0)
	// Output:
	// Jones 100000
	// 1 true
}
