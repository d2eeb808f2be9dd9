// Package engine reads and writes the rows of a table, without a Go type parameter: package table
// puts the types around it.
//
// A [Table] is a handle. A [Mode] holds the settings in which the handles of one table differ. An
// [Op] is one write as data: the columns that are written, the condition, and the [Target], which
// receives the result. [Commit] applies operations as one transaction, and [Bulk] applies a stream
// of operations as many transactions. A [Plan] is a transaction while maintainers add derived rows
// to it. [List] reads the pages of a [Query].
//
// # A write
//
// Each write takes this way, from [Op.Send], [Commit] or [Bulk]:
//
//  1. write.execute (write.go) chooses the operation ID and the deadline. write.run goes from state
//     to state; see the table at type state (write.go).
//  2. write.planAnew (write.go) makes a plan. planner.planOperation (planner.go) adds an operation
//     to it: step.readAndMaintain reads the row if it is not known, and step.callMaintainers calls
//     the maintainers, which add derived rows to the Plan (plan.go).
//  3. write.makeTransaction (write.go) makes a transaction of the plan: write.addLead adds the
//     commit record, if there is one, and all steps are encoded, once for each plan.
//  4. write.sendNotification (write.go) stores the notification of a write with effects
//     (finish.go).
//  5. write.prepare (prepare.go) prepares the other partitions of a write over several. Their plans
//     are in participant.go.
//  6. write.send (send.go) sends the transaction, or the only step (send.go), until the outcome is
//     known: outcome.go says what a refusal or a lost response means, by the commit record or the
//     operation ID in a row.
//  7. write.replan (write.go) decides after a conflict whether to plan again (replan.go).
//     write.done (finish.go) ends a write that was applied: it finishes the other partitions, and
//     ends the commit record, or shows the notification to the workers. write.giveUp (write.go)
//     ends a write that was not applied. Its abort record (record.go) excludes that it commits
//     later; without one, UnknownError.Resolve asks again. Rows that lie elsewhere, and are stored
//     before a transaction, are in outer.go.
//
// Commit records are read and resolved in record.go. Preparations of crashed programs are ended in
// end_prepared.go. A list requests pages in list.go, hands out their rows in delivery.go, and shows
// marked rows by markview.go. Packages stored, commit, query, options and errs declare what the
// engine and its callers share.
package engine
