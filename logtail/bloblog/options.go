package bloblog

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of a log. The zero value of each field is its default.
type Options[T any] struct {
	// Common bounds the requests of the log: WriteTimeout bounds the storing of one block with all its attempts, ReadTimeout the
	// wait for a response or for more of a body, and Retry the attempts. AttemptTimeout must be long enough to send a block. Now is
	// the clock, NewID makes the IDs of writers, and Logger receives a line for each flush that fails in the background.
	// Logger must not write to a writer of the log, also not by slog.SetDefault: a slog.Handler would wait for itself for ever.
	// OmitOperationID and Tracing have no effect.
	table.Common

	// Time returns the time of a record, which selects the hour of its blob. Readers then filter by it exactly. Defaults to the
	// time of Append by the writer's clock, which is not stored: readers then know only the first and last time of each blob. For a
	// record that was encoded and decoded, Time must return the same time, or Between may leave the record out.
	Time func(*T) time.Time

	// Encode returns the line of a record, without a line break. Defaults to json.Marshal.
	Encode func(*T) ([]byte, error)

	// Decode reads a line, without its line break, into a zero T. It must not keep the line. Defaults to json.Unmarshal.
	Decode func(line []byte, v *T) error

	// FlushRecords, FlushBytes and FlushInterval are how many records, how many bytes, and for how long the buffer holds before
	// Append stores them. They bound what a crash loses, and the number of requests: see the package documentation. Default to
	// 1,000 records, 1 MiB and 1 s. A negative value is no bound.
	FlushRecords  int
	FlushBytes    int
	FlushInterval time.Duration

	// Buffer is the most bytes of records that a writer holds, those on their way included. If the buffer is full, Append waits.
	// Defaults to 8 MiB. The memory of a writer is at most about twice as much.
	Buffer int

	// OpenHours is the number of hours whose blobs a writer keeps open at the same time, for records that come late. If a record of
	// another hour comes, the writer leaves the blob that it has not used for the longest time. Defaults to 3, or to 1 without
	// Time.
	OpenHours int

	// BlobBlocks is the number of blocks after which a writer begins another blob. The service allows 50,000. Defaults to 45,000.
	BlobBlocks int

	// Skip decides about each line that cannot be read as T: the read continues after it if Skip returns true. Defaults to an end
	// of the read at the first such line.
	Skip func(*LineError) bool
}

// maxBlobBlocks is the most blocks of a blob that the service allows.
const maxBlobBlocks = 50_000

// setDefaults fills the defaults in, and returns those of Common.
func (o *Options[T]) setDefaults() (common engine.Options, err error) {
	if o.OpenHours == 0 && o.Time == nil {
		o.OpenHours = 1
	}
	setDefault(&o.OpenHours, 3)
	setDefault(&o.FlushRecords, 1000)
	setDefault(&o.FlushBytes, 1<<20)
	setDefault(&o.FlushInterval, time.Second)
	setDefault(&o.Buffer, 8<<20)
	setDefault(&o.BlobBlocks, 45_000)
	if o.Encode == nil {
		o.Encode = encodeJSON[T]
	}
	if o.Decode == nil {
		o.Decode = decodeJSON[T]
	}
	common = o.Common.Engine()
	switch {
	case o.Buffer < 0:
		err = &table.ValueError{Field: "Options.Buffer", Reason: "is negative"}
	case o.OpenHours < 0:
		err = &table.ValueError{Field: "Options.OpenHours", Reason: "is negative"}
	case o.BlobBlocks < 0:
		err = &table.ValueError{Field: "Options.BlobBlocks", Reason: "is negative"}
	case o.BlobBlocks > maxBlobBlocks:
		err = &table.LimitError{Field: "Options.BlobBlocks", Limit: "blocks of a blob", Got: o.BlobBlocks, Max: maxBlobBlocks}
	}
	return common, err
}

func setDefault[V comparable](value *V, otherwise V) {
	if *value == *new(V) {
		*value = otherwise
	}
}

// checkTime returns an error for a time that no name can contain. field is where the time comes from.
func checkTime(field string, t time.Time) error {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return &table.ValueError{Field: field, Reason: fmt.Sprintf("is in the year %d; the names of blobs contain the years 1 to 9999", y)}
	}
	return nil
}
