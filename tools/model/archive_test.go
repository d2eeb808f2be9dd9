package model

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// models says which workloads are explored. All but the largest take a minute and a half on two cores, and the largest some minutes and
// gigabytes.
var models = testkit.Count("models", 1, "size of the largest workloads that are explored: 1 to 3")

func (a *archiveProtocol) model() Model[archiveState] {
	start := archiveState{current: row{1, 1}}
	start.newest[1], start.status[1] = 1, alive
	if a.index {
		start.index = 1
	}
	if a.archived {
		start.current, start.dest[a.slot(1)] = row{}, dest{present, 1, 1, 1 << 1}
		start.records[1], start.notifications, start.moved = record{kind: done, incarnation: 1}, 1<<1, 1<<1
	}
	if a.archivedAfterRead {
		start.users[1] = user{pc: uSend, incarnation: 1}
	}
	if a.otherArchived {
		start.dest[alike] = dest{kind: present, incarnation: alike, ver: 1}
		start.status[alike], start.newest[alike] = alive, 1
	}
	return Model[archiveState]{
		Start:      start,
		Next:       func(s archiveState, step func(actor, what string, to archiveState)) { a.next(s, step) },
		Check:      a.check,
		Quiet:      a.quiet,
		CheckQuiet: a.settled,
		Show:       func(s archiveState) string { return s.String() },
	}
}

// check returns a fault if the newest content of a living incarnation is neither in Current nor in the destination.
func (a *archiveProtocol) check(s archiveState) string {
	for incarnation, status := range s.status {
		if status != alive || s.current == (row{uint8(incarnation), s.newest[incarnation]}) || s.away == (row{uint8(incarnation), s.newest[incarnation]}) {
			continue
		}
		if d := s.dest[a.slot(uint8(incarnation))]; d.kind != present || d.incarnation != uint8(incarnation) || d.ver != s.newest[incarnation] {
			return lost
		}
	}
	return faults[s.fault]
}

func (a *archiveProtocol) quiet(s archiveState) bool {
	for i := range a.users {
		if int(s.users[i].at) < len(a.users[i]) {
			return false
		}
	}
	return s.notifications == 0 && s.poison == 0 && s.late.kind == reqNone && s.workers == [2]worker{}
}

func (a *archiveProtocol) settled(s archiveState) string {
	for _, rec := range s.records {
		if rec.kind == pending {
			return orphan
		}
	}
	for _, d := range s.dest {
		switch {
		case d.kind == present && s.status[d.incarnation] == deleted:
			return undead
		case d.kind == present && s.status[d.incarnation] == restored:
			return twice
		case d.kind == present && s.current.incarnation == d.incarnation:
			return doubled
		}
	}
	if s.asked && s.current.incarnation != 0 {
		return unmoved
	}
	if a.index && s.index != s.current.incarnation {
		return indexed
	}
	return ""
}

var (
	move     = func(op uint8) action { return action{doMove, op, 0} }
	update   = action{kind: doUpdate}
	remove   = func(op uint8) action { return action{doDelete, op, 0} }
	create   = func(op, incarnation uint8) action { return action{doCreate, op, incarnation} }
	restore  = func(op, incarnation uint8) action { return action{doRestore, op, incarnation} }
	replace  = func(incarnation uint8) action { return action{doReplace, 0, incarnation} }
	raw      = func(incarnation uint8) action { return action{doRaw, 0, incarnation} }
	stale    = action{kind: doStale}
	forge    = action{doForge, 0, forged}
	leave    = action{kind: doLeave}
	back     = action{kind: doReturn}
	script   = func(lines ...action) []action { return lines }
	together = func(scripts ...[]action) [][]action { return scripts }
)

