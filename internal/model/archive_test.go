package model

import (
	"flag"
	"testing"
)

var large = flag.Bool("large", false, "also explore what takes more than ten seconds")

func (a *archive) model() Model[state] {
	start := state{current: row{1, 1}}
	start.newest[1], start.status[1] = 1, alive
	if a.index {
		start.index = 1
	}
	if a.archived {
		start.current, start.dest[a.slot(1)] = row{}, dest{present, 1, 1, 1 << 1}
		start.intents[1], start.msgs, start.gone = intent{kind: done, life: 1}, 1<<1, 1<<1
	}
	if a.unread {
		start.users[1] = user{pc: uSend, life: 1}
	}
	if a.beside {
		start.dest[alike] = dest{kind: present, life: alike, ver: 1}
		start.status[alike], start.newest[alike] = alive, 1
	}
	return Model[state]{
		Start:   start,
		Next:    func(s state, step func(who, what string, to state)) { a.next(s, step) },
		Check:   a.check,
		Quiet:   a.quiet,
		Settled: a.settled,
		Show:    func(s state) string { return s.String() },
	}
}

// check: the newest content of a life that is neither deleted nor gone on as another is in Current or in the destination.
func (a *archive) check(s state) string {
	for life, status := range s.status {
		if status != alive || s.current == (row{uint8(life), s.newest[life]}) {
			continue
		}
		if d := s.dest[a.slot(uint8(life))]; d.kind != present || d.life != uint8(life) || d.ver != s.newest[life] {
			return "the newest content of a life is nowhere"
		}
	}
	return wrongs[s.wrong]
}

func (a *archive) quiet(s state) bool {
	for i := range a.users {
		if int(s.users[i].at) < len(a.users[i]) {
			return false
		}
	}
	return s.msgs == 0 && s.poison == 0 && s.late.kind == reqNone && s.workers == [2]hand{}
}

func (a *archive) settled(s state) string {
	for _, in := range s.intents {
		if in.kind == live {
			return "a live intent without a message"
		}
	}
	for _, d := range s.dest {
		switch {
		case d.kind == present && s.status[d.life] == deleted:
			return "a deleted entity is in the destination"
		case d.kind == present && s.status[d.life] == restored:
			return "a restored life is still in the destination"
		case d.kind == present && s.current.life == d.life:
			return "an entity is in both places"
		}
	}
	if a.index && s.index != s.current.life {
		return "the index row is not what Current says"
	}
	return ""
}

var (
	ask      = func(op uint8) action { return action{doAsk, op, 0} }
	update   = action{kind: doUpdate}
	remove   = func(op uint8) action { return action{doDelete, op, 0} }
	create   = func(op, life uint8) action { return action{doCreate, op, life} }
	restore  = func(op, life uint8) action { return action{doRestore, op, life} }
	replace  = func(life uint8) action { return action{doReplace, 0, life} }
	raw      = func(life uint8) action { return action{doRaw, 0, life} }
	stale    = action{kind: doStale}
	forge    = action{doForge, 0, forged}
	script   = func(lines ...action) []action { return lines }
	together = func(scripts ...[]action) [][]action { return scripts }
)

