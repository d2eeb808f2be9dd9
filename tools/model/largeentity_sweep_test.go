package model

// The steps of the sweeper.
const (
	swIdle = iota
	swCondemn
	swDelete
	swDeleteRow
	swAskArchive
	swMarkUnlinked
)

// work reports whether a sweep would change something about a blob.
func (l *largeProtocol) work(s largeState, b uint8) bool {
	switch row := s.rows[b]; row.state {
	case rowNone:
		return s.exists[b] && (s.age[b] >= settled || l.noGrace) && !l.sweepRows
	case rowUnlinked, rowCondemned:
		return s.exists[b] || s.age[b] >= l.mayDeleteRow(row)
	case rowMoved:
		return !l.keepMoved && !l.needed(s, row)
	}
	return false
}

// needed reports whether the destination contains the incarnation of a moved row.
func (l *largeProtocol) needed(s largeState, row blobRow) bool {
	return s.dest.kind == present && s.dest.incarnation == row.incarnation
}

// mayDeleteRow returns the age from which on a tombstone is deleted.
func (l *largeProtocol) mayDeleteRow(row blobRow) uint8 {
	switch {
	case row.state == rowUnlinked && l.unlinkedAtOnce, row.state == rowCondemned && l.condemnedAtOnce:
		return young
	case row.state == rowCondemned:
		return ancient
	}
	return settled
}

// sweep is the collector. It can stop at any moment: its next run begins from the start.
func (l *largeProtocol) sweep(s largeState, step largeStepper) {
	w := s.sweeper
	set := func(what string, n largeState, to blobSweeper) {
		n.sweeper = to
		step("sweeper", what, n)
	}
	idle := blobSweeper{}
	b := w.blob
	if w.pc != swIdle {
		set("crashes", s, idle)
	}
	switch w.pc {
	case swIdle:
		for b := range uint8(blobCount) {
			row := s.rows[b]
			switch {
			case row.state == rowMoved && l.destFirst, row.state == rowLive && l.destFirst:
				if !l.needed(s, blobRow{rowMoved, 1}) { // the destination was read first
					set("reads the destination: none", s, blobSweeper{swMarkUnlinked, b, blobRow{rowMoved, 1}})
				}
			case row.state == rowMoved && !l.keepMoved:
				set("reads a moved row", s, blobSweeper{swAskArchive, b, row})
			case !l.work(s, b):
			case row.state == rowNone && l.noCondemned:
				set("lists a blob without a row", s, blobSweeper{swDelete, b, row})
			case row.state == rowNone:
				set("lists a blob without a row", s, blobSweeper{swCondemn, b, row})
			case s.exists[b]:
				set("lists a blob whose row is a tombstone", s, blobSweeper{swDelete, b, row})
			default:
				set("reads a tombstone without a blob", s, blobSweeper{swDeleteRow, b, row})
			}
		}
	case swCondemn:
		if s.rows[b].state != rowNone && !l.condemnByUpsert {
			set("inserts the condemned row: refused", s, idle)
			return
		}
		n := s
		n.rows[b] = blobRow{state: rowCondemned}
		set("inserts the condemned row", n, blobSweeper{swDelete, b, n.rows[b]})
	case swDelete:
		n := s
		n.exists[b] = false
		set("deletes the blob", n, idle)
	case swDeleteRow:
		n := s
		if n.rows[b] == w.saw {
			n.rows[b] = blobRow{}
		}
		set("deletes the tombstone, by its ETag", n, idle)
	case swAskArchive:
		if l.needed(s, w.saw) {
			set("asks the destination: present", s, idle)
			return
		}
		set("asks the destination: gone", s, blobSweeper{swMarkUnlinked, b, w.saw})
	case swMarkUnlinked:
		n := s
		if n.rows[b] == w.saw || l.movedBlind {
			n.rows[b] = blobRow{state: rowUnlinked}
			n.dropped[b] = true
		}
		set("marks the moved row unlinked, by its ETag", n, idle)
	}
}
