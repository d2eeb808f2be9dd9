// Package smoothburst stores the readings of meters at a steady pace, so that the service does not refuse a burst.
package smoothburst

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Reading is what a meter shows at a minute.
type Reading struct {
	Meter  string
	Minute int
	Value  float64
}

var (
	meter  = keys.Partition(keys.Text(), func(v *Reading) *string { return &v.Meter })
	minute = keys.Row(keys.Digits[int](5), func(v *Reading) *int { return &v.Minute })

	// No reading has derived rows, so writes need not read the row first.
	blind = &aztablekit.Settings[Reading]{Options: table.Options{BlindWrites: true}}
)

// Meters is the readings of all meters.
type Meters struct {
	*aztablekit.Store
	Readings *table.Table[Reading]
}

// Open declares the table of the readings. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Meters {
	s := aztablekit.Open(acc, "meters", o)
	return &Meters{s, aztablekit.Table(s, "readings", meter, minute, blind)}
}

// Record stores readings, at most rate in each second, and overwrites existing readings. An error of the stream ends the work.
// After any error, call Record again with the readings from the result's Token on. 1 request for each 100 readings of a meter.
func (m *Meters) Record(ctx context.Context, rate int, all iter.Seq2[Reading, error]) (table.Progress, error) {
	return table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for v, err := range all {
			if !yield(m.Readings.UpsertOp(&v, table.ReplaceExisting), err) {
				return
			}
		}
	}, &table.Pass{Rate: rate})
}
