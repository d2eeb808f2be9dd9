// Package headcount counts the employees of all departments of a company, several departments at the same time.
package headcount

import (
	"context"
	"iter"
	"sync"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	Age        int32
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })

	age = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid)}
}

// Hire stores new employees of one department, all or none, at most 100. It fails with table.ErrExists if an employee exists. 1 request, 2 more for
// a refusal.
func (s *Staff) Hire(ctx context.Context, all ...Employee) error {
	var ops []table.Op
	for _, e := range all {
		ops = append(ops, s.Employees.InsertOp(&e))
	}
	_, err := table.Transact(ctx, ops...)
	return err
}

// Departments yields the names of the departments. It reads no employees. 1 request for each department, and 1 more.
func (s *Staff) Departments(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for partition, err := range s.Employees.Partitions(ctx, keys.PartitionRange{}) {
			var name string
			if err == nil {
				name, err = dept.Decode(partition)
			}
			if !yield(name, err) || err != nil {
				return
			}
		}
	}
}

// Count returns how many employees from an age on each department has, and counts in 10 departments at the same time. 2 requests for each
// department, 1 more for each further 1,000 employees, and 1 more in all.
func (s *Staff) Count(ctx context.Context, from int32) (map[string]int, error) {
	var mu sync.Mutex
	found := map[string]int{}
	_, err := table.EachPartition(ctx, s.Employees, nil, func(ctx context.Context, partition keys.PartitionKey) error {
		name, err := dept.Decode(partition)
		if err != nil {
			return err
		}
		n, err := s.Employees.Count(ctx, table.Query[Employee]{Partition: partition, Where: age.Ge(from)})
		mu.Lock()
		defer mu.Unlock()
		found[name] = n
		return err
	})
	return found, err
}
