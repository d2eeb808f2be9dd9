package model

import (
	"fmt"
	"testing"
)

// leaseProtocol is the protocol of a lease that storage fences: a row with the fence of the last acquisition, which is never deleted, and in a partition of data a head with
// the fence of the last holder that has entered, and that holder's guard, which each of its transactions there merges. Time goes in ticks; a lease ends leaseTime
// ticks after it was stored, by the service's clock, and its holder believes in it for so long from before it has sent the request. A mutant sets one of the options.
type leaseProtocol struct {
	rounds, writes uint8 // of each process; 1 by default
	late           bool  // one request is late, or arrives twice
	sameOwner      bool  // both processes have one name
	entered        uint8 // 1: an earlier holder has entered, 2: it has left no guard, 3: nobody has entered

	noHead           bool // no head: who enters looks for guards of greater fences
	headBlindly      bool // who enters stores the head without its ETag
	guardsStay       bool // who enters leaves the guards of smaller fences
	unguarded        bool // a write does not merge the guard
	fromResponse     bool // a holder believes from the response on
	fromReread       bool // or from the read after a lost response
	ownClock         bool // a thief goes by its own clock
	stealsBlindly    bool // a lease is taken without its ETag
	renewsBlindly    bool // or renewed
	releasesBlindly  bool // or released
	releaseDeletes   bool // a release deletes the row, so that fences begin again
	believesReleased bool // a holder believes until the release is answered
	mineByOwner      bool // a lease is mine if it has my name
	ignoresGreater   bool // who enters ignores a greater fence
}

const (
	leaseTime   = 2
	leaseTokens = 4
)

const (
	leaseAbsent = iota
	leaseHeld
	leaseReleased
)

type leaseRow struct{ state, owner, fence, age, holder, attempt uint8 }

type leaseGuard struct {
	head   uint8 // fence; 0 for none
	guards uint8 // fences
}

type leaseKind uint8

const (
	leaseAcquires leaseKind = iota + 1
	leaseRenews
	leaseReleases
	leaseEnters
	leaseWrites
)

// The conditions of a request.
const (
	leaseStale  = iota // an ETag that the row does not have any more
	leaseFresh         // the row's ETag
	leaseInsert        // that there is no row
)

type leaseRequest struct {
	kind                             leaseKind
	process, owner, fence, condition uint8
	attempt                          uint8
	seen                             leaseGuard
}

type leaseProcess struct {
	pc, fence     uint8
	belief        uint8 // its age; leaseTime is none
	sent          uint8 // the age of the request that is under way
	condition     uint8
	guardFresh    bool
	seen          leaseGuard
	in            bool // it has entered
	attempt       uint8
	rounds, write uint8
}

type leaseState struct {
	row       leaseRow
	guard     leaseGuard
	entered   uint8 // the greatest fence that has entered
	by        uint8 // its process
	processes [2]leaseProcess
	late      leaseRequest
	used      bool
	fault     uint8
}

const (
	leaseIdle = iota
	leaseToAcquire
	leaseAcquiring
	leaseAcquired
	leaseUnknown
	leaseHolds
	leaseRenewing
	leaseRenewed
	leaseNotRenewed
	leaseReleasing
	leaseWasReleased
	leaseReadsGuard
	leaseEntering
	leaseWriting
)

var leaseFaults = [...]string{"", "a write of a smaller fence was applied after a greater one had entered", "two holders have one fence", "a write of the newest holder was refused", "two holders believe at once", "a release succeeds although another holder had the lease"}

// apply executes a request, and reports whether it was not refused.
func (p *leaseProtocol) apply(s *leaseState, r leaseRequest) bool {
	held := leaseRow{leaseHeld, r.owner, r.fence, 0, r.process, r.attempt}
	switch r.kind {
	case leaseAcquires:
		if r.condition == leaseInsert && s.row.state != leaseAbsent || r.condition == leaseStale && !p.stealsBlindly {
			return false
		}
		s.row = held
	case leaseRenews:
		if p.renewsBlindly && s.row.state == leaseAbsent || !p.renewsBlindly && r.condition != leaseFresh {
			return false
		}
		s.row = held
	case leaseReleases:
		if r.condition != leaseFresh && !p.releasesBlindly {
			return false
		}
		if s.row.fence != r.fence || s.row.holder != r.process {
			s.fault = 5
		}
		s.row = leaseRow{state: leaseReleased, fence: s.row.fence, age: leaseTime}
		if p.releaseDeletes {
			s.row = leaseRow{age: leaseTime}
		}
	case leaseEnters:
		return p.enter(s, r)
	case leaseWrites:
		if s.guard.guards&(1<<r.fence) == 0 && !p.unguarded {
			return false
		}
		switch {
		case r.fence < s.entered:
			s.fault = 1
		case r.fence == s.entered && r.process != s.by:
			s.fault = 2
		}
		return true
	}
	s.changed(r.kind)
	return true
}

