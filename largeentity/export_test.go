package largeentity

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// SweepReport is what a sweep has done and seen.
type SweepReport = sweepReport

// SweepOptions are the options of a sweep, with those that only Verify, Relink and the movers of a table set.
type SweepOptions struct {
	Partitions keys.PartitionRange
	Token      string
	DryRun     bool
	Rate       int
	Progress   func(table.Progress)

	Archived func(ctx context.Context, k keys.Key, incarnation string) (bool, error)
	Relink   bool
	Fault    func(verify.Fault)
}

// Sweep sweeps the values of a table, a valuestest.Values.
func Sweep(ctx context.Context, v any, o *SweepOptions) (SweepReport, error) {
	if o == nil {
		o = &SweepOptions{}
	}
	w, err := v.(interface{ Bound() any }).Bound().(*values).sweep(ctx, sweepOptions{
		Pass:     table.Pass{Partitions: o.Partitions, Token: o.Token, DryRun: o.DryRun, Rate: o.Rate, Progress: o.Progress},
		archived: o.Archived, relink: o.Relink, fault: o.Fault,
	})
	return w.report, err
}
