package largeentity_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// openStaff creates the table of employees and the container of their photos in a service in memory.
func openStaff(memory *storagetest.Service, o *aztablekit.Options) (*table.Table[employee], *largeentity.Values[employee]) {
	company := aztablekit.Open(memory, "company", o)
	photos := largeentity.In[employee]("photos", nil)
	staff := aztablekit.Table(company, "staff", schema.Partition, schema.Row, photos)
	check(company.Ensure(context.Background()))
	return staff, photos
}

// An employee gets a photo, and then another one.
func Example() {
	ctx := context.Background()
	memory := storagetest.New(nil)
	staff, photos := openStaff(memory, nil)
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: "Jones"})
	check(err)
	for _, size := range []int{100_000, 200_000} {
		photo, err := photos.Upload(ctx, staff, at(1), strings.NewReader(strings.Repeat("x", size)), "image/jpeg")
		check(err)
		_, err = staff.Update(ctx, at(1), func(e *employee) error { e.Photo = photo; return nil })
		check(err)
	}
	r, e, err := photos.OpenAt(ctx, staff, at(1), photoOf)
	check(err)
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	check(err)
	fmt.Println(e.Value.Last, n, e.Value.Photo.ContentType())
	fmt.Println("blobs:", len(memory.StoredBlobs("photos")))
	// Output:
	// Jones 200000 image/jpeg
	// blobs: 1
}

// What a Blob says of its value, without a request.
func ExampleBlob() {
	ctx := context.Background()
	staff, photos := openStaff(storagetest.New(nil), nil)
	small, err := photos.Upload(ctx, staff, at(1), strings.NewReader("small"), "text/plain")
	check(err)
	fmt.Println(small, small.Size(), small.ContentType(), small.Name() == "", small.SHA256()[:8])
	large, err := photos.Upload(ctx, staff, at(1), strings.NewReader(text(50_000)), "")
	check(err)
	fmt.Println(large.Size(), large.Name()[:12], large.SHA256()[:8], large == small)
	var none employee
	fmt.Println(none.Photo, none.Photo.IsZero())

	// The properties of a field of this type.
	fmt.Println(large.PropertySuffixes())
	values, err := small.PropertyValues()
	check(err)
	var read largeentity.Blob
	check(read.SetPropertyValues(values))
	fmt.Println(read == small)
	// Output:
	// 5 bytes 5 text/plain true 81db8ebb
	// 50000 staff/Sales/ ebee0fce false
	// no value true
	// [ Blob Size SHA256 Type]
	// true
}

// Parts of a value.
func ExampleValues_OpenRange() {
	ctx := context.Background()
	staff, photos := openStaff(storagetest.New(nil), nil)
	b, err := photos.Upload(ctx, staff, at(1), strings.NewReader(text(50_000)), "")
	check(err)
	r, err := photos.OpenRange(ctx, staff, b, 40_000, 12)
	check(err)
	part, err := io.ReadAll(r)
	check(err)
	fmt.Printf("%q\n", part)
	r, err = photos.Open(ctx, staff, b)
	check(err)
	n, err := io.Copy(io.Discard, r)
	check(err)
	check(r.Close())
	fmt.Println(n)
	// Output:
	// "8222 8223 82"
	// 50000
}

// An upload whose entity was never written.
func ExampleValues_Sweep() {
	ctx := context.Background()
	memory := storagetest.New(nil)
	now := time.Now()
	staff, photos := openStaff(memory, &aztablekit.Options{Now: func() time.Time { return now }})
	_, err := photos.Upload(ctx, staff, at(1), strings.NewReader(text(50_000)), "")
	check(err)
	now = now.Add(25 * time.Hour)
	swept, err := photos.Sweep(ctx, staff, nil)
	check(err)
	fmt.Println(swept.Counts["orphans"], "of", swept.Counts["blobs"])
	linked, err := photos.Relink(ctx, staff, &table.Pass{DryRun: true}) // after a restore of the table
	check(err)
	fmt.Println(linked.Changed, "rows are missing")
	// Output:
	// 1 of 1
	// 0 rows are missing
}

// An archived employee keeps the photo.
func ExampleOptions() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	mover := archive.Into[employee]("archive", archive.ToTable("archive", nil))
	photos := largeentity.In[employee]("photos", &largeentity.Options{Archived: []string{"archive"}})
	staff := aztablekit.Table(company, "staff", schema.Partition, schema.Row, photos, mover)
	check(company.Ensure(ctx))
	b, err := photos.Upload(ctx, staff, at(1), strings.NewReader(text(50_000)), "")
	check(err)
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: b})
	check(err)
	check(mover.Archive(ctx, staff, e))
	check(company.Drain(ctx))
	swept, err := photos.Sweep(ctx, staff, nil)
	check(err)
	fmt.Println("linked:", swept.Counts["linked"])
	e, archived, err := mover.Find(ctx, staff, at(1))
	check(err)
	r, err := photos.Open(ctx, staff, e.Value.Photo)
	check(err)
	n, err := io.Copy(io.Discard, r)
	check(errors.Join(err, r.Close()))
	fmt.Println(archived, n)
	// Output:
	// linked: 1
	// true 50000
}

// An employee with a photo goes to another department, which is the partition.
func ExampleValues_Copy() {
	ctx := context.Background()
	memory := storagetest.New(nil)
	company := aztablekit.Open(memory, "company", nil)
	photos := largeentity.In[employee]("photos", nil)
	staff := aztablekit.Table(company, "staff", schema.Partition, schema.Row, photos)
	check(company.Ensure(ctx))
	photo, err := photos.Upload(ctx, staff, at(1), strings.NewReader(text(50_000)), "")
	check(err)
	jones, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: photo})
	check(err)

	jones.Value.Department = "Marketing"
	jones.Value.Photo, err = photos.Copy(ctx, staff, staff.Key(jones.Value), jones.Value.Photo)
	check(err)
	check(staff.Move(ctx, jones))
	fmt.Println(jones.Key, jones.Value.Photo.Name()[:15], "blobs:", len(memory.StoredBlobs("photos")))
	// Output: ('Marketing','empid_000001') staff/Marketing blobs: 1
}
