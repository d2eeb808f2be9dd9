package model

import "fmt"

// reconcileProtocol is the protocol that makes rows of other partitions follow from an entity, with a script for each writer. A
// mutant sets one of the options.
type reconcileProtocol struct {
	writers   [][]contentChange
	primary   [2]uint8 // at the start, with the target rows that follow
	inline    bool     // a writer applies its own write after its commit, and leaves the message
	inserts   bool     // such a writer reads no target rows, and inserts them at first
	counts    bool     // a target row for each entity, and sums of the contents of a and b, in one partition
	sweeps    bool     // the retention passes, and tombstones and commit records are swept
	fill      int
	fillTwo   bool // the fill is about both entities
	oneWorker bool // besides the writers that apply their own writes, and the fill
	damaged   bool // the target rows are wrong at the start, and no commit record names them

	// Mutants of the outbox.
	writeFirst, trustMessage, noRecord, dropWithoutAbort, deletesRecords, closeFirst, onlyNewRow bool

	// Mutants of the worker.
	primaryFirst        bool // reads the entity before the target rows
	primaryBeforeRecord bool // reads the entity before the commit record
	retryKeepsPrimary   bool // reads only the target rows again after a conflict
	skipIfRight         bool // does not write a row that seems right
	blindTombstone      bool // writes a tombstone without CAS
	blindWrite          bool // writes all rows without CAS
	physicalDelete      bool // deletes instead of writing a tombstone
	noTombstoneIfAbsent bool // writes no tombstone if there is no row
	blindSums           bool // writes sums without CAS
	sumsAfter           bool // writes the sums in a second transaction

	inlineTrusts bool // a writer that applies its own write does not read the entity
	insertedOnce bool // a refused insert of such a writer is done
	fillUpserts  bool // a fill overwrites rows
	noAgeCheck   bool // workers and fills do not check how long ago they read the target rows
	writesOld    bool // a writer does not check the age of its operation
	sweepsYoung  bool // the sweep does not check ages
	sweepsBlind  bool // the sweep deletes without CAS
}

const (
	fillInserts    = iota + 1 // reads the entity, and inserts rows that do not exist
	fillReconciles            // does what a worker does
)

// contentChange is a line of a script: operation op changes an entity to a content. With create the entity must not exist, else it
// must. A change without an operation changes nothing that the target rows contain.
type contentChange struct {
	op, entity, content uint8
	create              bool
}

func (p *reconcileProtocol) change(op uint8) contentChange {
	for _, w := range p.writers {
		for _, c := range w {
			if c.op == op {
				return c
			}
		}
	}
	return contentChange{}
}

// The steps of a worker.
const (
	tIdle = iota
	tReadRecord
	tAbort
	tReadRow
	tReadPrimary
	tReadSums
	tReadRecordLast
	tWrite
	tWriteSums
	tClose
	tDrop
)

func (p *reconcileProtocol) next(s reconcileState, step func(actor, what string, to reconcileState)) {
	for i := range p.writers {
		if int(s.writers[i].at) < len(p.writers[i]) && s.workers[inlined+i].pc == tIdle {
			p.writer(s, i, step)
		}
	}
	for i := range s.workers {
		if s.workers[i].pc != tIdle {
			p.worker(s, i, step)
		} else if i < inlined && !(p.oneWorker && (i > 0 || s.workers[1].pc != tIdle)) {
			p.take(s, i, step)
		}
	}
	if r := s.late; r.kind != reqNone {
		n := s
		n.late = targetRequest{}
		if p.arrive(&n, r) {
			step("late", r.String()+" arrives", n)
		} else {
			step("late", r.String()+" is refused", n)
		}
	}
	if p.sweeps {
		p.time(s, step)
	}
}

func (r targetRequest) String() string {
	switch r.kind {
	case reqTarget:
		return fmt.Sprintf("write of row %c: %s,%s", 'a'+r.row, contentNames[r.m[0]], contentNames[r.m[1]])
	case reqContents:
		return "transaction: " + contentNames[r.content]
	}
	return requestNames[r.kind]
}

// take gives a message to an idle worker.
func (p *reconcileProtocol) take(s reconcileState, i int, step func(actor, what string, to reconcileState)) {
	for op := uint8(1); op < reconcileOps; op++ {
		if s.notifications&(1<<op) == 0 {
			continue
		}
		n := s
		w := reconcileWorker{pc: tReadRecord, op: op, entity: p.change(op).entity}
		switch {
		case p.primaryBeforeRecord, p.noRecord:
			w.pc, w.rows, w.todo = tReadRow, 3, 3
		case p.trustMessage:
			w.pc, w.rows, w.todo, w.want = tWrite, 3, 3, p.change(op).content
		}
		n.workers[i] = w
		step(workerNames[op], "takes the message", n.sorted())
	}
}

