// Package logtail appends records to logs and reads the newest ones first ('Azure Table storage
// table design guide': log tail and high-volume delete patterns; prepend/append anti-pattern).
//
// Table storage sorts rows by their keys. A [Log] makes the RowKey of a record from the inverted
// ticks of its time, so that the newest record of a partition is its first row:
//
//	type Claim struct {
//		Employee int
//		Amount   int32
//	}
//
//	claims := logtail.New[Claim](company, "claims", nil) // in an aztablekit.Store
//	sales := claims.In(dept.Of("Sales")) // one source, with a partition of its own
//
//	_, err := sales.Append(ctx, &Claim{Employee: 223, Amount: 17})
//	for r, err := range sales.Tail(ctx, 10) { // the 10 newest claims, 1 request
//		…
//	}
//
// [Log.Between] and [Log.Since] read by time. [Log.Follow] yields all records and waits for new
// ones; its [Cursor] can be stored. The time of a [Record] comes from its key, so the type of the
// values needs no field for it.
//
// # Guarantees
//
//   - Append is 1 request and reads nothing. A record that is sent again after a lost response is
//     stored once.
//   - A writer is one Log in one process. Its records have ascending times, also if its clock
//     stands still or steps back.
//   - Follow yields each record once, and the records of a writer in their order, if clocks differ
//     by less than Options.Overlap allows.
//
// # Not guaranteed
//
// Records of several writers are in the order of their clocks. A record may become visible after
// newer ones. After table.ErrUnknownOutcome, the record may be stored: [Log.Resend] sends it again
// under its key, while another Append would store a second record. Resend must be called before
// Options.Overlap has passed. [Log.AppendOnce] is for records of effects.
//
// # Many records
//
// The records of a source all go to one partition, which takes about 2,000 a second. If they have
// natural sources, such as devices, use [Log.In]. Options.Spread stores the records of one source
// in several partitions, and reads merge them.
//
// # Old records
//
// A log by [NewByPeriod] has a table for each day, month or hour. [Periods.Create] makes them
// ahead, and [Periods.Drop] deletes the tables past the retention, 3 requests each. [Log.Delete]
// takes 1 for each 100 records.
//
// # Rows of other programs
//
// A log reads rows whose RowKey is 19 digits of inverted ticks, as in the design guide, also with a
// separator and more behind them (2521…999_5f0c7a52). It leaves out rows of other types. A row of a
// log that does not fit the type ends a read, unless Options.Skip leaves it out.
//
// # Costs
//
// AppendAll takes 1 request for each 100 records, one after another. A read takes 1 for each 1,000
// records and at least 1 for each partition, the first ones at the same time.
package logtail
