// Package archive moves entities to another table, or to any other store of rows, and back ('Azure Table storage table design guide': the
// example of the eventually consistent transactions pattern).
//
//	old, err := archive.ToTable(account.Tables(), "Archive", nil)
//	mover, err := archive.New("staff/archive", staff, old, out) // out is an *eventual.Outbox
//
//	err = mover.Archive(ctx, e)                  // asks for the move
//	e, archived, err := mover.Find(ctx, key)     // wherever the entity is
//	e, err = mover.Restore(ctx, key)             // back again
//
//	w, err := eventual.NewWorker(queue, poison, []eventual.Handler{mover.Handler()}, nil) // moves it
//
// # Guarantees
//
//   - At every instant, the newest content of an entity that nobody has deleted is in the table, in the destination, or in both. When
//     the workers rest, it is in one of them.
//   - A move takes along what concurrent writers have written to the entity. If a concurrent writer deletes the entity during the
//     move, it stays deleted.
//   - An entity that is inserted again under its key, or restored, is another incarnation. No late request or message of an earlier
//     incarnation changes it.
//   - Rows move whole, with the columns that T does not know. Derived rows go and come with their entity: those of its partition in
//     the same transaction, others by the same commit record.
//
// # Not guaranteed
//
// For a moment a reader finds the entity in both places. Until the message of its move is executed, the content in the destination may
// be replaced again, or belong to an entity that was just deleted. Properties that other entities keep in the entity, as details
// of package index do, come back as they were.
//
// Writes by other programs, and Upsert and ReplaceAny by handles without maintainers, remove the entity's incarnation: a move that was
// requested before then leaves the entity where it is. If a program writes the incarnation of an old read back, by other means than
// this library's, the next move of the entity is poison, and the entity stays in the table.
//
// # Costs
//
// 3 requests to ask for a move, 7 to move, 2 to find a moved entity, 6 to restore it, and 6 to delete it from the destination then.
//
// A [Destination] may be anything that can store a row only if it still has a known version. docs/archive.md describes the protocol and
// how it is tested.
package archive
