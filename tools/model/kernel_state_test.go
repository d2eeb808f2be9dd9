package model

import (
	"fmt"
	"strings"
)

const (
	kernelRows    = 6
	kernelOps     = 6 // the numbers of operations begin with 1
	kernelParties = 4 // partitions
)

// The values of a planned row: what the operation does with the row.
const (
	untouched = iota
	rowInserted
	rowReplaced
	rowDeleted
)

var plannedNames = [...]string{"untouched", "insert", "replace", "delete"}

// planned is what an operation does with a row.
type planned struct{ what, value uint8 }

type kernelPlan [kernelRows]planned

// kernelRow is a row. The value 0 means that the row does not exist. op is the operation that has marked the row, 0 if the row is not
// marked. The image is the value after op. It is stored in a row of its own, which exists as long as the mark.
type kernelRow struct{ value, op, what, image uint8 }

// old returns the value of the row before op.
func (r kernelRow) old() uint8 {
	if r.op != 0 && r.what == rowInserted {
		return 0
	}
	return r.value
}

// kernelRequest is a write that was sent to the storage. fresh contains the rows that have not changed since the sender read them.
type kernelRequest struct {
	kind, op, party, fresh uint8
	plan                   kernelPlan
}

const (
	kernelNone = iota
	kernelPrepare
	kernelCommit
	kernelAbort
	kernelForward
	kernelBack
)

var kernelNames = [...]string{"", "prepare", "commit", "abort record", "finish", "roll back"}

// kernelUser is a user with a script of actions. While a user resolves a mark, resolve is its next step.
type kernelUser struct {
	at, attempt, pc, read, fresh, left  uint8
	resolve, resolveOp, resolveAt, back uint8
	seen                                [kernelRows]uint8
	plan                                kernelPlan
}

type kernelWorker struct{ pc, op, left uint8 }

// kernelReader is a reader that does not write. lived contains every true answer since it began.
type kernelReader struct {
	pc, target, owner uint8
	known, old        uint8 // operations that were committed, or old and without a commit record, before the page was read
	seen              [2]kernelRow
	lived             uint64
}

type kernelState struct {
	rows     [kernelRows]kernelRow
	control  [kernelOps][kernelParties]uint8
	records  [kernelOps]uint8
	messages uint8
	users    [3]kernelUser
	workers  [2]kernelWorker
	verify   kernelWorker
	reader   kernelReader
	late     kernelRequest
	lateUsed bool
	cleared  bool  // the queue was cleared
	begun    uint8 // operations
	old      uint8 // operations that are older than the retention
	fault    uint8
}

const (
	committedAborted = iota + 1
	changedAnswer
	wrongCommit
	wrongAnswer
)

var kernelFaults = [...]string{"", bothOutcomes, changedWithout, partCommitted, neverTrue}

const (
	bothOutcomes   = "an operation was committed twice, or committed and aborted"
	changedWithout = "an answer changed without a commit"
	partCommitted  = "a commit did not change every row of its plan"
	neverTrue      = "a reader's answer was true at no instant of its reading"
	leftPending    = "something pending is left"
	inconsistent   = "rows contradict each other"
)

func (s *kernelState) committed(op uint8) bool {
	return s.records[op] == pending || s.records[op] == done
}

// truth returns the value of a row for a reader that resolves marks.
func (s *kernelState) truth(r int) uint8 {
	row := s.rows[r]
	switch {
	case row.op == 0:
		return row.value
	case s.committed(row.op):
		return row.image
	}
	return row.old()
}

func (s *kernelState) truths() (all [kernelRows]uint8) {
	for r := range all {
		all[r] = s.truth(r)
	}
	return all
}

// set writes a row. All ETags of the row become invalid.
func (s *kernelState) set(r int, to kernelRow) {
	s.rows[r] = to
	for i := range s.users {
		s.users[i].fresh &^= 1 << r
	}
	s.late.fresh &^= 1 << r
}

func (s kernelState) String() string {
	var b strings.Builder
	b.WriteString("rows")
	for r, row := range s.rows {
		fmt.Fprintf(&b, " %d", s.truth(r))
		if row.op != 0 {
			fmt.Fprintf(&b, "(op %d %s %d→%d)", row.op, plannedNames[row.what], row.old(), row.image)
		}
	}
	for op := 1; op < kernelOps; op++ {
		if s.records[op] != absent {
			fmt.Fprintf(&b, " · op %d %s", op, kindNames[s.records[op]])
		}
		for p, state := range s.control[op] {
			if state != absent {
				fmt.Fprintf(&b, " · ~t|%d in %d %s", op, p, kindNames[state])
			}
		}
		if s.messages&(1<<op) != 0 {
			fmt.Fprintf(&b, " · message %d", op)
		}
	}
	if s.late.kind != kernelNone {
		fmt.Fprintf(&b, " · late: %s of %d in %d", kernelNames[s.late.kind], s.late.op, s.late.party)
	}
	return b.String()
}

var kindNames = [...]string{absent: "-", pending: "pending", done: "done", aborted: "aborted"}
