package verify_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

type Employee struct {
	Department string
	ID         int
	Age        int
}

var dept = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })

var empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

// newStaff returns a table of three employees with definitions, on a service in memory.
func newStaff(ctx context.Context, s *storagetest.Service, definitions ...aztablekit.Definition[Employee]) *table.Table[Employee] {
	company := aztablekit.Open(s, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, definitions...)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, e := range []Employee{{"Sales", 152, 38}, {"Sales", 223, 44}, {"Sales", 300, 51}} {
		if _, err := staff.Insert(ctx, &e); err != nil {
			log.Fatal(err)
		}
	}
	return staff
}

// deleteRow deletes a row, as a program without this library may do.
func deleteRow(ctx context.Context, s *storagetest.Service, rowKey string) {
	if _, err := s.Tables().NewClient("staff").DeleteEntity(ctx, "Sales", rowKey, nil); err != nil {
		log.Fatal(err)
	}
}

// Rows that entities lack are added. A store fills a new index by this; see aztablekit.Store.Fill.
func ExampleRun() {
	ctx := context.Background()
	byAge := index.New("age", keys.Digits[int](3), func(e *Employee) (int, bool) { return e.Age, true }, nil)
	s := storagetest.New(nil)
	staff := newStaff(ctx, s, byAge)
	deleteRow(ctx, s, "age_051_empid_000300")
	report, err := verify.Run(ctx, staff, &verify.Options{Repair: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Faults, "repaired:", report.Repaired, "sound:", report.Sound())
	for e, err := range byAge.Between(ctx, staff, dept.Of("Sales"), 40, 60) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID)
	}
	// Output:
	// map[missing:1] repaired: 1 sound: true
	// 223
	// 300
}

// Each fault, with its kind and its row; nothing is written.
func ExampleOptions() {
	ctx := context.Background()
	byAge := index.New("age", keys.Digits[int](3), func(e *Employee) (int, bool) { return e.Age, e.Age > 50 }, nil)
	s := storagetest.New(nil)
	staff := newStaff(ctx, s, byAge)
	deleteRow(ctx, s, "age_051_empid_000300")
	_, err := verify.Run(ctx, staff, &verify.Options{
		Partitions: dept.Of("Sales").Point(),
		Fault:      func(f verify.Fault) { fmt.Println(f.Definition, f.Kind, f.Row, f.Entity) },
	}, byAge)
	fmt.Println(err)
	// Output:
	// age missing ('Sales','age_051_empid_000300') ('Sales','empid_000300')
	// <nil>
}

var badge = keys.Text().Named("badge")

func badgeOf(employee keys.Key) keys.Key {
	return keys.At(employee.Partition(), badge.RowKey(employee.RowKey()))
}

// badges is a maintainer of the program's own. It keeps a copy of each employee under another key.
type badges struct{}

func (badges) Name() string { return "badge" }
func (badges) MaxRows() int { return 1 }

func (badges) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[Employee]) error {
	row, err := c.Row()
	if err != nil {
		return err
	}
	if row == nil {
		return p.Remove(badgeOf(c.Key).Row())
	}
	return p.Put(row.Copy(badgeOf(c.Key)))
}

func (badges) Definition() any { return badges{} }

func (badges) Compare(ctx context.Context, s *verify.Session[Employee]) (verify.Comparison[Employee], error) {
	c := &badgeComparison{session: s, rest: map[keys.Key]bool{}}
	if !s.Whole() {
		return c, nil // Entity reads the badges
	}
	for row, err := range s.Table().Rows(ctx, table.Query[Employee]{Rows: badge.Rows().All(), TableScan: true}) {
		if err == nil {
			err = s.Spend(ctx, 1)
		}
		if err != nil {
			return nil, err
		}
		c.rest[row.Key] = true
		s.Count(verify.Report{Rows: 1})
	}
	return c, nil
}

// badgeComparison compares employees with their badges.
type badgeComparison struct {
	session *verify.Session[Employee]

	mu   sync.Mutex
	rest map[keys.Key]bool // badges of no employee so far
}

// take reports whether an employee has a badge.
func (c *badgeComparison) take(employee keys.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.rest[badgeOf(employee)]
	delete(c.rest, badgeOf(employee))
	return has
}

// has reports whether there is a badge.
func (c *badgeComparison) has(ctx context.Context, badge keys.Key) (bool, error) {
	q := table.Query[Employee]{Partition: badge.Partition(), Rows: badge.Row().Point()}
	rows, err := table.Collect(c.session.Table().Rows(ctx, q))
	return len(rows) > 0, err
}

func (c *badgeComparison) Entity(ctx context.Context, e *table.Entity[Employee], _ *table.Row) error {
	if c.take(e.Key) || c.session.RecordsOnly() { // no employee records a badge
		return nil
	}
	if !c.session.Whole() { // Compare has read nothing
		if has, err := c.has(ctx, badgeOf(e.Key)); has || err != nil {
			return err
		}
	}
	return c.session.Confirm(ctx, 5, func() (changed bool, err error) {
		now, err := c.session.Table().Get(ctx, e.Key)
		if errors.Is(err, table.ErrNotFound) {
			return false, nil // deleted meanwhile
		} else if err != nil {
			return false, err
		}
		f := verify.Fault{Definition: "badge", Kind: verify.Missing, Row: badgeOf(e.Key), Entity: e.Key}
		if has, err := c.has(ctx, f.Row); has || err != nil {
			return false, err
		}
		if c.session.Repair() {
			f.Err = c.session.Table().Replace(ctx, now) // by its ETag
			if errors.Is(f.Err, table.ErrChanged) {
				return true, f.Err
			}
			f.Repaired = f.Err == nil
		}
		c.session.Fault(f)
		return false, nil
	})
}

func (c *badgeComparison) Unreadable(employee keys.Key) { c.take(employee) }

func (c *badgeComparison) Rest(context.Context) error {
	for row := range c.rest {
		if c.session.Contains(row) { // the employee is in the same partition
			c.session.Fault(verify.Fault{Definition: "badge", Kind: verify.Dangling, Row: row})
		}
	}
	return nil
}

// A maintainer of the program's own compares its rows with the entities. Run reads the entities, and reports.
func ExampleComparer() {
	ctx := context.Background()
	staff, err := bare.With(newStaff(ctx, storagetest.New(nil)), badges{})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		report, err := verify.Run(ctx, staff, &verify.Options{Repair: true})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("rows:", report.Rows, report.Faults, "sound:", report.Sound())
	}
	// Output:
	// rows: 0 map[missing:3] sound: true
	// rows: 3 map[] sound: true
}

// The reports of several tables as one.
func ExampleReport_Add() {
	var all verify.Report
	for range 2 {
		all.Add(verify.Report{Rows: 3, Repaired: 1, Faults: map[verify.FaultKind]int{verify.Missing: 1}})
	}
	fmt.Println(all.Rows, all.Faults[verify.Missing], all.Sound())
	// Output: 6 2 true
}
