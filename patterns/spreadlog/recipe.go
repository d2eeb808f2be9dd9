package spreadlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "spread-log",
	Title:       "A log whose newest records do not all go to one partition",
	Guide:       []string{"G31", "G11"},
	Related:     []string{"log-tail", "compound-keys", "log-data-in-blobs"},
	Consistency: "by part",
	Measured:    []string{"append 100 events"},
	Problem: `If the PartitionKey is a time, all records of that time go to one partition, and the others are idle: the prepend/append
		anti-pattern. One partition takes about 2,000 records a second, whatever the number of partitions. A log that is spread
		stores its records in several partitions at any time, and reads merge them.`,
	Kept: "spreadlog",
	Run: func(ctx context.Context, r *recipe.Run) error {
		shop := Open(r.Account(), r.StoreOptions("shop", "events"))
		if err := r.Ensure(ctx, shop); err != nil {
			return err
		}
		// heat counts the records of each partition, the fullest first.
		heat := func(partitions map[string]int) (counts []int) {
			for _, n := range partitions {
				counts = append(counts, n)
			}
			slices.SortFunc(counts, func(a, b int) int { return b - a })
			return counts
		}
		if err := r.Do("append 100 events, each to one of 4 partitions", func() error {
			written := map[string]int{}
			for i := range int32(100) {
				record, err := shop.Append(ctx, &Event{Number: i})
				if err != nil {
					return err
				}
				written[record.Key.PartitionKey()]++
			}
			busy := heat(written)
			r.Answer("%d partitions are written; the busiest takes less than half of the events: %v", len(busy), busy[0] < 50)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("the 3 newest events of all partitions, read at the same time", func() error {
			for record, err := range shop.Newest(ctx, 3) {
				if err != nil {
					return err
				}
				r.Answer("event %d", record.Value.Number)
			}
			return nil
		}); err != nil {
			return err
		}
		// The anti-pattern: the hour is the PartitionKey.
		naive := aztablekit.Open(r.Account(), "naive", r.StoreOptions("naive", "hourly"))
		hourly := aztablekit.Table[Event](naive, "hourly", nil, nil)
		if err := r.Ensure(ctx, naive); err != nil {
			return err
		}
		return r.Naive("100 events with the hour as the PartitionKey", func() error {
			written := map[string]int{}
			for i := range int32(100) {
				k := keys.At(keys.RawPartition("2014-07-31T18"), keys.RawRow(fmt.Sprintf("%03d", i)))
				if _, err := hourly.InsertAt(ctx, k, &Event{Number: i}); err != nil {
					return err
				}
				written[k.PartitionKey()]++
			}
			r.Answer("%d partition is written, and takes all %d events", len(written), heat(written)[0])
			return nil
		})
	},
}
