package model

import (
	"fmt"
	"testing"
)

// expireProtocol is the protocol of an entity that ends at a time. A program that is about to say that it is over deletes it first, by the ETag that it has read,
// so that no renewal revives it. The time is that of the responses, of front ends whose clocks differ by one. A row in the hour of the end lets the
// sweep find the entity. A mutant sets one of the options.
type expireProtocol struct {
	programs []expireProgram
	absent   bool // there is no entity at the beginning
	once     bool // the value is for one caller, as a code is
	late     bool // one request is late, or arrives twice

	saysOver          bool // a program says that the entity is over, and does not delete it first
	listSaysOver      bool // a list, which only hides, says that the entity is over
	renewsByKey       bool // a renewal merges whatever is stored
	sweepsByKey       bool // the sweep deletes whatever is stored
	sweepsByOwnClock  bool // the sweep goes by its own clock, and not by that of the response
	hourStays         bool // a renewal leaves the row in its hour
	goneIsNotMine     bool // a taker whose response was lost finds nothing: it has not taken
	goneIsMine        bool // it has taken
	insertsPlainly    bool // an insert without a commit record
	replacesBlindly   bool // an insert in the place of what is over goes by no ETag
	uniqueStaysOwned  bool // what ends leaves its unique value
	uniqueIsOnlyOwner bool // an insert whose unique value is taken deletes the row of the value alone
}

type expireKind uint8

const (
	expGets    expireKind = iota + 1
	expLists              // says nothing of what it hides
	expExtends            // by a time
	expSets               // the end
	expRemoves            // the end
	expInserts            // with an end in a time
	expTakes
	expSweeps // with a clock that is ahead by a time
	expMerges // a property, without the library
	expClaims // inserts another entity with the unique value of the first
)

type expireProgram struct {
	kind expireKind
	by   int8
}

const (
	expNever        = 15
	expLastTime     = 4
	expPrograms     = 4
	expIncarnations = 4
)

// expEntity is the entity: an incarnation, its end, and the version that its ETag names; 0 is none.
type expEntity struct{ incarnation, until, version uint8 }

func (e expEntity) hour() uint8 {
	if e.incarnation == 0 || e.until == expNever {
		return 0
	}
	return 1 << (e.until / 2)
}

type expRequest struct {
	kind    expireKind // expSweeps deletes
	program uint8
	seen    expEntity
	until   uint8
}

type expRun struct {
	pc   uint8
	seen expEntity
}

type expireState struct {
	time    uint8
	entity  expEntity
	hours   uint8 // rows of hours
	next    uint8 // incarnation
	version uint8
	owner   uint8 // of the row of the unique value: 0 none, 1 the entity, 2 the other
	records [expPrograms]uint8
	runs    [expPrograms]expRun
	late    expRequest
	used    bool // a request was late, or has arrived twice

	gone  uint8 // incarnations that were taken
	told  uint8 // incarnations of which a caller was told that they are over
	taken [expIncarnations + 1]uint8
	fault uint8
}

const (
	expRecorded = 1
	expAborted  = 2
)

const (
	expReads = iota
	expWrites
	expDeletes // what is over, before it says so
	expAsks    // what has become of a take
	expEnds
)

var expFaults = [...]string{
	"", "an entity is returned after a caller was told that it is over", "an entity is deleted while it is not over for anybody", "two callers have one value",
	"a value was taken, and nobody has it", "an entity has no row in its hour, and never ends", "a row in an hour has no entity", "a code was used twice", "two entities have one unique value", "a unique value stays without its entity",
}

const (
	expReturnedLate = iota + 1
	expDeletedAlive
	expTakenTwice
	expTakenByNobody
	expNoHour
	expHourLeft
	expUsedTwice
	expTwoOwners
	expValueLeft
)

