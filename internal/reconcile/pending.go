package reconcile

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Overdue is how old a pending commit record is whose notification may be lost.
const Overdue = 10 * time.Minute

// PendingEffect is a pending commit record with an effect of an entity.
type PendingEffect struct {
	OperationID string
	Overdue     bool
}

// PendingEffects yields the pending commit records in the partition of an entity that contain an
// effect of the entity, of one of some kinds. An error with an operation ID is that of one commit
// record. Requests: 1 for each 1,000 commit records, and 1 for each.
func PendingEffects(
	ctx context.Context, t table.Handle, entity keys.Key, kinds []string,
) iter.Seq2[PendingEffect, error] {
	return func(yield func(PendingEffect, error) bool) {
		now := door.Table(t).Options.Now()
		records := records.Of(t)
		for id, err := range records.Pending(ctx, entity.Partition(), "", now.Add(2*commit.Retention)) {
			if err != nil {
				yield(PendingEffect{}, err)
				return
			}
			effect := PendingEffect{OperationID: id}
			record, err := records.Get(ctx, entity.Partition(), id)
			switch {
			case errors.Is(err, table.ErrNotFound):
				continue
			case err == nil && !isPending(record, entity, kinds):
				continue
			case err == nil:
				effect.Overdue = now.Sub(record.Time()) > Overdue
			}
			if !yield(effect, err) {
				return
			}
		}
	}
}

// isPending reports whether a commit record is pending and contains an effect of an entity.
func isPending(record *commit.Record, entity keys.Key, kinds []string) bool {
	return record.State == commit.Pending && slices.ContainsFunc(record.Effects, func(e commit.Effect) bool {
		return e.RowKey == entity.RowKey() && slices.Contains(kinds, e.Kind)
	})
}
