package model

import (
	"fmt"
	"testing"
)

// snapshotProtocol is the protocol by which an export finds out whether the rows of a partition that it reads in two pages are of one moment: each
// transaction also stores the partition's stamp, whose ETag the export compares before the first page and after the last. Two writers set both rows of the
// partition; a third, over several partitions, prepares them, and it or another program finishes. A mutant sets one of the options.
type snapshotProtocol struct {
	stampAfterFirst bool // the export reads the stamp after its first page
	stampBeforeLast bool // and again before its last page
	byValue         bool // it compares what the writer has stored, and not the ETag
	stampApart      bool // a writer stores the stamp behind its transaction
	withoutStamp    bool // a writer does not know the stamp
	preparesWithout bool // a preparation does not store the stamp
	finishesWithout bool // another program that finishes does not store the stamp
	resumesWithout  bool // an export that goes on behind its first page reads the stamp then
}

// The values of a row: as at the beginning, as of a writer, prepared, and as the write over several partitions leaves it.
const (
	snapStart = iota
	snapFirst
	snapSecond
	snapPrepared
	snapFinished
	snapValues
)

type snapshotState struct {
	rows    [2]uint8
	etag    uint8 // of the stamp; 0 for none
	value   uint8 // of the stamp: its writer
	writers [2]uint8
	copies  uint8 // of the first writer's request, which the network may repeat
	apart   [2]bool
	over    uint8 // how far the write over several partitions is

	pc     uint8 // of the export
	stamp  [2]uint8
	read   [2]uint8
	claims bool

	existed uint32 // the pairs of values that the partition has had
}

const (
	snapReadsStamp = iota
	snapReadsFirst
	snapReadsLast
	snapReadsStampAgain
	snapEnded
)

func pair(rows [2]uint8) uint32 { return 1 << (rows[0]*snapValues + rows[1]) }

// set stores both rows.
func (s *snapshotState) set(v uint8) {
	s.rows = [2]uint8{v, v}
	s.existed |= pair(s.rows)
}

func (s *snapshotState) stampBy(writer uint8) { s.etag, s.value = s.etag+1, writer }

func (p *snapshotProtocol) next(s snapshotState, step func(actor, what string, to snapshotState)) {
	for i := range s.writers {
		p.writer(s, uint8(i), step)
	}
	p.distributed(s, step)
	p.export(s, step)
}

func (p *snapshotProtocol) writer(s snapshotState, i uint8, step func(actor, what string, to snapshotState)) {
	actor, n := fmt.Sprint("writer ", i+1), s
	switch {
	case s.writers[i] == 0 || i == 0 && s.copies == 0:
		if s.writers[i] != 0 {
			n.copies = 1
		}
		n.writers[i] = 1
		if n.rows[0] != snapPrepared { // else the write waits, or is refused
			n.set(snapFirst + i)
		}
		switch {
		case p.withoutStamp:
		case p.stampApart:
			n.apart[i] = true
		default:
			n.stampBy(1 + i)
		}
		step(actor, "transaction", n)
		if i == 0 && s.writers[i] == 0 {
			n.copies = 1
			step(actor, "transaction, which is not repeated", n)
		}
	case s.apart[i]:
		n.apart[i] = false
		n.stampBy(1 + i)
		step(actor, "stores the stamp", n)
	}
}

func (p *snapshotProtocol) distributed(s snapshotState, step func(actor, what string, to snapshotState)) {
	n := s
	switch s.over {
	case 0:
		n.over = 1
		n.set(snapPrepared)
		if !p.preparesWithout {
			n.stampBy(3)
		}
		step("write over several partitions", "prepares", n)
	case 1:
		n.over = 2
		n.set(snapFinished)
		if !p.finishesWithout {
			n.stampBy(4)
		}
		step("another program", "finishes", n)
	}
}

func (p *snapshotProtocol) export(s snapshotState, step func(actor, what string, to snapshotState)) {
	n := s
	stamp := s.etag
	if p.byValue {
		stamp = s.value
	}
	to := func(what string, pc uint8) {
		n.pc = pc
		step("export", what, n)
	}
	switch s.pc {
	case snapReadsStamp:
		n.stamp[0] = stamp
		to("reads the stamp", snapReadsFirst)
	case snapReadsFirst:
		n.read[0] = s.rows[0]
		to("reads the first page", snapReadsLast)
	case snapReadsLast:
		if p.resumesWithout {
			n.stamp[0] = stamp
			to("begins again behind the first page", snapReadsLast)
			n = s
		}
		if p.stampAfterFirst {
			n.stamp[0] = stamp
			to("reads the stamp after the first page", snapReadsLast)
			n = s
		}
		if p.stampBeforeLast {
			n.stamp[1] = stamp
			to("reads the stamp before the last page", snapReadsLast)
			n = s
		}
		n.read[1] = s.rows[1]
		to("reads the last page", snapReadsStampAgain)
	case snapReadsStampAgain:
		if !p.stampBeforeLast {
			n.stamp[1] = stamp
		}
		n.claims = n.stamp[0] == n.stamp[1]
		to("reads the stamp again", snapEnded)
	}
}

const snapshotWrong = "the rows of two moments count as those of one"

func (p *snapshotProtocol) model() Model[snapshotState] {
	start := snapshotState{}
	start.existed = pair(start.rows)
	return Model[snapshotState]{
		Start: start,
		Next:  p.next,
		Check: func(s snapshotState) string {
			if s.claims && s.existed&pair(s.read) == 0 {
				return snapshotWrong
			}
			return ""
		},
		Quiet: func(s snapshotState) bool {
			return s.pc == snapEnded && s.writers == [2]uint8{1, 1} && s.copies == 1 && s.over == 2 && s.apart == [2]bool{}
		},
		CheckQuiet: func(snapshotState) string { return "" },
		Show: func(s snapshotState) string {
			return fmt.Sprintf("rows %v, stamp %d of %d, read %v between stamps %v", s.rows, s.etag, s.value, s.read, s.stamp)
		},
	}
}

// TestSnapshots explores the protocol of snapshots of partitions, and mutants with the fault that each part prevents.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		p     snapshotProtocol
		wrong string
	}{
		{"the protocol", snapshotProtocol{}, ""},
		{"the stamp is read after the first page", snapshotProtocol{stampAfterFirst: true}, snapshotWrong},
		{"the stamp is read again before the last page", snapshotProtocol{stampBeforeLast: true}, snapshotWrong},
		{"the stamp is compared by its value", snapshotProtocol{byValue: true}, snapshotWrong},
		{"the stamp is stored apart from the transaction", snapshotProtocol{stampApart: true}, snapshotWrong},
		{"writers without the stamp", snapshotProtocol{withoutStamp: true}, snapshotWrong},
		{"a preparation without the stamp", snapshotProtocol{preparesWithout: true}, snapshotWrong},
		{"another program finishes without the stamp", snapshotProtocol{finishesWithout: true}, snapshotWrong},
		{"an export that goes on takes a new stamp", snapshotProtocol{resumesWithout: true}, snapshotWrong},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == "" {
				expectFault(t, explore(m.p.model()), "")
				return
			}
			expectFault(t, m.p.model().Explore(), m.wrong)
		})
	}
}
