package model

import (
	"fmt"
	"testing"
)

// jobProtocol is the protocol of a job over ranges: a row for the job, a row for each range, and a message for each version of a range that
// is open. The effect of a version is stored with it, and stays pending until a worker has completed it; a message that is lost is sent again
// for a pending effect. A worker that has taken a message may stop between two steps, and the message may be delivered again at any time. A mutant sets
// one of the options.
type jobProtocol struct {
	cells   uint8 // 3 by default
	clears  int   // how often the queue is cleared
	late    bool  // a commit may arrive after its worker has stopped
	cancels bool  // somebody cancels the job, and starts it again
	twice   bool  // two starts, beside each other

	withoutETag      bool // the end of a slice is stored whatever the row of the range is meanwhile
	completesFirst   bool // the effect is completed before the end of the slice is stored
	twoTransactions  bool // the first half is stored before the second
	neverPublished   bool // the effect of the second half is stored by the worker that has halved the range, and by nobody else
	checksBefore     bool // a worker looks for open ranges before it stores that its own is done
	refusedIsNothing bool // a worker that cannot store the end of its slice completes the effect
	doneIsNothing    bool // a worker that finds its range done does not look for open ones
	byQueue          bool // the job is finished when the queue is empty
	notifiesFirst    bool // a start after a cancel stores the ranges again, and then the state
	listsOnly        bool // a start after a cancel does not look whether the job is finished
	listsOnce        bool // a start after a cancel does not list the ranges again if one is done meanwhile
	startsOver       bool // a start stores ranges again that a later start has stored
	notifiesOnly     bool // a start after a cancel sends the messages of pending effects only
	noVersion        bool // no mutant: a worker also works on a range that is of a later version than its message
}

const (
	jobCells  = 3 // at most
	jobRanges = 3
)

// jobRange is the row of a range [from, to) of cells. The first version of a second half has no effect: next of the first half is its number, from 1, and
// who works on the first half stores the next version of the second, with an effect, before.
// start is the number of the start that has stored it, or what it is a part of.
type jobRange struct{ from, to, version, done, next, start uint8 }

// jobStart is the execution of a start.
type jobStart struct {
	pc       uint8
	restarts uint8            // ranges that are to be stored again
	seen     [jobRanges]uint8 // their versions
	stopped  uint8            // it was executed again
}

// jobWorker has taken the message of a version of a range, has read the row of the range as of version seen, and has worked up to at.
type jobWorker struct{ pc, r, version, seen, at, end uint8 }

type jobState struct {
	state     uint8 // of the job
	ranges    [jobRanges]jobRange
	pending   [jobRanges]uint8 // versions with a pending effect
	queue     [jobRanges]uint8 // versions with a message
	worked    uint8            // cells
	counted   uint8
	workers   [2]jobWorker
	flying    jobWorker // the end of a slice that has not arrived
	cleared   uint8
	user      uint8
	starts    uint8 // the number of the last start, in the row of the job
	executors [2]jobStart
	fault     uint8
}

// The steps of a start.
const (
	jobNotStarted = iota
	jobBegins
	jobListsRanges
	jobStoresRanges
	jobStarted
)

const (
	jobRunning = iota
	jobCanceled
	jobFinished
)

const (
	jIdle = iota
	jRead
	jPublish
	jWork
	jCheckBefore
	jCommit
	jCommitLast // and no other range was open
	jSecondHalf
	jPublishOwn
	jCheck
	jFinish
	jComplete
	jDelete
)

var jobFaults = [...]string{"", "a part was counted twice", "a job is finished, and a part of it was not worked on"}

func (p *jobProtocol) next(s jobState, step func(actor, what string, to jobState)) {
	if s.queue != [jobRanges]uint8{} && int(s.cleared) < p.clears {
		n := s
		n.queue, n.cleared = [jobRanges]uint8{}, s.cleared+1
		step("storage", "loses all messages", n)
	}
	if n := s; true {
		for r := range n.queue {
			n.queue[r] |= s.pending[r]
		}
		if n != s {
			step("daily", "sends messages for pending effects", n)
		}
	}
	if s.flying.pc != jIdle {
		n := s
		n.flying = jobWorker{}
		p.store(&n, s.flying)
		step("storage", "the end of a slice arrives", n)
		n = s
		n.flying = jobWorker{}
		step("storage", "the end of a slice is lost", n)
	}
	if p.cancels {
		p.user(s, step)
	}
	for i := range s.workers {
		p.worker(s, i, step)
	}
}

