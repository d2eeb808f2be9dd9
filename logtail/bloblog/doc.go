// Package bloblog stores logs as lines in append blobs, which any tool can read, and reads them by
// source and time ('Azure Table storage table design guide': log data anti-pattern). Log data that
// is only read by time costs less in blobs than in tables: a request stores many records.
//
//	type Event struct {
//		Order int
//		State string
//	}
//
//	events := bloblog.New[Event](company, "logs", nil) // company is the store
//	orders, err := events.Writer("orders")
//	defer orders.Close(ctx)
//
//	err = orders.Append(ctx, &Event{17, "paid"}) // into the buffer
//	err = orders.Flush(ctx)                      // into blob orders/2014/07/31/1800/000001.log
//
//	for r, err := range events.Between(ctx, "orders", from, to) {
//		…
//	}
//
// A record is one line, JSON unless Options.Encode and Decode say otherwise. The name of a blob is
// its source, the hour of its records in UTC, and a number. Each writer has blobs of its own.
// [Writer] is also an io.Writer for lines, such as the lines of slog.
//
// # What a crash loses
//
// Append returns when the record is in the buffer of the writer. A crash loses the records that are
// not stored yet: the records of the last Options.FlushInterval (1 s), at most Options.FlushRecords
// (1,000) or FlushBytes (1 MiB), and records that came since the flush began. While the service
// cannot be reached, the buffer grows up to Options.Buffer, and then Append waits. Append looks at
// these bounds when it is called, and [Writer.Run] also between the calls. Larger bounds mean fewer
// requests and larger losses.
//
// # Guarantees
//
//   - When Flush or Close returns nil, each record that was appended before is stored once, also
//     after lost, late and repeated requests. After an error, the records stay in the buffer, and
//     the next flush continues.
//   - A record whose writer crashed is stored once or not at all.
//   - A line is stored whole. Readers leave out a last line without a line break.
//
// # Not guaranteed
//
//   - Records of several writers of an hour are not merged by time: they are in several blobs.
//   - If a program takes the lease of a blob while it is written, the writer goes to another blob.
//     A request that the network repeats when the lease has ended then stores its records a second
//     time.
//
// # Costs
//
// A flush is 1 request for each hour of its records, and a new blob 2 more: one to create it, and
// one to store the time of its last record. A read is 1 request or more to list, and 1 for each
// blob. See [Writer.Flush] and [Log.Blobs].
package bloblog
