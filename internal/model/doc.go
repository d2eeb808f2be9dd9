// Package model explores protocols. It visits every state that the steps of a protocol can reach, with a crash between any two
// steps, messages that are delivered any number of times and to two workers at once, and requests that arrive late. [Model] is
// independent of the protocol. The tests contain these protocols, and mutants that each omit one part of a protocol:
//
//   - Archive: moves of entities to a destination and back. 28 workloads of up to three users, two workers and one late request at
//     a time, with 54 to 2,000,000 states each and 7.5 million in all, and three workloads of 6 to 21 million states with -large.
//     30 mutants. Some users are programs that do not know incarnations, write entities that they read long ago or forge
//     incarnations, and clocks jump.
//   - Outbox: a write with two effects, workers of two releases, a poison queue and its replay, with writers and workers that are
//     suspended for longer than the retention, and clocks that jump. 290,000 to 1,060,000 states. 11 mutants.
//   - Clean-up: deletion of old commit records by partition and hour, in a model of time. 350,000 states for one write and 630,000
//     for two. 12 mutants.
//   - Large entities: blobs that entities link, with two users that replace, delete, undo, move and restore, a collector, a reader
//     and one late request at a time. 13 workloads of 10,000 to 1,700,000 states, 3.2 million in all. 17 mutants.
//
// The models assume that a request arrives within the retention or never, that clocks differ by less than the retention, and that a
// suspended machine reads the current time when it checks the age of an operation right before it sends a request.
//
// # Large entities
//
// A link is stored in one transaction with the insertion of the row of its blob. The row of a blob that the entity does not link any
// more becomes unlinked, and stays as a tombstone until no request arrives that could link the blob again. Such a request is not sent
// after half the grace period by the clock of its program, also if it was planned before: a check when it is planned is not enough,
// because a program may be suspended in between. The collector inserts a condemned row before it deletes a blob without a row, which
// matters for programs whose clocks are wrong.
//
// A move to an archive leaves the row of the blob in the source as moved, with the incarnation, so that a destination of any kind
// keeps the blob. A restore takes the row back, and fails if it is not there. The collector reads a moved row, then asks the
// destination, and then changes the row by its ETag.
//
// # The archive
//
// The key of a row in the destination contains the incarnation, and the row lists the operations that wrote it. A worker reads its
// commit record, then the destination, then Current. If Current contains the incarnation, the worker writes the row to the
// destination (Insert or compare-and-swap, CAS) and then deletes it from Current in one transaction with the commit record, both by
// CAS. Otherwise either the move is done, or the user has deleted the entity. The worker reads its own commit record and those of
// the other operations in the list. If none of them reports that the move is done, the worker writes a tombstone, even if the
// destination contains no row: a late Insert may still arrive.
//
// A restore first reads the commit records of the list until one reports that its move is done. Before, the row may belong to an
// unfinished move of an entity that was deleted since. The restore then reads the row again: the content that it read before may be
// old, and a row of an unfinished move may be a tombstone by now. The restore creates a new incarnation, and its transaction
// inserts a note with the old incarnation, so that no incarnation is restored twice.
//
// # The clean-up
//
// A worker that is about to delete the message of a commit record that is closed or too old first looks for the note of the current
// hour. If there is no note, the worker sends the clean-up and then inserts the note. A crash between them costs a second clean-up,
// which is harmless. The clean-up is invisible until the end of its hour and of the retention.
package model