// apply executes a request, and reports whether it was not refused.
func (p *expireProtocol) apply(s *expireState, r expRequest) bool {
	same := s.entity.incarnation != 0 && s.entity.version == r.seen.version
	switch r.kind {
	case expExtends, expSets, expRemoves:
		if !same && !(p.renewsByKey && s.entity.incarnation != 0) {
			return false
		}
		if !p.hourStays {
			s.hours &^= r.seen.hour()
		}
		s.entity.until = r.until
		s.hours |= s.entity.hour()
		s.renew()
	case expInserts:
		switch {
		case s.records[r.program] != 0 && !p.insertsPlainly:
			return false
		case r.seen.incarnation == 0 && (s.entity.incarnation != 0 || s.owner != 0):
			return false
		case r.seen.incarnation != 0 && !same && !(p.replacesBlindly && s.entity.incarnation != 0):
			return false
		}
		s.end()
		s.hours &^= r.seen.hour()
		s.records[r.program], s.owner = expRecorded, 1
		s.entity = expEntity{incarnation: s.next, until: r.until}
		s.next = min(s.next+1, expIncarnations)
		s.hours |= s.entity.hour()
		s.renew()
	case expSweeps, expTakes:
		if r.kind == expTakes && s.records[r.program] != 0 || !same && !(p.sweepsByKey && r.kind == expSweeps && s.entity.incarnation != 0) {
			return false
		}
		if r.kind == expTakes {
			s.records[r.program], s.gone = expRecorded, s.gone|1<<s.entity.incarnation
		} else {
			s.end()
		}
		s.hours &^= r.seen.hour()
		s.entity = expEntity{}
		if !p.uniqueStaysOwned {
			s.owner = 0
		}
	case expMerges:
		if s.entity.incarnation == 0 {
			return false
		}
		s.renew()
	case expClaims:
		if s.owner != 0 && !p.uniqueIsOnlyOwner || s.owner == 2 {
			return false
		}
		s.owner = 2
	}
	return true
}

// renew gives the entity a new ETag.
func (s *expireState) renew() {
	s.version++
	s.entity.version = s.version
}

// end notes that the entity is deleted because it is over.
func (s *expireState) end() {
	if s.entity.incarnation != 0 && s.entity.until > s.time+1 {
		s.fault = expDeletedAlive
	}
}

func (p *expireProtocol) next(s expireState, step func(actor, what string, to expireState)) {
	if s.time < expLastTime {
		n := s
		n.time++
		step("time", "passes", n)
	}
	if s.late.kind != 0 {
		n := s
		n.late = expRequest{}
		step("network", "loses a request", n)
		if p.apply(&n, s.late) {
			step("network", "delivers a late request", n)
		}
	}
	for i := range p.programs {
		if s.runs[i].pc != expEnds {
			p.run(s, uint8(i), step)
		}
	}
}

// expNames are what the programs are called in traces.
var expNames = [...]string{"", "reader", "list", "renewal", "change", "removal", "insert", "taker", "sweep", "foreign program", "claim"}

func (p *expireProtocol) run(s expireState, i uint8, step func(actor, what string, to expireState)) {
	program, run := p.programs[i], s.runs[i]
	actor := fmt.Sprint(expNames[program.kind], " ", i+1)
	to := func(what string, n expireState, pc uint8) {
		n.runs[i].pc = pc
		if pc == expEnds || pc == expReads {
			n.runs[i].seen = expEntity{}
		}
		step(actor, what, n)
	}
	// send sends a request: done follows its response, unknown a response that is lost, refused a refusal.
	send := func(what string, r expRequest, done func(*expireState) uint8, unknown, refused uint8) {
		n := s
		applied := p.apply(&n, r)
		if !applied {
			to(what+": refused", s, refused)
		} else {
			to(what+", response lost", n, unknown)
			responded := n
			pc := done(&responded)
			to(what, responded, pc)
			if p.late && !s.used {
				responded.late, responded.used = r, true
				to(what+", which arrives again", responded, pc)
			}
		}
		if p.late && !s.used {
			n = s
			n.late, n.used = r, true
			to(what+", which is late", n, unknown)
		}
	}
	ends := func(*expireState) uint8 { return expEnds }
	request := expRequest{kind: program.kind, program: i, seen: run.seen}
	switch run.pc {
	case expReads:
		p.read(s, i, to)
	case expDeletes:
		request.kind = expSweeps
		says := func(n *expireState) uint8 {
			if program.kind == expClaims {
				return expReads
			}
			n.told |= 1 << run.seen.incarnation
			return expEnds
		}
		send("deletes it", request, says, expReads, expReads)
		to("stops", s, expEnds)
	case expWrites:
		switch program.kind {
		case expExtends:
			request.until = min(run.seen.until+uint8(program.by), expNever-1)
		case expSets:
			request.until = uint8(program.by)
		case expRemoves:
			request.until = expNever
		case expInserts:
			request.until = s.time + uint8(program.by)
		case expTakes:
			has := func(n *expireState) uint8 {
				n.taken[run.seen.incarnation]++
				return expEnds
			}
			send("takes it", request, has, expAsks, expReads)
			return
		}
		send("writes", request, ends, expEnds, expEnds)
	case expAsks:
		p.ask(s, i, to)
	}
}

