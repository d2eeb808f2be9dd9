package bloblog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// appender stores the blocks of one hour, one after another, each exactly once, in blobs that no other writer uses.
//
// A block is sent to the end of the blob as the appender knows it, again and again under the same condition, until the appender
// knows that it is stored, or that it is not stored and never will be. Only then does the block go to another blob.
type appender struct {
	client  client
	hour    time.Time
	source  string
	newID   func() string // the writer's ID with the next number
	maximum int           // blocks of a blob

	pending []*block // in their order; the first has been sent if state is doubtful

	state     state
	number    int // of the last blob of the hour that is known
	blob      blobState
	failed    result // of the last request for the first block that failed
	late      bool   // a request for the first block may still arrive and store it
	abandoned int    // blobs that did not take the first block
}

// maxAbandoned is the most blobs that are created in vain for a block. If no blob of the container takes it, the container has a
// policy that forbids appends.
const maxAbandoned = 3

// state is the state of an appender.
type state int

const (
	stateNone     state = iota // the appender has no blob
	stateCreating              // a blob is to be created, and may have been
	stateOpen                  // the blob ends where the appender knows
	stateDoubtful              // the first pending block may be stored at the end of the blob, or another block
)

// blobState is a blob as the appender knows it.
type blobState struct {
	name        name
	id          string // Writer in its metadata
	etag        azcore.ETag
	length      int64
	blocks      int
	first, last time.Time // of its records
}

// store stores the first pending block. Errors: table.ErrUnknownOutcome if the block may be stored; else the reason why it is not.
// After an error, the next store goes on with the same block.
func (a *appender) store(ctx context.Context) error {
	ctx, cancel := engine.Bound(ctx, a.client.opt.WriteTimeout)
	defer cancel()
	conflicts := a.client.opt.Conflicts()
	b := a.pending[0]
	if a.state != stateOpen { // else the last of the blobs that did not take the block gets it again
		a.abandoned = 0
	}
	err := a.client.opt.Retry.Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		for len(a.pending) > 0 && a.pending[0] == b {
			if ctx.Err() != nil {
				return false, ended(ctx)
			}
			switch a.state {
			case stateNone:
				err = a.choose()
			case stateCreating:
				again, err = a.create(ctx, &conflicts)
			case stateOpen:
				again, err = a.send(ctx, b)
			case stateDoubtful:
				again, err = a.readBack(ctx, b)
			}
			if err != nil {
				return again, err
			}
		}
		return false, nil
	})
	if err != nil && (a.state == stateDoubtful || a.late) {
		err = &engine.Condition{Is: table.ErrUnknownOutcome, Cause: err}
	}
	return err
}

// choose chooses the next name for a blob.
func (a *appender) choose() error {
	switch {
	case a.number == maxNumber:
		return &table.LimitError{Field: "source", Limit: "blobs of one hour", Got: maxNumber + 1, Max: maxNumber}
	case a.abandoned > maxAbandoned:
		return fmt.Errorf("%d new blobs did not take the records: %w", a.abandoned, a.failed.shown)
	}
	a.number++
	a.blob = blobState{name: name{a.source, a.hour, a.number}, id: a.newID()}
	a.state = stateCreating
	return nil
}

// create creates the blob. If its name is taken, a list of the hour reports whether an earlier request of this appender took it,
// and the next free number.
func (a *appender) create(ctx context.Context, conflicts *engine.Conflicts) (again bool, err error) {
	// An earlier record may still come, so that the blob begins with its hour until it is left.
	r := a.client.create(ctx, a.blob.name, metadata{writer: a.blob.id, first: a.hour}.format())
	switch {
	case r.outcome == wire.Done:
		a.blob.etag, a.state = r.etag, stateOpen
		return false, nil
	case r.outcome != wire.Refused: // no block has been sent, so the next attempt creates the blob or finds it
		return true, r.shown
	case !isTaken(r.err):
		return false, r.shown
	}
	own := false
	for found, err := range a.client.list(ctx, a.blob.name.prefix()) {
		if err != nil {
			return true, err
		}
		if found.name.source != a.source {
			continue
		}
		a.number = max(a.number, found.name.number)
		if found.metadata.writer == a.blob.id {
			own, a.blob.etag = true, found.etag
		}
	}
	if own {
		a.state = stateOpen
		return false, nil
	}
	a.state = stateNone
	if more, err := conflicts.Wait(ctx, engine.Log{}, r.shown); !more {
		return false, errors.Join(err, fmt.Errorf("concurrent writers took each number of the hour: %w", r.shown))
	}
	return false, nil
}

