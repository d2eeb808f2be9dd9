// Package commit reads and resolves commit records: the rows that prove which writes of a table are committed, and that contain
// their effects until workers have executed them.
//
// A write by a [table.Table.Exact] handle, and a write with effects, stores a commit record in the same transaction as the entity,
// as a small row beside the entity. The record names the write by its operation ID. If the record exists, the write is committed.
// If not, [Records.Resolve] stores an abort record in its place, and the write can never commit, even if its request arrives later.
//
//	records := commit.Of(staff)
//	record, err := records.Resolve(ctx, partition, operationID) // from a message
//	if err == nil && record.State == commit.Pending {
//		for _, effect := range record.Effects {
//			… // execute the effect
//		}
//		err = records.MarkDone(ctx, record)
//	}
//
// Package eventual does this in workers on a queue, with repeated attempts, a poison queue and clean-up. Use this package to write
// a worker of another kind, to complete an effect in a write of your own, to find the outcome of a write that another process made,
// and to sweep old records.
//
// # Outcomes
//
// A program that made an exact write resolves its outcome by [table.UnknownError.Resolve]. Another program needs the table, the
// partition and the operation ID, and calls [Records.Resolve]. [Records.Get] reads the record and changes nothing: if it finds
// none, the write may still commit.
//
// # Effects
//
// A maintainer of package maintain adds an [Effect] to a write. An [Outbox] notifies workers of the write; package eventual has one
// that is a queue.
//
// [Records.Pending] finds the writes whose effects are not executed, also if their notifications were lost. [Completing] makes a
// handle for one write that executes an effect and completes it in the same transaction, so that the effect is executed just once.
//
// # Old records
//
// Commit records are kept for a day ([Retention]). [SweepAll] deletes the older commit records of a table, and [Records.Sweep]
// the older commit records of a partition. Call SweepAll about once a day for a table with exact writes. The workers of package
// eventual sweep the partitions of their messages, if they have a queue for it.
//
// docs/writes.md describes the protocol.
package commit
