package model

import "fmt"

const (
	maxOps   = 6 // ops are numbered from 1
	maxLives = 6 // lives, too; 0 is none

	alike  = 4 // the incarnation of another entity, which is archived from the start
	forged = 5 // a text that is no incarnation, and whose row of the destination would be that of alike
)

// Freshness stands for ETags: who reads a row holds a flag for it, and every write of the row takes all flags for it away. So an ETag
// never comes back, and the states stay finite however often messages are delivered.
const (
	freshCurrent = 1 << iota
	freshDest
	freshIntent
	freshIndex
)

// What a row of the destination, or an intent, is.
const (
	absent = iota
	present
	tombstone
	live
	done
	aborted
)

// Effects of an intent.
const (
	effMove = 1 << iota
	effIndex
	effForget
)

// What became of a life.
const (
	unborn = iota
	alive
	deleted  // by its user
	restored // another life goes on with its content
)

type row struct{ life, ver uint8 }

// dest is a row of the destination: a content, and the ops that have put it.
type dest struct{ kind, life, ver, ops uint8 }

type intent struct{ kind, effects, life uint8 }

// request is a write on its way to the storage.
type request struct{ kind, op, life, ver, from, fresh uint8 }

const (
	reqNone    = iota
	reqAsk     // EGT {insert intent, touch the entity}
	reqUpdate  // CAS
	reqDelete  // CAS; with its intent if there is an index
	reqCreate  // Insert; the same
	reqRestore // EGT {insert intent, insert entity, insert left(life)}
	reqInsert  // into the destination
	reqPut     // CAS on the destination's row
	reqBury    // CAS to a tombstone
	reqDig     // insert a tombstone where nothing is
	reqMove    // EGT {intent by CAS, delete by CAS}
	reqClose   // intent by CAS
	reqAbort   // insert the abort marker
	reqIndex   // CAS on the index row
	reqReplace // unconditional replace of a row that exists
	reqRaw     // unconditional write of a row, by a program that knows nothing of incarnations
)

var requestNames = [...]string{"", "EGT of the ask", "update", "delete", "create", "EGT of the restore", "insert into the destination",
	"put over the destination's row", "tombstone over the row", "tombstone where nothing was", "EGT of the move", "close", "abort marker", "index row",
	"unconditional replace", "raw write"}

// needs is what must be fresh for a request to have an effect.
var needs = [...]uint8{reqAsk: freshCurrent, reqUpdate: freshCurrent, reqDelete: freshCurrent, reqPut: freshDest, reqBury: freshDest,
	reqMove: freshCurrent | freshIntent, reqClose: freshIntent, reqIndex: freshIndex, reqRaw: 0}

// hand is a worker with a message; the zero hand is idle.
type hand struct{ pc, op, kind, todo, ver, fresh uint8 }

// user is somebody who works through a script.
type user struct{ at, pc, life, ver, todo, fresh uint8 }

// state is all that is stored, sent and remembered; what is only there for the checks comes last.
type state struct {
	current row
	dest    [maxLives]dest
	intents [maxOps]intent
	left    uint8 // restore markers, by life
	gone    uint8 // markers of lives that a move took away, by life
	marks   uint8 // the destination's markers, by op
	moving  uint8 // the op that the entity in Current says is moving it
	index   uint8 // the life that the index row names; 0 is a tombstone
	msgs    uint8 // hints, by op
	poison  uint8 // copies in the poison queue, by op
	users   [4]user
	workers [2]hand
	late    request // sent, and not arrived although its sender has gone on

	newest [maxLives]uint8
	status [maxLives]uint8
	wrong  uint8
}

const (
	wrongLife = iota + 1
	wrongRestore
	staleRestore
)

var wrongs = [...]string{"", "a worker deleted an entity of another life", "an entity was restored that is deleted, or restored already",
	"a restored entity carries an old content"}

func (s *state) String() string {
	out := "current "
	if s.current.life == 0 {
		out += "-"
	} else {
		out += fmt.Sprintf("L%d@%d", s.current.life, s.current.ver)
	}
	for i, d := range s.dest {
		switch d.kind {
		case present:
			out += fmt.Sprintf(" dest%d=L%d@%d ops%b", i, d.life, d.ver, d.ops>>1)
		case tombstone:
			out += fmt.Sprintf(" dest%d=tombstone", i)
		}
	}
	for op, in := range s.intents {
		switch in.kind {
		case live:
			out += fmt.Sprintf(" op%d=live%03b(L%d)", op, in.effects, in.life)
		case done:
			out += fmt.Sprintf(" op%d=done", op)
		case aborted:
			out += fmt.Sprintf(" op%d=aborted", op)
		}
	}
	return out
}

func (a *archive) slot(life uint8) uint8 {
	switch {
	case life == forged:
		return alike
	case a.keyWithoutLife:
		return 0
	}
	return life
}

// wrote takes the flags of one kind away from all who hold one for the row: op names the intent, life the destination's row.
func (a *archive) wrote(s *state, flag, op, life uint8) {
	hit := func(o, l uint8) bool {
		return flag == freshCurrent || flag == freshIndex || flag == freshIntent && o == op || flag == freshDest && a.slot(l) == a.slot(life)
	}
	for i := range s.users {
		if flag == freshCurrent {
			s.users[i].fresh &^= flag
		}
	}
	for i := range s.workers {
		if w := &s.workers[i]; hit(w.op, s.intents[w.op].life) {
			w.fresh &^= flag
		}
	}
	if r := &s.late; r.kind != reqNone && hit(r.op, r.life) {
		if r.fresh &^= flag; !a.may(*r) {
			*r = request{}
		}
	}
}

