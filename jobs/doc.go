// Package jobs works on tables that outgrow one machine: the workers of a store share the work, any
// number of them, on the queue that they have anyway.
//
//	pay := jobs.Rows("pay", nil, func(ctx context.Context, s *jobs.Slice[Employee], page []*table.Entity[Employee], atLeast int) error {
//		… // writes the page, by s.Table
//	})
//	company := aztablekit.Open(acc, "company", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid, pay)
//	err := company.Ensure(ctx)
//	err = pay.Start(ctx, staff, "2026", 1500, &jobs.Options{Pass: table.Pass{Rate: 2000}}) // rows a second, of all workers together
//	err = company.Run(ctx)                                        // in as many programs as there are
//	status, err := pay.Status(ctx, staff, "2026")
//
// A job is a row, and a row for each range of the table's keys that is open or done. A worker takes
// a range, works on it for a slice of time, and stores what is left as two halves, each with a
// message of its own. So all workers have something to do after some seconds, and a range that
// turns out to be large is divided further.
//
// [Rows] calls a function of yours for pages of entities. [Delete], [Upgrade], [Archive], [Export]
// and [Verify] are the work of this library on a whole table, and [New] is for other work that goes
// by partitions.
//
// # Guarantees
//
//   - Each row that exists from the start of a job to its end, under one key, is worked on at least
//     once before the job is finished.
//   - It is counted once, also if its slice was repeated: after a crash, a lost message, or beside
//     a slow worker. Rows that a slice has deleted or archived before it crashed are not counted.
//   - If the queue is lost, the work of a day (Store.RunDaily), or another Start, sends the
//     messages again.
//   - A range that fails again and again becomes a poison message, and the others go on.
//
// # Not guaranteed
//
// Work may be done twice, and by two workers at once, so it must be idempotent. Rows that are
// inserted meanwhile may be left out.
//
// # Costs
//
// For each slice, which lasts a minute by default: 2 requests to read the rows of the job, 3 or
// more to find the middle of what is left, 3 to store it, 4 to start the second half, and 4 of the
// worker with the message. At the beginning of a table whose end is not known, up to 64 more.
//
// # Operation
//
// Scale workers by the length of the queue NAME-writes. docs/operations.md says how to look at a
// job, and what to do about ranges that fail.
package jobs