// workloads are the scripts of users that run concurrently.
var workloads = []workload{
	{name: "move and update", users: together(script(move(1)), script(update))},
	{name: "move and delete", users: together(script(move(1)), script(remove(2)))},
	{name: "move, delete, create", users: together(script(move(1)), script(remove(0), create(0, 2), update))},
	{name: "move, delete, create and move", users: together(script(move(1)), script(remove(0), create(0, 2), move(2))), size: long},
	{name: "two moves", users: together(script(move(1)), script(move(2)))},
	{name: "two moves and update", users: together(script(move(1)), script(move(2)), script(update)), size: long},
	{name: "two moves and delete", users: together(script(move(1)), script(move(2)), script(remove(0))), size: long},
	{name: "move and restore", users: together(script(move(1)), script(restore(2, 2)))},
	{name: "move, update, restore", users: together(script(move(1)), script(update), script(restore(2, 2)))},
	{name: "move, delete, restore", users: together(script(move(1)), script(remove(0)), script(restore(2, 2)))},
	{name: "two moves and restore", users: together(script(move(1)), script(move(2)), script(restore(3, 2))), size: long},
	{name: "move with index", users: together(script(move(1)), script(update)), index: true},
	{name: "move and delete with index", users: together(script(move(1)), script(remove(2))), index: true},
	{name: "two moves with index", users: together(script(move(1)), script(move(2))), index: true, size: long},
	{name: "move and restore with index", users: together(script(move(1)), script(restore(2, 2))), index: true},
	{name: "restore, update, move again", users: together(script(restore(2, 2), update, move(3))), archived: true},
	{name: "restore and move of a new incarnation", users: together(script(create(0, 2), move(2)), script(update), script(restore(3, 3))),
		archived: true, size: long},
	{name: "two restorers", users: together(script(restore(2, 2), update, move(3)), script(restore(4, 3))), archived: true, size: long},
	{name: "move and unconditional replace", users: together(script(move(1)), script(replace(2)))},
	{name: "move, unconditional replace, move", users: together(script(move(1)), script(replace(2), move(2)))},
	{name: "restore, unconditional replace, move again", users: together(script(restore(2, 2), move(3)), script(replace(3))), archivedAfterRead: true},
	{name: "restore, stale raw write, move again", users: together(script(restore(2, 2), move(3)), script(stale)), archivedAfterRead: true, size: long},
	{name: "move, restore, move, unconditional replace", users: together(script(move(1)), script(restore(2, 2), move(3)), script(replace(3))), size: long},
	{name: "move and raw write", users: together(script(move(1)), script(raw(2), move(2))), otherArchived: true},
	{name: "restore and raw write", users: together(script(restore(2, 2), move(3)), script(raw(3))), archived: true},
	{name: "a forged incarnation is moved", users: together(script(forge, move(1)), script(update)), otherArchived: true},
	{name: "move and update while clocks jump", users: together(script(move(1)), script(update)), jumps: true},
	{name: "move and restore while clocks jump", users: together(script(move(1)), script(restore(2, 2))), jumps: true, size: long},
	{name: "move, leave and return", users: together(script(move(1)), script(leave, back, update))},
	{name: "move, leave, return and move again", users: together(script(move(1)), script(leave, back, move(2)))},
	{name: "move, leave, return, move again and delete", users: together(script(move(1)), script(leave, back, move(2)), script(remove(0))), size: long},
	{name: "move, leave, return, move again and restore", users: together(script(move(1)), script(leave, back, move(2)), script(restore(3, 2))), size: long},
	{name: "two moves, two restorers", users: together(script(move(1)), script(move(5)), script(restore(2, 2)), script(restore(4, 3))), size: huge},
	{name: "move, create, move, update, restore", users: together(script(move(1), create(0, 2), move(2)), script(update), script(restore(3, 3))), size: huge},
	{name: "move, two restorers", users: together(script(move(1)), script(restore(2, 2), update, move(3)), script(restore(4, 3))), size: huge},
}

type workload struct {
	name              string
	users             [][]action
	index             bool
	archived          bool // the entity is archived at the start, and its message exists
	archivedAfterRead bool // like archived, and a user has read the entity before
	otherArchived     bool // another entity is archived, whose key has the same prefix
	jumps             bool // the clocks of workers jump by more than the retention, and back
	size              int
}

const (
	long = iota + 1 // explored with -models=2
	huge            // explored with -models=3
)

// included reports whether the flags include the workload.
func (w workload) included() bool { return w.size < *models }

func workloadNamed(t testing.TB, name string) workload {
	t.Helper()
	for _, w := range workloads {
		if w.name == name {
			return w
		}
	}
	t.Fatalf("no workload %q", name)
	return workload{}
}

func (a archiveProtocol) modelOf(w workload) Model[archiveState] {
	a.users, a.index, a.archived, a.otherArchived, a.jumps = w.users, w.index, w.archived || w.archivedAfterRead, w.otherArchived, w.jumps
	a.archivedAfterRead = w.archivedAfterRead
	m := a.model()
	m.Termination = w.size == 0 // for larger workloads the steps need more memory than the states
	return m
}

func TestArchive(t *testing.T) {
	t.Parallel()
	for _, w := range workloads {
		if !w.included() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			expectSound(t, explore(archiveProtocol{}.modelOf(w)))
		})
	}
}

// TestArchiveAlternatives explores alternative protocols without a fault.
func TestArchiveAlternatives(t *testing.T) {
	t.Parallel()
	if *models < 2 {
		t.Log("the library does not use the alternatives, which are explored with -models=2")
		return
	}
	for name, a := range map[string]archiveProtocol{
		"a note of the move instead of a list of operations":   {movedNotes: true},
		"one operation for each incarnation instead of a list": {oneOperation: true},
		"a restore that reads the destination first":           {destFirst: true},
		"a restore that reads Current first":                   {currentFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, w := range workloads {
				if !w.included() || w.size == long && !a.oneOperation && *models < 3 {
					continue
				}
				t.Run(w.name, func(t *testing.T) {
					t.Parallel()
					expectSound(t, explore(a.modelOf(w)))
				})
			}
		})
	}
}

