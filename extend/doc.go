// Package extend is for authors of definitions: code that derives rows and effects from the entities of a table, in the transaction of
// each write, and workers that execute effects.
//
// A [Maintainer] adds what follows from the [Change] of an entity to the [Plan] of the transaction:
//
//	// byName stores a copy of each employee under the last name. Here no two employees of a department have the same.
//	type byName struct{}
//
//	func (byName) Name() string { return "name" }
//	func (byName) MaxRows() int { return 2 } // the old name and the new one
//
//	func (byName) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[Employee]) error {
//		for _, old := range c.State() { // the rows of the last write
//			if err := p.Remove(keys.RawRow(old)); err != nil {
//				return err
//			}
//		}
//		row, err := c.Row()
//		if err != nil || row == nil { // nil: the employee is deleted
//			return err
//		}
//		under := keys.At(c.Key.Partition(), names.RowKey(c.New.LastName))
//		c.SetState(under.RowKey())
//		return p.Insert(row.Copy(under), errTaken)
//	}
//
//	staff, err := extend.With(base, byName{}) // all writes by this handle
//
// All writers of a table must have the same maintainers. [With] says what a handle without them
// does.
//
// # Derived rows
//
// A row of one entity, such as a copy under another key, is written without being read. The maintainer state says which rows exist:
// [Change.SetState] stores texts with the entity, and [Change.State] returns them at the next write, also to a program with another
// key function. If a derived row is not as expected, the library reads the row, repairs it, and sends the write again.
//
// A row that several entities share is read first by [Plan.Load] and written by its ETag. After a conflict, the transaction is
// replanned, and each maintainer is called again: it must have no effect but on its Plan and its Change.
//
// # Effects and commit records
//
// An effect is work outside the partition. [Plan.Effect] adds one to the transaction. A handle of a store stores it in
// the commit record of the write, a small row beside the entity that is stored in the same transaction, and its [Outbox] notifies
// workers. If the record exists, the write is committed. If not, [Records.Resolve] stores an abort record in its
// place, and the write can never commit.
//
//	records := extend.RecordsOf(staff)
//	record, err := records.Resolve(ctx, partition, operationID) // from a message
//	if err == nil && record.State == extend.Pending {
//		for _, effect := range record.Effects {
//			… // execute the effect
//		}
//		err = records.MarkDone(ctx, record)
//	}
//
// The workers of package eventual do this on a queue. [Records] also finds the outcome of a write of another process, and the writes
// whose effects are not executed. [Completing] makes a handle for one write that executes an effect and completes it in the same
// transaction. A write by a [table.Table.Exact] handle has a commit record, too. [SweepAll] deletes the records of tables without a store.
//
// # Errors
//
// An error of a maintainer ends the write before anything is sent, as a [table.DerivedError].
//
// # Costs
//
// A write of a loaded entity is 1 request, with any number of derived rows: up to 97 for the change of one entity. A write by key
// reads the entity first. Each loaded row is 1 request more, and effects are 2 more.
//
// docs/maintainers.md and docs/writes.md describe the protocols.
package extend
