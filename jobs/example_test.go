package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// Employee is what the examples store.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Salary     int
	Left       time.Time // zero for an employee of today
	Photo      largeentity.Blob
}

var (
	department = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	employeeID = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
	salary     = table.FieldOf(func(e *Employee) *int { return &e.Salary })
	left       = table.FieldOf(func(e *Employee) *time.Time { return &e.Left })
)

// company returns a store with some employees, and with what an example declares.
func company(ctx context.Context, definitions ...aztablekit.Definition[Employee]) (*aztablekit.Store, *table.Table[Employee]) {
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(s, "staff", department, employeeID, definitions...)
	if err := s.Ensure(ctx); err != nil {
		fmt.Println(err)
	}
	for id := range 4 {
		e := &Employee{Department: []string{"Sales", "Travel"}[id%2], ID: id, LastName: "Jones", Salary: 1000}
		if id == 3 {
			e.Left = time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC)
		}
		if _, err := staff.Insert(ctx, e); err != nil {
			fmt.Println(err)
		}
	}
	return s, staff
}

// work executes jobs until nothing is left: what Store.Run does in the programs of workers.
func work(ctx context.Context, s *aztablekit.Store) {
	if err := s.Drain(ctx); err != nil {
		fmt.Println(err)
	}
}

// A page may be worked on twice, so its work must be idempotent: a least salary, and not a raise.
func ExampleRows() {
	ctx := context.Background()
	pay := jobs.Rows("pay", nil, func(ctx context.Context, s *jobs.Slice[Employee], page []*table.Entity[Employee], atLeast int) error {
		result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for _, e := range page {
				if e.Value.Salary < atLeast && !yield(s.Table.MergeOp(e, salary.Set(atLeast)), nil) {
					return
				}
			}
		}, nil)
		s.Count(0, result.Applied, 0)
		return err
	})
	s, staff := company(ctx, pay)
	fmt.Println(pay.Start(ctx, staff, "2026", 1500, nil))
	work(ctx, s)
	status, err := pay.Status(ctx, staff, "2026")
	fmt.Println(status.State, status.Rows, status.Changed, err)
	// Output:
	// <nil>
	// finished 4 4 <nil>
}

func ExampleDelete() {
	ctx := context.Background()
	forget := jobs.Delete("forget", func(before time.Time) table.Query[Employee] {
		return table.Query[Employee]{Where: table.And(left.IsSet(), left.Lt(before))}
	})
	s, staff := company(ctx, forget)
	fmt.Println(forget.Start(ctx, staff, "2026", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil))
	work(ctx, s)
	fmt.Println(staff.Count(ctx, table.Query[Employee]{TableScan: true}))
	// Output:
	// <nil>
	// 3 <nil>
}

func ExampleArchive() {
	ctx := context.Background()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	former := archive.Into[Employee]("former", archive.ToTable("former", nil))
	retire := jobs.Archive("retire", former, func(before time.Time) table.Query[Employee] {
		return table.Query[Employee]{Where: table.And(left.IsSet(), left.Lt(before))}
	})
	staff := aztablekit.Table(s, "staff", department, employeeID, former, retire)
	fmt.Println(s.Ensure(ctx))
	_, err := staff.Insert(ctx, &Employee{Department: "Sales", ID: 1, Left: time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC)})
	fmt.Println(err, retire.Start(ctx, staff, "2026", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil))
	work(ctx, s)
	_, archived, err := former.Find(ctx, staff, keys.At(department.Of("Sales"), employeeID.Of(1)))
	fmt.Println(archived, err)
	// Output:
	// <nil>
	// <nil> <nil>
	// true <nil>
}

// The rows of an index are compared by all workers, and repaired.
func ExampleRepair() {
	ctx := context.Background()
	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil)
	check := jobs.Repair[Employee]("check")
	s, staff := company(ctx, byName, check)
	fmt.Println(check.Start(ctx, staff, "week 48", jobs.Verification{}, nil))
	work(ctx, s)
	status, err := check.Status(ctx, staff, "week 48")
	fmt.Println(status.State, status.Rows, status.Faults, err)
	// Output:
	// <nil>
	// finished 4 0 <nil>
}

