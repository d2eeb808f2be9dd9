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

// errBusy: concurrent writers changed the employee at each attempt of a move, or its photo. The employee has not moved.
var errBusy = errors.New("concurrent writers have changed the employee")

// setPhoto stores a photo of any size, and then the employee's link to it. The read at the beginning refuses the photo of an unknown
// employee before it is uploaded. If the program crashes between upload and update, the work of a day deletes the photo.
func (c *company) setPhoto(ctx context.Context, k keys.Key, r io.Reader, contentType string) (*table.Entity[Employee], error) {
	if _, err := c.staff.Get(ctx, k); err != nil {
		return nil, err
	}
	photo, err := photos.Upload(ctx, c.staff, k, r, contentType)
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
	return photos.OpenAt(ctx, c.staff, k, func(e *Employee) largeentity.Blob { return e.Photo })
}

// move moves an employee to another department. A blob belongs to a partition, so the photo is copied first. A concurrent write of the
// employee refuses the move, and UpdateAndMove begins again. The work of a day deletes the copies that no employee has.
func (c *company) move(ctx context.Context, k keys.Key, department string) (*table.Entity[Employee], error) {
	e, err := c.staff.UpdateAndMove(ctx, k, func(e *Employee) (err error) {
		if e.Department == department {
			return nil
		}
		e.Department = department
		e.Photo, err = photos.Copy(ctx, c.staff, c.staff.Key(*e), e.Photo)
		return err
	})
	if errors.Is(err, table.ErrChanged) || errors.Is(err, largeentity.ErrBlobNotFound) { // the photo was replaced before it was copied
		err = fmt.Errorf("%w: %w", errBusy, err)
	}
	return e, err
}
