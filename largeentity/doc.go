// Package largeentity stores the large values of entities in blobs ('Azure Table storage table
// design guide': large entities pattern). The entity has the name, the length and the hash of the
// blob. Small values stay in the entity.
//
//	type Employee struct {
//		Department string
//		ID         int
//		Photo      largeentity.Blob
//	}
//
//	photos := largeentity.In[Employee]("photos", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid, photos)
//
//	photo, err := photos.Upload(ctx, staff, key, file, "image/jpeg")
//	e, err := staff.Update(ctx, key, func(e *Employee) error { e.Photo = photo; return nil })
//
//	r, e, err := photos.OpenAt(ctx, staff, key, func(e *Employee) largeentity.Blob { return e.Photo })
//	defer r.Close()
//	_, err = io.Copy(w, r) // checks length and hash before the end
//
// A [Blob] is a value without input or output. A blob never changes: another value is another blob.
// A text that looks like the name of a blob is only a text.
//
// # Guarantees
//
//   - An entity that links a blob has it, with the length and the SHA-256 hash of the upload.
//   - Of two writers that replace a value, the loser stores nothing and deletes nothing of the
//     winner's.
//   - A value that was replaced or deleted never comes back, also not by a late request: storing it
//     again fails with [ErrUploadAgain].
//   - What nothing refers to is deleted, by the writer that replaces it or by a sweep, which the
//     store does each day.
//   - An entity that package archive moves keeps its blobs, in any destination, and has them again
//     when it is restored. An entity that goes to another partition needs copies of its blobs:
//     [Values.Copy].
//
// # Not guaranteed
//
// A reader may find that the blob of a replaced value is gone: OpenAt reads the entity again.
// Programs that write the table without the values, or delete its rows, leave blobs or lose them;
// Sweep reports links to missing blobs. Requests that arrive more than half of Options.Grace late,
// and clocks that differ by as much, are not covered.
//
// # Costs
//
// 2 requests to write a large value, 2 more to replace one, 2 to read one. A small value adds no
// request to the requests of the entity.
//
// docs/largeentities.md describes the protocol.
package largeentity
