package table

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/keys"
)

// Upgrade stores the entities of a query in the schema's version: those of older versions are read
// by Schema.Upgrade, and replaced by their ETags, together with their derived rows. A set TableScan
// upgrades the whole table.
//
//	done, err := table.Upgrade(ctx, staff, table.Query[Employee]{TableScan: true}, nil)
//
// Upgrade when no program needs the older form any more: an older release with a Schema.Version
// refuses upgraded rows, and a program without versions reads the new columns. What such a program
// still writes meanwhile: a row that it replaces has no _v, and counts as one of version 0, which
// readers and the next Upgrade upgrade; into a row, it may merge columns of the older form, which
// nothing sees but Schema.Merged.
//
// Progress.Rows are the entities that were read, and Changed those of older versions, that were
// stored in the schema's version or would be. Counts["merged"] are those among them into which a
// program without versions had merged. Upgrade uses Token, Rate, DryRun, Skip and Progress of the
// pass, which may be nil; the query has the partitions. Progress is called after each page.
//
// An entity that is changed meanwhile is read again, and upgraded if it still is of an older
// version. Upgrade is idempotent: after an error or a crash, begin again, or at the Token.
//
// Errors:
//   - *ValueError for a schema without a version, a query with a Limit, Budget, Cursor, Skip or
//     Stats, and a wrong pass
//   - the error of a function of Schema.Upgrade
//   - *BatchError around an error of a write, and errors of the query as for [Table.List]
//
// The progress is right in each case.
//
// Requests:
//   - 1 for each 1,000 rows that are read
//   - those of [Bulk] for the entities that are upgraded: 1 for each 100 of a partition without
//     derived rows
//   - 2 more for each that has changed
//
// Memory: a page.
func Upgrade[T any](ctx context.Context, t *Table[T], q Query[T], pass *Pass) (Progress, error) {
	if err := engine.CheckHandle("t", t.engine()); err != nil {
		return Progress{}, fmt.Errorf("table: Upgrade: %w", err)
	}
	u := upgrader{}
	if pass != nil {
		u.pass = *pass
	}
	schema := *t.h.schema
	schema.merged = schema.mergedByOthers
	u.h = handle{t.h.engine, &schema}
	return u.run(engine.Enduring(ctx), q.engine())
}

// upgrader is a job of Upgrade.
type upgrader struct {
	h       handle // whose schema also upgrades what was merged
	pass    Pass
	done    Progress
	through keys.Key // the last row that was read
}

func (u *upgrader) run(ctx context.Context, q query.Query) (_ Progress, err error) {
	ctx, end := u.h.engine.Span(ctx, "Upgrade")
	defer func() { end(err) }()
	if err := u.check(q); err != nil {
		return u.done, u.h.engine.OpError("Upgrade", keys.Key{}, err)
	}
	q.Skip = u.skip
	u.done.Token = u.pass.Token
	for {
		var older []entity
		next, err := u.h.page(ctx, q, u.done.Token, func(e entity) bool {
			u.done.Rows++
			u.through = *e.fields().key
			if e.fields().upgraded {
				older = append(older, e)
			}
			return true
		})
		if err != nil {
			return u.done, err
		}
		if err := u.replace(ctx, older); err != nil {
			return u.done, err
		}
		u.done.Through, u.done.Token = u.through, next
		if u.pass.Progress != nil {
			u.pass.Progress(u.snapshot())
		}
		if next == "" {
			return u.done, nil
		}
	}
}

func (u *upgrader) check(q query.Query) error {
	switch {
	case q.Limit != 0 || q.Budget != (query.Budget{}) || q.Skip != nil || q.Stats != nil:
		return &ValueError{Field: "q", Reason: "has a Limit, a Budget, Skip or Stats, which are for one list: use a Pass, and end the context to stop"}
	case u.h.schema.version == 0:
		return &ValueError{Field: "Schema.Version", Reason: "is 0, so that there is no older version to upgrade"}
	}
	return checkPass(&u.pass, "Token", "Rate", "DryRun", "Skip")
}

func (u *upgrader) skip(k keys.Key, err error) bool {
	if !u.leave(k, err) {
		return false
	}
	u.done.Rows++
	u.through = k
	return true
}

// leave reports whether a row is left as it is.
func (u *upgrader) leave(k keys.Key, err error) bool {
	if u.pass.Skip == nil || !u.pass.Skip(k, err) {
		return false
	}
	u.done.Skipped++
	return true
}

// replace stores entities, each at most once. Those that have changed are read again.
func (u *upgrader) replace(ctx context.Context, all []entity) error {
	merged := make([]bool, len(all)) // before a write
	for i, e := range all {
		merged[i] = e.fields().merged
		if u.pass.DryRun {
			u.count(merged[i])
		}
	}
	if u.pass.DryRun {
		return nil
	}
	var changed []int
	replaces := door.Ops(all, func(e entity) Op { return u.h.replace("Upgrade", e) })
	_, err := door.Bulk(ctx, replaces, &engine.BulkOptions{Rate: u.pass.Rate, Skip: func(i int, err error) bool {
		lost := errors.Is(err, ErrChanged) || errors.Is(err, ErrNotFound)
		if lost {
			changed = append(changed, i)
		}
		return lost || u.leave(*all[i].fields().key, err)
	}})
	for i, e := range all {
		if !e.fields().upgraded { // it is stored
			u.count(merged[i])
		}
	}
	if err != nil {
		return err
	}
	for _, i := range changed {
		if err := u.again(ctx, *all[i].fields().key); err != nil {
			return err
		}
	}
	return nil
}

// again upgrades an entity that another program has changed since it was read, if it still is of an
// older version.
func (u *upgrader) again(ctx context.Context, k keys.Key) error {
	conflicts, log := u.h.engine.Options.NewConflicts(), u.h.engine.Log("Upgrade", k)
	for {
		e, err := u.h.getToWrite(ctx, "Upgrade", k)
		if err == nil && e.fields().upgraded {
			merged := e.fields().merged
			if err = u.h.replace("Upgrade", e).send(ctx); err == nil {
				u.count(merged)
			}
		}
		switch {
		case err == nil, errors.Is(err, ErrNotFound):
			return nil
		case !errors.Is(err, ErrChanged) || unknown(err) || derived(err):
			if !unknown(err) && u.leave(k, err) {
				return nil
			}
			return err
		}
		if again, ended := conflicts.Wait(ctx, log, err); !again {
			return either(u.h.engine.OpError("Upgrade", k, ended), err)
		}
	}
}

func (u *upgrader) count(merged bool) {
	u.done.Changed++
	if merged && u.done.Counts == nil {
		u.done.Counts = map[string]int{}
	}
	if merged {
		u.done.Counts["merged"]++
	}
}

// snapshot returns the progress so far, which later work does not change.
func (u *upgrader) snapshot() Progress {
	p := u.done
	p.Counts = maps.Clone(p.Counts)
	return p
}

// mergedVersion returns the version of the columns that a program without versions has merged into
// the row that the reader has just read. is is false if there was no such merge.
func (s *schema) mergedVersion(r *edm.Reader, e entityFields) (older int, is bool, err error) {
	columns, err := r.Columns()
	if err != nil {
		return 0, false, err
	}
	older, is = s.merged(e.rowWith(columns))
	if is && (older < 0 || older >= s.version) {
		return 0, false, &ValueError{Field: "Schema.Merged", Reason: fmt.Sprintf("has returned the version %d; older ones than the schema's are 0 to %d", older, s.version-1)}
	}
	return older, is, nil
}
