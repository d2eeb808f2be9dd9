// Package expire gives entities an end: sessions, codes, reservations, tokens. From that time on
// they are not there for any read, whether they are deleted or not.
//
//	ends := expire.At(func(s *Session) time.Time { return s.Ends }, nil)
//	sessions := aztablekit.Table(shop, "sessions", user, id, ends)
//
//	s, err := sessions.Get(ctx, key)                 // table.ErrNotFound from s.Ends on
//	s, err = ends.Extend(ctx, sessions, key, longer) // refused when it is over
//	code, err := codesEnd.Take(ctx, codes, key)      // for one caller only
//
// # Guarantees
//
//   - Get, GetMany, List, Page, Count, views, Mixed and look-ups answer as if an entity that is
//     over were not there, by the service's clock, so that readers agree, whatever their own.
//   - What a reader has called over stays over: a read for a certain key, or a unique value,
//     deletes the entity before it says so. Lists leave it out, and say nothing of it.
//   - An entity that is over holds neither its key nor its unique values: an insert takes them.
//   - The sweep never deletes what was extended, and an entity is deleted with everything that
//     follows from it: rows of indexes, parts, unique values, blobs, effects. eventual.On finds out
//     by Change.Expired that the end was the reason.
//   - Take is for one caller, also after lost responses.
//
// # Not guaranteed
//
// Until the sweep, or a read for its key, these still know an entity that is over: summaries, which
// count it (table.Table.Count does not), materialized views, rows of lists and index.Index.Keys of
// pointers and of rows elsewhere, details, and everything outside the library. A move to an archive
// that was requested goes on, unless a reader has deleted the entity. Programs without the
// definition see it, and so do clients that may not delete: these say that an entity is over, and a
// renewal that was on its way may then revive it.
//
// A merge by a program without the library changes neither the stored end (_end) nor the row of its
// hour.
//
// # Costs
//
// Writes, reads and lists take as many requests as without. The first read that says that an entity
// is over takes 1 more, to delete it; an insert in its place 2. A refused insert of a table with
// ends takes 1 more. Each entity has a small row more in its partition, ~x|ends_2026112813_…, under
// the hour in which it ends, by which [Ends.Sweep] finds it without a scan.
package expire
