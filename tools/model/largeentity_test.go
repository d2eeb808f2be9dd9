package model

import (
	"testing"
)

// model returns the model of a workload.
func (l *largeProtocol) model() Model[largeState] {
	start := largeState{}
	start.entity = linkEntity{exists: true, ver: 1, incarnation: 1}
	start.exists[0], start.rows[0] = true, blobRow{state: rowLive}
	if l.empty {
		start.entity, start.exists[0], start.rows[0] = linkEntity{}, false, blobRow{}
	}
	if !l.reader {
		start.reader.pc = readerDone
	}
	return Model[largeState]{
		Start:       start,
		Next:        func(s largeState, step func(actor, what string, to largeState)) { l.next(s, step) },
		Check:       l.check,
		Quiet:       l.quiet,
		CheckQuiet:  l.settled,
		Termination: true,
		Show:        func(s largeState) string { return s.String() },
	}
}

const (
	dangling      = "a link to a blob that does not exist"
	archivedGone  = "an archived link to a blob that does not exist"
	orphanedBlob  = "a blob that nothing refers to stays"
	forgottenRow  = "a row of a blob that nothing refers to stays"
	droppedLinked = "a blob that was dropped is linked again"
	readerGivesUp = "a reader finds no blob"
)

// check returns a fault if a link has no blob.
func (l *largeProtocol) check(s largeState) string {
	switch {
	case s.entity.exists && !s.exists[s.entity.link]:
		return dangling
	case s.dest.moved && !s.exists[s.dest.link]:
		return archivedGone
	}
	return largeFaults[s.fault]
}

func (l *largeProtocol) quiet(s largeState) bool {
	for i := range l.users {
		if int(s.users[i].at) < len(l.users[i]) {
			return false
		}
	}
	for i := range blobCount {
		if s.age[i] != ancient || l.work(s, uint8(i)) {
			return false
		}
	}
	return s.late.kind == blobRequestNone && s.sweeper == blobSweeper{} && s.reader.pc == readerDone
}

// settled returns a fault if a blob or a row is left that nothing refers to.
func (l *largeProtocol) settled(s largeState) string {
	for i := range uint8(blobCount) {
		referred := s.entity.exists && s.entity.link == i || s.dest.kind == present && s.dest.link == i
		switch {
		case s.exists[i] && !referred:
			return orphanedBlob
		case s.rows[i].state != rowNone && !referred:
			return forgottenRow
		}
	}
	return ""
}

func largeOf(users ...[]linkAction) largeProtocol { return largeProtocol{users: users} }

func linkScript(actions ...linkAction) []linkAction { return actions }

var (
	linkNew    = linkAction{kind: actLink, upload: true}
	linkUnread = linkAction{kind: actLink, upload: true, create: true}
	linkAgain  = linkAction{kind: actLink, again: true}
	createdOld = linkAction{kind: actLink, create: true}
	dropEntity = linkAction{kind: actRemove}
	moveAway   = linkAction{kind: actMove}
	moveBack   = linkAction{kind: actRestore}
	purge      = linkAction{kind: actPurge}
)

// largeWorkloads are the scripts of users that run concurrently, with the collector, a late request and crashes at any moment.
var largeWorkloads = []struct {
	name string
	p    largeProtocol
}{
	{"two writers", largeOf(linkScript(linkNew), linkScript(linkNew))},
	{"replace and delete", largeOf(linkScript(linkNew), linkScript(dropEntity))},
	{"replace and undo", largeOf(linkScript(linkNew), linkScript(linkAgain))},
	{"insert and delete", largeProtocol{users: [][]linkAction{{linkUnread}, {dropEntity}}, empty: true}},
	{"insert, delete, insert the same", largeProtocol{users: [][]linkAction{{linkUnread, dropEntity, createdOld}, {linkNew}}, empty: true}},
	{"move and replace", largeOf(linkScript(moveAway), linkScript(linkNew))},
	{"move and delete", largeOf(linkScript(moveAway), linkScript(dropEntity))},
	{"move, restore, replace", largeOf(linkScript(moveAway, moveBack), linkScript(linkNew))},
	{"move and restore twice", largeOf(linkScript(moveAway, moveBack), linkScript(moveBack, moveAway))},
	{"move, purge, restore", largeOf(linkScript(moveAway, purge), linkScript(moveBack))},
	{"move, restore, delete", largeOf(linkScript(moveAway), linkScript(moveBack, dropEntity))},
	{"a writer whose clock is behind", largeProtocol{users: [][]linkAction{{linkNew}, {linkNew}}, clockBehind: true}},
	{"reader and two writers", largeProtocol{users: [][]linkAction{{linkNew}, {linkNew}}, reader: true}},
}

