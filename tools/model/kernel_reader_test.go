package model

import "fmt"

// kernelReading is what the reader of a workload reads: a page of one or two rows, or the owner of a value.
type kernelReading struct {
	rows   []uint8
	lookUp bool  // the row contains the row number of the owner, + 1
	value  uint8 // of the entity that is looked up

	// Mutants.
	trustsOld, trustsPending, pageOnce, lookUpOnce, oldAfterImage, trustsAbsent bool
}

func (g kernelReading) answer(truth [kernelRows]uint8) (bit uint8) {
	for i, r := range g.rows {
		bit |= truth[r] & 7 << (3 * i)
	}
	return bit
}

const (
	readerBegins = iota
	readerReads
	readerRecords
	readerEnds
)

// read is the next step of a reader that does not write.
func (k *kernelProtocol) read(s kernelState, step kernelStep) {
	g, rd := k.reader, s.reader
	if len(g.rows) == 0 || rd.pc == readerEnds {
		return
	}
	n := s
	switch rd.pc {
	case readerBegins:
		n.reader.pc, n.reader.target = readerReads, g.rows[0]
		step("reader", "begins", n)
	case readerReads:
		marked := false
		for i, r := range k.page(rd) {
			row := s.rows[r]
			if n.reader.seen[i] = row; row.op == 0 {
				continue
			}
			switch {
			case g.trustsOld:
				n.reader.seen[i] = kernelRow{value: row.old()}
			case g.trustsPending:
				n.reader.seen[i] = kernelRow{value: row.image}
			default:
				marked = true
			}
		}
		if n.reader.pc = readerRecords; !marked {
			k.answers(&n)
		}
		step("reader", "reads rows", n)
	case readerRecords:
		for i := range k.page(rd) {
			row := rd.seen[i]
			if row.op == 0 {
				continue
			}
			what := fmt.Sprintf("reads the commit record of %d: %s", row.op, kindNames[s.records[row.op]])
			bit := uint8(1) << row.op
			switch {
			case s.records[row.op] == absent && s.old&^rd.old&bit != 0 && !g.trustsAbsent: // finished and swept, or never committed
				n.reader.old |= bit
				n.reader.pc, n.reader.seen = readerReads, [2]kernelRow{}
			case rd.known&bit == 0 && !s.committed(row.op): // so it was not committed when the page was read
				k.fill(&n, row.op, false)
			case rd.known&bit == 0 && len(k.page(rd)) > 1 && !g.pageOnce:
				n.reader.known |= bit
				n.reader.pc, n.reader.seen = readerReads, [2]kernelRow{}
			case row.what != rowReplaced:
				k.fill(&n, row.op, true)
			case s.rows[k.page(rd)[i]].op == row.op:
				what = "reads the image"
				k.fill(&n, row.op, true)
			case g.oldAfterImage:
				what = "reads the image: none"
				k.fill(&n, row.op, false)
			default:
				what = "reads the image: none"
				n.reader.pc, n.reader.seen = readerReads, [2]kernelRow{}
			}
			if k.unmarked(n.reader) {
				k.answers(&n)
			}
			step("reader", what, n)
			return
		}
	}
}

// page returns the rows that the reader reads in one request.
func (k *kernelProtocol) page(rd kernelReader) []uint8 {
	if k.reader.lookUp {
		return []uint8{rd.target}
	}
	return k.reader.rows
}

// fill replaces the marked rows of an operation that the reader has seen.
func (k *kernelProtocol) fill(n *kernelState, op uint8, committed bool) {
	for i, row := range n.reader.seen {
		if row.op == op && committed {
			n.reader.seen[i] = kernelRow{value: row.image}
		} else if row.op == op {
			n.reader.seen[i] = kernelRow{value: row.old()}
		}
	}
}

func (k *kernelProtocol) unmarked(rd kernelReader) bool {
	return rd.pc == readerRecords && rd.seen[0].op == 0 && rd.seen[1].op == 0
}

// answers takes the answer of the rows that the reader has seen.
func (k *kernelProtocol) answers(n *kernelState) {
	rd := &n.reader
	answer := rd.seen[0].value&7 | rd.seen[1].value&7<<3
	if k.reader.lookUp {
		switch value := rd.seen[0].value; {
		case rd.target == k.reader.rows[0] && value != 0: // the owner is read next
			rd.pc, rd.target, rd.owner, rd.seen = readerReads, value-1, value, [2]kernelRow{}
			return
		case rd.target == k.reader.rows[0]:
			answer = 0
		case value == k.reader.value:
			answer = rd.owner
		case k.reader.lookUpOnce:
			answer = 0
		default:
			rd.pc, rd.target, rd.owner, rd.seen = readerReads, k.reader.rows[0], 0, [2]kernelRow{}
			return
		}
	}
	// The instants of the reading include the present one.
	if lived := rd.lived | 1<<k.reader.answer(n.truths()); lived&(1<<answer) == 0 {
		n.fault = wrongAnswer
	}
	n.reader = kernelReader{pc: readerEnds}
}
