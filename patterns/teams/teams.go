// Package teams counts the employees of each team of a department, and adds up their salaries, in one row for each team.
package teams

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	Team       string
	Salary     int64 // in cents
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	byTeam = index.NewSummary("team", keys.Text(), func(e *Employee) (string, bool) { return e.Team, true }, nil,
		index.Measure[Employee]{Name: "Salary", Of: func(e *Employee) (int64, bool) { return e.Salary, e.Salary > 0 }})
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee] // a write that changes a team or a salary reads the row of the team first, 1 request more
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, byTeam)}
}

// Team returns the Count of the members of a team, and the statistics of their salaries in Measures, under Salary. 1 request.
func (s *Staff) Team(ctx context.Context, department, team string) (*index.Group[string], error) {
	return byTeam.Get(ctx, s.Employees, dept.Of(department), team)
}

// Teams yields all teams of a department that have members, in the order of their names, as Team returns them. 1 request for each 1,000.
func (s *Staff) Teams(ctx context.Context, department string) iter.Seq2[*index.Group[string], error] {
	return byTeam.All(ctx, s.Employees, dept.Of(department))
}
