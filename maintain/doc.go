// Package maintain attaches maintainers to a table: code that derives rows and effects from the entities, in the transaction of
// each write. Package index consists of maintainers, and packages eventual and archive have some, too. This package is for
// programmers who write their own.
//
// A maintainer adds what follows from the [Change] of an entity to the [Plan] of the transaction:
//
//	// byName stores a copy of each employee under the last name. Here no two employees of a department have the same.
//	type byName struct{}
//
//	func (byName) Name() string { return "name" }
//	func (byName) MaxRows() int { return 2 } // the old name and the new one
//
//	func (byName) Maintain(ctx context.Context, p *maintain.Plan, c *maintain.Change[Employee]) error {
//		for _, old := range c.State() { // the rows of the last write
//			if err := p.Remove(keys.Raw(old)); err != nil {
//				return err
//			}
//		}
//		row, err := c.Row()
//		if err != nil || row == nil { // nil: the employee is deleted
//			return err
//		}
//		under := keys.At(c.Key.Partition(), names.Of(c.New.LastName))
//		c.SetState(under.RowKey())
//		return p.Insert(row.Copy(under), errTaken)
//	}
//
//	staff, err := maintain.With(plain, byName{}) // all writes by this handle
//
// All writers of a table must attach the same maintainers. [With] says what a handle without them does.
//
// # Derived rows
//
// A row of one entity, such as a copy under another key, is written without being read. The maintainer knows from its state whether
// the row exists: [Change.SetState] stores texts with the entity, and [Change.State] returns them at the next write, also to a
// program with another key function. If a derived row is not as expected, the library reads the row, repairs it, and sends the
// write again.
//
// A row that several entities share, such as a list or a sum, is read first by [Plan.Load] and written by its ETag. After a
// conflict, the whole transaction is replanned, and each maintainer is called again. A maintainer must therefore have no effect but
// on its Plan and its Change.
//
// # Effects
//
// An effect is work outside the partition. [Plan.Effect] adds one to the transaction, and a handle of [WithOutbox] stores it in the
// commit record of the write and notifies workers. Package eventual has an outbox, its workers, and a maintainer for the usual
// case, eventual.OnChange.
//
// # Errors
//
// An error of a maintainer ends the write before anything is sent. The write returns it as a [table.DerivedError], which names the
// maintainer, the derived row, and the owner of a row that is taken.
//
// # Costs
//
// A write of a loaded entity is 1 request, with any number of derived rows: up to 97 for the change of one entity. A write by key
// reads the entity first. Each loaded row is 1 request more, and effects are 2 more.
//
// docs/maintainers.md describes the protocol.
package maintain
