// Package photos keeps employees with their photos, which are stored in blobs.
package photos

import (
	"context"
	"io"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department. Photo is the name, the length and the hash of a blob, or a small photo itself.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Photo      largeentity.Blob
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	// Photos are the photos of the employees.
	Photos = largeentity.In[Employee]("photos", nil)
)

// Staff is the employees of a company, with their photos.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
}

// Open declares the table of the employees and the container of the photos. Call Ensure of the result when the program starts, and Run in
// one program: each day, it deletes the photos that no employee has, such as that of a program that crashed before it stored the employee.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, Photos)}
}

// Hire stores a new employee with a photo, table.ErrExists if the department has the ID. 1 request for a photo of up to 4 MiB, none for one of
// up to 32 KiB, and 1 transaction.
func (s *Staff) Hire(ctx context.Context, e Employee, photo io.Reader) (err error) {
	if e.Photo, err = s.upload(ctx, s.Employees.Key(e), photo); err != nil {
		return err
	}
	_, err = s.Employees.Insert(ctx, &e)
	return err
}

// SetPhoto gives an employee another photo, and deletes the old one; table.ErrNotFound for no such employee. The requests of Hire, 1 to read
// the employee, and 1 or 2 for the old photo.
func (s *Staff) SetPhoto(ctx context.Context, department string, id int, photo io.Reader) (*table.Entity[Employee], error) {
	k := keys.At(dept.Of(department), empid.Of(id))
	b, err := s.upload(ctx, k, photo)
	if err != nil {
		return nil, err
	}
	return s.Employees.Update(ctx, k, func(e *Employee) error {
		e.Photo = b
		return nil
	})
}

// OpenPhoto opens the photo of an employee; table.ErrNotFound for no such employee, largeentity.ErrNoValue for one without a photo. The reader
// compares length and hash before its end: close it. 2 requests, 1 for a photo of up to 32 KiB.
func (s *Staff) OpenPhoto(ctx context.Context, department string, id int) (io.ReadCloser, *table.Entity[Employee], error) {
	k := keys.At(dept.Of(department), empid.Of(id))
	return Photos.OpenAt(ctx, s.Employees, k, func(e *Employee) largeentity.Blob { return e.Photo })
}

// upload stores a photo for an employee, who has it once the employee is written.
func (s *Staff) upload(ctx context.Context, employee keys.Key, photo io.Reader) (largeentity.Blob, error) {
	return Photos.Upload(ctx, s.Employees, employee, photo, "image/jpeg")
}