// read is the first step of a program.
func (p *expireProtocol) read(s expireState, i uint8, to func(what string, n expireState, pc uint8)) {
	program, e := p.programs[i], s.entity
	n := s
	n.runs[i].seen = e
	if e.incarnation == 0 {
		switch {
		case program.kind == expInserts, program.kind == expClaims && s.owner == 0:
			to("finds nothing", n, expWrites)
		default:
			to("finds nothing", s, expEnds)
		}
		return
	}
	if program.kind == expSweeps {
		to("ends", s, expEnds)
		if e.hour()&s.hours == 0 || e.until/2 > uint8(max(0, int8(s.time)+program.by))/2 {
			return // its hour has not come
		}
	}
	alive, over := false, false
	for date := int8(s.time) - 1; date <= int8(s.time)+1; date++ { // of the front end
		if date >= int8(e.until) && e.until != expNever {
			over = true
		} else {
			alive = true
		}
	}
	if program.kind == expSweeps && p.sweepsByOwnClock {
		over = e.until != expNever && int8(s.time)+program.by >= int8(e.until)
	}
	if alive {
		if told := s.told&(1<<e.incarnation) != 0; told && program.kind != expSweeps && program.kind != expMerges {
			n.fault = expReturnedLate
		}
		switch program.kind {
		case expGets, expLists, expInserts, expSweeps, expClaims:
			to("finds it alive", n, expEnds)
		default:
			to("finds it alive", n, expWrites)
		}
		n.fault = s.fault
	}
	if !over {
		return
	}
	switch {
	case program.kind == expInserts || program.kind == expMerges:
		to("finds it over", n, expWrites)
	case program.kind == expLists && !p.listSaysOver:
		to("hides it", n, expEnds)
	case program.kind == expClaims && p.uniqueIsOnlyOwner:
		to("finds it over", n, expWrites)
	case p.saysOver || program.kind == expLists:
		n.told |= 1 << e.incarnation
		to("says that it is over", n, expEnds)
	default:
		to("finds it over", n, expDeletes)
	}
}

// ask finds out what has become of a take whose response was lost.
func (p *expireProtocol) ask(s expireState, i uint8, to func(what string, n expireState, pc uint8)) {
	n, seen := s, s.runs[i].seen
	there := s.entity.version == seen.version
	switch {
	case p.goneIsNotMine, p.goneIsMine && there:
		to("has not taken it", n, expEnds)
	case p.goneIsMine, s.records[i] == expRecorded:
		n.taken[seen.incarnation]++
		to("has taken it", n, expEnds)
	case s.records[i] == expAborted:
		to("has not taken it", n, expEnds)
	default:
		n.records[i] = expAborted
		to("stores an abort record", n, expAsks)
	}
}

func (p *expireProtocol) check(s expireState) string {
	uses := uint8(0)
	for _, n := range s.taken {
		uses += n
		if n > 1 {
			return expFaults[expTakenTwice]
		}
	}
	switch {
	case s.fault != 0:
		return expFaults[s.fault]
	case p.once && uses > 1:
		return expFaults[expUsedTwice]
	case s.entity.hour()&^s.hours != 0:
		return expFaults[expNoHour]
	case s.hours&^s.entity.hour() != 0:
		return expFaults[expHourLeft]
	case s.owner == 2 && s.entity.incarnation != 0:
		return expFaults[expTwoOwners]
	case s.owner == 1 && s.entity.incarnation == 0:
		return expFaults[expValueLeft]
	}
	return ""
}

func (p *expireProtocol) model() Model[expireState] {
	start := expireState{next: 2, version: 1, owner: 1, entity: expEntity{incarnation: 1, until: 2, version: 1}}
	if p.absent {
		start = expireState{next: 1}
	}
	start.hours = start.entity.hour()
	for i := len(p.programs); i < expPrograms; i++ {
		start.runs[i].pc = expEnds
	}
	return Model[expireState]{
		Start: start,
		Next:  p.next,
		Check: p.check,
		Quiet: func(s expireState) bool {
			for _, r := range s.runs {
				if r.pc != expEnds {
					return false
				}
			}
			return s.late.kind == 0 && s.time == expLastTime
		},
		CheckQuiet: func(s expireState) string {
			for i, n := range s.taken {
				if s.gone&(1<<i) != 0 && n == 0 {
					return expFaults[expTakenByNobody]
				}
			}
			return ""
		},
		Show: func(s expireState) string {
			return fmt.Sprintf("time %d, entity %d until %d (version %d), hours %03b, value of %d, told %b, taken %v", s.time, s.entity.incarnation, s.entity.until, s.entity.version, s.hours, s.owner, s.told, s.taken)
		},
	}
}

