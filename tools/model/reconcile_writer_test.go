package model

// The steps of a writer.
const (
	changeReads = iota
	changeNotifies
	changeSends
)

func (p *reconcileProtocol) writer(s reconcileState, i int, step func(actor, what string, to reconcileState)) {
	w, c, actor := s.writers[i], p.writers[i][s.writers[i].at], userNames[i]
	to := func(what string, n reconcileState, w sourceWriter) {
		n.writers[i] = w
		step(actor, what, n)
	}
	over := sourceWriter{at: w.at + 1}
	to("stops, or is refused", s, over)
	next := w
	next.pc++
	switch w.pc {
	case changeReads:
		if next.fresh = true; c.op == 0 || p.writeFirst {
			next.pc = changeSends
		}
		if exists := s.primary[c.entity] != none; exists != c.create {
			to("reads the entity", s, next)
		}
	case changeNotifies:
		n := s
		if n.notifications |= 1 << c.op; p.writeFirst {
			next = over
		}
		to("sends the notification", n, next)
	case changeSends:
		if !w.fresh && !c.create || w.stale && !p.writesOld {
			return // like a writer that stops
		}
		n := s
		if c.op == 0 {
			p.invalidatePrimary(&n, c.entity)
			to("changes the entity, and no row follows", n, over)
			return
		}
		r := targetRequest{kind: reqContents, op: c.op, entity: c.entity, content: c.content, insert: c.create}
		if !p.arrive(&n, r) {
			return
		}
		next = over
		if p.writeFirst {
			next = sourceWriter{at: w.at, pc: changeNotifies}
		}
		if p.inline {
			x := reconcileWorker{pc: tReadRow, op: c.op, entity: c.entity, rows: n.records[c.op].rows}
			x.todo = x.rows
			if p.inserts {
				x.pc = tReadPrimary
			}
			n.workers[inlined+i] = x
		}
		to(r.String(), n, next)
		if s.late.kind != reqNone {
			return
		}
		if c.create {
			n.late = r
			to(r.String()+", duplicated", n, next)
		}
		n = s
		n.late = r
		to(r.String()+", which is late", n, over)
	}
}
