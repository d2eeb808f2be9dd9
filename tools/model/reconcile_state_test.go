package model

import "fmt"

const (
	reconcileOps  = 6 // the numbers of operations begin with 1
	reconcileRows = 2

	inlined = 2 // the workers from here on are the writers, which apply their own writes
	filler  = 4 // the fill, or Verify, which repairs
)

// Contents of an entity. Contents 1 and 2 have the key of row a, 3 and 4 that of row b. The target row of an entity contains its
// content. 0 is no entity.
const (
	none = iota
	a1
	a2
	b1
	b2
)

// targetRow is a row in another partition: the contents of the entities that it follows from. Rows of one entity use m[0] only,
// except for counts, where row e belongs to entity e. A present row without contents is a tombstone, or an empty list.
type targetRow struct {
	kind uint8 // absent, present
	m    [2]uint8
	old  bool // a tombstone older than the retention
}

func (r targetRow) tombstone() bool { return r.kind == present && r.m == [2]uint8{} }

// effectRecord is a commit record that names target rows, as bits.
type effectRecord struct {
	kind, rows uint8
	old        bool
}

// targetRequest is a write that was sent to the storage. Without insert it has the ETags of fresh.
type targetRequest struct {
	kind, op, entity, content uint8
	row                       uint8
	m                         [2]uint8
	insert                    bool
	sums, touched             [2]uint8
	fresh                     uint8
}

const (
	reqTarget   = 100 + iota // insert of a target row, or CAS
	reqContents              // the transaction of a writer
)

// The flags of ETags. See freshCurrent.
const (
	freshRow = 1 << iota // and the bit behind it for row b
	_
	freshSum // and the bit behind it for the sum of b
)

type sourceWriter struct {
	at, pc uint8
	fresh  bool
	stale  bool // began before the retention passed
}

// reconcileWorker is a worker with a message, or a writer that applies its write, or a fill. The zero worker is idle.
type reconcileWorker struct {
	pc, op, entity, rows, todo, want uint8
	seen                             [reconcileRows]targetRow
	sums                             [2]uint8
	fresh                            uint8
	stale                            bool
}

// reconcileState contains all stored rows, messages and the progress of all programs. The last fields serve the checks only.
type reconcileState struct {
	primary       [2]uint8 // contents of the entities
	rows          [reconcileRows]targetRow
	sums          [2]uint8
	records       [reconcileOps]effectRecord
	notifications uint8
	expired       uint8 // operations older than the retention
	writers       [2]sourceWriter
	workers       [filler + 1]reconcileWorker
	late          targetRequest
	sweep         struct {
		row   uint8
		fresh bool
		reads bool // the sweep has read the row
	}

	commits uint8 // operations that were committed
	fault   bool  // an operation was committed twice, or after it was aborted
}

func (s *reconcileState) String() string {
	out := "primary"
	for _, c := range s.primary {
		out += " " + contentNames[c]
	}
	for i, r := range s.rows {
		switch {
		case r.tombstone():
			out += fmt.Sprintf(" row %c=tombstone", 'a'+i)
		case r.kind == present:
			out += fmt.Sprintf(" row %c=%s,%s", 'a'+i, contentNames[r.m[0]], contentNames[r.m[1]])
		}
	}
	if s.sums != [2]uint8{} {
		out += fmt.Sprint(" sums ", s.sums)
	}
	for op, rec := range s.records {
		if rec.kind != absent {
			out += fmt.Sprintf(" op%d=%s", op, map[uint8]string{pending: "pending", done: "done", aborted: "aborted"}[rec.kind])
		}
	}
	return out
}

var contentNames = [...]string{"-", "a1", "a2", "b1", "b2"}

// group returns the row, and the sum, of a content.
func group(content uint8) uint8 { return (content - 1) / 2 }

// rowsOf returns the target rows of a content, as bits.
func (p *reconcileProtocol) rowsOf(entity, content uint8) uint8 {
	switch {
	case content == none:
		return 0
	case p.counts:
		return 1 << entity
	}
	return 1 << group(content)
}

// member returns the place of an entity in its target rows.
func (p *reconcileProtocol) member(entity uint8) uint8 {
	if p.counts {
		return 0
	}
	return entity
}

// wanted returns what a target row should contain for an entity with this content.
func (p *reconcileProtocol) wanted(row, entity, content uint8) uint8 {
	if p.rowsOf(entity, content)&(1<<row) == 0 {
		return none
	}
	return content
}

// invalidate removes a flag of a row or a sum from all programs, and drops a late request that cannot succeed any more.
func (s *reconcileState) invalidate(flag uint8) {
	for i := range s.workers {
		s.workers[i].fresh &^= flag
	}
	if flag == freshRow<<s.sweep.row {
		s.sweep.fresh = false
	}
	if r := &s.late; r.fresh&flag != 0 {
		*r = targetRequest{}
	}
}

// invalidatePrimary does the same for an entity.
func (p *reconcileProtocol) invalidatePrimary(s *reconcileState, entity uint8) {
	for i := range s.writers {
		if w := &s.writers[i]; int(w.at) < len(p.writers[i]) && p.writers[i][w.at].entity == entity {
			w.fresh = false
		}
	}
	if r := &s.late; r.kind == reqContents && r.entity == entity && !r.insert {
		*r = targetRequest{}
	}
}

// arrive applies a request to the storage, all of it or nothing, and reports whether it succeeded. The ETags are checked by the
// sender's flags, or by invalidate if the request is late.
func (p *reconcileProtocol) arrive(s *reconcileState, r targetRequest) bool {
	rec := &s.records[r.op]
	switch r.kind {
	case reqContents:
		if r.insert && s.primary[r.entity] != none || !p.noRecord && rec.kind != absent {
			return false
		}
		rows := p.rowsOf(r.entity, s.primary[r.entity]) | p.rowsOf(r.entity, r.content)
		if p.onlyNewRow {
			rows = p.rowsOf(r.entity, r.content)
		}
		s.fault = s.fault || s.commits&(1<<r.op) != 0
		s.commits |= 1 << r.op
		rec.kind, rec.rows = pending, rows
		s.primary[r.entity] = r.content
		p.invalidatePrimary(s, r.entity)
	case reqTarget:
		t := &s.rows[r.row]
		if r.insert && t.kind != absent {
			return false
		}
		for g := range r.touched {
			if r.touched[g] != 0 {
				s.sums[g] = r.sums[g]
				s.invalidate(freshSum << g)
			}
		}
		if *t = (targetRow{kind: present, m: r.m}); t.tombstone() && p.physicalDelete {
			*t = targetRow{}
		}
		s.invalidate(freshRow << r.row)
	case reqClose:
		if rec.kind != pending {
			return false
		}
		if rec.kind = done; p.deletesRecords {
			*rec = effectRecord{}
		}
	case reqAbort:
		if rec.kind != absent {
			return false
		}
		rec.kind = aborted
	}
	return true
}
