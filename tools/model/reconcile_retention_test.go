package model

// time lets the retention pass, and sweeps.
func (p *reconcileProtocol) time(s reconcileState, step func(actor, what string, to reconcileState)) {
	n := s
	n.late, n.expired = targetRequest{}, s.expired|s.notifications
	for i := range n.writers {
		n.writers[i].stale = n.writers[i].pc != 0
	}
	for i := range n.workers {
		n.workers[i].stale = n.workers[i].pc != tIdle
	}
	for i := range n.rows {
		n.rows[i].old = n.rows[i].tombstone()
	}
	for op := range n.records {
		n.records[op].old = n.records[op].kind == done || n.records[op].kind == aborted
	}
	if n != s {
		step("time", "the retention passes", n)
	}
	for op, rec := range s.records {
		if rec.old {
			n := s
			n.records[op] = effectRecord{}
			step("sweep", "deletes a commit record", n)
		}
	}
	if s.sweep.reads {
		n := s
		n.sweep.reads, n.sweep.fresh, n.sweep.row = false, false, 0
		if s.sweep.fresh || p.sweepsBlind {
			n.rows[s.sweep.row] = targetRow{}
			n.invalidate(freshRow << s.sweep.row)
			step("sweep", "deletes the row", n)
		} else {
			step("sweep", "is refused", n)
		}
		return
	}
	for i, r := range s.rows {
		if r.tombstone() && (r.old || p.sweepsYoung) {
			n := s
			n.sweep.row, n.sweep.fresh, n.sweep.reads = uint8(i), true, true
			step("sweep", "reads an old tombstone", n)
		}
	}
}