// user cancels the job, and starts it again, perhaps twice: the state, with an effect.
func (p *jobProtocol) user(s jobState, step func(actor, what string, to jobState)) {
	n := s
	switch {
	case s.user == 0 && s.state == jobRunning:
		n.user, n.state = 1, jobCanceled
		step("user", "cancels the job", n)
	case s.user == 1 || s.user == 2 && p.twice:
		n.user++
		n.starts++
		if s.state == jobCanceled && !p.notifiesFirst {
			n.state = jobRunning
		}
		if s.state != jobFinished {
			n.executors[s.user-1].pc = jobBegins
		}
		step("user", "starts it again", n)
	}
	for i := range s.executors {
		p.execute(s, i, step)
	}
}

// execute executes a start: it stores each open range as a new version with an effect. It may stop, and begin again.
func (p *jobProtocol) execute(s jobState, i int, step func(actor, what string, to jobState)) {
	n, start := s, uint8(i)+1
	x := &n.executors[i]
	to := func(what string, pc uint8) {
		x.pc = pc
		step(fmt.Sprint("start ", start), what, n)
	}
	switch x.pc {
	case jobBegins:
		if s.starts != start || s.state != jobRunning && !p.notifiesFirst {
			to("is not the last one, or canceled", jobStarted)
			return
		}
		to("reads the row of the job", jobListsRanges)
	case jobListsRanges:
		for r, of := range s.ranges {
			if of.version != 0 && of.done == 0 && (of.start < start || p.startsOver && of.start != start) {
				x.restarts |= 1 << r
				x.seen[r] = of.version
			}
		}
		if !p.open(s) && !p.listsOnly {
			p.finish(&n)
		}
		to("lists the open ranges; finished if there is none", jobStoresRanges)
	case jobStoresRanges:
		if x.stopped == 0 && x.restarts != 0 {
			*x = jobStart{stopped: 1}
			to("is executed again", jobBegins)
			n = s
		}
		for r, of := range s.ranges {
			if s.executors[i].restarts&(1<<r) == 0 {
				continue
			}
			n = s
			x.restarts &^= 1 << r
			x.seen[r] = 0
			next := uint8(jobStoresRanges)
			switch {
			case p.notifiesOnly:
				n.queue[r] |= s.pending[r]
			case of.done == 0 && of.version == s.executors[i].seen[r]:
				of.start = start
				p.put(&n, uint8(r), of)
			case !p.listsOnce:
				next = jobListsRanges
				*x = jobStart{stopped: x.stopped}
			}
			to(fmt.Sprint("stores range ", r, " again, unless it has changed"), next)
		}
		n = s
		if x.restarts != 0 {
			return
		}
		if p.notifiesFirst && s.state == jobCanceled {
			n.state = jobRunning
		}
		to("has stored all ranges", jobStarted)
	}
}

// put stores a version of a range, with its effect and its message.
func (p *jobProtocol) put(s *jobState, r uint8, of jobRange) {
	of.version++
	s.ranges[r] = of
	s.pending[r] |= 1 << of.version
	s.queue[r] |= 1 << of.version
}

// store stores the end of a slice, unless the range is of another version meanwhile.
func (p *jobProtocol) store(s *jobState, w jobWorker) bool {
	of := s.ranges[w.r]
	if (of.version != w.seen || of.done == 1) && !p.withoutETag {
		return false
	}
	for cell := of.from; cell < w.at; cell++ {
		if s.counted&(1<<cell) != 0 {
			s.fault = 1
		}
		s.counted |= 1 << cell
	}
	of.from = w.at
	if w.at >= of.to {
		of.done = 1
		s.ranges[w.r] = of
		return true
	}
	if middle := (of.from + of.to + 1) / 2; middle < of.to {
		second := jobRange{from: middle, to: of.to, start: of.start}
		of.to = middle
		if !p.twoTransactions {
			of.next = p.insert(s, second)
		}
	}
	p.put(s, w.r, of)
	return true
}

// finish stores that the job is finished.
func (p *jobProtocol) finish(s *jobState) {
	if s.state != jobRunning {
		return
	}
	s.state = jobFinished
	if s.worked != 1<<p.cells-1 {
		s.fault = 2
	}
}

// insert stores a new range, without an effect, and returns its number from 1.
func (p *jobProtocol) insert(s *jobState, of jobRange) uint8 {
	for r := range s.ranges {
		if s.ranges[r].version == 0 {
			of.version = 1
			s.ranges[r] = of
			return uint8(r) + 1
		}
	}
	panic("too many ranges")
}

func (p *jobProtocol) open(s jobState) bool {
	for _, of := range s.ranges {
		if of.version != 0 && of.done == 0 {
			return true
		}
	}
	return false
}

