package verify

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// attempt is an attempt at a confirmation or repair.
type attempt struct {
	number   int   // from 0
	conflict error // set by the attempt if it failed because of a concurrent writer
}

// attempts yields the attempts at a confirmation or repair, with the pauses between them, until Retry.ConflictAttempts are used up
// or ctx ends. It logs the conflicts, with the RowKey of the entity, or with the partition if the RowKey is derived.NoEntity. A
// repair may take longer than WriteTimeout.
func (p *partition[T]) attempts(ctx context.Context, entity string) iter.Seq[*attempt] {
	return func(yield func(*attempt) bool) {
		o := p.table.Engine().Options
		o.WriteTimeout = -1
		conflicts := o.Conflicts()
		for i := 0; ; i++ {
			a := &attempt{number: i}
			if !yield(a) {
				return
			}
			var log engine.Log // an attempt that made progress is not logged
			if a.conflict != nil {
				log = p.logOf(entity)
			}
			if a.conflict == errChanging {
				a.conflict = table.ErrChanged // more attempts may follow
			}
			if again, _ := conflicts.Wait(ctx, log, a.conflict); !again {
				return
			}
		}
	}
}

// logConflict logs that an entity, or its row, has changed before a repair of many entities, and is confirmed again.
func (p *partition[T]) logConflict(ctx context.Context, entity string, err error) {
	if mustReread(err) {
		p.logOf(entity).Conflict(ctx, 0, 0, err)
	}
}

func (p *partition[T]) logOf(entity string) engine.Log {
	log := p.log
	if entity == derived.NoEntity {
		log.Partition = p.pk
	} else {
		log.Key = keys.Stored(p.pk, entity)
	}
	return log
}