// TestExpire explores entities that end, beside renewals, changes of the end, inserts in their place, takers, sweeps with wrong clocks, and another entity that wants their
// unique value.
func TestExpire(t *testing.T) {
	t.Parallel()
	gets, takes, removes, merges, claims := expireProgram{kind: expGets}, expireProgram{kind: expTakes}, expireProgram{kind: expRemoves}, expireProgram{kind: expMerges}, expireProgram{kind: expClaims}
	lists := expireProgram{kind: expLists}
	extends := func(by int8) expireProgram { return expireProgram{expExtends, by} }
	sets := func(end int8) expireProgram { return expireProgram{expSets, end} }
	inserts := func(by int8) expireProgram { return expireProgram{expInserts, by} }
	sweeps := func(ahead int8) expireProgram { return expireProgram{expSweeps, ahead} }
	of := func(programs ...expireProgram) []expireProgram { return programs }
	for _, m := range []struct {
		name  string
		p     expireProtocol
		wrong uint8
		size  int // of *models
	}{
		{"a renewal, two sweeps with wrong clocks", expireProtocol{programs: of(extends(2), sweeps(2), sweeps(-2))}, 0, 0},
		{"a renewal, readers, a sweep", expireProtocol{programs: of(extends(2), gets, gets, sweeps(1))}, 0, 0},
		{"a renewal, a shorter end, a list, a reader", expireProtocol{programs: of(extends(3), sets(1), lists, gets)}, 0, 0},
		{"an end that is removed, a renewal, a reader, a sweep", expireProtocol{programs: of(removes, extends(2), gets, sweeps(2))}, 0, 0},
		{"two inserts in its place, a renewal, a sweep", expireProtocol{programs: of(inserts(2), inserts(3), extends(2), sweeps(1))}, 0, 0},
		{"two takers, a renewal, a sweep", expireProtocol{programs: of(takes, takes, extends(2), sweeps(1))}, 0, 0},
		{"two takers, an insert in its place, a reader", expireProtocol{programs: of(takes, takes, inserts(2), gets)}, 0, 0},
		{"a code, two takers, a sweep", expireProtocol{programs: of(inserts(3), takes, takes, sweeps(0)), absent: true, once: true}, 0, 0},
		{"a foreign program, a renewal, two readers", expireProtocol{programs: of(merges, extends(2), gets, gets)}, 0, 0},
		{"another entity wants its unique value", expireProtocol{programs: of(claims, extends(2), inserts(2), gets)}, 0, 0},
		{"another entity wants its unique value, a taker, a sweep", expireProtocol{programs: of(claims, takes, extends(2), sweeps(1))}, 0, 0},

		{"an end without a fence", expireProtocol{programs: of(extends(2), gets, gets), saysOver: true}, expReturnedLate, 0},
		{"a removed end without a fence", expireProtocol{programs: of(removes, gets, gets), saysOver: true}, expReturnedLate, 0},
		{"a refused renewal without a fence", expireProtocol{programs: of(extends(2), extends(2), gets), saysOver: true}, expReturnedLate, 0},
		{"a list that says what is over", expireProtocol{programs: of(lists, extends(2), gets), listSaysOver: true}, expReturnedLate, 0},
		{"a renewal by key", expireProtocol{programs: of(extends(2), inserts(2)), renewsByKey: true}, expHourLeft, 0},
		{"a sweep by key", expireProtocol{programs: of(inserts(3), sweeps(0), sweeps(0)), sweepsByKey: true}, expDeletedAlive, 0},
		{"a sweep by its own clock", expireProtocol{programs: of(sweeps(2)), sweepsByOwnClock: true}, expDeletedAlive, 0},
		{"the row of the hour stays", expireProtocol{programs: of(extends(2)), hourStays: true}, expHourLeft, 0},
		{"an insert in its place without its ETag", expireProtocol{programs: of(inserts(2), extends(3)), replacesBlindly: true}, expDeletedAlive, 0},
		{"a taker that finds nothing has not taken", expireProtocol{programs: of(takes), goneIsNotMine: true}, expTakenByNobody, 0},
		{"a taker that finds nothing has taken", expireProtocol{programs: of(takes, takes), goneIsMine: true}, expTakenTwice, 0},
		{"a code that is inserted without a record", expireProtocol{programs: of(inserts(3), takes, takes), absent: true, once: true, insertsPlainly: true}, expUsedTwice, 0},
		{"a unique value that stays", expireProtocol{programs: of(sweeps(0)), uniqueStaysOwned: true}, expValueLeft, 0},
		{"another entity takes the row of the value alone", expireProtocol{programs: of(claims), uniqueIsOnlyOwner: true}, expTwoOwners, 0},
	} {
		if m.size > *models {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.p.late = true
			if m.wrong == 0 {
				expectFault(t, explore(m.p.model()), "")
				return
			}
			expectFault(t, m.p.model().Explore(), expFaults[m.wrong])
		})
	}
}
