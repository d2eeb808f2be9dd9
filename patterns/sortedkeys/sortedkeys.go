// Package sortedkeys lists the expense claims of an employee, newest first.
package sortedkeys

import (
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Claim is stored by employee. An employee submits one claim at a time.
type Claim struct {
	Employee  string
	Submitted time.Time
	Amount    int32
}

var (
	employee  = keys.Partition(keys.Text(), func(c *Claim) *string { return &c.Employee })
	submitted = keys.Row(keys.Desc(keys.Time()), func(c *Claim) *time.Time { return &c.Submitted }) // Desc: newest first
)

// Company is the claims of its employees.
type Company struct {
	*aztablekit.Store
	Claims *table.Table[Claim]
}

// Open declares the table of the claims. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	s := aztablekit.Open(acc, "company", o)
	return &Company{s, aztablekit.Table(s, "claims", employee, submitted)}
}

// Newest is the query for the n newest claims of an employee, newest first. 1 request for each 1,000.
func Newest(name string, n int) table.Query[Claim] {
	return table.Query[Claim]{Partition: employee.Of(name), Limit: n}
}

// SubmittedSince is the query for the claims of an employee from a time on, newest first. 1 request for each 1,000.
func SubmittedSince(name string, from time.Time) table.Query[Claim] {
	return table.Query[Claim]{Partition: employee.Of(name), Rows: submitted.AtLeast(from)}
}
