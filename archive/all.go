package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ArchiveAll moves the entities that a query finds, as [Mover.Archive] and a worker do, as many
// together as a transaction holds.
//
// ArchiveAll executes the moves itself. What it cannot execute, because a writer or a worker is at
// work on an entity, because the destination has stored it before, or because the program crashes,
// a worker executes. An entity that is changed meanwhile is read again, and moved if the query
// still finds it; one that is deleted meanwhile is not moved.
//
// The query takes the place of Pass.Partitions, which is refused, as Concurrency and DryRun are.
// Pass.Skip decides about each entity that cannot be read or whose move cannot be requested, such
// as one that the destination can never store. Progress.Changed counts the entities whose move is
// committed: they are in the destination, or a worker moves them in a moment. Pass.Progress is
// called after each page.
//
// ArchiveAll is idempotent: after an error or a crash, begin again, or at the Token.
//
// Errors:
//   - *table.ValueError for a query with a Limit, Budget, Cursor, Skip or Stats, and for a field of
//     the pass
//   - *table.DefinitionError for a handle without the mover
//   - table.ErrTableScan
//   - *table.BatchError around an error of [Mover.Archive]
//   - errors of a read (see package table)
//
// Requests:
//   - 1 for each 1,000 entities
//   - 7 for as many entities of a partition as a transaction holds with the rows of their indexes,
//     99, or 33 with two index rows each: 3 with the queue or to request the moves, 2 reads, 1 for
//     the destination (a table; others take 1 for each entity), and 1 to delete them
//   - 1 more for each entity if they lie far apart
//   - those of [Mover.Archive] and its worker for an entity with rows elsewhere or a view
//
// Memory: a page.
func (m *Mover[T]) ArchiveAll(ctx context.Context, t *table.Table[T], q table.Query[T], p *table.Pass) (table.Progress, error) {
	of, err := m.binding(t)
	if err != nil {
		return table.Progress{}, err
	}
	return of.archiveAll(ctx, tabledoor.QueryOf(&q), p)
}

func (m *mover) archiveAll(ctx context.Context, q query.Query, p *table.Pass) (table.Progress, error) {
	all := &archiving{mover: m, query: q}
	if p != nil {
		all.pass = *p
	}
	err := all.run(engine.Enduring(ctx))
	if err != nil {
		err = fmt.Errorf("archive: ArchiveAll: %w", err)
	}
	return all.report, err
}

// archiving is a job of ArchiveAll.
type archiving struct {
	mover  *mover
	query  query.Query
	pass   table.Pass
	report table.Progress
	writer tabledoor.Untyped // whose touches move entities
}

func (a *archiving) run(ctx context.Context) (err error) {
	ctx, end := door.Table(a.mover.from).Span(ctx, "ArchiveAll")
	defer func() { end(err) }()
	if err := a.check(); err != nil {
		return err
	}
	a.writer = door.InMode(a.mover.archiving, func(mode *engine.Mode) {
		mode.Outbox = reconcile.InlineTogether(mode.Outbox, a.mover.from, a.mover.moveTogether)
	})
	a.query.Skip = func(k keys.Key, err error) bool { return a.skip(k, err) }
	a.report.Token = a.pass.Token
	for {
		var page []tabledoor.Entity
		token, err := a.mover.from.PageOf(ctx, a.query, a.report.Token, func(e tabledoor.Entity) bool {
			page = append(page, e)
			return true
		})
		if err != nil {
			return err
		}
		a.report.Rows += len(page)
		if err := a.archive(ctx, page); err != nil {
			return err
		}
		if n := len(page); n > 0 {
			a.report.Through = tabledoor.KeyOf(page[n-1])
		}
		a.report.Token = token
		if a.pass.Progress != nil {
			a.pass.Progress(a.report)
		}
		if token == "" {
			return nil
		}
	}
}

func (a *archiving) check() error {
	switch q := a.query; {
	case q.Limit != 0 || q.Budget != (query.Budget{}) || q.Cursor != nil || q.Skip != nil || q.Stats != nil:
		return &table.ValueError{Field: "q", Reason: "has a Limit, a Budget, a Cursor, Skip or Stats, which are for one list: use the Pass, and end the context to stop"}
	}
	return door.CheckPass(&a.pass, "Token", "Rate", "Skip")
}

// skip reports whether an entity stays.
func (a *archiving) skip(k keys.Key, err error) bool {
	if a.pass.Skip == nil || errors.Is(err, table.ErrUnknownOutcome) || !a.pass.Skip(k, err) {
		return false
	}
	a.report.Skipped++
	return true
}

// archive moves entities. Those that have changed are read again.
func (a *archiving) archive(ctx context.Context, all []tabledoor.Entity) error {
	for attempt := 1; len(all) > 0; attempt++ {
		var changed []keys.Key
		touches := door.Ops(all, a.writer.TouchOp)
		result, err := door.Bulk(ctx, touches, &engine.BulkOptions{Rate: a.pass.Rate, Skip: func(i int, err error) bool {
			lost := errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound)
			if errors.Is(err, table.ErrChanged) && attempt < a.attempts() {
				lost, changed = true, append(changed, tabledoor.KeyOf(all[i]))
			}
			return lost || a.skip(tabledoor.KeyOf(all[i]), err)
		}})
		a.report.Changed += result.Applied
		if err != nil {
			return err
		}
		if all, err = a.again(ctx, changed); err != nil {
			return err
		}
	}
	return nil
}

func (a *archiving) attempts() int {
	return max(engine.Retry(door.Table(a.mover.from).Options.Retry).ForConflicts().Attempts, 1)
}

