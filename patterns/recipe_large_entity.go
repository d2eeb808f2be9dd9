package main

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

var largeEntity = recipe{
	name:        "large-entity",
	title:       "The employee's photo in a blob",
	guide:       []string{"G30"},
	related:     []string{"wide-entity", "move-department", "archive-directory"},
	consistency: "strong",
	measured:    []string{"insert Jones with a photo"},
	problem: `A property has at most 64 KiB, and an entity 1 MiB, so a photo does not fit. Package largeentity stores it in a blob, and the
		name, the length and the hash of the blob in the entity. The photo is uploaded first, and belongs to the employee once the
		entity is written. Each photo is another blob, so readers never see half of one. The rows ~b| show which blobs are in use: the
		write that replaces a photo deletes the old blob, and a sweep deletes photos whose upload was never stored.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Photo      largeentity.Blob
		}
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{
			Partition: keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department }),
			Row:       empid,
		}, nil)
		if err != nil {
			return err
		}
		now := time.Now()
		o := &largeentity.Options{}
		o.Now = func() time.Time { return now } // a program leaves it out
		photos, err := largeentity.NewStore(r.Account().Container(r.ContainerName("photos")), base.Name(), o)
		if err != nil {
			return err
		}
		staff, err := largeentity.Attach(base, photos)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := photos.Ensure(ctx); err != nil {
			return err
		}
		jones := staff.Key(Employee{Department: "Sales", ID: 223})
		upload := func(kilobytes int) (largeentity.Blob, error) {
			file := bytes.NewReader(bytes.Repeat([]byte("photo---"), kilobytes*128))
			return photos.Upload(ctx, jones, file, &largeentity.UploadOptions{ContentType: "image/jpeg"})
		}
		if err := r.Do("insert Jones with a photo of 300 KiB", func() error {
			photo, err := upload(300)
			if err != nil {
				return err
			}
			_, err = staff.Insert(ctx, &Employee{"Sales", 223, "Jones", photo})
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		if err := r.Library(ctx, "staff", "Sales"); err != nil {
			return err
		}
		if err := r.Do("read the photo; its length and hash are compared before its end", func() error {
			photo, e, err := largeentity.Open(ctx, staff, photos, jones, func(e *Employee) largeentity.Blob { return e.Photo })
			if err != nil {
				return err
			}
			defer photo.Close()
			n, err := io.Copy(io.Discard, photo)
			r.Answer("%s: %d bytes, %s", e.Value.LastName, n, e.Value.Photo.ContentType())
			return err
		}); err != nil {
			return err
		}
		var first largeentity.Blob
		if err := r.Do("replace the photo by one of 5 MiB, in blocks, and delete the old blob", func() error {
			photo, err := upload(5 << 10)
			if err != nil {
				return err
			}
			_, err = staff.Update(ctx, jones, func(e *Employee) error { first, e.Photo = e.Photo, photo; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("store the first photo again, which is gone", func() error {
			_, err := staff.Update(ctx, jones, func(e *Employee) error { e.Photo = first; return nil })
			return r.Refused(err, largeentity.ErrUploadAgain)
		}); err != nil {
			return err
		}
		if err := r.Do("a crash between the upload and the write leaves a photo; a sweep finds it a day later", func() error {
			if _, err := upload(300); err != nil {
				return err
			}
			now = now.Add(25 * time.Hour)
			report, err := largeentity.Sweep(ctx, staff, photos, nil)
			r.Answer("%d blobs, %d linked, %d orphan deleted, %d tombstone deleted", report.Blobs, report.Linked, report.Orphans, report.RowsGone)
			return err
		}); err != nil {
			return err
		}
		return r.Do("a small photo of 2 KiB stays in the entity", func() error {
			photo, err := upload(2)
			if err != nil {
				return err
			}
			e, err := staff.Update(ctx, jones, func(e *Employee) error { e.Photo = photo; return nil })
			if err == nil {
				r.Answer("%v", e.Value.Photo)
			}
			return err
		})
	},
}
