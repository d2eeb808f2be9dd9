// Package eventual carries out what follows from writes outside their partition: in another partition, another table, another
// service, a file ('Azure Table storage table design guide': eventually consistent transactions pattern). Storage has no transaction
// for that. It has queues, and a protocol that survives every crash.
//
// A write says what is to follow from it, as effects, which are stored with it in its own transaction: in an intent, a small row
// beside the entity. Before the write its name goes into a queue, hidden until the write must be over. A [Worker] that gets the
// name reads the intent, carries the effects out, and says so in the intent. What the guide does instead, a message that
// says what to do, loses data: the message may be there without the write, or the write without the message, or the message may be old.
//
//	type Reindex struct{ Last string } // what the worker has to know
//
//	onRename := eventual.OnChange("reindex", func(c *table.Change[Employee]) (Reindex, bool) { … })
//	out, err := eventual.NewOutbox(account.Queue("staff-hints"), nil)
//	staff, err := plain.With(out, onRename) // all writes by this handle
//
//	reindex := eventual.Kind("reindex", staff, func(ctx context.Context, j eventual.Job, r Reindex) error { … })
//	w, err := eventual.NewWorker(account.Queue("staff-hints"), account.Queue("staff-poison"), []eventual.Handler{reindex}, nil)
//	err = w.Run(ctx)
//
// # What is promised
//
// Every write that is committed has each of its effects at least once, and no other write has any: whoever dies, whenever, and however
// often a message comes or a request arrives late. A writer whose queue is down is refused before it writes anything
// (table.ErrOutbox). A message that cannot be carried out is copied to the poison queue before it is deleted. This was tried with each
// fault at each request of writer and worker, with them dying anywhere, and in thousands of orders of several of them; package
// internal/model explores the protocol in all.
//
// What is not: that an effect is carried out just once, or in the order of the writes, or soon. Handlers make the rest of the
// world follow from how things are when they run, or go by the names of the write and its effect, which are always the same. Storage
// can lose a queue, by its deletion or its failover: the commit records then stay pending until [Outbox.NotifyPending] notifies workers again.
//
// A message that kills its worker becomes poison; the messages that the worker had in hand beside it do not. After
// WorkerOptions.Attempts deliveries that came to no end, a worker executes the message while it executes nothing else, and after as many
// again the message is poison. This holds for one worker in each process: a second worker in the process would die with the first, and
// so could have other messages in hand.
//
// Once writers, workers and storage work again, the queue is empty after a bounded time: the longest of WorkerOptions.MaxWait, Later and
// Visibility and of twice the writers' WriteTimeout, plus the time that the handlers take. A message may be hidden for that long because
// its write, its worker or its storage had failed. A handler's RetryAfter, effects of unknown kinds
// (WorkerOptions.Patience) and failing handlers (WorkerOptions.Attempts) have bounds of their own.
//
// # What it costs
//
// A write with effects is 3 requests instead of 1: the message, the transaction, and another one that shows the message at once; 1 more
// where it is refused. A worker needs 4: the message, the intent, its closing, and the message's deletion; and whatever the handlers do.
// In entities, the write's partition has the entity, the intent, its closing and its clean-up.
//
// # Messages
//
// A message is JSON, plain or in base64: {"v":1,"table":"Current","partition":"Sales","op":"01K…"}. It holds no data, and it is not
// trusted: a worker touches only the tables of its handlers, reads from the intent what is to be done, and knows by the age of the name
// whether the absence of an intent says anything. Others than writers can put what they want into the queue and make nobody carry out anything that
// is not due; where they name a write of which there is no intent, a worker stores a marker that it was not done, a small row that is
// cleaned up with the others. A message of an unknown table, kind or version is given back, for a worker of another release, up to an hour, and is poison
// then; see [PoisonQueue]. While the tables that a message needs cannot be reached, the message is given back and never poison.
//
// # Clean-up
//
// Intents are kept for a day, for whatever comes late. Then one message for each partition and hour has them deleted, if there is a
// queue for it: WorkerOptions.CleanUp.
package eventual
