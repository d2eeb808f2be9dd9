package eventual

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// executor executes the effects of the writes that messages name.
type executor struct {
	env     *environment
	cleaner *cleaner
}

// execute executes what is due for a message of the queue of notifications.
func (e *executor) execute(ctx context.Context, x *lease) (out outcome) {
	switch {
	case errors.Is(x.err, errNewer):
		return outcome{kind: deferred, unknown: true, class: ClassUnknown, reason: x.err}
	case x.err == nil && x.message.Hour != "":
		return e.cleaner.execute(ctx, x) // a poison message of the clean-up queue that was replayed here
	case x.err != nil:
		return outcome{kind: poisoned, class: ClassUndecodable, reason: errUndecodable}
	}
	t := e.env.handlers.of(x.message.Table)
	if t == nil {
		return outcome{kind: deferred, unknown: true, class: ClassUnknown, reason: "no handler is registered for its table"}
	}
	if out = e.executeRecord(ctx, t, x); out.kind == completed || out.class == ClassExpired {
		e.cleaner.plan(context.WithoutCancel(ctx), t, x.message)
	}
	return out
}

// errConflict: a concurrent worker changed the commit record.
var errConflict = errors.New("eventual: the commit record has changed")

// executeRecord executes the effects of a commit record. After a conflict it starts again, Retry.ConflictAttempts times at most.
func (e *executor) executeRecord(ctx context.Context, t *tableHandlers, x *lease) (out outcome) {
	log := x.engineLog("Execute")
	log.Conflicts = true
	err := e.env.opt.Retry.OfConflicts().Repeat(ctx, log, func() (again bool, err error) {
		var conflict bool
		if out, conflict = e.tryRecord(ctx, t, x); conflict {
			return true, errConflict
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil { // the worker stops or has lost the message, which is no failed attempt
		return requestOutcome(ctx, context.Cause(ctx))
	}
	return out
}

// tryRecord reads a commit record, executes its effects and marks the record as done. If conflict is true, the record has changed
// meanwhile.
func (e *executor) tryRecord(ctx context.Context, t *tableHandlers, x *lease) (out outcome, conflict bool) {
	record, err := e.resolve(ctx, t, x)
	var newer *table.VersionError
	switch {
	case errors.Is(err, table.ErrExpired):
		return outcome{kind: poisoned, class: ClassExpired, reason: err}, false
	case errors.Is(err, engine.ErrAhead): // the write may still commit
		return outcome{kind: deferred, unknown: true, class: ClassAhead, reason: err}, false
	case errors.As(err, &newer):
		return outcome{kind: deferred, unknown: true, class: ClassUnknown, reason: err}, false
	case err != nil:
		return requestOutcome(ctx, err), false
	case record.State == commit.Aborted:
		return e.rollBack(ctx, t, x), false
	}
	if out, conflict = e.executeEffects(ctx, t, record, x); conflict || out.kind != completed || record.State != commit.Pending {
		return out, conflict
	}
	// The effects were executed, even if the worker stops: so this context does not end.
	switch err := t.records.MarkDone(context.WithoutCancel(ctx), record); {
	case errors.Is(err, table.ErrChanged):
		return outcome{kind: retried, class: ClassAttempts, reason: err}, true
	case err != nil:
		return requestOutcome(ctx, err), false
	}
	return out, false
}

// executeEffects executes the effects of a commit record. If conflict is true, a concurrent worker has changed the record.
func (e *executor) executeEffects(ctx context.Context, t *tableHandlers, record *commit.Record, x *lease) (out outcome, conflict bool) {
	for n := 0; record.State == commit.Pending && n < len(record.Effects); {
		effect := record.Effects[n]
		of, job := t, Job{Table: t.table.Name(), Partition: record.Partition, OperationID: record.OperationID, Effect: effect,
			Attempt: x.attempt(), CommitRecord: record, Index: n}
		if effect.Table != "" { // of an entity in another partition
			job.Table, job.Partition = effect.Table, keys.Stored(effect.Partition, "").Partition()
			of = e.env.handlers.of(effect.Table)
		}
		h, known := of.handler(effect.Kind)
		if !known || effect.Version > h.Version {
			out = out.merge(outcome{kind: deferred, unknown: true, delay: e.env.opt.Defer, class: ClassUnknown, effect: effect.Kind,
				reason: "no handler is registered for its kind and version"})
			n++
			continue
		}
		before := record.Version()
		err := callHandler(ctx, e.env.opt.HandlerTimeout, h.Kind, func(ctx context.Context) error {
			return h.Handle(ctx, job)
		})
		if err == nil {
			e.env.stats.add(func(s *Stats) { s.Effects++ })
			e.env.stats.addKind(of.table.Name(), h.Kind, func(s *KindStats) { s.Executed++ })
			if record.Version() == before {
				n++ // otherwise the handler completed the effect itself, and the next effect has its position
			}
			continue
		}
		failed := handlerOutcome(ctx, effect.Kind, e.env.opt.Defer, err)
		if failed.kind == retried && errors.Is(err, table.ErrChanged) && ctx.Err() == nil {
			// The commit record has changed, or another row that only the handler knows.
			if now, err := t.records.Get(ctx, record.Partition, record.OperationID); err == nil && now.Version() != before {
				e.env.stats.addKind(of.table.Name(), h.Kind, func(s *KindStats) { s.Deferred++ })
				return failed, true
			}
		}
		e.env.stats.addKind(of.table.Name(), h.Kind, failed.count)
		if out = out.merge(failed); record.Version() == before {
			n++
		}
	}
	return out, false
}

// resolve is Records.Resolve for a message. An abort record also names the remotes, so that they are swept with it.
func (e *executor) resolve(ctx context.Context, t *tableHandlers, x *lease) (record *commit.Record, err error) {
	ctx, end := t.table.Engine().Span(ctx, "Resolve")
	defer func() { end(err) }()
	m := x.message
	if len(m.Remotes) > 0 {
		record, err := t.records.Get(ctx, m.partition(), m.Op)
		if !errors.Is(err, table.ErrNotFound) {
			return record, err
		}
		if _, err := t.table.Engine().Resolve(ctx, m.Partition, m.Op, m.Remotes...); err != nil {
			return nil, table.ErrorOf(err)
		}
	}
	return t.records.Resolve(ctx, m.partition(), m.Op)
}

// mostExcluded is how many remotes a message may name, and rollBack stores a row in those where nothing is prepared. The write of one
// entity has no more: a move has one, and each unique value elsewhere two.
const mostExcluded = 8

// rollBack rolls back, in the remotes that the message names, a write that never commits. The message is not trusted: in tables
// that no handler names, and if it names more than mostExcluded remotes, rollBack writes only where the write has prepared something. A
// late request can then still prepare; programs that read such a row roll it back.
func (e *executor) rollBack(ctx context.Context, t *tableHandlers, x *lease) outcome {
	few := len(x.message.Remotes) <= mostExcluded
	for _, r := range x.message.Remotes {
		registered := e.env.handlers.of(r.Table) != nil || slices.Contains(t.remotes, strings.ToLower(r.Table))
		err := table.ErrorOf(t.table.Engine().FinishRemote(ctx, x.message.Partition, x.message.Op, r, registered && few))
		if errors.Is(err, table.ErrTableNotFound) && !registered {
			continue
		} else if err != nil {
			return requestOutcome(ctx, err)
		}
	}
	return outcome{}
}
