package largeentity

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of a store. The zero value of each field is its default.
type Options struct {
	// Common bounds the requests for blobs: WriteTimeout bounds the upload of one block with all its attempts (by default 5 min),
	// Retry.AttemptTimeout one attempt (1 min), and ReadTimeout the wait for a response or for more of a body. Now is the clock, NewID
	// makes the IDs of blobs, and Logger receives a line for each blob that a writer could not delete, at Warn. OmitOperationID and
	// Tracing have no effect.
	table.Common

	// InlineUpTo is the most bytes of a value that is stored in the entity itself. Upload of such a value sends nothing. Defaults to
	// 32 KiB; at most 64 KiB, the limit of a property. Negative means that each value is uploaded. An entity has at most 1 MiB in
	// all.
	InlineUpTo int

	// Grace is the time after which Sweep deletes a blob that no entity has. For half of it, from the beginning of its upload, a
	// value can be stored. Defaults to 24 h; at least 1 min. All programs of a table must use the same.
	Grace time.Duration

	// BlockSize is the size of the blocks of an upload, and BlocksInFlight is how many of them are sent at the same time. An upload
	// takes memory for BlocksInFlight + 1 blocks, and has at most 50,000. Default to 4 MiB and 2. BlockSize is at most 100 MiB.
	BlockSize      int
	BlocksInFlight int

	// LeaveToSweep leaves replaced blobs to Sweep, so that a reader of a replaced value can read it to its end. By default, the
	// method that replaces a value deletes the blob, 1 request more, before it returns.
	LeaveToSweep bool
}

const (
	maxInline    = 64 << 10
	maxBlockSize = 100 << 20
	maxBlocks    = 50_000
)

// withDefaults fills the defaults in. Errors: *table.ValueError, *table.LimitError.
func (o Options) withDefaults() (Options, engine.Options, error) {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Retry.AttemptTimeout, time.Minute)
	def(&o.WriteTimeout, 5*time.Minute)
	def(&o.Grace, 24*time.Hour)
	for v, d := range map[*int]int{&o.InlineUpTo: 32 << 10, &o.BlockSize: 4 << 20, &o.BlocksInFlight: 2} {
		if *v == 0 {
			*v = d
		}
	}
	common := o.Common.Engine()
	o.Now, o.NewID = common.Now, common.NewID
	var err error
	switch {
	case o.Grace < time.Minute:
		err = &table.ValueError{Field: "Options.Grace", Reason: fmt.Sprintf("is %v; it must be at least 1 min", o.Grace)}
	case o.InlineUpTo > maxInline:
		err = &table.LimitError{Field: "Options.InlineUpTo", Limit: "bytes of a property", Got: o.InlineUpTo, Max: maxInline}
	case o.BlockSize < 0:
		err = &table.ValueError{Field: "Options.BlockSize", Reason: "is negative"}
	case o.BlockSize > maxBlockSize:
		err = &table.LimitError{Field: "Options.BlockSize", Limit: "bytes of a block", Got: o.BlockSize, Max: maxBlockSize}
	case o.BlocksInFlight < 0:
		err = &table.ValueError{Field: "Options.BlocksInFlight", Reason: "is negative"}
	case o.BlocksInFlight > maxBlocks:
		err = &table.LimitError{Field: "Options.BlocksInFlight", Limit: "blocks of a blob", Got: o.BlocksInFlight, Max: maxBlocks}
	}
	return o, common, err
}
