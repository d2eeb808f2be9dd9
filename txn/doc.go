// Package txn runs serializable transactions over partitions and tables of a store. The service has
// transactions in one partition alone.
//
//	err := txn.Run(ctx, bank, func(tx *txn.Tx) error {
//		from, err := txn.Get(tx, accounts, fromKey)
//		if err != nil {
//			return err
//		}
//		to, err := txn.Get(tx, accounts, toKey)
//		if err != nil {
//			return err
//		}
//		if from.Value.Cents < cents {
//			return errNoMoney
//		}
//		from.Value.Cents -= cents
//		to.Value.Cents += cents
//		tx.Do(accounts.ReplaceOp(from), accounts.ReplaceOp(to))
//		return nil
//	})
//
// # Guarantees
//
//   - All operations are applied or none, also after a crash. Readers of this library see them at
//     one instant.
//   - The transactions, and all writes of this library beside them, have an order that explains
//     what each has read and written, and in which each comes behind those that had ended when it
//     began. If what a transaction has read changes before it commits, it writes nothing, and its
//     function is called again.
//   - Indexes, unique values, summaries, ends and effects follow from its entities as from those of
//     any write.
//   - A program that crashes or sleeps holds up those who read its rows for about a second: they
//     finish its transaction, or roll it back.
//
// # Not guaranteed
//
// A transaction cannot read a list, because nothing keeps others from inserting into it. Keep what
// the list would tell, such as a count, in an entity that each transaction writes. Programs without
// this library, and handles with Options.BlindWrites, must leave rows alone that have the property
// _tx. All programs of the store must declare its tables, and have a release with this package.
//
// # Costs
//
// With P partitions that are read or written, those of unique values elsewhere included: 2P − 1
// transactions of the service and 3 requests more, for a message that is withdrawn and for the
// commit record, besides the reads; with one, 1 transaction. The workers have nothing to do. A row
// that is read as absent, and not inserted, in the only partition that is written costs 5 requests
// more. A function that writes nothing, or returns an error, reads all
// rows but one again; with two absent rows it is a transaction. If an insert is refused in the only
// partition, all rows are read again. A row that is read gets another ETag, so transactions that
// read one row refuse each other, and the functions are called again.
//
// At most 10 partitions. In the home, one of them, 99 rows; in each other one 99 that are
// inserted, deleted or read, or 49 that change; derived rows count. docs/transactions.md says more,
// and when something simpler will do.
package txn
