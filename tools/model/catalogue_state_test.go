package model

import (
	"fmt"
	"strings"
)

// The catalogue is a row of a table that names its definitions with their states. The model has one definition, an index, and a table of
// two entities. Programs of a release that has the definition, and of one that lacks it, write side by side while others record, fill
// and retire it. Time is not counted: a lease ends at any moment, and who waits goes on when no lease and no request is left from before.

// The states of the definition in the row of the catalogue.
const (
	catNone   = iota // there is no row
	catAbsent        // the row does not name the definition
	catUnfilled
	catBuilding
	catReadable
	catRetiring
	catRetired
)

var catNames = [...]string{"no row", "absent", "unfilled", "building", "readable", "retiring", "retired"}

const catSlots = 2

// catEntity is an entity: its value, 0 for none, 3 for one that is not in the index; and the index row that its maintainer state
// names, 0 for none.
type catEntity struct{ value, row uint8 }

// catRole is what a program does.
type catRole uint8

const (
	writerWithout catRole = iota + 1 // of a release that lacks the definition
	writerWith
	ensurer        // Ensure of a release with the definition
	ensurerWithout // Ensure of a release that lacks it
	fills
	retires
	lookUp
)

var roleNames = [...]string{"", "writer without", "writer with", "Ensure with", "Ensure without", "Fill", "Retire", "look-up"}

type catWrite uint8

const (
	catInsert catWrite = iota + 1
	catUpdate
	catDelete
)

var catWriteNames = [...]string{"", "insert", "update", "delete"}

// catProgram is a program of a workload.
type catProgram struct {
	role  catRole
	write catWrite // of a writer
	slot  uint8
	value uint8
}

const catPrograms = 6

// catProcess is what a program knows.
type catProcess struct {
	pc    uint8
	saw   uint8 // the state of the definition, as the program has read it
	old   uint8 // who waits for the lease: a bit for each program
	named bool  // the row of the catalogue is as it was read
	fresh bool  // the entity is as it was read
	value uint8 // of the entity; of a look-up, whether the answer is wrong
	slot  uint8
}

const catEnd = 99 // of a program that has ended

// catRequest is a write on its way.
type catRequest struct {
	write     catWrite
	slot      uint8
	value     uint8
	fresh     bool
	maintains bool
	old       uint8
}

type catState struct {
	cat       uint8
	entities  [catSlots]catEntity
	rows      uint8 // the index rows, a bit for each slot and value
	programs  [catPrograms]catProcess
	late      catRequest
	lateSent  bool
	crashes   uint8
	written   [catSlots]uint8 // the values that were written last
	swept     bool            // the definition is unfilled since Retire has swept it
	wrongRead bool
	early     bool // a writer that lacks the definition was refused before the fill
}

// catalogueProtocol is a workload. A mutant sets one of the options.
type catalogueProtocol struct {
	programs []catProgram
	start    uint8 // the state of the definition at first
	entities [catSlots]catEntity
	rows     uint8
	late     bool // one request may be late
	crashes  uint8
	clean    bool // without the definition, there are no rows and no maintainer state

	noWait             bool // Fill does not wait
	secondDoesNotWait  bool // nor does one that finds the definition as building
	waitsFromSend      bool // the wait counts from before the request was sent
	leasesFromResponse bool // a lease counts from the response
	ignores            bool // a writer without the definition does not look at the catalogue
	fillsBlindly       bool // Fill writes entities without their ETag
	readableBlindly    bool // and makes the definition readable without that of the row
	unbounded          bool // a request may arrive after the wait
	oneStep            bool // Retire skips retiring
	noFirstWait        bool // Retire does not wait between retiring and retired
	noSecondWait       bool // nor before its sweep
	retiredMaintains   bool // writers maintain what is retired
	unfilledMaintains  bool // and what is unfilled
	writesUnnamed      bool // a writer with the definition does not mind that it is not named
	checksBefore       bool // a look-up checks its lease before the request only
	noFillLease        bool // Fill has no lease of its own
	noSweepLease       bool // nor does Retire while it sweeps
	writesWithoutRow   bool // writers write to a table without a row
	readableAtOnce     bool // Ensure makes the definition readable on any table without a row
	overwrites         bool // Ensure writes the row of a new table without looking whether it exists by now
}

// rowBit returns the bit of the index row of a value.
func rowBit(slot, value uint8) uint8 {
	if value != 1 && value != 2 {
		return 0
	}
	return 1 << (2*slot + value - 1)
}

func slotRows(slot uint8) uint8 { return 3 << (2 * slot) }

// wanted returns the rows that the entities should have.
func (s *catState) wanted() (rows uint8) {
	for i, e := range s.entities {
		rows |= rowBit(uint8(i), e.value)
	}
	return rows
}

func (s catState) String() string {
	var b strings.Builder
	b.WriteString(catNames[s.cat])
	for _, e := range s.entities {
		fmt.Fprintf(&b, " · value %d, state %d", e.value, e.row)
	}
	fmt.Fprintf(&b, " · rows %04b", s.rows)
	if s.late.write != 0 {
		fmt.Fprintf(&b, " · late %s of %d", catWriteNames[s.late.write], s.late.slot)
	}
	return b.String()
}

const (
	lookUpWrong   = "a look-up missed an entity, or found one that is gone"
	writeLost     = "a write was lost"
	readableWrong = "the definition is readable, but its rows are not right"
	refusedEarly  = "a writer that lacks the definition is refused before it is filled"
	rowsLeft      = "the definition is retired, but rows or maintainer state are left"
)

// check returns the fault of a state.
func (c *catalogueProtocol) check(s catState) string {
	for i, e := range s.entities {
		if e.value != s.written[i] {
			return writeLost
		}
	}
	switch {
	case s.wrongRead:
		return lookUpWrong
	case s.early:
		return refusedEarly
	case s.cat == catReadable && s.rows != s.wanted():
		return readableWrong
	case c.clean && s.swept && s.cat == catUnfilled && s.late.write == 0 && c.quiet(s) && (s.rows != 0 || s.entities[0].row != 0 || s.entities[1].row != 0):
		return rowsLeft
	}
	return ""
}

// quiet reports whether all programs have ended.
func (c *catalogueProtocol) quiet(s catState) bool {
	for i := range c.programs {
		if s.programs[i].pc != catEnd {
			return false
		}
	}
	return s.late.write == 0
}

func (c *catalogueProtocol) model() Model[catState] {
	start := catState{cat: c.start, entities: c.entities, rows: c.rows, lateSent: !c.late, crashes: c.crashes}
	for i, e := range c.entities {
		start.written[i] = e.value
	}
	return Model[catState]{
		Start:      start,
		Next:       c.next,
		Check:      c.check,
		Quiet:      c.quiet,
		CheckQuiet: func(catState) string { return "" },
		Show:       func(s catState) string { return s.String() },
	}
}