func (p *jobProtocol) worker(s jobState, i int, step func(actor, what string, to jobState)) {
	w := s.workers[i]
	to := func(what string, n jobState, h jobWorker) {
		n.workers[i] = h
		if h.pc == jIdle {
			n.workers[i] = jobWorker{}
		}
		if a, b := n.workers[0], n.workers[1]; a.code() > b.code() { // workers are alike
			n.workers[0], n.workers[1] = b, a
		}
		step("worker", what, n)
	}
	at := func(pc uint8) jobWorker {
		h := w
		h.pc = pc
		return h
	}
	n, of := s, s.ranges[w.r]
	if w.pc != jIdle {
		to("stops", s, jobWorker{})
	}
	switch w.pc {
	case jIdle:
		for r, versions := range s.queue {
			for v := uint8(1); versions>>v != 0; v++ {
				if versions&(1<<v) != 0 {
					to(fmt.Sprintf("takes the message of range %d, version %d", r, v), s, jobWorker{pc: jRead, r: uint8(r), version: v})
				}
			}
		}
	case jRead:
		h := at(jWork)
		h.seen, h.at, h.end = of.version, of.from, of.to
		switch {
		case s.state != jobRunning, of.version != w.version && !p.noVersion:
			h.pc = jComplete
		case of.done == 1 && p.doneIsNothing:
			h.pc = jComplete
		case of.done == 1:
			h.pc = jCheck
		case of.start != s.starts && !p.notifiesOnly && !p.notifiesFirst:
			h.pc = jComplete // the start stores another version
		}
		if n := of.next; h.pc == jWork && n != 0 && s.ranges[n-1].version == 1 && !p.neverPublished {
			h.pc = jPublish
		}
		to("reads the rows of job and range", s, h)
	case jPublish:
		if second := of.next - 1; n.ranges[second].version == 1 {
			p.put(&n, second, n.ranges[second])
		}
		to("stores the second half again, with an effect", n, at(jWork))
	case jWork:
		n.worked |= 1 << w.at
		h := at(jCommit)
		if h.at++; h.at < w.end {
			to(fmt.Sprintf("works on part %d, and the slice is over", w.at), n, h)
			h.pc = jWork
		} else if p.checksBefore {
			h.pc = jCheckBefore
		}
		to(fmt.Sprint("works on part ", w.at), n, h)
	case jCheckBefore:
		s.ranges[w.r].done = 1
		h := at(jCommit)
		if !p.open(s) {
			h.pc = jCommitLast
		}
		to("looks for other open ranges", n, h)
	case jCommit, jCommitLast:
		if p.late && s.flying.pc == jIdle {
			n.flying = w
			to("sends the end of the slice, and stops", n, jobWorker{})
			n = s
		}
		if p.completesFirst {
			n.pending[w.r] &^= 1 << w.version
			n.queue[w.r] &^= 1 << w.version
			to("completes the effect, and stops", n, jobWorker{})
		}
		h := at(jComplete)
		before := s.ranges[w.r]
		switch stored := p.store(&n, w); {
		case !stored && p.refusedIsNothing:
		case !stored:
			h.pc = jRead
		case w.at < w.end && p.twoTransactions && n.ranges[w.r].to < w.end:
			h.pc, h.at = jSecondHalf, n.ranges[w.r].to
		case w.at < w.end && p.neverPublished && n.ranges[w.r].to < before.to:
			h.pc, h.at = jPublishOwn, n.ranges[w.r].next-1
		case w.at < w.end:
		case w.pc == jCommitLast:
			h.pc = jFinish
		case !p.checksBefore:
			h.pc = jCheck
		}
		to("stores the end of the slice", n, h)
	case jSecondHalf:
		p.put(&n, p.insert(&n, jobRange{from: w.at, to: w.end})-1, jobRange{from: w.at, to: w.end, version: 1})
		to("stores the second half", n, at(jComplete))
	case jPublishOwn:
		if n.ranges[w.at].version == 1 {
			p.put(&n, w.at, n.ranges[w.at])
		}
		to("stores the second half again, with an effect", n, at(jComplete))
	case jCheck:
		h := at(jComplete)
		others := s.queue
		others[w.r] &^= 1 << w.version
		if p.byQueue && others == [jobRanges]uint8{} || !p.byQueue && !p.open(s) {
			h.pc = jFinish
		}
		to("looks for open ranges", n, h)
	case jFinish:
		p.finish(&n)
		to("stores that the job is finished", n, at(jComplete))
	case jComplete:
		n.pending[w.r] &^= 1 << w.version
		to("completes the effect", n, at(jDelete))
	case jDelete:
		n.queue[w.r] &^= 1 << w.version
		to("deletes the message", n, jobWorker{})
	}
}

