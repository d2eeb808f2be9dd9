package model

import (
	"fmt"
	"strings"
)

const (
	txnRows    = 4
	txnParties = 3 // partitions
	txnMost    = 3 // transactions; their operations are numbered from 1
	txnWriters = 2
)

// What a transaction does with a row.
const (
	txnNothing  = iota
	txnInserts  // the row was absent
	txnReplaces // by ETag
	txnDeletes  // by ETag
	txnPins     // the row was only read: by ETag
	txnReserves // the row was only read, and was absent: a row is inserted that is deleted again
)

var txnWhats = [...]string{"nothing", "insert", "replace", "delete", "pin", "reserve"}

type txnValues [txnRows]uint8

// txnRow is a row. It is absent if it has neither a value nor a mark. op is the operation that has marked it, and image the value after op.
type txnRow struct{ value, op, what, image uint8 }

func (r txnRow) absent() bool { return r.value == 0 && r.op == 0 }

// old returns the value of the row before op.
func (r txnRow) old() uint8 {
	if r.op != 0 && (r.what == txnInserts || r.what == txnReserves) {
		return 0
	}
	return r.value
}

const (
	txnNone = iota
	txnPrepare
	txnCommit
	txnAbort
	txnForward
	txnBack
	txnWrite
)

var txnKinds = [...]string{"", "prepares", "commits", "inserts the abort record of", "finishes", "rolls back", "writes"}

// txnRequest is a write that was sent to the storage. fresh contains the rows that have not changed since the sender read them. The op of a
// writer is its number, and its party is the row.
type txnRequest struct {
	kind, op, party, fresh uint8
	seen                   txnValues
}

// The steps of a transaction.
const (
	txnReads = iota
	txnPrepares
	txnReadsAgain // only of a mutant
	txnCommits
	txnAsks
	txnAborts
	txnFinishes
	txnRollsBack
	txnCommitted // it has ended, and its program knows the outcome
	txnAborted
	txnAnswered // it has only read
	txnCrashed
)

// The steps of a writer of one row.
const (
	txnLooks = iota
	txnStores
	txnStored
)

// The steps of who resolves a mark, or an operation.
const (
	txnIdle = iota
	txnRecord
	txnFence
	txnForth
	txnBackward
)

// txnResolve is a step that ends an operation in one partition, or, of a worker, in those that are left.
type txnResolve struct{ pc, op, party uint8 }

type txnProcess struct {
	pc, read, left, fresh uint8
	seen                  txnValues
	resolve               txnResolve
}

type txnState struct {
	rows     [txnRows]txnRow
	control  [txnMost + 1][txnParties]uint8 // ~t|op
	records  [txnMost + 1]uint8             // ~i|op: absent, done or aborted
	parties  [txnMost + 1]uint8             // the partitions that are prepared, which the message of the operation names
	bodies   [txnMost]txnProcess
	writers  [txnWriters]txnProcess
	worker   txnResolve
	worked   uint8 // the operations that the worker has ended
	late     txnRequest
	lateUsed bool
	fault    uint8

	// With orders only: what the transactions and writers have read that are done.
	took  [txnMost + txnWriters]txnValues
	taken uint8
}

const (
	notTrueThen    = "a transaction commits what was not true at that instant"
	noSerialOrder  = "what was committed has no serial order"
	wronglyAborted = "a transaction is reported as aborted and is committed, or the reverse"
	lostUpdate     = "a writer has overwritten what it has not read"
	cannotEnd      = "what is pending cannot be ended by one program alone"
	cannotEndAlone = "a program does not end alone"
)

const (
	txnBothOutcomes = iota + 1
	txnChangedWithout
	txnPartCommitted
	txnNotTrue
	txnLostUpdate
)

var txnFaults = [...]string{"", bothOutcomes, changedWithout, partCommitted, notTrueThen, lostUpdate}

// truths returns the values of the rows for a reader that resolves marks.
func (s *txnState) truths() (all txnValues) {
	for r, row := range s.rows {
		switch {
		case row.op == 0:
			all[r] = row.value
		case s.records[row.op] == done:
			all[r] = row.image
		default:
			all[r] = row.old()
		}
	}
	return all
}

// set writes a row. All ETags of the row become invalid.
func (s *txnState) set(r int, to txnRow) {
	s.rows[r] = to
	for i := range s.bodies {
		s.bodies[i].fresh &^= 1 << r
	}
	for i := range s.writers {
		s.writers[i].fresh &^= 1 << r
	}
	s.late.fresh &^= 1 << r
}

// pending reports whether something of an operation is pending in a partition.
func (s *txnState) pending(op uint8) bool {
	for _, row := range s.rows {
		if row.op == op {
			return true
		}
	}
	for _, state := range s.control[op] {
		if state == pending {
			return true
		}
	}
	return false
}

func (s txnState) String() string {
	var b strings.Builder
	b.WriteString("rows")
	for r, row := range s.rows {
		fmt.Fprintf(&b, " %d", s.truths()[r])
		if row.op != 0 {
			fmt.Fprintf(&b, "(%s of %d: %d→%d)", txnWhats[row.what], row.op, row.old(), row.image)
		}
	}
	for op := 1; op <= txnMost; op++ {
		if s.records[op] != absent {
			fmt.Fprintf(&b, " · op %d %s", op, kindNames[s.records[op]])
		}
		for p, state := range s.control[op] {
			if state != absent {
				fmt.Fprintf(&b, " · ~t|%d in %d %s", op, p, kindNames[state])
			}
		}
	}
	if s.late.kind != txnNone {
		fmt.Fprintf(&b, " · late: %s %d in %d", txnKinds[s.late.kind], s.late.op, s.late.party)
	}
	return b.String()
}