// TestLargeEntity: a link has its blob, and what nothing refers to is reclaimed.
func TestLargeEntity(t *testing.T) {
	t.Parallel()
	for _, w := range largeWorkloads {
		if w.p.reader && *models < 2 {
			continue // half of all states; the mutant of the reader explores it
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			expectSound(t, explore(w.p.model()))
		})
	}
}

// TestLargeEntityMutants: each part of the protocol is necessary.
func TestLargeEntityMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name     string
		workload string
		change   func(*largeProtocol)
		want     string
	}{
		{"Sweep deletes what has no row, without a condemned row", "a writer whose clock is behind", func(l *largeProtocol) { l.noCondemned = true }, dangling},
		{"a condemned row is deleted with its blob", "a writer whose clock is behind", func(l *largeProtocol) { l.condemnedAtOnce = true }, dangling},
		{"Sweep condemns by an upsert", "two writers", func(l *largeProtocol) { l.condemnByUpsert, l.noGrace = true, true }, dangling},
		{"the row of a unlinked blob is deleted at once", "insert and delete", func(l *largeProtocol) { l.unlinkedAtOnce = true }, dangling},
		{"a blob is linked whatever its age", "insert, delete, insert the same", func(l *largeProtocol) { l.linkOld = true }, dangling},
		{"the age is checked when the write is planned, not when it is sent", "insert and delete", func(l *largeProtocol) { l.ageAtPlan = true }, dangling},
		{"a blob is linked without the insert of its row", "replace and undo", func(l *largeProtocol) { l.linkByUpsert = true }, droppedLinked},
		{"the entity is written unconditionally", "two writers", func(l *largeProtocol) { l.unconditional = true }, orphanedBlob},
		{"the writer deletes the old blob first", "two writers", func(l *largeProtocol) { l.reclaimFirst = true }, dangling},
		{"the row of a replaced blob stays live", "two writers", func(l *largeProtocol) { l.noUnlinked = true }, orphanedBlob},
		{"Sweep lists the table's rows, not the container", "two writers", func(l *largeProtocol) { l.sweepRows = true }, orphanedBlob},
		{"a move makes the blob unlinked", "move and replace", func(l *largeProtocol) { l.moveIsDelete = true }, archivedGone},
		{"a restore does not look at the blob's row", "move, purge, restore", func(l *largeProtocol) { l.restoreBlind = true }, dangling},
		{"Sweep reads the destination before the row", "move and replace", func(l *largeProtocol) { l.destFirst = true }, archivedGone},
		{"Sweep marks a moved row unlinked unconditionally", "move and restore twice", func(l *largeProtocol) { l.movedBlind = true }, dangling},
		{"Sweep never asks the destination", "move, purge, restore", func(l *largeProtocol) { l.keepMoved = true }, orphanedBlob},
		{"a reader does not read the entity again", "reader and two writers", func(l *largeProtocol) { l.readOnce = true }, readerGivesUp},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range largeWorkloads {
				if w.name == m.workload {
					p := w.p
					m.change(&p)
					expectFault(t, p.model().Explore(), m.want)
					return
				}
			}
			t.Fatalf("no workload %q", m.workload)
		})
	}
}