// enter stores the head and the guard of a holder, and deletes the guards that it has seen.
func (p *leaseProtocol) enter(s *leaseState, r leaseRequest) bool {
	g := &s.guard
	if g.guards&r.seen.guards != r.seen.guards || g.guards&(1<<r.fence) != 0 {
		return false
	}
	switch {
	case p.noHead:
	case r.seen.head == 0:
		if g.head != 0 {
			return false
		}
	case r.condition != leaseFresh && !p.headBlindly:
		return false
	}
	if !p.guardsStay {
		g.guards &^= r.seen.guards
	}
	g.guards |= 1 << r.fence
	g.head = r.fence
	if p.noHead {
		g.head = max(g.head, r.fence)
	}
	if r.fence > s.entered || r.fence == s.entered && r.process > s.by {
		s.entered, s.by = r.fence, r.process
	}
	s.changed(r.kind)
	return true
}

// changed makes ETags stale.
func (s *leaseState) changed(kind leaseKind) {
	for i := range s.processes {
		switch x := &s.processes[i]; {
		case kind == leaseEnters:
			x.guardFresh = false
		case x.condition == leaseFresh:
			x.condition = leaseStale
		}
	}
	if (kind == leaseEnters) == (s.late.kind == leaseEnters) && s.late.condition == leaseFresh {
		s.late.condition = leaseStale
	}
}

func (p *leaseProtocol) next(s leaseState, step func(actor, what string, to leaseState)) {
	n := s
	n.row.age = min(n.row.age+1, leaseTime)
	for i := range n.processes {
		x := &n.processes[i]
		x.belief, x.sent = min(x.belief+1, leaseTime), min(x.sent+1, leaseTime)
	}
	if n != s {
		step("time", "passes", n)
	}
	if s.late.kind != 0 {
		n := s
		n.late = leaseRequest{}
		step("network", "loses a request", n)
		if p.apply(&n, s.late) {
			step("network", "delivers a late request", n)
		}
	}
	for i := range s.processes {
		p.process(s, uint8(i), step)
	}
}

