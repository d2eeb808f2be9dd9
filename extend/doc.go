// Package extend is for authors of definitions: code that derives rows and effects from the
// entities of a table, in the transaction of each write, and workers that execute effects.
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
//	func (m byName) Define(d *extend.Declaration[Employee]) error { return d.Maintain(m) }
//
//	staff := aztablekit.Table(company, "staff", dept, empid, byName{})
//
// All programs that write a table must declare the same definitions.
//
// # Derived rows
//
// A row of one entity, such as a copy under another key, is written without being read. The
// maintainer state says which rows exist: [Change.SetState] stores texts with the entity, and
// [Change.State] returns them at the next write, also to a program with another key function. If a
// derived row is not as expected, the library reads the row, repairs it, and sends the write again.
//
// A row that several entities share is read first by [Plan.Load] and written by its ETag. After a
// conflict, the transaction is replanned, and each maintainer is called again: it must have no
// effect but on its Plan and its Change.
//
// # Effects and commit records
//
// An effect is work outside the partition. [Plan.Effect] adds one to the transaction, and
// [Declaration.Handle] adds the [Handler] that executes it, on the workers of the store. The write
// stores its effects in its commit record, a small row beside the entity in the same transaction,
// and notifies the workers. If the record exists, the write is committed. If not, [Resolve] stores
// an abort record in its place, and the write can never commit. A write by a [table.Table.Exact]
// handle has a commit record, too.
//
// # Errors
//
// An error of a maintainer ends the write before anything is sent, as a [table.DerivedError].
//
// # Costs
//
// A write of a loaded entity is 1 request, with any number of derived rows: up to 97 for the change
// of one entity. A write by key reads the entity first. Each loaded row is 1 request more, and
// effects are 2 more.
//
// docs/maintainers.md and docs/writes.md describe the protocols.
package extend