// sorted orders the two workers, which are alike.
func (s reconcileState) sorted() reconcileState {
	a, b := &s.workers[0], &s.workers[1]
	if b.pc < a.pc || b.pc == a.pc && (b.op < a.op || b.op == a.op && (b.todo < a.todo || b.todo == a.todo && b.fresh < a.fresh)) {
		*a, *b = *b, *a
	}
	return s
}

func (p *reconcileProtocol) worker(s reconcileState, i int, step func(actor, what string, to reconcileState)) {
	w, actor := s.workers[i], workerNames[s.workers[i].op]
	if i >= inlined {
		actor = [...]string{"user 1", "user 2", "fill"}[i-inlined]
	}
	begin := reconcileWorker{pc: tReadRow, op: w.op, entity: w.entity, rows: w.rows, todo: w.rows}
	if p.primaryFirst || i == filler && p.fill == fillInserts {
		begin.pc = tReadPrimary
	}
	set := func(what string, n reconcileState, next reconcileWorker) {
		if next.fresh &= n.workers[i].fresh | ^w.fresh; next.pc == tIdle {
			next = reconcileWorker{}
		}
		if i == filler && p.fillTwo && w.entity == 0 && next.pc == tIdle {
			next = begin
			next.entity = 1
		}
		n.workers[i] = next
		step(actor, what, n.sorted())
	}
	crashed := reconcileWorker{}
	if i == filler {
		crashed = begin
	}
	set("crashes", s, crashed)
	at := func(pc uint8) reconcileWorker {
		return reconcileWorker{pc: pc, op: w.op, entity: w.entity, rows: w.rows}
	}
	afterRows := uint8(tClose)
	if i == filler {
		afterRows = tIdle
	} else if p.noRecord || p.trustMessage || p.closeFirst {
		afterRows = tDrop
	}
	send := func(r targetRequest, ok, no reconcileWorker) {
		r.op, r.entity = w.op, w.entity
		n := s
		if !p.arrive(&n, r) {
			set(r.String()+": refused", n, no)
			return
		}
		set(r.String(), n, ok)
		if s.late.kind != reqNone || r.kind == reqClose {
			return
		}
		if r.insert {
			n.late = r
			set(r.String()+", duplicated", n, ok)
		}
		n = s
		n.late = r
		set(r.String()+", which is late", n, crashed)
	}
	rec := s.records[w.op]
	next := w
	switch w.pc {
	case tReadRecord:
		next = at(tReadRow)
		next.rows, next.todo = rec.rows, rec.rows
		switch {
		case rec.kind == absent && (p.dropWithoutAbort || s.expired&(1<<w.op) != 0):
			set("reads the commit record: none", s, at(tDrop))
		case rec.kind == absent:
			set("reads the commit record: none", s, at(tAbort))
		case rec.kind != pending:
			set("reads the commit record: not pending", s, at(tDrop))
		case p.closeFirst:
			next.pc = tClose
			set("reads the commit record: pending", s, next)
		case p.primaryFirst:
			next.pc = tReadPrimary
			set("reads the commit record: pending", s, next)
		default:
			set("reads the commit record: pending", s, next)
		}
	case tAbort:
		if w.stale {
			set("slept too long", s, at(tReadRecord))
			return
		}
		send(targetRequest{kind: reqAbort}, at(tDrop), at(tReadRecord))
	case tReadRow:
		row := lowestRow(w.todo)
		next.todo &^= 1 << row
		next.seen[row] = s.rows[row]
		next.seen[row].old = false
		next.fresh |= freshRow << row
		if next.todo != 0 {
			set("reads a target row", s, next)
			return
		}
		next.todo = w.rows
		if next.pc = tReadPrimary; p.primaryFirst || w.want != none && p.retryKeepsPrimary || i >= inlined && i < filler && p.inlineTrusts {
			next.pc = tWrite
			if p.counts {
				next.pc = tReadSums
			}
		}
		if i >= inlined && i < filler && p.inlineTrusts {
			next.want = p.change(w.op).content
		}
		set("reads a target row", s, next)
	case tReadPrimary:
		next.want, next.pc, next.todo = s.primary[w.entity], tWrite, w.rows
		switch {
		case i == filler && p.fill == fillInserts:
			if next.todo = p.rowsOf(w.entity, next.want); next.todo == 0 {
				next = at(afterRows)
			}
		case p.primaryFirst:
			next.pc = tReadRow
		case p.primaryBeforeRecord:
			next.pc = tReadRecordLast
		case p.counts:
			next.pc = tReadSums
		}
		set("reads the entity: "+contentNames[next.want], s, next)
	case tReadRecordLast:
		next.pc = tWrite
		switch rec.kind {
		case absent:
			next = at(tAbort)
		case done, aborted:
			next = at(tDrop)
		}
		set("reads the commit record", s, next)
	case tReadSums:
		next.pc, next.sums = tWrite, s.sums
		next.fresh |= freshSum * 3
		set("reads the sums", s, next)
	case tWrite:
		if w.stale && !p.noAgeCheck {
			set("slept too long", s, begin)
			return
		}
		p.write(w, i, at(afterRows), begin, set, send, s)
	case tWriteSums:
		n := s
		for g, d := range w.sums {
			n.sums[g] += d
		}
		next.sums, next.pc = [2]uint8{}, afterRows
		set("writes the sums", n, next)
	case tClose:
		ok := at(tDrop)
		switch {
		case i >= inlined:
			ok = reconcileWorker{}
		case p.closeFirst:
			ok = begin
		}
		no := at(tReadRecord)
		if i >= inlined {
			no = reconcileWorker{}
		}
		send(targetRequest{kind: reqClose}, ok, no)
	case tDrop:
		n := s
		n.notifications &^= 1 << w.op
		set("deletes the message", n, reconcileWorker{})
	}
}