const (
	lost    = "the newest content of an incarnation is lost"
	undead  = "a deleted entity is in the destination"
	twice   = "a restored incarnation is still in the destination"
	doubled = "an entity is in both places"
	unmoved = "the entity of a requested move is still in Current"
	orphan  = "a pending commit record has no message"
	indexed = "the index row differs from Current"
)

// TestArchiveMutants omits one part of the protocol at a time and expects the fault that the part prevents.
func TestArchiveMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name     string
		a        archiveProtocol
		workload string
		wrong    string
	}{
		{"key in the destination without the incarnation", archiveProtocol{keyWithoutIncarnation: true, tombstoneEnds: true}, "move, delete, create and move", unmoved},
		{"restore keeps the incarnation", archiveProtocol{keepIncarnation: true, putMovedAgain: true}, "two moves and restore", lost},
		{"physical delete instead of a tombstone, after a delete", archiveProtocol{physicalDelete: true}, "move and delete", undead},
		{"physical delete instead of a tombstone, after a restore", archiveProtocol{physicalDelete: true}, "move and restore", twice},
		{"insert that ignores tombstones, after a delete", archiveProtocol{insertOverTombstone: true}, "move and delete", undead},
		{"insert that ignores tombstones, after a restore", archiveProtocol{insertOverTombstone: true}, "move and restore", twice},
		{"no tombstone if the destination is empty", archiveProtocol{emptyFinish: true}, "move and delete", undead},
		{"no restore note in the transaction of the restore", archiveProtocol{noRestoreNote: true}, "two restorers", faults[restoredAgain]},
		{"restore of any row, deleted", archiveProtocol{restoreAnyRow: true}, "move, delete, restore", faults[restoredAgain]},
		{"restore of any row, too early", archiveProtocol{restoreAnyRow: true}, "restore and move of a new incarnation", faults[restoredOld]},
		{"restore of any row, with the destination first", archiveProtocol{restoreAnyRow: true, destFirst: true}, "move, update, restore", faults[restoredOld]},
		{"restore does not read the row again", archiveProtocol{noSecondRead: true}, "move, delete, restore", faults[restoredAgain]},
		{"restore takes the content that it read first", archiveProtocol{firstContent: true}, "restore and move of a new incarnation", faults[restoredOld]},
		{"delete in Current without ETag: update", archiveProtocol{deleteAny: true}, "move and update", lost},
		{"delete in Current without ETag: new incarnation", archiveProtocol{deleteAny: true}, "move, delete, create", lost},
		{"close without CAS, no tombstone without a row", archiveProtocol{blindClose: true, emptyFinish: true}, "move with index", indexed},
		{"close without CAS, with notes of moves", archiveProtocol{blindClose: true, movedNotes: true}, "move with index", indexed},
		{"tombstone without reading the own commit record", archiveProtocol{ignoreOwnRecord: true}, "move and update", lost},
		{"tombstone without reading other commit records", archiveProtocol{ignoreOtherRecords: true}, "two moves", lost},
		{"no tombstone if the entity is not in Current", archiveProtocol{noTombstone: true}, "move and delete", undead},
		{"delete, then close: crash", archiveProtocol{moveThenClose: true}, "move and update", lost},
		{"delete, then close: index", archiveProtocol{moveThenClose: true}, "move with index", indexed},
		{"message dropped without an abort record", archiveProtocol{dropWithoutAbort: true}, "move and update", orphan},
		{"write, then notify", archiveProtocol{writeFirst: true}, "move and update", orphan},
		{"an unconditional replace writes the incarnation that was read", archiveProtocol{staleIncarnation: true, putMovedAgain: true}, "restore, unconditional replace, move again", lost},
		{"a moved incarnation is written again", archiveProtocol{putMovedAgain: true}, "restore, stale raw write, move again", lost},
		{"a forged incarnation is trusted", archiveProtocol{trustIncarnation: true}, "a forged incarnation is moved", lost},
		{"a message that seems too old is dropped", archiveProtocol{dropExpired: true}, "move and update while clocks jump", orphan},
		{"a tombstone ends the move of an entity that has come back", archiveProtocol{tombstoneEnds: true}, "move, leave, return and move again", unmoved},
		{"the row of an entity that has come back replaces the tombstone", archiveProtocol{tombstoneYields: true}, "move, leave, return and move again", doubled},
		{"notes by operation instead of tombstones, after a delete", archiveProtocol{operationNotes: true}, "two moves and delete", undead},
		{"notes by operation instead of tombstones, after a restore", archiveProtocol{operationNotes: true}, "two moves and restore", twice},
	} {
		w := workloadNamed(t, m.workload)
		if !w.included() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			expectFault(t, m.a.modelOf(w).Explore(), m.wrong)
		})
	}
}
