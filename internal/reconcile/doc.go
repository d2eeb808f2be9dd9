// Package reconcile keeps rows elsewhere, in other partitions or tables, that follow from entities.
// Package index has copies and lists elsewhere on top of it, and package materialized has views.
//
// # Contract
//
// A maintainer compares the rows that an entity should have with the rows in its maintainer state.
// If they differ, or if their content changes, it calls [AddEffect]: the write then has an effect
// that names the keys of all these rows, the old and the new ones. The commit record with the
// effect is stored in the write's own transaction, and package eventual makes certain that it is
// executed at least once after the write is committed.
//
// To execute the effect, [Handler] calls [Reconcile], in this order:
//
//  1. The commit record was read before, so that the write is committed.
//  2. All targets are read, with their versions ([Target.Read]).
//  3. The entity is read, once and last.
//  4. Each target is written by the version that was read, always, also if nothing seems to change ([Target.Write]). A row that
//     should not exist becomes a tombstone: a stored row that says so, inserted if nothing is there.
//  5. If a concurrent writer has changed a target, all is repeated from step 2.
//
// So each target follows from an entity that was read after the target: a worker that is late with
// an older entity fails by the version, since every other worker has changed it. Without one of
// these rules, rows are lost or left behind; see tools/model.
//
// An effect contains no data, and is not trusted: a [Definition] refuses keys that are not its own.
// A tombstone is deleted a day later by Handler's Sweep, which finds it by the effects in the
// commit records of its entity's partition, before these are deleted.
//
// [InlineTogether] lets the writer execute the effect itself, before a worker does.
package reconcile
