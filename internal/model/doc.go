// Package model explores protocols before they are built: it visits every state that their steps can lead to, with crashes between
// any two steps, messages that are delivered any number of times and to two workers at once, and requests that arrive late. Model
// does that for any protocol; these are in the tests, with what goes wrong if a part of them is left out:
//
//   - Archive: entities that move to a destination and back. 28 workloads of up to three users, two workers and one late request at a
//     time, 54 to 2,000,000 states each, 7.5 million in all; three more, of 6 to 21 million, with -large. 30 mutants. Beside the library are programs
//     that know nothing of incarnations, hold old reads and forge texts, and clocks that jump.
//   - Intents: a write with two effects, workers of two releases, a poison queue and its replay; also with writers and workers that are
//     suspended for longer than the retention, and clocks that jump. 290,000 to 1,060,000 states. 11 mutants.
//   - Clean-up: what intents leave behind, by partition and hour, in a model of time. 350,000 states for one write and 630,000 for two.
//     12 mutants.
//
// What is assumed, and not explored: a request that has not arrived within the retention never arrives; clocks differ by less than that; a
// machine that is suspended reads a clock which has gone on when it looks at the age of an operation, right before it sends it.
//
// # The archive
//
// A row of the destination has the life in its key, and lists the ops that have put it. A worker reads its intent, the destination,
// Current: in this order. If the life is in Current it puts the row (Insert or CAS), and then deletes it from Current in one EGT with
// the intent, both by CAS. If it is not, either the move is over or the user has deleted the entity; the worker looks at its own intent
// and at those of the other ops of the list, and if none of them says that the move is over it leaves a tombstone, also where nothing
// was: an Insert may still be on its way.
//
// A restore may take a row only after one op of its list is seen to be over (before, the row may be an attempt, and its entity deleted),
// and takes the content that it reads after that (before, it may be an old one; and a row that was withdrawn is a tombstone by then).
// It mints a life, and inserts left(life) in its EGT, so that no life is restored twice.
//
// # The clean-up
//
// A worker that is about to delete an intent's message (it closed the intent, or found it closed, or too old) first looks for the row of the
// current hour; if there is none it sends the clean-up, and then inserts the row: a crash costs a second clean-up, which does no harm.
// The clean-up is hidden until the end of its hour and the retention are over.
package model
