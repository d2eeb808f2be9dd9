package jobs

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// Range is an open range of a job, as its message names it.
type Range struct {
	job table.Entity[part]
	due due
}

// Version returns the version of the range.
func (r Range) Version() int { return r.due.Version }

// OpenRange returns the first open range of a job.
func OpenRange[T, P any](ctx context.Context, j *Job[T, P], t *table.Table[T], name string) (r Range, err error) {
	of, err := j.binding(t)
	if err != nil {
		return r, err
	}
	all, err := of.ledger.open(ctx, name)
	if err != nil || len(all) == 0 {
		return r, err
	}
	return Range{*all[0], due{all[0].Value.ID, all[0].Value.Version}}, nil
}

// Late executes a message of a range that was already executed: that of an earlier version, if before is not 0.
func Late[T, P any](ctx context.Context, j *Job[T, P], t *table.Table[T], r Range, before int) error {
	of, err := j.binding(t)
	if err != nil {
		return err
	}
	return of.execute(ctx, host.Job{Key: r.job.Key}, due{r.due.Range, r.due.Version - before})
}
