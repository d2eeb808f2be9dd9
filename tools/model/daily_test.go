package model

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
)

// dailyProtocol is the protocol by which the processes of a store do the work of each day once: a row says when the work is due, which
// process has taken it, and which of two tasks are done. Times are those of the service. A process believes that the work is its own
// from before the request that was applied. One request may be late, or arrive twice. A mutant sets one of the options.
type dailyProtocol struct {
	lives   []uint8 // how many tasks each process lives for
	last    uint8   // tick
	crashes uint8
	late    bool

	takesBlind   bool // the work is taken without the ETag of the row
	endsBlind    bool // the end is stored without the ETag
	ownClock     bool // a process takes the work of another one by its own clock
	fromResponse bool // a process believes from the response on
	unstored     bool // the tasks that are done are not stored
}

const (
	dailyPeriod   = 2 // ticks
	dailyLease    = 2
	dailyTasks    = 2
	dailyMostEnds = 4
)

// dailyRow is the row of the day. The version stands for its ETag.
type dailyRow struct {
	due, owner, age, done, version uint8 // owner is the process + 1, 0 for none
}

// The kinds of requests, and the steps of a process.
const (
	dailyTake = iota + 1
	dailyRenew
	dailyEnd
	dailyReads
	dailyHears
	dailyWorks
	dailyGone
)

type dailyProcess struct {
	pc, life    uint8
	row         dailyRow // as read
	since, sent uint8    // ticks since the applied request was sent, and since the latest request was
}

type dailyRequest struct {
	kind, process uint8
	read, row     dailyRow
}

type dailyState struct {
	now       uint8
	row       dailyRow
	processes [3]dailyProcess
	ended     [dailyMostEnds]uint8 // days that were ended, by the tick + 1
	flying    dailyRequest
	lateUsed  bool
	crashes   uint8
	wrong     string
}

const (
	dailyTwice    = "the work of a day was done twice"
	dailyBoth     = "two processes believe that they do the work"
	dailyNotEnded = "the work of a day is never done"
)

// canonical numbers the versions anew: only which of them are equal matters.
func (s dailyState) canonical() dailyState {
	versions := [...]*uint8{&s.row.version, &s.flying.read.version,
		&s.processes[0].row.version, &s.processes[1].row.version, &s.processes[2].row.version}
	var used uint64 // the versions as bits
	for _, v := range versions {
		used |= 1 << *v
	}
	for _, v := range versions {
		*v = uint8(bits.OnesCount64(used & (1<<*v - 1)))
	}
	return s
}

// apply is the service: it executes a request by the version of the row, and reports whether it has.
func (d *dailyProtocol) apply(s *dailyState, r dailyRequest) bool {
	blind := r.kind == dailyTake && d.takesBlind || r.kind == dailyEnd && d.endsBlind
	if s.row.version != r.read.version && !blind {
		return false
	}
	version := s.row.version + 1
	for i := range s.processes {
		version = max(version, s.processes[i].row.version+1)
	}
	s.row = r.row
	s.row.version = max(version, s.flying.read.version+1)
	if r.kind == dailyEnd {
		at := slices.Index(s.ended[:], 0)
		if slices.Contains(s.ended[:], r.read.due+1) {
			s.wrong = dailyTwice
		}
		s.ended[max(at, 0)] = r.read.due + 1
	}
	return true
}

func (d *dailyProtocol) next(s dailyState, emit func(actor, what string, to dailyState)) {
	step := func(actor, what string, to dailyState) { emit(actor, what, to.canonical()) }
	n := s
	n.now, n.row.age = min(d.last, s.now+1), min(dailyLease, s.row.age+1)
	for i := range n.processes {
		p := &n.processes[i]
		p.since, p.sent = min(dailyLease, p.since+1), min(dailyLease, p.sent+1)
	}
	if n != s {
		step("time", "passes", n)
	}
	if s.flying.kind != 0 {
		n := s
		n.flying = dailyRequest{}
		step("network", "loses a late request", n)
		if d.apply(&n, s.flying) {
			step("network", "delivers a late request", n)
		}
	}
	for i := range d.lives {
		d.process(s, uint8(i), step)
	}
}

func (d *dailyProtocol) process(s dailyState, i uint8, step func(actor, what string, to dailyState)) {
	actor, p := fmt.Sprint("process ", i+1), s.processes[i]
	to := func(what string, n dailyState, q dailyProcess) {
		n.processes[i] = q
		step(actor, what, n)
	}
	gone := dailyProcess{pc: dailyGone}
	reads := dailyProcess{pc: dailyReads, life: p.life, since: dailyLease, sent: dailyLease}
	if p.pc == dailyGone {
		return
	}
	if s.crashes > 0 && p.pc != dailyReads && int(i) < len(d.lives)-1 {
		n := s
		n.crashes--
		to("crashes", n, gone)
	}
	if p.life == 0 {
		to("ends", s, gone)
		return
	}
	switch p.pc {
	case dailyReads:
		free := s.row.owner == 0 || s.row.age >= dailyLease || d.ownClock
		if s.row.due <= s.now && free {
			to("reads that the work is due", s, dailyProcess{pc: dailyTake, life: p.life, row: s.row, since: dailyLease})
		}
	case dailyTake, dailyRenew, dailyEnd:
		d.request(s, i, step)
	case dailyHears:
		p.pc, p.since = dailyWorks, 0
		to("hears", s, p)
	case dailyWorks:
		switch {
		case p.since >= dailyLease:
			to("believes no longer", s, reads)
		case p.row.done == dailyTasks:
			p.pc, p.sent = dailyEnd, 0
			to("is done", s, p)
		case d.unstored:
			p.row.done++
			p.life--
			to("does a task", s, p)
		default:
			p.pc, p.sent = dailyRenew, 0
			to("does a task", s, p)
		}
	}
}