// may says whether a request can still have an effect, as far as ETags decide that.
func (a *archive) may(r request) bool {
	need := needs[r.kind]
	switch {
	case r.kind == reqClose && a.blindClose:
		need = 0
	case r.kind == reqMove && a.deleteAny:
		need &^= freshCurrent
	case r.kind == reqMove && a.splitMove:
		need &^= freshIntent
	}
	return r.fresh&need == need
}

// begin inserts an intent, unless anything is there.
func (s *state) begin(r request, effects uint8) bool {
	if s.intents[r.op].kind != absent {
		return false
	}
	s.intents[r.op] = intent{live, effects, r.life}
	return true
}

// arrive lets the storage decide a request, all of it or nothing.
func (a *archive) arrive(s *state, r request) bool {
	if !a.may(r) {
		return false
	}
	d := &s.dest[a.slot(r.life)]
	switch r.kind {
	case reqAsk:
		if !s.begin(r, effMove) {
			return false
		}
		s.moving = r.op
	case reqUpdate:
		s.current.ver++
		s.newest[s.current.life] = s.current.ver
	case reqDelete, reqCreate:
		if r.kind == reqCreate && s.current.life != 0 || a.index && !s.begin(r, effIndex) {
			return false
		}
		if r.kind == reqDelete {
			s.status[s.current.life] = deleted
			s.current, s.moving = row{}, 0
		} else {
			s.current, s.status[r.life], s.newest[r.life], s.moving = row{r.life, 1}, alive, 1, 0
		}
	case reqRestore:
		return a.restored(s, r)
	case reqInsert:
		if d.kind == present || d.kind == tombstone && !a.insertOverTombstone || a.opMarkers && s.marks&(1<<r.op) != 0 {
			return false
		}
		*d = dest{present, r.life, r.ver, 1 << r.op}
		s.marks |= a.mark(r.op)
	case reqPut:
		*d = dest{present, r.life, r.ver, d.ops | 1<<r.op}
		s.marks |= a.mark(r.op)
	case reqBury:
		*d = a.grave()
	case reqDig:
		if d.kind != absent {
			return false
		}
		*d = a.grave()
		s.marks |= a.mark(r.op)
	case reqMove:
		return a.moved(s, r)
	case reqClose:
		s.intents[r.op].kind, s.intents[r.op].effects = done, 0
	case reqAbort:
		if s.intents[r.op].kind != absent {
			return false
		}
		s.intents[r.op].kind = aborted
	case reqIndex:
		s.index = r.ver
	case reqReplace, reqRaw:
		if s.current.life == 0 && r.kind == reqReplace {
			return false
		}
		s.written(r.from)
	}
	switch r.kind {
	case reqAsk, reqUpdate, reqDelete, reqCreate, reqReplace, reqRaw:
		a.wrote(s, freshCurrent, 0, 0)
	case reqInsert, reqPut, reqBury, reqDig:
		a.wrote(s, freshDest, 0, r.life)
	case reqClose:
		a.wrote(s, freshIntent, r.op, 0)
	case reqIndex:
		a.wrote(s, freshIndex, 0, 0)
	}
	return true
}

// written makes a new content of what Current holds, if anything, and an incarnation of another: as the old one does not go on any more,
// it counts as restored. A row without an incarnation is given one when it is first needed, and none names it before: so it has one
// here that nobody else has.
func (s *state) written(life uint8) {
	ver := s.newest[s.current.life] + 1
	if was := s.current.life; was == 0 {
		ver = 1
	} else {
		s.status[was] = restored
	}
	s.current, s.status[life], s.newest[life], s.moving = row{life, ver}, alive, ver, 0
}

func (a *archive) mark(op uint8) uint8 {
	if a.opMarkers {
		return 1 << op
	}
	return 0
}

// grave is what is left of a row that is taken out of the destination.
func (a *archive) grave() dest {
	if a.physicalDelete || a.opMarkers {
		return dest{}
	}
	return dest{kind: tombstone}
}

func (a *archive) moved(s *state, r request) bool {
	if s.current.life == 0 { // only with deleteAny: an If-Match of * still needs a row
		return false
	}
	if s.current.life != r.life {
		s.wrong = wrongLife
	}
	s.current, s.moving = row{}, 0
	a.wrote(s, freshCurrent, 0, 0)
	if a.goneMarkers {
		s.gone |= 1 << r.life
	}
	if a.splitMove {
		return true
	}
	in := &s.intents[r.op]
	in.effects &^= effMove
	if a.index {
		in.effects |= effIndex
	}
	if in.effects == 0 {
		in.kind = done
	}
	a.wrote(s, freshIntent, r.op, 0)
	return true
}

// restored takes r.life out of the destination as a new life, r.from.
func (a *archive) restored(s *state, r request) bool {
	effects := uint8(effForget)
	if a.index {
		effects |= effIndex
	}
	if s.current.life != 0 || s.left&(1<<r.life) != 0 || !s.begin(r, effects) {
		return false
	}
	switch {
	case s.status[r.life] != alive:
		s.wrong = wrongRestore
	case s.newest[r.life] != r.ver:
		s.wrong = staleRestore
	}
	if !a.noLeft {
		s.left |= 1 << r.life
	}
	s.status[r.life] = restored
	s.current, s.moving = row{r.from, r.ver}, 0
	s.status[r.from], s.newest[r.from] = alive, r.ver // with keepLife: the same life
	a.wrote(s, freshCurrent, 0, 0)
	return true
}
