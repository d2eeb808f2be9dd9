package engine

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
)

// A maintainer refuses an operation because of rows that it has loaded: a full group, a target with
// another owner. These rows may be newer than the entity, and then they contain what the operation
// is about to do; and what is in the way may be over. So a refusal counts only if the entity is as
// it was when the rows had been loaded, and if nothing in its partition is over.

const (
	// mostEnded is how many entities that are over one refusal deletes before the operation is
	// planned again.
	mostEnded = 25
	// mostBehind is how far a clock may be behind the service's, by which entities are over.
	mostBehind = 15 * time.Minute
)

// confirmRefusal returns the error of the last of some operations of a partition, which a
// maintainer has refused: the refusal itself, ErrExists for an insert of what is stored, ErrChanged
// or ErrNotFound for an entity that is not as the operation expects it. at is the operation that
// the error is about. If another plan may succeed, the plan's readErr is errOutdated. Requests: 1
// for each of the operations; for entities with ends 1 more, and those of end.
func (w *write) confirmRefusal(ctx context.Context, p *Plan, steps []step, refusal error) (at int, err error) {
	last := len(steps) - 1
	for i := last; i >= 0; i-- {
		s := &steps[i]
		if !s.needsPlanning {
			continue
		}
		var f readResult
		err := Retry(w.table.Options.Retry).RepeatRead(ctx, w.log(), func(ctx context.Context) error {
			f, err = s.Table.readEntity(ctx, s.Key)
			return err
		})
		if err != nil {
			p.readErr = err
			return last, refusal
		}
		if err := s.outdated(ctx, p, f); err != nil {
			return i, err
		}
	}
	ended, err := steps[last].Table.endSome(ctx, p.partition)
	if ended {
		err = errOutdated
	}
	p.readErr = err
	return last, refusal
}

// outdated returns what is to become of a planned operation, for what is stored under its key now;
// nil if that is as it was planned.
func (s *step) outdated(ctx context.Context, p *Plan, f readResult) error {
	switch {
	case f.hidden:
		return nil
	case s.inserts() && f.row != nil && !s.replannable:
		over, err := s.Table.overIn(f.row.Columns(), f.date)
		if err == nil && over {
			_, err = s.Table.end(ctx, f.row)
		}
		switch {
		case errors.As(err, new(*overError)), err == nil && !over:
			return errs.ErrExists
		case err != nil:
			p.readErr = err
			return err
		}
	case s.inserts() && f.row == nil, s.Match == azcore.ETagAny, s.Match == f.etag():
		return nil
	case !s.replannable && f.row == nil:
		return f.gone
	case !s.replannable:
		return errs.ErrChanged
	}
	if p.ahead != nil {
		p.ahead.drop(s.Key.RowKey())
	}
	p.readErr = errOutdated
	return errOutdated
}

// endSome deletes entities of the table's type in a partition that are over, with what follows from
// them, and reports whether there were any. Requests: none for entities without ends; else 1, and
// those of end for each of at most 25.
func (t *Table) endSome(ctx context.Context, partition string) (ended bool, err error) {
	if ends := t.Mode.Ends(); ends == nil || ends.elsewhere() {
		return false, nil
	}
	var filter query.Filter
	filter.Key(edm.PartitionKey, "eq", partition)
	filter.Keys(edm.RowKey, query.BoundsOf(t.Mode.Schema.Rows()))
	soon := edm.Value{Kind: edm.DateTime, T: t.Options.Now().Add(mostBehind)}
	maybe, _, err := edm.Compare(reserved.End, "le", soon)
	if err != nil {
		return false, err
	}
	var all []*stored.Row
	err = t.eachPhysical(ctx, filter.String()+" and "+maybe, "", func(in edm.Entity, columns []edm.Column) bool {
		row := stored.Of(in, columns)
		if over, err := t.overIn(columns, in.Date); err == nil && over && !row.IsCopy() && t.Mode.Schema.Mine(row) {
			all = append(all, row)
		}
		return len(all) < mostEnded
	})
	if err != nil {
		return false, err
	}
	for _, row := range all {
		_, err := t.end(ctx, row)
		if errors.As(err, new(*overError)) {
			return ended, nil // what this client may not delete stays in the way
		}
		if err != nil {
			return ended, err
		}
		ended = true
	}
	return ended, nil
}
