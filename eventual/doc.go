// Package eventual executes work that follows from a write outside the write's partition: in
// another partition, table, file or service ('Azure Table storage table design guide': eventually
// consistent transactions pattern).
//
// A write stores its effects in its own transaction, in a commit record beside the entity, and
// notifies a queue. A worker receives the notification, reads the commit record, and executes the
// effects.
//
//	type Reindex struct{ Last string } // the payload of the effect
//
//	reindex := eventual.On("reindex", func(c *eventual.Change[Employee]) (Reindex, bool) {
//		if c.New == nil || c.Old != nil && c.Old.LastName == c.New.LastName { // c.Old is nil for an insert, c.New for a delete
//			return Reindex{}, false
//		}
//		return Reindex{c.New.LastName}, true
//	}, func(ctx context.Context, j eventual.Job, r Reindex) error { … })
//	company := aztablekit.Open(acc, "company", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid, reindex)
//	err := company.Ensure(ctx)
//	err = company.Run(ctx) // the worker, in this program or in another one
//
// # Guarantees
//
//   - Each effect of a committed write is executed at least once, and no effect of any other write,
//     even if writers and workers crash and messages and requests arrive late or repeatedly.
//   - If the queue is down, a write with effects fails with table.ErrOutbox before anything is
//     written.
//   - A message that cannot be executed is copied to the poison queue before it is deleted. A
//     message that crashes its workers becomes poison; other messages that the workers held do not.
//   - While the tables of a message cannot be reached, the message is returned to the queue and
//     does not become poison.
//
// # Not guaranteed
//
// An effect may be executed more than once, late, and in another order than the writes. A handler
// should read the current state and make the other system follow it, or use OperationID and Effect
// of the [Job] as an idempotency key: both are the same at every attempt. If a queue is lost, the
// commit records stay pending until aztablekit.Store.NotifyPending notifies the workers again.
//
// # Costs
//
// A write with effects takes 3 requests instead of 1: the notification, the transaction, and the
// update that makes the notification visible; 1 more if the write is refused. For each message, a
// worker takes 4 requests besides the requests of its handlers: receive the message, read the
// commit record, mark the commit record as done, and delete the message. One request receives up to
// 32 messages.
//
// # Operation
//
// The work of each day of a store deletes commit records two or three days after their writes.
// [PoisonQueue] lists, replays and drops poison messages. docs/queues.md describes messages,
// unknown messages, and the time after which a queue is empty. docs/operations.md describes how to
// run workers: sizes, releases, alerts, scaling, roles and repairs.
package eventual