func ExampleUpgrade() {
	ctx := context.Background()
	upgrade := jobs.Upgrade[Employee]("upgrade", nil)
	schema := table.Schema[Employee]{Version: 1, Upgrade: map[int]func(*table.Row) error{}}
	s, staff := company(ctx, &aztablekit.Settings[Employee]{Schema: schema}, upgrade)
	fmt.Println(upgrade.Start(ctx, staff, "version 1", struct{}{}, nil))
	work(ctx, s)
	status, err := upgrade.Status(ctx, staff, "version 1")
	fmt.Println(status.State, status.Rows, status.Changed, err)
	// Output:
	// <nil>
	// finished 4 0 <nil>
}

// Blobs that no entity has are looked for partition by partition.
func ExampleNew() {
	ctx := context.Background()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	photos := largeentity.In[Employee]("photos", nil)
	sweep := jobs.New("sweep", func(ctx context.Context, slice *jobs.Slice[Employee], _ struct{}) error {
		for department, err := range slice.Table.Partitions(ctx, slice.Partitions) {
			if err != nil {
				return err
			}
			report, err := photos.Sweep(ctx, slice.Table, &table.Pass{Partitions: department.Point()})
			if err != nil {
				return err
			}
			slice.Count(report.Counts["blobs"], report.Changed, report.Faults)
			if err := slice.Passed(ctx, department); err != nil {
				return err
			}
		}
		return nil
	})
	staff := aztablekit.Table(s, "staff", department, employeeID, photos, sweep)
	fmt.Println(s.Ensure(ctx))
	photo, err := photos.Upload(ctx, staff, keys.At(department.Of("Sales"), employeeID.Of(1)), strings.NewReader(strings.Repeat("x", 100_000)), "")
	fmt.Println(err)
	_, err = staff.Insert(ctx, &Employee{Department: "Sales", ID: 1, Photo: photo})
	fmt.Println(err, sweep.Start(ctx, staff, "today", struct{}{}, &jobs.Options{Slice: 30 * time.Second}))
	work(ctx, s)
	status, err := sweep.Status(ctx, staff, "today")
	fmt.Println(status.State, status.Rows, status.Changed, err)
	// Output:
	// <nil>
	// <nil>
	// <nil> <nil>
	// finished 1 0 <nil>
}

func ExampleJob_Cancel() {
	ctx := context.Background()
	check := jobs.Repair[Employee]("check")
	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil)
	s, staff := company(ctx, byName, check)
	fmt.Println(check.Start(ctx, staff, "week 48", jobs.Verification{}, nil))
	fmt.Println(check.Cancel(ctx, staff, "week 48"))
	work(ctx, s)
	status, err := check.Status(ctx, staff, "week 48")
	fmt.Println(status.State, status.Rows, err)
	fmt.Println(check.Delete(ctx, staff, "week 48"))
	// Output:
	// <nil>
	// <nil>
	// canceled 0 <nil>
	// <nil>
}

// A tool shows and cancels the jobs of a table without their declaration.
func ExampleList() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	raise := jobs.Rows("raise", nil, func(context.Context, *jobs.Slice[Employee], []*table.Entity[Employee], int) error { return nil })
	company := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(company, "staff", department, employeeID, raise)
	if err := company.Ensure(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if err := raise.Start(ctx, staff, "2026", 100, nil); err != nil {
		fmt.Println(err)
		return
	}
	tool := aztablekit.Open(acc, "tool", nil) // declares nothing
	if err := jobs.Cancel(ctx, tool, "staff", "raise", "2026"); err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range jobs.List(ctx, tool, "staff") {
		fmt.Println(s.Kind, s.Name, s.State, err)
	}
	// Output: raise 2026 canceled <nil>
}

// Workers share a backup of a large table. On several machines, its place is a container.
func ExampleExport() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "backup")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	at := func(job string) transfer.Place { return transfer.Folder(filepath.Join(folder, job)) }
	backup := jobs.Export[Employee]("backup", at)
	s, staff := company(ctx, backup)
	if err := backup.Start(ctx, staff, "2026-11-28", struct{}{}, nil); err != nil {
		fmt.Println(err)
		return
	}
	work(ctx, s)
	status, err := backup.Status(ctx, staff, "2026-11-28")
	fmt.Println(status.State, status.Rows, err) // the employees, and the row of the definitions
	for d, err := range transfer.Compare(ctx, transfer.Exported(at("2026-11-28")), transfer.Of(staff), nil) {
		fmt.Println(d, err) // none
	}
	// Output: finished 5 <nil>
}
