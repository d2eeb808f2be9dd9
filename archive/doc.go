// Package archive moves entities to another table, or to any other store of rows, and back ('Azure
// Table storage table design guide': the example of the eventually consistent transactions
// pattern).
//
//	var former = archive.Into[Employee]("former", archive.ToTable("former", nil))
//
//	staff := aztablekit.Table(company, "staff", dept, empid, former) // the worker of company executes the moves
//	err := former.Archive(ctx, staff, e)             // requests the move
//	e, archived, err := former.Find(ctx, staff, key) // from the table or the archive
//	e, err = former.Restore(ctx, staff, key)         // moves it back
//
// # Guarantees
//
//   - At every instant, the newest content of an entity that no program has deleted is in the
//     table, in the destination, or in both. When no message is pending, it is in one of them.
//   - A move takes along what concurrent writers have written to the entity. If a concurrent writer
//     deletes the entity during the move, the entity stays deleted.
//   - An entity that is inserted again under its key, or restored, is another incarnation. No late
//     request or message of an earlier incarnation changes it.
//   - Rows move whole, with the columns that T does not contain. Derived rows are deleted and
//     inserted with their entity: in its partition in the same transaction, elsewhere through the
//     same commit record.
//
// # Not guaranteed
//
// For a moment a reader finds the entity in both places. Until the move is complete, the archived
// row may be replaced by a newer one, or belong to an entity that was just deleted. Properties that
// other entities store in the entity, as details of package index do, come back as they were.
//
// Writes by other programs, and Upsert and ReplaceAny by handles without maintainers, remove the
// entity's incarnation: a move that was requested before then leaves the entity in its table. If a
// program writes the incarnation of an old read back, by other means than this library's, the next
// move of the entity is poison, and the entity stays in the table.
//
// # Costs
//
// 3 requests to request a move, 7 to move, 2 to find a moved entity, 6 to restore it, and 6 to
// delete it from the destination then. A concurrent writer costs another attempt;
// Retry.ConflictAttempts of the table's options bounds them.
//
// A [Destination] may be anything that can store a row on condition of the version that is stored.
// docs/archive.md describes the protocol and how it is tested.
package archive