// What the users do. Each script runs beside the others.
var workloads = []workload{
	{name: "move and update", users: together(script(ask(1)), script(update))},
	{name: "move and delete", users: together(script(ask(1)), script(remove(2)))},
	{name: "move, delete, create", users: together(script(ask(1)), script(remove(0), create(0, 2), update))},
	{name: "move, delete, create and move", users: together(script(ask(1)), script(remove(0), create(0, 2), ask(2))), size: long},
	{name: "two moves", users: together(script(ask(1)), script(ask(2)))},
	{name: "two moves and update", users: together(script(ask(1)), script(ask(2)), script(update)), size: long},
	{name: "two moves and delete", users: together(script(ask(1)), script(ask(2)), script(remove(0))), size: long},
	{name: "move and restore", users: together(script(ask(1)), script(restore(2, 2)))},
	{name: "move, update, restore", users: together(script(ask(1)), script(update), script(restore(2, 2)))},
	{name: "move, delete, restore", users: together(script(ask(1)), script(remove(0)), script(restore(2, 2)))},
	{name: "two moves and restore", users: together(script(ask(1)), script(ask(2)), script(restore(3, 2))), size: long},
	{name: "move with index", users: together(script(ask(1)), script(update)), index: true},
	{name: "move and delete with index", users: together(script(ask(1)), script(remove(2))), index: true},
	{name: "two moves with index", users: together(script(ask(1)), script(ask(2))), index: true, size: long},
	{name: "move and restore with index", users: together(script(ask(1)), script(restore(2, 2))), index: true},
	{name: "restore, update, move again", users: together(script(restore(2, 2), update, ask(3))), archived: true},
	{name: "restore beside a new life that is moved", users: together(script(create(0, 2), ask(2)), script(update), script(restore(3, 3))),
		archived: true, size: long},
	{name: "two restorers", users: together(script(restore(2, 2), update, ask(3)), script(restore(4, 3))), archived: true, size: long},
	{name: "move and unconditional replace", users: together(script(ask(1)), script(replace(2)))},
	{name: "move, unconditional replace, move", users: together(script(ask(1)), script(replace(2), ask(2)))},
	{name: "restore, unconditional replace, move again", users: together(script(restore(2, 2), ask(3)), script(replace(3))), unread: true},
	{name: "restore, stale raw write, move again", users: together(script(restore(2, 2), ask(3)), script(stale)), unread: true, size: long},
	{name: "move, restore, move, unconditional replace", users: together(script(ask(1)), script(restore(2, 2), ask(3)), script(replace(3))), size: long},
	{name: "move and raw write", users: together(script(ask(1)), script(raw(2), ask(2))), beside: true},
	{name: "restore and raw write", users: together(script(restore(2, 2), ask(3)), script(raw(3))), archived: true},
	{name: "a forged incarnation is moved", users: together(script(forge, ask(1)), script(update)), beside: true},
	{name: "move and update while clocks jump", users: together(script(ask(1)), script(update)), jumps: true},
	{name: "move and restore while clocks jump", users: together(script(ask(1)), script(restore(2, 2))), jumps: true, size: long},
	{name: "two moves, two restorers", users: together(script(ask(1)), script(ask(5)), script(restore(2, 2)), script(restore(4, 3))), size: huge},
	{name: "move, create, move, update, restore", users: together(script(ask(1), create(0, 2), ask(2)), script(update), script(restore(3, 3))), size: huge},
	{name: "move, two restorers", users: together(script(ask(1)), script(restore(2, 2), update, ask(3)), script(restore(4, 3))), size: huge},
}

type workload struct {
	name     string
	users    [][]action
	index    bool
	archived bool // the entity is archived at the start, and the message is still there
	unread   bool // archived, and somebody holds an entity that was read before
	beside   bool // another entity is archived, whose key begins alike
	jumps    bool // clocks of workers jump by more than the retention, and back
	size     int
}

const (
	long = iota + 1 // not with -short
	huge            // only with -large
)

// chosen tells whether there is time for it.
func (w workload) chosen() bool {
	return !(w.size == long && testing.Short() || w.size == huge && !*large)
}

func named(t *testing.T, name string) workload {
	for _, w := range workloads {
		if w.name == name {
			return w
		}
	}
	t.Fatalf("no workload %q", name)
	return workload{}
}

func (a archive) explore(w workload) Result {
	a.users, a.index, a.archived, a.beside, a.jumps = w.users, w.index, w.archived || w.unread, w.beside, w.jumps
	a.unread = w.unread
	m := a.model()
	m.Rest = w.size == 0 // elsewhere the steps would take more memory than the states
	return m.Explore()
}

func TestArchive(t *testing.T) {
	t.Parallel()
	for _, w := range workloads {
		if !w.chosen() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			r := archive{}.explore(w)
			if t.Log(r); r.Wrong != "" || r.Quiet == 0 {
				t.Error("wrong")
			}
		})
	}
}

// TestArchiveOtherwise: what else would do.
func TestArchiveOtherwise(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: nothing of this is built")
	}
	for name, a := range map[string]archive{
		"gone(life) instead of a list of ops":        {goneMarkers: true},
		"one op for each life instead of a list":     {oneOp: true},
		"a restore that reads the destination first": {destFirst: true},
		"a restore that reads Current first":         {looks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, w := range workloads {
				if !w.chosen() || w.size == long && !a.oneOp && !*large {
					continue
				}
				t.Run(w.name, func(t *testing.T) {
					t.Parallel()
					r := a.explore(w)
					if t.Log(r); r.Wrong != "" || r.Quiet == 0 {
						t.Error("wrong")
					}
				})
			}
		})
	}
}