// again reads entities again that the query still finds. 1 request for each, several at a time.
func (a *archiving) again(ctx context.Context, changed []keys.Key) (all []tabledoor.Entity, err error) {
	type found struct {
		entities   []tabledoor.Entity
		unreadable error
	}
	n := 0
	engine.InOrder(ctx, changed, func(ctx context.Context, k keys.Key) (now found, err error) {
		q := a.query
		q.Partition, q.Partitions, q.Rows, q.TableScan = k.Partition(), keys.PartitionRange{}, k.Row().Point(), false
		q.Skip = func(_ keys.Key, err error) bool { now.unreadable = err; return true }
		err = a.mover.from.ListOf(ctx, q, func(e tabledoor.Entity) bool {
			now.entities = append(now.entities, e)
			return true
		})
		return now, err
	}, func(now found, e error) bool {
		k := changed[n]
		n++
		if e == nil && now.unreadable != nil && !a.skip(k, now.unreadable) {
			e = now.unreadable
		}
		all, err = append(all, now.entities...), e
		return e == nil
	})
	return all, err
}

// together is a destination that stores several rows together, which it has not stored before.
type together interface {
	// putAll stores rows of one partition, if none was stored for its ID. Otherwise the error is
	// table.ErrChanged; some may be stored then.
	putAll(ctx context.Context, all []*ArchivedRow) error
}

// moving is an effect of a commit record with what it moves.
type moving struct {
	effect int
	id     ID
	entity tabledoor.Entity
}

// moveTogether executes all moves of a commit record, if none has begun: it takes the destination
// to contain none of the incarnations, which their inserts confirm, reads the entities then, and
// deletes them in the transaction that completes the effects. What it does not complete, the worker
// executes, which finds what it has stored.
func (m *mover) moveTogether(ctx context.Context, record *commit.Record) (done bool) {
	all, err := m.movesOf(record)
	if err != nil {
		return false
	}
	began := door.Table(m.from).Options.Now()
	next, err := m.rowsOf(ctx, record, all)
	// By the wall clock, since the monotonic one may stand still while the machine is suspended.
	if err != nil || door.Table(m.from).Options.Now().Round(0).Sub(began.Round(0)) > mostAge || m.putAll(ctx, next) != nil {
		return false
	}
	return m.deleteTogether(ctx, record, all) == nil && record.State == commit.Done
}

// mostAge is how long after the entities were read they are stored in the destination. An
// incarnation that it does not contain may have been a tombstone since that was swept, if the
// program was suspended meanwhile.
const mostAge = commit.Retention / 2

// movesOf returns the moves of a commit record.
func (m *mover) movesOf(record *commit.Record) (all []moving, err error) {
	for i, e := range record.Effects {
		if e.Kind != m.kind {
			continue
		}
		id, p, err := decodeEffect(host.JobOf("", record, i, 0))
		if err != nil {
			return nil, err
		}
		if !p.Discard {
			all = append(all, moving{effect: i, id: id})
		}
	}
	return all, nil
}

var (
	errGone  = errors.New("an entity is gone")
	errPanic = errors.New("the destination panics")
)

// rowsOf reads the entities of moves, and returns what the destination is to store.
func (m *mover) rowsOf(ctx context.Context, record *commit.Record, all []moving) (next []*ArchivedRow, err error) {
	var wanted []keys.Key
	for _, move := range all {
		wanted = append(wanted, move.id.Key)
	}
	rows, err := reconcile.ReadTogether(ctx, m.from, record.Partition, wanted)
	if err != nil {
		return nil, err
	}
	for i := range all {
		id := all[i].id
		row := rows[id.Key]
		if row == nil || row.Incarnation() != id.Incarnation {
			return nil, errGone
		}
		if all[i].entity, err = m.from.Entity(row); err != nil {
			return nil, err
		}
		next = append(next, &ArchivedRow{ID: id, Kind: m.kind, Row: (*table.Row)((*stored.Row)(row).WithoutSystemProperties()), Moves: []string{record.OperationID}, Time: row.Timestamp})
	}
	return next, nil
}

// putAll stores rows that the destination has not stored before.
func (m *mover) putAll(ctx context.Context, all []*ArchivedRow) (err error) {
	if to, is := m.to.(together); is {
		return to.putAll(ctx, all)
	}
	engine.InOrder(ctx, all, func(ctx context.Context, r *ArchivedRow) (_ struct{}, err error) {
		defer func() {
			if recover() != nil { // a worker reports it
				err = errPanic
			}
		}()
		return struct{}{}, m.to.Put(ctx, r, "")
	}, func(_ struct{}, e error) bool { err = cmp.Or(err, e); return err == nil })
	return err
}

// deleteTogether deletes entities in the transaction that completes their moves.
func (m *mover) deleteTogether(ctx context.Context, record *commit.Record, all []moving) error {
	var effects []int
	for _, move := range all {
		effects = append(effects, move.effect)
	}
	deleting := records.Completing(m.moveHandle(engine.Move{Away: true}), record, effects...)
	ops := make([]table.Op, 0, len(all))
	for _, move := range all {
		ops = append(ops, deleting.DeleteOp(move.entity))
	}
	_, err := table.Transact(ctx, ops...)
	return err
}

// putAll stores rows that were not stored before, in transactions of up to 100 rows. Errors:
// table.ErrChanged if one was stored, and those of Put; some rows may be stored then. 1 request for
// each transaction.
func (d *tableDestination) putAll(ctx context.Context, all []*ArchivedRow) error {
	_, err := door.Bulk(ctx, door.Ops(all, func(r *ArchivedRow) table.Op { return d.rows.InsertOp(r.encode()) }), nil)
	if errors.Is(err, table.ErrExists) {
		return fmt.Errorf("%w: %w", table.ErrChanged, err)
	}
	return err
}