func (p *leaseProtocol) process(s leaseState, i uint8, step func(actor, what string, to leaseState)) {
	x := s.processes[i]
	to := func(what string, n leaseState, x leaseProcess) {
		n.processes[i] = x
		step(fmt.Sprint("process ", i+1), what, n)
	}
	with := func(pc uint8) leaseProcess { y := x; y.pc = pc; return y }
	ended := func() leaseProcess {
		return leaseProcess{belief: leaseTime, sent: leaseTime, attempt: x.attempt, rounds: x.rounds, write: x.write}
	}
	owner := i
	if p.sameOwner {
		owner = 0
	}
	request := leaseRequest{process: i, owner: owner, fence: x.fence, condition: x.condition, attempt: x.attempt}
	// send sends a request, which is executed or refused.
	send := func(what string, r leaseRequest, done, refused leaseProcess) {
		n := s
		if p.apply(&n, r) {
			to(what, n, done)
			if p.late && !s.used {
				n.late, n.used = r, true
				if n.late.condition == leaseFresh && r.kind != leaseWrites {
					n.late.condition = leaseStale
				}
				to(what+", which arrives again", n, done)
			}
		} else {
			to(what+": refused", s, refused)
		}
		if p.late && !s.used {
			n = s
			n.late, n.used = r, true
			to(what+", which is late", n, refused)
		}
	}
	fresh := func(y leaseProcess) leaseProcess { y.condition = leaseFresh; return y }
	stale := func(y leaseProcess) leaseProcess { y.condition = leaseStale; return y }
	mine := s.row.state == leaseHeld && s.row.holder == i && s.row.attempt == x.attempt
	switch x.pc {
	case leaseIdle:
		if x.rounds == 0 {
			return
		}
		y := x
		y.rounds = 0
		to("stops", s, y)
		y = with(leaseToAcquire)
		switch over := s.row.state != leaseHeld || s.row.age >= leaseTime || p.ownClock; {
		case s.row.state == leaseAbsent:
			y.condition, y.fence = leaseInsert, 1
			to("finds no lease", s, y)
		case over && s.row.fence < leaseTokens:
			y.condition, y.fence = leaseFresh, s.row.fence+1
			to("finds it over", s, y)
		}
	case leaseToAcquire:
		y := with(leaseAcquiring)
		y.sent = 0
		y.attempt++
		to("begins to acquire", s, y)
	case leaseAcquiring:
		request.kind = leaseAcquires
		send("acquires", request, fresh(with(leaseAcquired)), stale(with(leaseUnknown)))
	case leaseAcquired:
		y := with(leaseHolds)
		y.belief, y.sent, y.rounds = x.sent, leaseTime, x.rounds-1
		if p.fromResponse {
			y.belief = 0
		}
		to("has acquired", s, y)
		to("loses the response", s, stale(with(leaseUnknown)))
	case leaseUnknown:
		if p.mineByOwner {
			mine = s.row.state == leaseHeld && s.row.owner == owner && s.row.fence == x.fence
		}
		if !mine {
			y := ended()
			y.rounds--
			to("finds that it is not its own", s, y)
			return
		}
		y := fresh(with(leaseHolds))
		y.belief, y.sent, y.rounds = x.sent, leaseTime, x.rounds-1
		if p.fromReread {
			y.belief = 0
		}
		to("finds that it is its own", s, y)
	case leaseHolds:
		p.hold(s, i, mine, to)
	case leaseRenewing:
		request.kind = leaseRenews
		send("renews", request, fresh(with(leaseRenewed)), stale(with(leaseNotRenewed)))
	case leaseRenewed:
		y := with(leaseHolds)
		y.belief, y.sent = x.sent, leaseTime
		if p.fromResponse {
			y.belief = 0
		}
		to("has renewed", s, y)
	case leaseNotRenewed:
		y := with(leaseHolds)
		y.sent = leaseTime
		to("has not renewed, or does not know", s, y)
	case leaseReleasing:
		request.kind = leaseReleases
		y := ended()
		y.pc, y.belief, y.fence = leaseWasReleased, x.belief, x.fence
		send("releases", request, y, ended())
	case leaseWasReleased:
		to("has released", s, ended())
	case leaseReadsGuard:
		y := with(leaseEntering)
		y.guardFresh, y.seen, y.in = true, s.guard, false
		to("reads the head and the guards", s, y)
	case leaseEntering:
		p.entering(s, i, to, send)
	case leaseWriting:
		n := s
		request.kind = leaseWrites
		if !p.apply(&n, request) && s.guard.head == x.fence {
			n = s
			n.fault = 3
			to("writes: refused", n, with(leaseHolds))
			return
		}
		send("writes", request, with(leaseHolds), with(leaseHolds))
	}
}

// hold is what a holder does.
func (p *leaseProtocol) hold(s leaseState, i uint8, mine bool, to func(string, leaseState, leaseProcess)) {
	x := s.processes[i]
	ended := leaseProcess{belief: leaseTime, sent: leaseTime, attempt: x.attempt, rounds: x.rounds, write: x.write}
	if x.belief >= leaseTime {
		to("its time is over", s, ended)
		return
	}
	y := x
	switch {
	case x.condition == leaseFresh:
		y.pc, y.sent = leaseRenewing, 0
		to("begins to renew", s, y)
	case mine:
		y.condition = leaseFresh
		to("reads the lease for its ETag", s, y)
	default:
		to("reads that it has lost the lease", s, ended)
	}
	y = x
	y.pc = leaseReadsGuard
	to("looks at its time, and enters", s, y)
	if x.in && x.write > 0 {
		y = x
		y.pc, y.write = leaseWriting, x.write-1
		to("looks at its time, and writes", s, y)
	}
	y = x
	y.pc = leaseReleasing
	if !p.believesReleased {
		y.belief = leaseTime
	}
	to("begins to release", s, y)
}

// entering is the end of entering a partition.
func (p *leaseProtocol) entering(s leaseState, i uint8, to func(string, leaseState, leaseProcess), send func(string, leaseRequest, leaseProcess, leaseProcess)) {
	x := s.processes[i]
	y := x
	y.pc, y.guardFresh, y.seen = leaseHolds, false, leaseGuard{}
	in := y
	in.in = true
	switch {
	case x.seen.head > x.fence && !p.ignoresGreater, p.noHead && x.seen.guards>>(x.fence+1) != 0:
		to("finds a greater fence", s, leaseProcess{belief: leaseTime, sent: leaseTime, attempt: x.attempt, rounds: x.rounds, write: x.write})
	case x.seen.head == x.fence && x.seen.guards&(1<<x.fence) != 0:
		n := s
		if s.entered == x.fence && s.by != i {
			n.fault = 2
		}
		to("is in", n, in)
	default:
		condition := uint8(leaseStale)
		if x.guardFresh {
			condition = leaseFresh
		}
		send("enters", leaseRequest{kind: leaseEnters, process: i, fence: x.fence, condition: condition, seen: x.seen}, in, y)
	}
}

