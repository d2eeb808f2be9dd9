package extend

import "github.com/aztablekit/aztablekit/internal/commit"

// What a commit record contains, and what an outbox receives.
type (
	// Record is the commit record of an exact write or of a write with effects: a row in its Partition (keys.Enc), stored in the
	// write's own transaction, with the write's OperationID, its State and its Effects. With the state Aborted it is the abort record,
	// which stands in the place of a commit record.
	//
	// Version changes with each change of the record. Time returns when the write began, in milliseconds, by the writer's clock.
	// String and LogValue leave out the payloads of the effects.
	Record = commit.Record

	// State is the state of a commit record.
	State = commit.State

	// Effect is work that is due outside the partition once a write is committed: the Kind of its handler, the Payload, the
	// Version of the payload's form, and the RowKey of the entity whose change it follows from. Table and Partition are the
	// entity's, if it is in another partition than the commit record, as after table.Table.Move; otherwise they are empty. String
	// and LogValue leave out the payload, which may be private.
	Effect = commit.Effect

	// Outbox notifies workers of writes that have effects. Package eventual has an outbox that is a queue. An outbox must be safe
	// for concurrent use. Its only method, Notify(context.Context, Notification) (SentNotification, error), stores a
	// notification, before the write is sent, so that it is not lost if the writer crashes. Workers find it when
	// Notification.Hidden has passed. If Notify fails, the write fails before anything is written.
	Outbox = commit.Outbox

	// Notification names a write that has effects, by its Table, Partition and OperationID. Workers must not see it for the time
	// Hidden, unless it is shown. Remotes are the other partitions of a write over several, such as table.Table.Move: a worker finishes
	// there what the write has prepared, or rolls it back.
	//
	// A notification contains no effects: a worker reads them from the commit record, by [Records.Resolve]. If there is no commit
	// record, Resolve makes sure that the write never commits.
	Notification = commit.Notification

	// Remote is a partition (Table and Partition) of the same service as the commit record.
	Remote = commit.Remote

	// SentNotification is a notification that an outbox has stored. Its method Show(context.Context) error makes the notification
	// visible to workers: the write is committed. If Show fails, they see it when Notification.Hidden has passed. Show may run in
	// another goroutine than Notify, beside later calls of Notify, but never after the end of the method that writes. Its method
	// Withdraw(context.Context) error deletes the notification: the write was refused. If Withdraw fails, a worker finds nothing to do.
	SentNotification = commit.SentNotification

	// Orphans says what becomes of an orphan: rows that a write over several partitions has prepared, and whose commit record
	// cannot be read, because its table is gone, or is none of the handle's Options.MovedFrom.
	Orphans = commit.Orphans
)

// The states of a commit record. A write is committed if its commit record is pending or done. An aborted commit record is an
// abort record.
const (
	Pending = commit.Pending // effects are still to be executed
	Done    = commit.Done    // there are no effects, or all were executed
	Aborted = commit.Aborted // the write was not committed and never will be
)

// The values of Orphans.
const (
	LeaveOrphans    = commit.LeaveOrphans    // they stay
	CommitOrphans   = commit.CommitOrphans   // as if the write had committed: no entity of a move is lost
	RollBackOrphans = commit.RollBackOrphans // as if the write had been given up: forged rows are removed
)

// Retention is how long commit records are kept at least. The record of an older write may be deleted, so a missing record does not
// prove that the write was not applied. Pending records are never deleted.
const Retention = commit.Retention
