// Package engine reads and writes the rows of a table, without a Go type parameter: package table puts the types around it.
//
// A [Table] is a handle. A [Mode] holds the settings in which the handles of one table differ. An [Op] is one write as data: the
// columns that are written, the condition, and the [Target], which receives the result. [Commit] applies operations as one
// transaction, and [Bulk] applies a stream of operations as many transactions. A [Plan] is a transaction while maintainers add
// derived rows to it. [List] reads the pages of a [Query].
//
// # A write
//
// Each write takes this way, from [Op.Send], [Commit] or [Bulk]:
//
//  1. write.execute (write.go) chooses the operation ID and the deadline. write.run goes from state to state; see the table at type
//     state (write.go).
//  2. write.planAnew, by makePlan (both write.go) and planner.planAll (planner.go), calls the maintainers of each operation:
//     step.readAndMaintain (planner.go) reads the row if it is not known, and the maintainers add derived rows to the Plan (plan.go).
//  3. write.makePlan adds the commit record, if there is one, and encodes all steps, once for each plan.
//  4. write.sendNotification (write.go) stores the notification of a write with effects.
//  5. write.send (send.go) sends the transaction (send.go), or the only step (send.go), until the outcome is known. After a
//     lost response, the commit record (outcome.go) or the operation ID in a row (outcome.go) shows the outcome.
//  6. write.replan (write.go) decides after a conflict whether to plan again. write.done (finish.go) ends a write that was applied
//     and shows its notification (finish.go, finish.go), and write.giveUp ends one that was not.
//
// Package errs declares the errors. Package table names them again.
package engine