// startsLeft reports whether a start is to be executed.
func (s jobState) startsLeft() bool {
	for _, x := range s.executors {
		if x.pc != jobNotStarted && x.pc != jobStarted {
			return true
		}
	}
	return false
}

// code orders workers.
func (w jobWorker) code() int {
	code := 0
	for _, v := range []uint8{w.pc, w.r, w.version, w.seen, w.at, w.end} {
		code = code<<4 | int(v)
	}
	return code
}

func (p *jobProtocol) model() Model[jobState] {
	start := jobState{}
	p.put(&start, p.insert(&start, jobRange{to: p.cells})-1, jobRange{to: p.cells, version: 1})
	return Model[jobState]{
		Start: start,
		Next:  p.next,
		Check: func(s jobState) string { return jobFaults[s.fault] },
		Quiet: func(s jobState) bool {
			return s.workers == [2]jobWorker{} && s.queue == [jobRanges]uint8{} && s.pending == [jobRanges]uint8{} && s.flying.pc == jIdle &&
				(!p.cancels || s.state == jobFinished || s.user == 3 || s.user == 2 && !p.twice) && !s.startsLeft()
		},
		CheckQuiet: func(s jobState) string {
			switch {
			case s.state != jobFinished:
				return jobNotFinished
			case s.counted != 1<<p.cells-1:
				return "a part was not counted"
			}
			return ""
		},
		Termination: true,
		Show: func(s jobState) string {
			out := [...]string{"running", "canceled", "finished"}[s.state]
			for r, of := range s.ranges {
				if of.version != 0 {
					out += fmt.Sprintf(", range %d: [%d, %d) version %d done %d", r, of.from, of.to, of.version, of.done)
				}
			}
			return out + fmt.Sprintf(", pending %v, queue %v, worked %03b, counted %03b", s.pending, s.queue, s.worked, s.counted)
		},
	}
}

const jobNotFinished = "nothing is left to do, and the job is not finished"

// TestJobs explores the protocol of jobs, and mutants with the fault that each part prevents.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		p     jobProtocol
		wrong string
		size  int // of *models
	}{
		{"the protocol", jobProtocol{}, "", 0},
		{"a queue that is cleared", jobProtocol{clears: 2}, "", 0},
		{"late ends of slices", jobProtocol{late: true}, "", 0},
		{"canceled and started again, two parts", jobProtocol{cells: 2, cancels: true}, "", 0},
		{"canceled and started again", jobProtocol{cancels: true}, "", 3},
		{"all of these, two parts", jobProtocol{cells: 2, clears: 1, late: true, cancels: true}, "", 2},
		{"canceled and started twice, two parts", jobProtocol{cells: 2, cancels: true, twice: true}, "", 3},
		{"a start stores the ranges of a later one again", jobProtocol{cells: 2, cancels: true, twice: true, startsOver: true}, jobNotFinished, 0},
		{"versions are not compared", jobProtocol{clears: 1, noVersion: true}, "", 0},
		{"slices stored without ETag", jobProtocol{withoutETag: true}, jobFaults[1], 0},
		{"the effect is completed before the slice is stored", jobProtocol{completesFirst: true}, jobNotFinished, 0},
		{"the halves are two transactions", jobProtocol{twoTransactions: true}, jobFaults[2], 0},
		{"the worker that has halved a range starts the second half", jobProtocol{neverPublished: true}, jobNotFinished, 0},
		{"open ranges are looked for before", jobProtocol{checksBefore: true}, jobNotFinished, 0},
		{"a slice that is refused is nothing to do", jobProtocol{refusedIsNothing: true}, jobNotFinished, 0},
		{"a finished range is nothing to do", jobProtocol{doneIsNothing: true}, jobNotFinished, 0},
		{"the job is finished when the queue is empty", jobProtocol{clears: 1, byQueue: true}, jobFaults[2], 0},
		{"a canceled job is started by its messages first", jobProtocol{cancels: true, notifiesFirst: true}, jobNotFinished, 0},
		{"a canceled job is not finished by its start", jobProtocol{cancels: true, listsOnly: true}, jobNotFinished, 0},
		{"a start does not see that the last range is done", jobProtocol{cancels: true, listsOnce: true}, jobNotFinished, 0},
		{"a canceled job is started by its pending effects", jobProtocol{cancels: true, notifiesOnly: true}, jobNotFinished, 0},
	} {
		if m.size > *models {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.p.cells == 0 {
				m.p.cells = jobCells
			}
			if m.wrong == "" {
				expectFault(t, explore(m.p.model()), "")
				return
			}
			expectFault(t, m.p.model().Explore(), m.wrong)
		})
	}
}
