package engine

import (
	"context"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// write is one write: an operation, or several as a transaction. There is no other way in which entities are written.
//
// A write is planned: its transaction also contains what the maintainers derive, and a commit record if there are effects or if the write
// is exact. Then it is sent with one operation ID until its outcome is known. A refused write is replanned if another plan may succeed: a
// concurrent writer changed a row that the plan had read, or a derived row was not as the plan took it to be.
type write struct {
	table    *Table
	ops      []Op // the caller's, as they were made
	together bool // the caller asked for a transaction
	some     bool // of the first of them, as many as fit into one transaction, until the first plan stands
	pass     func(i int, err error) bool

	outbox    Outbox
	exact     bool
	completes *Completion

	id           string // the operation ID
	notification Sent
	found        map[string]found       // derived rows that were not as a plan took them to be
	seen         map[string]azcore.ETag // the versions of entities that they were found with

	state state
	next  transaction // the plan to be sent
	plan  transaction // the plan that was sent last
	sent  history
	out   outcome // of what was sent last
	lost  outcome // the last one that a concurrent writer is to blame for

	resolving sync.Mutex // by UnknownError.Resolve
}

// state is how far a write has come.
type state int

const (
	begun     state = iota // nothing stands: it is planned
	planned                // the plan stands: the outbox is notified, if there are effects
	ready                  // it is sent until its outcome is known
	refused                // a step was refused: it is replanned if that may help
	givenUp                // no further attempt: its outcome is made certain, if there is a commit record
	inDoubt                // it is unknown whether it was applied
	committed              // it was applied
	aborted                // it was not applied, and never will be
)

// history is what was sent with the operation ID.
type history struct {
	doubt         error // a request may have been applied, or may still be
	mayEnd        bool  // a request was refused that could be applied later
	recordLost    bool  // the commit record existed and is gone, so nothing can be said of the write
	withRecord    bool  // a request had a commit record
	withoutRecord bool  // a request in doubt had none
}

// outcome is what has become of the steps.
type outcome struct {
	verdict wire.Outcome
	etags   []azcore.ETag // of the steps
	failed  int           // the step that was refused, -1 for none
	err     error
	dead    bool // what was sent with the operation ID will never be applied
}

// transaction is a plan of a write, as it is sent.
type transaction struct {
	steps   []step // the commit record, if there is one; the caller's; the derived
	batch   bool   // they are one transaction
	record  bool   // there is a commit record of this write
	lead    bool   // the first step is a commit record: the write's own, or one of which it completes an effect
	effects bool
}

// own returns the part of the caller's operations in a list with an item for each step.
func own[X any](w *write, all []X) []X {
	if w.plan.lead {
		all = all[1:]
	}
	return all[:len(w.ops)]
}

func (w *write) partition() string { return w.ops[0].Key.PartitionKey() }

// find is Table.find for a write, whose time a throttled read may take.
func (w *write) find(ctx context.Context, k keys.Key) (f found, err error) {
	err = w.table.Options.Retry.RepeatBusy(ctx, func() error {
		f, err = w.table.find(ctx, k)
		return err
	})
	return f, err
}

// stored returns the content of a step's row once the write is applied.
func (w *write) stored(s *step) edm.Stored {
	after, _ := s.after(idColumn(w.id)) // planning has seen it
	return after
}

// superseded stands for the ETag of a version that was overwritten before it became known. It fits no row.
const superseded = azcore.ETag(`W/"datetime'1601-01-01T00%3A00%3A00Z'"`)