// request is a request of a process by the version of the row that it has read.
func (d *dailyProtocol) request(s dailyState, i uint8, step func(actor, what string, to dailyState)) {
	p := s.processes[i]
	r := dailyRequest{kind: p.pc, process: i, read: p.row, row: p.row}
	r.row.age, r.row.owner = 0, i+1
	what := "takes the work"
	switch p.pc {
	case dailyRenew:
		what = "renews"
		r.row.done++
		p.life--
	case dailyEnd:
		what = "ends the work"
		r.row.due, r.row.owner, r.row.age, r.row.done = p.row.due+dailyPeriod*((s.now-p.row.due)/dailyPeriod+1), 0, dailyLease, 0
	}
	refused := dailyProcess{pc: dailyReads, life: s.processes[i].life, since: dailyLease, sent: dailyLease}
	to := func(what string, n dailyState, q dailyProcess) {
		n.processes[i] = q
		step(fmt.Sprint("process ", i+1), what, n)
	}
	n := s
	applied := d.apply(&n, r)
	if applied {
		p.pc, p.row, p.since = dailyWorks, n.row, p.sent
		if d.fromResponse {
			p.pc = dailyHears
		}
		if r.kind == dailyEnd {
			p = refused
		}
		to(what, n, p)
	} else {
		to(what+": refused", n, refused)
	}
	if d.late && !s.lateUsed {
		if applied {
			n.flying, n.lateUsed = r, true
			to(what+", and the network repeats it", n, p)
		}
		n = s
		n.flying, n.lateUsed = r, true
		to(what+": late", n, refused)
	}
}

func (d *dailyProtocol) model() Model[dailyState] {
	start := dailyState{row: dailyRow{due: 1, age: dailyLease}, crashes: d.crashes}
	for i := range start.processes {
		start.processes[i] = dailyProcess{pc: dailyGone}
		if i < len(d.lives) {
			start.processes[i] = dailyProcess{pc: dailyReads, life: d.lives[i], since: dailyLease, sent: dailyLease}
		}
	}
	return Model[dailyState]{
		Start: start,
		Next:  d.next,
		Check: func(s dailyState) string {
			believers := 0
			for _, p := range s.processes {
				if p.since < dailyLease && (p.pc == dailyWorks || p.pc == dailyRenew || p.pc == dailyEnd) {
					believers++
				}
			}
			if s.wrong == "" && believers > 1 {
				return dailyBoth
			}
			return s.wrong
		},
		Quiet: func(s dailyState) bool {
			for i := range d.lives {
				if p := s.processes[i]; p.pc != dailyGone && (p.pc != dailyReads || p.life == 0) {
					return false
				}
			}
			idle := slices.ContainsFunc(s.processes[:], func(p dailyProcess) bool { return p.pc == dailyReads })
			return s.now == d.last && s.row.age == dailyLease && s.flying.kind == 0 && !(idle && s.row.due <= s.now)
		},
		CheckQuiet: func(s dailyState) string {
			if s.row.due <= s.now {
				return dailyNotEnded
			}
			return ""
		},
		Show: func(s dailyState) string {
			return fmt.Sprintf("tick %d, due %d, process %d, %d tasks done, ended %v", s.now, s.row.due, s.row.owner, s.row.done, s.ended)
		},
	}
}

// TestDaily explores the protocol, and mutants with the fault that each part prevents.
func TestDaily(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		d     dailyProtocol
		wrong string
	}{
		{"two processes, a crash, a late request", dailyProtocol{lives: []uint8{5, 5}, last: 2, crashes: 1, late: true}, ""},
		{"a process that lives for one task", dailyProtocol{lives: []uint8{1, 9}, last: 3}, ""},
		{"three that live for one task", dailyProtocol{lives: []uint8{1, 1, 1}, last: 1}, ""},
		{"taken without ETag", dailyProtocol{lives: []uint8{9, 9}, last: 3, late: true, takesBlind: true}, dailyBoth},
		{"ended without ETag", dailyProtocol{lives: []uint8{9, 9}, last: 4, late: true, endsBlind: true}, dailyTwice},
		{"taken by its own clock", dailyProtocol{lives: []uint8{9, 9}, last: 3, ownClock: true}, dailyBoth},
		{"belief from the response", dailyProtocol{lives: []uint8{9, 9}, last: 3, fromResponse: true}, dailyBoth},
		{"tasks are not stored", dailyProtocol{lives: []uint8{1, 1, 1}, last: 1, unstored: true}, dailyNotEnded},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == "" {
				expectSound(t, explore(m.d.model()))
				return
			}
			expectFault(t, m.d.model().Explore(), m.wrong)
		})
	}
}
