// Package catalogue keeps a table's definitions in the table itself: a row that names each
// definition of each type of entities, with its form and its state. All programs go by it, so that
// the writers of a table keep the same definitions, and look-ups answer only by a definition whose
// rows are complete. A definition is unfilled, building, readable, retiring, retired, and then
// unfilled again.
//
// In building, readable and retiring, all writers keep the definition, and those that do not
// declare it are refused. In unfilled and retired, writers add no rows, and drop those that an
// entity records; then no writer is refused. A definition that the row does not name is refused to
// all that declare it: Ensure adds it, as unfilled unless the table is empty. Store.Fill makes it
// building, waits, fills it, and makes it readable. Store.Retire makes it retiring, waits, makes it
// retired, waits again, deletes its rows, and makes it unfilled.
//
// # Leases
//
// A program goes by what it has read for some time, a lease, which counts from before the read was
// sent. It sends a write only while enough of the lease is left, and a look-up is an answer only if
// the lease still holds when the response is here. So a program that changes a state waits for
// longer than a lease, and then no program goes by the state before. Each wait counts from the
// response of its own change, or of its own read of a change by another program.
//
// The wait rests on an assumption: no request that was sent under a lease arrives later than half a
// lease after it. See tools/model for the protocol without each of its parts, and docs/protocols.md
// for what a later request does.
package catalogue
