package photos

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "large-entity",
	Title:       "The employee's photo in a blob",
	Guide:       []string{"G30"},
	Related:     []string{"wide-entity", "move-department", "archive-directory"},
	Consistency: "strong",
	Measured:    []string{"insert Jones with a photo"},
	Problem: `A property has at most 64 KiB, and an entity 1 MiB, so a photo does not fit. Package largeentity stores it in a blob, and the
		name, the length and the hash of the blob in the entity. The photo is uploaded first, and belongs to the employee once the
		entity is written. Each photo is another blob, so readers never see half of one. The rows ~b| show which blobs are in use: the
		write that replaces a photo deletes the old blob, and a sweep deletes photos whose upload was never stored.`,
	Kept: "photos",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		now := time.Now()
		o := r.StoreOptions("company", "staff")
		o.Now = func() time.Time { return now } // a program leaves it out
		r.ContainerName("photos")
		staff := Open(r.Account(), o)
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		jones := Employee{Department: sales, ID: 223, LastName: "Jones"}
		file := func(kilobytes int) io.Reader {
			return bytes.NewReader(bytes.Repeat([]byte("photo---"), kilobytes*128))
		}
		if err := r.Do("insert Jones with a photo of 300 KiB", func() error { return staff.Hire(ctx, jones, file(300)) }); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		if err := r.Library(ctx, "staff", sales); err != nil {
			return err
		}
		var first largeentity.Blob
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"read the photo; its length and hash are compared before its end", func() error {
				photo, e, err := staff.OpenPhoto(ctx, sales, 223)
				if err != nil {
					return err
				}
				defer photo.Close()
				n, err := io.Copy(io.Discard, photo)
				first = e.Value.Photo
				r.Answer("%s: %d bytes, %s", e.Value.LastName, n, first.ContentType())
				return err
			}},
			{"replace the photo by one of 5 MiB, in blocks, and delete the old blob", func() error {
				_, err := staff.SetPhoto(ctx, sales, 223, file(5<<10))
				return err
			}},
			{"store the first photo again, which is gone", func() error {
				_, err := staff.Employees.Update(ctx, staff.Employees.Key(jones), func(e *Employee) error { e.Photo = first; return nil })
				return r.Refused(err, largeentity.ErrUploadAgain)
			}},
			{"a crash between the upload and the write leaves a photo; a sweep finds it a day later", func() error {
				if _, err := Photos.Upload(ctx, staff.Employees, staff.Employees.Key(jones), file(300), ""); err != nil {
					return err
				}
				now = now.Add(25 * time.Hour)
				swept, err := Photos.Sweep(ctx, staff.Employees, nil) // Run does this each day
				r.Answer("%d blobs, %d linked, %d orphan deleted, %d tombstone deleted", swept.Counts["blobs"], swept.Counts["linked"], swept.Counts["orphans"], swept.Counts["tombstones"])
				return err
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := staff.Ensure(ctx); err != nil { // the program starts again on this day
			return err
		}
		return r.Do("a small photo of 2 KiB stays in the entity", func() error {
			e, err := staff.SetPhoto(ctx, sales, 223, file(2))
			if err == nil {
				r.Answer("%v", e.Value.Photo)
			}
			return err
		})
	},
}
