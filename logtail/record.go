package logtail

import (
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Record is a value with its place in a log.
type Record[T any] struct {
	Value T
	Key   keys.Key // of the row, which is unique and newer than those of all earlier records of the writer

	// Time is when the record was appended, by the clock of its writer, to 100 ns.
	Time time.Time

	// Writer and Sequence identify the record in its source. A writer is a Log of a process. It numbers the records of each source
	// from 0, in the order of their times; a number is missing if its append has failed. Writer is "" for a record of a program
	// without this library.
	Writer   string
	Sequence int64
}

// newRecord returns a record that is to be stored in a partition.
func newRecord[T any](partition keys.Enc, p position, v *T) *Record[T] {
	return &Record[T]{*v, keys.At(partition, recordLayout.Of(p.time, p.writer, p.sequence)), p.time, p.writer, p.sequence}
}

// recordOf returns the record that an entity is, nil if its key is that of another type.
func recordOf[T any](e *table.Entity[T]) *Record[T] {
	p, is := positionOf(e.Key.RowKey())
	if !is {
		return nil
	}
	return &Record[T]{e.Value, e.Key, p.time, p.writer, p.sequence}
}

func (r *Record[T]) position() position { return position{r.Time, r.Writer, r.Sequence} }