// send appends the block to the blob.
func (a *appender) send(ctx context.Context, b *block) (again bool, err error) {
	if a.blob.blocks >= a.maximum {
		a.leave(ctx)
		return false, nil
	}
	b.frozen = true
	r := a.client.append(ctx, a.blob.name, b.data, a.blob.length, a.blob.etag)
	switch r.outcome {
	case wire.Done:
		a.stored(b, r.etag)
	case wire.NotSent:
		return true, r.shown
	default:
		a.failed, a.state = r, stateDoubtful
		a.late = a.late || r.outcome == wire.Unknown
	}
	return false, nil
}

// stored notes that the first pending block is stored.
func (a *appender) stored(b *block, etag azcore.ETag) {
	x := &a.blob
	if x.blocks == 0 || b.first.Before(x.first) {
		x.first = b.first
	}
	if b.last.After(x.last) {
		x.last = b.last
	}
	x.etag, x.length, x.blocks = etag, x.length+int64(len(b.data)), x.blocks+1
	a.pending[0] = nil // frees its memory
	a.pending, a.state, a.late, a.abandoned = a.pending[1:], stateOpen, false, 0
}

// readBack finds out whether the block is stored. If it is not, it is sent again, unless the blob takes no more blocks.
func (a *appender) readBack(ctx context.Context, b *block) (again bool, err error) {
	p, shown, err := a.client.properties(ctx, a.blob.name)
	switch {
	case blobs.IsGone(err):
		a.abandon()
		return false, nil
	case err != nil:
		return true, shown
	case p.writer != "" && p.writer != a.blob.id, p.length < a.blob.length: // the blob was deleted and created again
		a.abandon()
		return false, nil
	case p.length > a.blob.length:
		return a.compare(ctx, b, p)
	}
	// The block is not stored. An earlier request can store it only if the blob is unchanged since, as its ETag tells.
	if p.etag != a.blob.etag {
		a.blob.etag, a.late = p.etag, false
	}
	a.state = stateOpen
	switch failed := a.failed; {
	case isFull(failed.err):
		a.leave(ctx)
		return false, nil
	case isConflict(failed.err) && !isMoved(failed.err) && !a.late:
		if a.abandoned >= maxAbandoned {
			return false, failed.shown
		}
		a.abandon()
		return false, nil
	default:
		return failed.outcome == wire.Unknown || isConflict(failed.err), failed.shown
	}
}

// compare finds out whether the bytes at the end of the blob, as the appender knows it, are the block.
func (a *appender) compare(ctx context.Context, b *block, p properties) (again bool, err error) {
	same := false
	if p.length >= a.blob.length+int64(len(b.data)) {
		var shown error
		if same, shown, err = a.client.contains(ctx, a.blob.name, b.data, a.blob.length); err != nil {
			return true, shown
		}
	}
	if same {
		a.stored(b, p.etag)
	} else {
		a.abandon() // the position is taken by a block of another program
	}
	return false, nil
}

// abandon leaves a blob as it is. The next block goes to another one.
func (a *appender) abandon() {
	a.state, a.late, a.blob = stateNone, false, blobState{}
	a.abandoned++
}

// leave stores the times of the first and the last record in the metadata of the blob, which takes no more blocks. This is done
// with 1 request, and an error is ignored: without the times, readers assume the whole hour.
func (a *appender) leave(ctx context.Context) {
	if a.state != stateNone && a.blob.blocks > 0 {
		ctx, cancel := engine.Bound(ctx, a.client.opt.WriteTimeout)
		defer cancel()
		a.client.setMetadata(ctx, a.blob.name, metadata{a.blob.id, a.blob.first, a.blob.last}.format(), a.blob.etag)
	}
	a.abandon()
}
