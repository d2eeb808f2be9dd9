package model

import (
	"fmt"
	"strings"
)

// What the storage contains, and what the programs know. Blob 0 is the one that the entity links at first. Blobs 1 and 2 are
// uploaded by the users 0 and 1.

const blobCount = 3

// The states of the row of a blob.
const (
	rowNone = iota
	rowLive
	rowUnlinked
	rowMoved
	rowCondemned
)

// The ages of a blob. A step of time from one to the next happens when no request is under way that may not arrive any more.
const (
	young   = iota // it may be linked
	old            // no program sends a request that links it
	settled        // no request that links it arrives any more
	ancient        // not even one of a program whose clock is behind
)

// blobRow is the row of a blob. incarnation is that of a moved entity.
type blobRow struct{ state, incarnation uint8 }

// linkEntity is the entity: nothing, or a link. ver is its ETag.
type linkEntity struct {
	exists                 bool
	ver, incarnation, link uint8
}

// linkArchive is the destination of moves. moved reports that the move is complete, so that the destination has the only copy.
type linkArchive struct {
	kind, incarnation, link uint8
	moved                   bool
}

type linkRequest struct {
	kind        uint8
	user        uint8
	blob        uint8      // to be linked, uploaded or deleted
	from        linkEntity // the entity as it was read
	archived    linkArchive
	clockBehind bool
}

const (
	blobRequestNone = iota
	blobPut
	blobLink   // replaces or inserts the entity, with the rows of its blobs
	blobRemove // deletes the entity
	blobMove   // deletes the entity, which the destination contains
	blobRestore
	blobDelete
	blobDeleteRow
)

var blobRequestNames = [...]string{"", "upload", "link", "delete of the entity", "move", "restore", "delete of the blob", "delete of its row"}

type linkUser struct {
	pc, at   uint8
	from     linkEntity
	archived linkArchive
	first    uint8 // the link that the user read first
	reclaim  uint8 // the blob to be reclaimed
	planned  bool  // the request was planned before the blob was old
}

type blobSweeper struct {
	pc, blob uint8
	saw      blobRow
}

type blobReader struct{ pc, link, tries uint8 }

type largeState struct {
	entity  linkEntity
	dest    linkArchive
	rows    [blobCount]blobRow
	exists  [blobCount]bool
	age     [blobCount]uint8
	dropped [blobCount]bool // the blob was replaced, or its entity was deleted
	users   [2]linkUser
	sweeper blobSweeper
	reader  blobReader
	late    linkRequest
	fault   uint8
}

const (
	linkedAgain = iota + 1
	readerFails
)

var largeFaults = [...]string{"", droppedLinked, readerGivesUp}

func (s largeState) String() string {
	var b strings.Builder
	if s.entity.exists {
		fmt.Fprintf(&b, "entity v%d links %d", s.entity.ver, s.entity.link)
	} else {
		b.WriteString("no entity")
	}
	for i := range blobCount {
		fmt.Fprintf(&b, " · blob %d %s row %s", i, map[bool]string{true: "there", false: "none"}[s.exists[i]],
			[...]string{"none", "live", "unlinked", "moved", "condemned"}[s.rows[i].state])
		b.WriteString([...]string{"", " old", " settled", " ancient"}[s.age[i]])
	}
	if s.dest.kind == present {
		fmt.Fprintf(&b, " · archive links %d", s.dest.link)
	}
	return b.String()
}
