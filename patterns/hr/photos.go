package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// moveAttempts is how often move starts again after a concurrent write of the employee.
const moveAttempts = 5

// errBusy: concurrent writers changed the employee at each attempt of a move. The employee has not moved.
var errBusy = errors.New("concurrent writers changed the employee at each attempt of the move")

// setPhoto stores a photo of any size, and then the employee's link to it. The read at the beginning refuses the photo of an unknown
// employee before it is uploaded. If the program crashes between upload and update, largeentity.Sweep deletes the photo.
func (c *company) setPhoto(ctx context.Context, k keys.Key, r io.Reader, contentType string) (*table.Entity[Employee], error) {
	if _, err := c.staff.Get(ctx, k); err != nil {
		return nil, err
	}
	photo, err := c.photos.Upload(ctx, k, r, &largeentity.UploadOptions{ContentType: contentType})
	if err != nil {
		return nil, err
	}
	return c.staff.Update(ctx, k, func(e *Employee) error {
		e.Photo = photo
		return nil
	})
}

// photo opens the photo of an employee. Close the reader.
func (c *company) photo(ctx context.Context, k keys.Key) (io.ReadCloser, *table.Entity[Employee], error) {
	return largeentity.Open(ctx, c.staff, c.photos, k, func(e *Employee) largeentity.Blob { return e.Photo })
}

// move moves an employee to another department. A blob belongs to a partition, so the photo is copied first. A concurrent write of the
// employee refuses the move, or replaces the photo before it is copied; then move reads the employee again. Sweep deletes the copies
// that no employee has.
func (c *company) move(ctx context.Context, k keys.Key, department string) (*table.Entity[Employee], error) {
	var err error
	for range moveAttempts {
		var e *table.Entity[Employee]
		if e, err = c.staff.Get(ctx, k); err != nil || e.Value.Department == department {
			return e, err
		}
		if err = c.moveOnce(ctx, e, department); err == nil {
			return e, nil
		}
		if !errors.Is(err, table.ErrChanged) && !errors.Is(err, largeentity.ErrBlobNotFound) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %w", errBusy, err)
}

func (c *company) moveOnce(ctx context.Context, e *table.Entity[Employee], department string) (err error) {
	e.Value.Department = department
	e.Value.Photo, err = c.photos.Copy(ctx, c.staff.Key(e.Value), e.Value.Photo)
	if err != nil {
		return err
	}
	return c.staff.Move(ctx, e)
}
