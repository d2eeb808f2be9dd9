package eventual

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Transactions returns the handler that finishes writes over several partitions or tables, such as [table.Table.Move], whose programs
// have crashed. A worker that has another handler of the table does that, too, such as index.Handler: Transactions is for tables without
// any. For [table.Table.MoveTo], the worker needs a handler of both tables.
//
//	w, err := eventual.NewWorker(queue, poison, []eventual.Handler{eventual.Transactions(staff)}, nil)
//
// Requests: 1 for each partition that is finished; otherwise 3 and 1 for each row, in each partition.
func Transactions(t commit.Table) Handler {
	return Handler{Kind: engine.RemoteEffect, Version: 1, Table: t, Handle: func(ctx context.Context, j Job) error {
		var work engine.RemoteWork
		pk, err := j.Partition.Result()
		if err == nil {
			err = json.Unmarshal(j.Effect.Payload, &work)
		}
		if err != nil {
			return Poison(errors.New("the effect is not that of a write over several partitions"))
		}
		for _, r := range work.Remotes {
			if err := table.ErrorOf(t.Engine().FinishRemote(ctx, pk, j.OperationID, r, false)); err != nil {
				return err
			}
		}
		return nil
	}}
}
