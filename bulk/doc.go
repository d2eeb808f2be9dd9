// Package bulk applies streams of operations to tables, of any length, in as few transactions as possible, and deletes the rows of
// a query.
//
// A transaction of the service takes 100 operations of one partition. [Run] reads ahead in a stream, groups its operations by
// partition, and sends several transactions at a time. The operations come from the methods of package table that end in Op.
//
//	result, err := bulk.Run(ctx, func(yield func(table.Op, error) bool) {
//		for employee := range employees {
//			if !yield(staff.UpsertOp(&employee, table.ReplaceExisting), nil) {
//				return
//			}
//		}
//	}, nil)
//
//	result, err = bulk.Delete(ctx, staff, table.Query[Employee]{Partition: dept.Of("Sales")}, nil)
//
// Each transaction is all or nothing, and the stream as a whole is not. Operations of one partition are applied in their order, and
// derived rows change in the transaction of their entity. For several operations that belong together, use table.Transact.
//
// # Errors
//
// The first refused operation ends the work with an [*Error], which contains the operation's index, its key and the reason.
// Options.Skip drops refused operations and goes on. A delete of a row that does not exist is no error.
//
// [Result] is right in any case. Upserts and deletes can be repeated: after an error, resume the stream at Result.ResumeAt.
//
// # Costs
//
// N operations in one partition take ⌈N / 100⌉ requests. Operations in many partitions, derived rows, commit records and rows over
// 40 kB make transactions smaller: raise Options.Window for a stream that mixes partitions. A write by key reads the row first, 1
// request more for each row, unless the table has Options.BlindWrites of package table. The rows of lists and summaries are read once
// for each partition whose operations follow each other.
package bulk
