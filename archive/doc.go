// Package archive moves entities to another table, or to anything else that keeps rows, and back, without losing one ('Azure Table
// storage table design guide': the example of the eventually consistent transactions pattern).
//
//	old, err := archive.ToTable(account.Tables(), "Archive", nil)
//	mover, err := archive.New("staff/archive", staff, old, out) // out is an *eventual.Outbox
//
//	err = mover.Archive(ctx, e)                  // 3 requests: it will be moved
//	e, archived, err := mover.Find(ctx, key)     // wherever it is
//	e, err = mover.Restore(ctx, key)             // back again
//
//	w, err := eventual.NewWorker(queue, poison, []eventual.Handler{mover.Handler()}, nil) // moves them, elsewhere
//
// # What is promised
//
// At every instant, the newest content of an entity that nobody has deleted is in the table or in the destination, or in both; when the
// workers rest, in one. What others write to it while it moves goes with it. Who deletes it while it moves has deleted it. An entity
// that is inserted again under its key is another life, which no move of the first touches, whatever comes late; so is one that was
// restored. Rows are moved whole, with the columns that T does not know. What the table's maintainers derive goes and comes with the entity: in
// the same transaction what is in its partition, through the same intent what is elsewhere.
//
// All this has been tried with each fault at each request of everybody, with everybody dying anywhere and requests arriving late, in
// thousands of orders of several of them, by killing processes; and explored in a model (package internal/model).
//
// What is not: a reader sees the entity in both places for a moment, and what it finds in the destination may be a version that is
// being replaced, or of an entity that was just deleted, until the message of its move is carried out. What others keep in an entity, as
// details of package index, is as it was when it comes back. Writes by other programs, and Upsert and ReplaceAny of handles without
// maintainers, take an entity's incarnation from it: a move that was requested before then leaves the entity where it is. If a program
// writes the incarnation of an old read back, by other means than this library's, the next move of the entity is poison, and the entity
// stays in the table.
//
// # How
//
// To ask for a move touches the entity by its ETag, and stores what is to be done in an intent in the same transaction. A worker reads
// the destination, then the table; puts the row into the destination by its version there; and deletes it from the table by its ETag,
// in a transaction that takes the effect off the intent. If anything has changed, it begins again. Where the entity has gone meanwhile, the
// intents of all who have put it tell whether one of them has moved it; if none has, it was deleted, and the destination's row goes too.
// What has gone from the destination leaves a tombstone for a day, and what was restored a note beside it, which whatever is late meets.
//
// # What it costs
//
// 3 requests to ask, 7 to move, 2 to find what was moved, 6 to restore and 6 to forget it then; a table's size in both, and nothing
// that grows with it.
package archive
