// Package materializedview counts and lists all employees of a company, who are stored by department.
package materializedview

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	Name       string
	Phone      string
}

// Member is what the view contains of an employee. All members are in one partition.
type Member struct {
	ID         int
	Department string
	Name       string
}

const everybody = "company"

var (
	dept   = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid  = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	member = keys.Row(keys.Digits[int](6).Named("member"), func(m *Member) *int { return &m.ID })
	heads  = index.NewSummary("heads", keys.Text(), func(m *Member) (string, bool) { return m.Department, true }, nil)
)

func memberOf(e *Employee, _ keys.Key) (Member, bool) {
	return Member{ID: e.ID, Department: e.Department, Name: e.Name}, true
}

// Company is the employees, and the view of them. Each write of Employees that changes the view takes 2 requests more, for a message. The
// view follows a moment later.
type Company struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
	members   *table.Table[Member]
}

// Open declares both tables. Call Ensure of the result when the program starts, and Run in one program, which keeps the view.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	s := aztablekit.Open(acc, "company", o)
	members := aztablekit.Table(s, "company", keys.OnePartition[Member](everybody), member, heads)
	view := materialized.New("members", members, memberOf)
	return &Company{s, aztablekit.Table(s, "staff", dept, empid, view), members}
}

// Departments yields the number of employees of each department. 1 request for each 1,000 departments.
func (c *Company) Departments(ctx context.Context) iter.Seq2[*index.Group[string], error] {
	return heads.All(ctx, c.members, keys.RawPartition(everybody))
}

// Members yields the employees of all departments in the order of their IDs. 1 request for each 1,000.
func (c *Company) Members(ctx context.Context) iter.Seq2[*table.Entity[Member], error] {
	return c.members.List(ctx, table.Query[Member]{Partition: keys.RawPartition(everybody)})
}