func (p *leaseProtocol) model() Model[leaseState] {
	start := leaseState{row: leaseRow{age: leaseTime}}
	switch p.entered {
	case 1:
		start = leaseState{row: leaseRow{leaseHeld, 7, 1, leaseTime, 7, 7}, guard: leaseGuard{1, 1 << 1}}
	case 2:
		start = leaseState{row: leaseRow{state: leaseReleased, fence: 1, age: leaseTime}, guard: leaseGuard{head: 1}}
	case 3:
		start = leaseState{row: leaseRow{state: leaseReleased, fence: 1, age: leaseTime}}
	}
	start.by = 9
	for i := range start.processes {
		start.processes[i] = leaseProcess{belief: leaseTime, sent: leaseTime, rounds: max(p.rounds, 1), write: max(p.writes, 1)}
	}
	return Model[leaseState]{
		Start: start,
		Next:  p.next,
		Check: func(s leaseState) string {
			believers := 0
			for _, x := range s.processes {
				if x.belief < leaseTime && x.pc >= leaseHolds {
					believers++
				}
			}
			if believers > 1 {
				return leaseFaults[4]
			}
			return leaseFaults[s.fault]
		},
		Quiet: func(s leaseState) bool {
			for _, x := range s.processes {
				if x.pc != leaseIdle {
					return false
				}
			}
			return true
		},
		CheckQuiet:  func(leaseState) string { return "" },
		Termination: true,
		Show: func(s leaseState) string {
			return fmt.Sprintf("row %+v, partition %+v, processes %+v", s.row, s.guard, s.processes)
		},
	}
}

// TestLease explores the lease and the writes that it guards, and mutants with the fault that each part prevents.
func TestLease(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		p     leaseProtocol
		wrong uint8
		size  int // of *models
	}{
		{"two processes, twice each", leaseProtocol{rounds: 2}, 0, 0},
		{"two processes, two writes each, a late request", leaseProtocol{writes: 2, late: true}, 0, 0},
		{"two processes, twice each, a late request", leaseProtocol{rounds: 2, late: true}, 0, 3},
		{"a holder has entered, and is gone", leaseProtocol{entered: 1, writes: 2, late: true}, 0, 0},
		{"a holder has left no guard", leaseProtocol{entered: 2, late: true}, 0, 0},
		{"one name for two processes", leaseProtocol{sameOwner: true, late: true}, 0, 0},

		{"no head", leaseProtocol{noHead: true, late: true}, 1, 0},
		{"a head without its ETag", leaseProtocol{headBlindly: true, late: true, entered: 2}, 1, 0},
		{"the guards of smaller fences stay", leaseProtocol{guardsStay: true, late: true}, 1, 0},
		{"writes without the guard", leaseProtocol{unguarded: true, late: true}, 1, 0},
		{"belief from the response on", leaseProtocol{fromResponse: true, late: true}, 4, 0},
		{"belief from the read after a lost response", leaseProtocol{fromReread: true, late: true}, 4, 0},
		{"a thief goes by its own clock", leaseProtocol{ownClock: true, late: true}, 4, 0},
		{"a lease is taken without its ETag", leaseProtocol{stealsBlindly: true, late: true, entered: 3}, 4, 0},
		{"a renewal without its ETag", leaseProtocol{renewsBlindly: true, late: true}, 4, 0},
		{"a release without its ETag", leaseProtocol{releasesBlindly: true, late: true}, 5, 0},
		{"a release deletes the row", leaseProtocol{releaseDeletes: true}, 2, 0},
		{"a holder believes until the release is answered", leaseProtocol{believesReleased: true, late: true}, 4, 0},
		{"a lease is its own by the name", leaseProtocol{sameOwner: true, mineByOwner: true, late: true}, 4, 0},
		{"who enters ignores a greater fence", leaseProtocol{ignoresGreater: true, late: true}, 1, 0},
	} {
		if m.size > *models {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == 0 {
				expectFault(t, explore(m.p.model()), "")
				return
			}
			expectFault(t, m.p.model().Explore(), leaseFaults[m.wrong])
		})
	}
}