func lowestRow(rows uint8) uint8 {
	if rows&1 != 0 {
		return 0
	}
	return 1
}

// write writes the next target row.
func (p *reconcileProtocol) write(w reconcileWorker, i int, last, again reconcileWorker,
	set func(string, reconcileState, reconcileWorker), send func(r targetRequest, ok, no reconcileWorker), s reconcileState) {
	row := lowestRow(w.todo)
	seen := w.seen[row]
	r := targetRequest{kind: reqTarget, row: row, m: seen.m, insert: seen.kind == absent}
	was := r.m[p.member(w.entity)]
	now := p.wanted(row, w.entity, w.want)
	r.m[p.member(w.entity)] = now
	ok := w
	ok.seen[row], ok.fresh = targetRow{}, w.fresh&^(freshRow<<row)
	if ok.todo &^= 1 << row; ok.todo == 0 {
		ok = last
	}
	if p.counts {
		r.sums = w.sums
		if was != now && (was == none || now == none || group(was) != group(now)) {
			if was != none {
				r.touched[group(was)], r.sums[group(was)] = 1, w.sums[group(was)]-1
			}
			if now != none {
				r.touched[group(now)], r.sums[group(now)] = 1, w.sums[group(now)]+1
			}
		}
	}
	no := again
	if p.insertedOnce && i >= inlined && i < filler {
		no = ok
	}
	if p.retryKeepsPrimary {
		no.want = w.want
	}
	r.fresh = w.fresh & (freshRow << row)
	need := uint8(freshRow << row)
	empty := r.m == [2]uint8{}
	switch {
	case i == filler && p.fill == fillInserts:
		r.insert, r.fresh, need, no = true, 0, 0, ok
		if p.fillUpserts {
			r.insert = false
		}
	case r.insert:
		need, r.fresh = 0, 0
	}
	if p.trustMessage || p.blindWrite || p.blindTombstone && empty {
		need, r.fresh, r.insert = 0, 0, false
	}
	for g := range r.touched {
		if r.touched[g] != 0 && !p.blindSums && !p.sumsAfter {
			need |= freshSum << g
			r.fresh |= freshSum << g
		}
	}
	if p.sumsAfter && r.touched != [2]uint8{} {
		ok.pc, ok.sums = tWriteSums, [2]uint8{r.sums[0] - w.sums[0], r.sums[1] - w.sums[1]}
		r.touched, r.sums = [2]uint8{}, [2]uint8{}
	}
	switch {
	case p.skipIfRight && r.m == seen.m, p.noTombstoneIfAbsent && empty && seen.kind == absent:
		set("a target row is right", s, ok)
	case w.fresh&need != need:
		set(r.String()+": refused", s, no)
	default:
		send(r, ok, no)
	}
}
