package engine

import (
	"context"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// write is one write: an operation, or several as a transaction. There is no other way in which entities are written.
//
// A write is planned: its transaction also contains what the maintainers derive, and a commit record if there are effects or if the
// write is exact. Then it is sent with one operation ID until its outcome is known. A refused write is replanned if another plan
// may succeed: a concurrent writer changed a row that the plan had read, or a derived row was not as the plan took it to be.
type write struct {
	table         *Table
	method        string
	ops           []*Op // the caller's, as they were made
	moved         []*Op // the caller's in other partitions
	asTransaction bool  // the caller asked for a transaction
	mayDropTail   bool  // the first plan may leave out operations at the end that do not fit
	skip          func(i int, err error) bool
	later         []*Op      // that it has left out
	ahead         *aheadRows // rows that were read ahead, for this write and those after it; nil for none
	meanwhile     func()     // is called when the transaction is about to be sent; may be nil

	outbox    Outbox
	exact     bool
	completes *Completion

	id             string // the operation ID
	notification   SentNotification
	showing        *showing               // of the bulk work, or begun by show
	awaitsShow     bool                   // show has begun it
	corrections    map[string]readResult  // derived rows that were not as an earlier plan expected
	entityVersions map[string]azcore.ETag // of entities, when the corrections were read

	state        state
	nextPlan     transaction // the plan to be sent
	currentPlan  transaction // the plan that was sent last
	sent         history
	out          outcome // of what was sent last
	lastConflict outcome // the last one that a concurrent writer caused

	parts []*write // of this write, in other partitions
	only  string   // the partition of a part

	resolving sync.Mutex // by UnknownError.Resolve
}

// state is how far a write has come. These are its ways:
//
//	state        function           next states
//	begun        planAnew           planned, givenUp, inDoubt
//	planned      sendNotification   notified, givenUp
//	notified     prepare            ready, begun, aborted
//	ready        send               committed, refused, givenUp
//	refused      replan             begun, givenUp, aborted, committed
//	givenUp      giveUp             committed, aborted, inDoubt
type state int

const (
	stateBegun     state = iota // next: make a plan
	statePlanned                // next: notify the outbox, if there are effects
	stateNotified               // next: prepare the other partitions, if there are any
	stateReady                  // next: send it until its outcome is known
	stateRefused                // a step was refused; next: plan again, if that may help
	stateGivenUp                // no further attempt; next: make the outcome certain, if there is a commit record
	stateInDoubt                // it is unknown whether it was applied
	stateCommitted              // it was applied
	stateAborted                // it was not applied; with a commit record, it never will be
)

// history is what was sent with the operation ID.
type history struct {
	doubt         error // the error of a request that may have been applied, or may be later
	mayStillApply bool  // a request was refused, and its late duplicate could still be applied
	recordLost    bool  // the commit record existed and is gone, so nothing can be said of the write
	withoutRecord bool  // a request in doubt had none
}

// outcome is what has become of the steps.
type outcome struct {
	kind         wire.Outcome
	etags        []azcore.ETag // of the steps
	failed       int           // the step that was refused, -1 for none
	err          error
	neverApplies bool // nothing that was sent with the operation ID can be applied any more
	responded    bool // the response of the current plan says so, and not what is stored
}

// transaction is a plan of a write, as it is sent.
type transaction struct {
	steps   []step // the commit record, if there is one; the caller's; the derived
	batch   bool   // they are one transaction
	record  bool   // there is a commit record of this write
	lead    bool   // the first step is a commit record: the write's own, or one of which it completes an effect
	effects bool
	remotes []*remote
	after   afterCommit
	late    time.Time // zero for a transaction that may be sent at any time
}

// remote is what a write does in another partition than its home: in another partition of the table, or in another table of the
// service. It is prepared before the write commits, and finished afterwards.
type remote struct {
	at      Remote
	table   *Table
	plan    *Plan
	part    *write      // plans the operations of this partition, and finds out what a refusal means
	steps   []step      // what the partition is to become
	prepare transaction // what prepares the partition
	images  int         // the rows of the preparation that contain new contents
	etags   []azcore.ETag
}

// remotes are the remotes of a plan.
type remotes struct {
	write *write
	home  *Plan
	all   []*remote
}

// placesOf returns where remotes are.
func placesOf(remotes []*remote) (all []Remote) {
	for _, m := range remotes {
		all = append(all, m.at)
	}
	return all
}

// callersPart returns the part of the caller's operations in a list with an item for each step.
func callersPart[X any](w *write, all []X) []X {
	if w.currentPlan.lead {
		all = all[1:]
	}
	return all[:len(w.ops)]
}

func (w *write) partition() string {
	if w.only != "" {
		return w.only
	}
	return w.ops[0].Key.PartitionKey()
}

// readRow is Table.readRow for a write, whose time a repeated read may take.
func (w *write) readRow(ctx context.Context, k keys.Key) (f readResult, err error) {
	err = w.table.Options.Retry.RepeatRead(ctx, w.log(), func(ctx context.Context) error {
		f, err = w.table.readRow(ctx, k)
		return err
	})
	return f, err
}

// readStep reads the row of a step: of a step of the caller's, the whole entity.
func (w *write) readStep(ctx context.Context, s *step) (f readResult, err error) {
	if s.derived != nil || s.Table.Mode.Parts == 0 {
		return w.readRow(ctx, s.Key)
	}
	err = w.table.Options.Retry.RepeatRead(ctx, w.log(), func(ctx context.Context) error {
		f, err = s.Table.readEntity(ctx, s.Key)
		return err
	})
	return f, err
}

// stored returns the content of a step's row once the write is applied.
func (w *write) stored(s *step) edm.Stored {
	after, _ := s.after(idEnding(w.id)) // planning has seen it
	return after
}

// log returns the log of the write.
func (w *write) log() Log {
	l := w.table.Log(w.method, keys.Key{})
	switch len(w.ops) {
	case 0: // all were passed over
	case 1:
		l.Key = w.ops[0].Key
	default:
		l.Partition = w.partition()
	}
	return l
}
