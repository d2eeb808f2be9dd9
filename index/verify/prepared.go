package verify

import (
	"context"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// leastAge is how long ago a write began that is taken to be one of a crashed program.
const leastAge = 10 * time.Minute

// finishPrepared ends the writes over several partitions that crashed programs have left, in the table and in those of rows
// elsewhere. Until then, the rows of such a write are as its commit record says, so that nothing is wrong without that.
func (r *run[T]) finishPrepared(ctx context.Context) error {
	e := r.table.Engine()
	if !r.opt.Repair || e.Mode.Outbox == nil { // without an outbox there are no such writes
		return nil
	}
	before := e.Options.Now().Add(-leastAge)
	n, err := e.FinishPrepared(ctx, r.opt.Partition.String(), before)
	r.noteFinished(n)
	done := map[string]bool{strings.ToLower(e.Name): true}
	for _, d := range r.elsewhere {
		name := strings.ToLower(d.Table().Name)
		if err != nil || done[name] {
			continue
		}
		done[name] = true
		n, err = d.Table().FinishPrepared(ctx, "", before)
		r.noteFinished(n)
	}
	return table.ErrorOf(err)
}