const (
	lost    = "the newest content of a life is nowhere"
	undead  = "a deleted entity is in the destination"
	twice   = "a restored life is still in the destination"
	orphan  = "a live intent without a message"
	indexed = "the index row is not what Current says"
)

// TestArchiveMutants: each part of the protocol is there for a reason, and this is the shortest story that tells it.
func TestArchiveMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name     string
		a        archive
		workload string
		wrong    string
	}{
		{"destination's key without the life", archive{keyWithoutLife: true}, "move, delete, create and move", lost},
		{"restore keeps the life", archive{keepLife: true, putAnyway: true}, "two moves and restore", lost},
		{"physical delete instead of a tombstone, after a delete", archive{physicalDelete: true}, "move and delete", undead},
		{"physical delete instead of a tombstone, after a restore", archive{physicalDelete: true}, "move and restore", twice},
		{"insert that ignores tombstones, after a delete", archive{insertOverTombstone: true}, "move and delete", undead},
		{"insert that ignores tombstones, after a restore", archive{insertOverTombstone: true}, "move and restore", twice},
		{"no tombstone where the destination is empty", archive{emptyFinish: true}, "move and delete", undead},
		{"no marker left(life) in the restore's EGT", archive{noLeft: true}, "two restorers", wrongs[wrongRestore]},
		{"restore of any row, deleted", archive{unasked: true}, "move, delete, restore", wrongs[wrongRestore]},
		{"restore of any row, too early", archive{unasked: true}, "restore beside a new life that is moved", wrongs[staleRestore]},
		{"restore of any row, the destination first", archive{unasked: true, destFirst: true}, "move, update, restore", wrongs[staleRestore]},
		{"restore asks, and does not look again", archive{noSecondLook: true}, "move, delete, restore", wrongs[wrongRestore]},
		{"restore asks, and takes the first content", archive{firstContent: true}, "restore beside a new life that is moved", wrongs[staleRestore]},
		{"delete in Current without ETag: update", archive{deleteAny: true}, "move and update", lost},
		{"delete in Current without ETag: new life", archive{deleteAny: true}, "move, delete, create", lost},
		{"close without CAS, no tombstone where nothing is", archive{blindClose: true, emptyFinish: true}, "move with index", indexed},
		{"close without CAS, gone(life)", archive{blindClose: true, goneMarkers: true}, "move with index", indexed},
		{"withdraw without a look at the own op", archive{noOwn: true}, "move and update", lost},
		{"withdraw without a look at the others' ops", archive{noOthers: true}, "two moves", lost},
		{"no withdraw", archive{noWithdraw: true}, "move and delete", undead},
		{"delete, then close: crash", archive{splitMove: true}, "move and update", lost},
		{"delete, then close: index", archive{splitMove: true}, "move with index", indexed},
		{"message dropped, intent not fenced", archive{dropAbsent: true}, "move and update", orphan},
		{"write, then enqueue", archive{writeFirst: true}, "move and update", orphan},
		{"an unconditional replace writes the incarnation that was read", archive{staleLife: true, putAnyway: true}, "restore, unconditional replace, move again", lost},
		{"what was moved before is put again", archive{putAnyway: true}, "restore, stale raw write, move again", lost},
		{"a text in the place of an incarnation is trusted", archive{trustLife: true}, "a forged incarnation is moved", lost},
		{"a message that seems too old is dropped", archive{dropExpired: true}, "move and update while clocks jump", orphan},
		{"markers by op instead of tombstones, after a delete", archive{opMarkers: true}, "two moves and delete", undead},
		{"markers by op instead of tombstones, after a restore", archive{opMarkers: true}, "two moves and restore", twice},
	} {
		w := named(t, m.workload)
		if !w.chosen() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := m.a.explore(w)
			if t.Log(r); r.Wrong != m.wrong {
				t.Errorf("want: %s", m.wrong)
			}
		})
	}
}
