package model

import "testing"

// txnIf returns the rows after a transaction that writes some of them, given as pairs, if others have their values.
func txnIf(condition []uint8, writes ...uint8) func(txnValues) txnValues {
	return func(seen txnValues) txnValues {
		for i := 0; i < len(condition); i += 2 {
			if seen[condition[i]] != condition[i+1] {
				return seen
			}
		}
		for i := 0; i < len(writes); i += 2 {
			seen[writes[i]] = writes[i+1]
		}
		return seen
	}
}

// txnTransfers moves an amount between two rows that exist.
func txnTransfers(from, to, amount uint8) func(txnValues) txnValues {
	return func(seen txnValues) txnValues {
		if seen[from] >= amount && seen[to] != 0 {
			seen[from], seen[to] = seen[from]-amount, seen[to]+amount
		}
		return seen
	}
}

// txnBecomes writes a value, whatever the row was; 0 deletes it.
func txnBecomes(value uint8) func(uint8) uint8 { return func(uint8) uint8 { return value } }

// txnAdds writes a row that exists.
func txnAdds(amount uint8) func(uint8) uint8 {
	return func(value uint8) uint8 {
		if value == 0 {
			return 0
		}
		return value + amount
	}
}

type txnSet = []uint8

var txnWorkloads = []struct {
	name string
	p    txnProtocol
	size int // of *models
}{
	{"each writes its row if both are as before", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{1, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 1, 1, 1}, 0, 2)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 1, 1, 1}, 1, 2)}}}, 0},
	{"each inserts its row if the other is absent", txnProtocol{party: [4]uint8{0, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 0, 1, 0}, 0, 1)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 0, 1, 0}, 1, 1)}}}, 0},
	{"each inserts its row if the other of the partition is absent", txnProtocol{party: [4]uint8{0, 0, 1}, start: txnValues{2: 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{2, 0, 1}, after: txnIf(txnSet{0, 0, 1, 0}, 0, 1)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 0, 1, 0}, 1, 1)}}}, 0},
	{"rows of the home", txnProtocol{party: [4]uint8{0, 0, 1}, start: txnValues{1, 1, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{1, 1}, 0, 2, 2, 2)}, {reads: txnSet{0, 1}, after: txnIf(txnSet{0, 1}, 1, 2)}}}, 0},
	{"a transfer and two writers", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{5, 5}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnTransfers(0, 1, 1)}}, writers: []txnWriter{{0, txnAdds(10)}, {1, txnAdds(20)}}}, 0},
	{"opposite transfers", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{5, 5}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnTransfers(0, 1, 1)}, {reads: txnSet{1, 0}, after: txnTransfers(1, 0, 2), homeLast: true}}}, 0},
	{"a limit in a third partition and its writer", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{5, 5, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{2, 1}, 0, 4, 1, 6)}}, writers: []txnWriter{{2, txnBecomes(2)}}}, 0},
	{"two read what the other writes, in three partitions", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{5, 5, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{2, 1}, 0, 4, 1, 6)}, {reads: txnSet{0, 2}, after: txnIf(txnSet{0, 5}, 2, 2)}}}, 0},
	{"a move, and writers that delete and insert", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{5}, worker: true, late: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 5, 1, 0}, 0, 0, 1, 5)}}, writers: []txnWriter{{1, txnBecomes(0)}, {0, txnBecomes(7)}}}, 0},
	{"an insert if a row is absent, and writers that insert and delete it", txnProtocol{party: [4]uint8{0, 1}, worker: true, late: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 0, 1, 0}, 0, 1)}}, writers: []txnWriter{{1, txnBecomes(2)}, {1, txnBecomes(0)}}}, 0},
	{"an insert if a row is absent, and writers that insert and delete in its place", txnProtocol{party: [4]uint8{0, 1}, worker: true, late: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 0, 1, 0}, 0, 1)}}, writers: []txnWriter{{0, txnBecomes(2)}, {0, txnBecomes(0)}}}, 0},
	{"one writes two rows, one only reads them", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{1, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(nil, 0, 2, 1, 2)}, {reads: txnSet{0, 1}}}}, 0},
	{"one inserts two rows, one only reads that they are absent", txnProtocol{party: [4]uint8{0, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 0, 1, 0}, 0, 1, 1, 1)}, {reads: txnSet{0, 1}}}}, 0},
	{"one writes two rows of a partition, one only reads them at once", txnProtocol{party: [4]uint8{0, 0, 1}, start: txnValues{1, 1, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(nil, 0, 2, 1, 2, 2, 2), homeLast: true}, {reads: txnSet{0, 1}, atOnce: true}}}, 0},
	{"one writes two rows of a partition, one only reads them one by one", txnProtocol{party: [4]uint8{0, 0, 1}, start: txnValues{1, 1, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(nil, 0, 2, 1, 2, 2, 2), homeLast: true}, {reads: txnSet{0, 1}}}}, 0},
	{"the home is the partition without a row that is read and absent", txnProtocol{party: [4]uint8{0, 0, 1}, start: txnValues{1, 0, 1}, worker: true, late: true, anyOrder: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{1, 0}, 0, 2, 2, 2)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 1}, 1, 1)}}}, 0},
	{"a limit, its writer, and who looks at both through pins", txnProtocol{party: [4]uint8{0, 1, 1}, start: txnValues{1, 1}, worker: true, late: true, orders: true, looksThrough: true,
		bodies: []txnBody{{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{1, 1, 2, 0}, 0, 2)}, {reads: txnSet{1, 2, 0}, observes: true}}, writers: []txnWriter{{1, txnBecomes(2)}, {2, txnBecomes(3)}}}, 0},
	{"a limit, its writer, and who looks at both", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{1, 1}, worker: true, late: true, orders: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnIf(txnSet{1, 1}, 0, 2)}, {reads: txnSet{1, 0}, observes: true}}, writers: []txnWriter{{1, txnBecomes(2)}}}, 0},
	{"rows that are read and absent in the home and in a participant, and their writers", txnProtocol{party: [4]uint8{0, 0, 1, 1}, start: txnValues{1, 0, 1, 0}, worker: true, late: true,
		anyOrder: true, bodies: []txnBody{{reads: txnSet{0, 1, 2, 3}, after: txnIf(txnSet{1, 0, 3, 0}, 0, 2, 2, 2)}}, writers: []txnWriter{{1, txnBecomes(3)}, {3, txnBecomes(4)}}}, 0},
	{"an absent row of the home in the commit", txnProtocol{party: [4]uint8{0, 0, 1}, start: txnValues{2: 1}, worker: true, late: true, anyOrder: true, inCommit: true, bodies: []txnBody{
		{reads: txnSet{2, 0, 1}, after: txnIf(txnSet{0, 0, 1, 0}, 0, 1)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 0, 1, 0}, 1, 1)}}}, 0},
	{"a refused preparation is rolled back without an abort record", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{5, 5, 1}, worker: true, late: true, anyOrder: true, prepareUnfenced: true,
		bodies: []txnBody{{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{2, 1}, 0, 4, 1, 6)}, {reads: txnSet{0, 2}, after: txnIf(txnSet{0, 5}, 2, 2)}}}, 0},
	{"two inserts in three partitions, each if the other is absent, and a limit", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{2: 1}, late: true, anyOrder: true,
		bodies: []txnBody{{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{1, 0, 2, 1}, 0, 1)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 0}, 1, 1)}}, writers: []txnWriter{{2, txnBecomes(2)}}}, 0},
	{"two inserts in three partitions, each if the other is absent, and a limit, with a worker", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{2: 1}, worker: true, late: true, anyOrder: true,
		bodies: []txnBody{{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{1, 0, 2, 1}, 0, 1)}, {reads: txnSet{1, 0}, after: txnIf(txnSet{0, 0}, 1, 1)}}, writers: []txnWriter{{2, txnBecomes(2)}}}, 2},
	{"pins that are only other ETags, while nobody looks", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{5, 5, 1}, worker: true, late: true, orders: true, pinTouches: true, bodies: []txnBody{
		{reads: txnSet{0, 1, 2}, after: txnIf(txnSet{2, 1}, 0, 4, 1, 6)}, {reads: txnSet{0, 2}, after: txnIf(txnSet{0, 5}, 2, 2)}}}, 0},
	{"opposite transfers, and one only reads", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{5, 5}, bodies: []txnBody{{reads: txnSet{0, 1}, after: txnTransfers(0, 1, 1)},
		{reads: txnSet{1, 0}, after: txnTransfers(1, 0, 2), homeLast: true}, {reads: txnSet{0, 1}}}}, 0},
	{"opposite transfers, and one only reads, with a worker and a late request", txnProtocol{party: [4]uint8{0, 1}, start: txnValues{5, 5}, worker: true, late: true, bodies: []txnBody{
		{reads: txnSet{0, 1}, after: txnTransfers(0, 1, 1)}, {reads: txnSet{1, 0}, after: txnTransfers(1, 0, 2), homeLast: true}, {reads: txnSet{0, 1}}}}, 3},
	{"a ring of three", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{1, 1, 1}, bodies: txnRing}, 0},
	{"a ring of three with a worker and a late request", txnProtocol{party: [4]uint8{0, 1, 2}, start: txnValues{1, 1, 1}, worker: true, late: true, bodies: txnRing}, 3},
}

// Each transaction of txnRing writes its row if that and the next one are as before.
var txnRing = []txnBody{{reads: txnSet{0, 1}, after: txnIf(txnSet{0, 1, 1, 1}, 0, 2)}, {reads: txnSet{1, 2}, after: txnIf(txnSet{1, 1, 2, 1}, 1, 2)},
	{reads: txnSet{2, 0}, after: txnIf(txnSet{2, 1, 0, 1}, 2, 2)}}

func TestTxn(t *testing.T) {
	t.Parallel()
	for _, w := range txnWorkloads {
		if w.size > *models {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			m := w.p.model()
			check, committed := m.Check, [txnMost]bool{}
			m.Check = func(s txnState) string {
				for i := range committed {
					committed[i] = committed[i] || s.records[i+1] == done || s.bodies[i].pc == txnAnswered
				}
				return check(s)
			}
			r := explore(m)
			expectSound(t, r)
			for i := range w.p.bodies {
				if !committed[i] && !r.Cut {
					t.Errorf("transaction %d is never committed", i+1)
				}
			}
		})
	}
}
