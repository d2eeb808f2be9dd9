// Package indexentitieselsewhere lists the employees of a last name over all departments, by pointers or from a blob for each name, and
// those of one department.
package indexentitieselsewhere

import (
	"context"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	// A row for each name, in the partition of the employees. It changes in the transaction of an employee.
	inDepartment = index.NewLists("name", keys.Text(), lastName, nil)
	// A pointer for each employee, in a table of its own, those of one name in one partition.
	everywhere = index.NewGlobal("details", keys.Text(), lastName, &index.GlobalOptions{Table: "EmployeeDetails"}).Only()
)

func lastName(e *Employee) (string, bool) { return e.LastName, e.LastName != "" }

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
	blobs     *container.Client // a blob for each name; a worker changes it a moment later
}

// Open declares the table of the employees. blobs is the container of the names, which nothing else
// writes. Call Ensure of the result when the program starts, and Run in one program.
func Open(acc aztablekit.Account, blobs *container.Client, o *aztablekit.Options) *Staff {
	s := &Staff{Store: aztablekit.Open(acc, "company", o), blobs: blobs}
	s.Employees = aztablekit.Table(s.Store, "staff", dept, empid, inDepartment, everywhere, eventual.On("names", renamed, s.writeBlobs))
	return s
}

// Ensure creates what does not exist: tables, queues, and the container of the blobs.
func (s *Staff) Ensure(ctx context.Context) error {
	_, err := s.blobs.Create(ctx, nil)
	if err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return err
	}
	return s.Store.Ensure(ctx)
}

// DepartmentKeys returns the keys of the employees of a last name in a department. 1 request.
func (s *Staff) DepartmentKeys(ctx context.Context, department, name string) ([]keys.Key, error) {
	return inDepartment.Keys(ctx, s.Employees, dept.Of(department), name)
}

// Keys returns the keys of the employees of a last name in all departments; also of one who gets the name, or gives it up, at this moment.
// 1 request for each 1,000.
func (s *Staff) Keys(ctx context.Context, name string) ([]keys.Key, error) {
	return table.Collect(everywhere.Keys(ctx, s.Employees, name, table.Query[Employee]{}))
}

// List yields the employees of a last name in all departments, in the order of their keys. 1 request for each 1,000, and 1 for
// each employee, 10 at a time.
func (s *Staff) List(ctx context.Context, name string) iter.Seq2[*table.Entity[Employee], error] {
	return everywhere.List(ctx, s.Employees, name)
}
