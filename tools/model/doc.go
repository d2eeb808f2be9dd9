// Package model explores protocols. It visits every state that the steps of a protocol can reach,
// with a crash between any two steps, messages that are delivered any number of times and to two
// workers at once, and requests that arrive late. [Model] is independent of the protocol. The tests
// contain these protocols, and mutants that each omit one part of a protocol:
//
//   - Archive: moves of entities to a destination and back. 28 workloads of up to three users, two
//     workers and one late request at a time, with 54 to 2,000,000 states each and 7.5 million in
//     all, and three workloads of 6 to 21 million states with -models=3. 30 mutants. Some users are
//     programs that do not know incarnations, write entities that they read long ago or forge
//     incarnations, and clocks jump.
//
//   - Outbox: a write with two effects, workers of two releases, a poison queue and its replay,
//     with writers and workers that are suspended for longer than the retention, and clocks that
//     jump. 290,000 to 1,060,000 states. 11 mutants.
//
//   - Cleaning: deletion of old commit records and abort records by notes of partitions and days,
//     with two writers, a program that stores abort records, and one late or repeated request.
//     139,000 states. 8 mutants.
//
//   - Work of each day: taken, renewed and ended by two processes, a crash, one late or repeated
//     request, and processes that live for one task. 142,000 states. 5 mutants.
//
//   - Effects that wait: a handler that asks for a delay, beside daily work that sends messages for
//     pending records, crashes, slow workers and a queue that is cleared. 72,000 states. 4 mutants.
//
//   - Reconcile: rows of other partitions that follow from an entity, with two writers, two
//     workers, writers that apply their own writes, lists and sums of two entities, fills and
//     repairs of live tables, sweeps of tombstones, and one late request at a time. 30 workloads of
//     2,000 to 1,800,000 states, 8.2 million in all, and 4 more with -models=3. 29 mutants.
//
//   - Large entities: blobs that entities link, with two users that replace, delete, undo, move and
//     restore, a collector, a reader and one late request at a time. 13 workloads of 10,000 to
//     1,700,000 states, 3.2 million in all. 17 mutants.
//
//   - Changes over several partitions: Move, unique values and summaries, with up to three users,
//     two workers, readers that do not write, Verify and one late request at a time. 27 workloads
//     of 300 to 870,000 states, 6.3 million in all, and two of 3.4 and 4.8 million with -models=3.
//     22 mutants.
//
//   - Catalogue: the row of a table that names its definitions with their states. Writers and
//     look-ups of two releases, with leases, beside Ensure, Fill and Retire, each of them twice,
//     with crashes and one late request. 20 workloads of 1,900 to 62,000 states, 240,000 in all,
//     and one of 3.2 million with -models=3. 21 mutants.
//
//   - Jobs: work on ranges, which are halved while two workers work on them, with a queue that is
//     cleared, late ends of slices, and a job that is canceled and started again, once or twice. 5
//     workloads of 17,000 to 93,000 states, one of 1.1 million with -models=2, and two of 2.8 and 4
//     million with -models=3. 14 mutants.
//
//   - Snapshots: a partition that an export reads in two pages, with two writers, one of whose
//     requests the network may repeat, and a write over several partitions that another program
//     finishes. 5,700 states. 8 mutants.
//
//   - Ends of life: an entity that is over at a time, beside renewals, changes and removals of the
//     end, inserts in its place, takers, sweeps whose clocks are wrong, front ends whose clocks
//     differ, programs without the library, and another entity that wants its unique value. 11
//     workloads, 320,000 states. 14 mutants.
//
//   - Leases: acquired, renewed, stolen and released by two processes, with writes in a partition
//     of data that a guard fences, and one late or repeated request. 5 workloads, 970,000 states,
//     and one of 3.9 million with -models=3. 13 mutants.
//
//   - Transactions with read sets: two or three transactions over two or three partitions, beside
//     direct writers, readers, workers that crash, and one late or repeated request. 25 workloads,
//     1.2 million states, and of 0.8, 4 and 4.4 million with -models=2 and 3. 25 mutants.
//
// The tests explore of the small workloads of these, without a fault, the 20,000 states nearest to
// the start. Those with a fault they explore until it is found. The flag -models=2 explores all
// states of them and of the workloads of up to 2,000,000 states, and the alternatives of the
// archive, which takes a minute and a half on two cores.
//
// The models assume that a request arrives within the retention or never, that clocks differ by
// less than the retention, and that a suspended machine reads the current time when it checks the
// age of an operation right before it sends a request.
//
// # The catalogue
//
// A lease counts from before the read of the row was sent, for writers, look-ups, Fill and Retire
// alike. Who gives a definition another state waits, after the response, until no lease from before
// is left and no request that was sent under one arrives. A definition that is unfilled is as
// absent for everybody, but named; a writer that has it drops its rows from the entities that it
// writes, as it does once the definition is retired. A writer refuses if the row names a definition
// in building, readable or retiring that the writer lacks, if the writer has one that the row does
// not name, and if there is no row. So a table without a row is empty, or from before the
// catalogue: Ensure inserts a row that says readable if the table is empty, and unfilled otherwise,
// and only if no other program was first. Retire sweeps an unfilled definition, too, since the
// table may have rows. A look-up checks its lease again when the response is there.
//
// Retire sweeps under a lease, too: another Retire may have ended, and a Fill begun.
//
// The wait rests on an assumption: no request under a lease arrives later. If one does, a new
// entity, or one that was not in the index before, lacks its row until verify finds it; an update
// of an entity that has its row is refused by its ETag.
//
// # Large entities
//
// A link is stored in one transaction with the insertion of the row of its blob. The row of a blob
// that the entity does not link any more becomes unlinked, and stays as a tombstone until no
// request arrives that could link the blob again. Such a request is not sent after half the grace
// period by the clock of its program, also if it was planned before: a check when it is planned is
// not enough, because a program may be suspended in between. The collector inserts a condemned row
// before it deletes a blob without a row, which matters for programs whose clocks are wrong.
//
// A move to an archive leaves the row of the blob in the source as moved, with the incarnation, so
// that a destination of any kind keeps the blob. A restore takes the row back, and fails if it is
// not there. The collector reads a moved row, then asks the destination, and then changes the row
// by its ETag.
//
// # Changes over several partitions
//
// An operation is prepared in each participant: its rows are marked there, in one transaction
// with a control row. The commit record in the home partition decides. Then the operation is
// finished in each participant: the marks are replaced by the new values, and the control row
// becomes done. Every program that reads a mark may finish or roll back the operation.
//
// No operation is rolled back without an abort record, not even after the storage has refused the
// commit: a second copy of the commit may succeed later if it inserts a row. The roll back inserts
// the control row as done if it is absent, since the request that prepares the partition may be
// late. Rows that are only read are marked too. A commit record is closed after all partitions are
// finished, and an operation without one that is older than the retention is rolled
// back only if its age was checked first.
//
// A reader that does not write takes a marked row for the old one unless the operation is
// committed. It reads the commit record after the row. A page with a row of a committed operation
// is read again, because another row of the page may have changed before the commit. A look-up
// whose entity does not have the value reads the pointer again.
//
// # Jobs
//
// The end of a slice is stored by the version of its range, with the second half in the same
// transaction, but without an effect: both effects in one message would be for one worker. Who
// takes the first half stores the second one again, with an effect. A worker whose slice is refused
// reads again, since the one who has stored it may have stopped before it looked whether the job is
// finished. A start after a cancel has a number. It stores the open ranges of earlier starts again
// until none of them was done meanwhile, and ranges of earlier starts are not worked on.
//
// # The archive
//
// The key of a row in the destination contains the incarnation, and the row lists the operations
// that wrote it. A worker reads its commit record, then the destination, then Current. If Current
// contains the incarnation, the worker writes the row to the destination (Insert or
// compare-and-swap, CAS) and then deletes it from Current in one transaction with the commit
// record, both by CAS. Otherwise either the move is done, or the user has deleted the entity. The
// worker reads its own commit record and those of the other operations in the list. If none of them
// reports that the move is done, the worker writes a tombstone, even if the destination contains no
// row: a late Insert may still arrive.
//
// A restore first reads the commit records of the list until one reports that its move is done.
// Before, the row may belong to an unfinished move of an entity that was deleted since. The restore
// then reads the row again: the content that it read before may be old, and a row of an unfinished
// move may be a tombstone by now. The restore creates a new incarnation, and its transaction
// inserts a note with the old incarnation, so that no incarnation is restored twice.
//
// # Reconcile
//
// The commit record names the target rows of the old and of the new content. A worker reads the
// commit record, then the target rows, and then the entity, and writes each row by CAS, also a row
// that seems right: the write invalidates the ETags of slower workers. After a conflict it reads
// the rows and the entity again. A row without content is a tombstone, and is inserted if it is
// absent, so that a late Insert fails. A writer that applies its own write does the same after its
// commit, and a fill or a repair of Verify does it without a commit record. A fill may also insert
// what it read, because each later change overwrites the row.
//
// Tombstones are deleted by their ETag after the retention. A worker or a fill therefore checks its
// clock before it writes a row: if it was suspended since it read the row, it begins again.
//
// Sums are stored in the transaction that writes the counted row, each by CAS.
//
// # Ends of life
//
// A program that is about to say that an entity is over deletes it first, by the ETag that it has
// read: so no renewal revives it, and a front end whose clock is behind does not return it. A list
// hides it, and says nothing. An insert in its place replaces it by the ETag; a taker deletes it
// with a commit record, which tells it after a lost response whether it has the value. The sweep
// finds it by a row in its hour, which each change of the end moves in its transaction, and goes by
// the time of the response that has the entity.
//
// # Leases
//
// The row of a lease is never deleted, so that tokens grow. A holder believes from before it has
// sent the request that was applied, for less than the lease lasts by the service's clock. Who
// enters a partition of data stores its token in the head there, by its ETag, deletes the guards of
// earlier holders, and inserts its own; each of its transactions merges the guard, which is refused
// once another holder has entered. Without the head, a late request to enter gives the guard back
// to a holder that has lost the lease.
//
// # Cleaning
//
// Before a program stores a commit record or an abort record, it stores a note of the partition and
// the day, once for each day. A sweep takes the notes of days that ended a retention ago, deletes
// the records that are old by their own operation ID, and then the note, unless a record of its day
// is left. A note behind the record would be missing after a crash.
//
// # The work of each day
//
// A row says when the work is due, who has taken it, and what is done. A process believes from
// before the request that was applied, for less than the row may stand unchanged before another
// process takes the work.
//
// # Effects that wait
//
// The commit record contains the time before which its effects are not due, and the ID of the
// message that waits. A worker that finds the time in the future hides that message, and deletes
// any other.
package model
