package verify

import (
	"context"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
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
	partition := "" // all
	if r.opt.Partition.IsSet() {
		partition = r.opt.Partition.String()
	}
	err := r.finishIn(ctx, e, partition, before)
	done := map[string]bool{strings.ToLower(e.Name): true}
	for _, d := range r.elsewhere {
		name := strings.ToLower(d.Table().Name)
		if err != nil || done[name] {
			continue
		}
		done[name] = true
		err = r.finishIn(ctx, d.Table(), "", before)
	}
	return table.ErrorOf(err)
}

// finishIn ends such writes in a table, and reports the orphans that are left.
func (r *run[T]) finishIn(ctx context.Context, t *engine.Table, partition string, before time.Time) error {
	n, left, err := t.FinishPrepared(ctx, partition, before, engine.Orphans(r.opt.Orphans))
	r.noteFinished(n)
	for _, orphan := range left {
		r.recorder.noteFault(Fault{Kind: Orphaned, Row: orphan.Row, Err: table.ErrorOf(orphan)})
	}
	return err
}
