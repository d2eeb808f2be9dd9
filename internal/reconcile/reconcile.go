package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Definition makes rows elsewhere of the entities of a table. It must be safe for concurrent use.
type Definition interface {
	Name() string

	// Target returns the row of an entity under a key, for one execution. The key comes from an
	// effect, which is not trusted: Target fails if the definition never makes such a row of the
	// entity.
	Target(entity, row keys.Key) (Target, error)
}

// Target is a row elsewhere in one execution. It may consist of several rows that are read and
// written together.
type Target interface {
	// Read reads the row, and keeps its version and content for Write and Sweep.
	Read(ctx context.Context) error

	// Write stores what follows from the entity, nil if there is none, in place of the version that
	// Read has found. It must change the version also if nothing else changes, and if the row
	// should not exist: then it stores a tombstone. If the stored version is another one, the error
	// is table.ErrChanged, ErrNotFound or ErrExists, and nothing is written.
	Write(ctx context.Context, entity *table.Row) error

	// Sweep deletes the row that Read has found if it is a tombstone from before a time, by its
	// version.
	Sweep(ctx context.Context, before time.Time) error
}

// width is how many targets are read or written at a time.
const width = 10

// maxInDoubt is how often a write of a target is repeated after a lost response. Then storage is
// down.
const maxInDoubt = 3

// mostAge is how long after the targets were read a write of a target begins. A target that was
// absent may have been a tombstone since that was swept, if the program was suspended meanwhile.
const mostAge = commit.Retention / 2

// errLate: the program was suspended between its reads and its writes.
var errLate = fmt.Errorf("%w: the rows were read more than %v ago", table.ErrChanged, mostAge)

// Reconcile makes targets follow from an entity of a table, as the package's contract says. Errors:
// table.ErrChanged, or another conflict, after Retry.ConflictAttempts attempts; errors of a target;
// errors of a read (see package table). Requests: 1 for the entity, and the requests of the
// targets' Read and Write; again after each conflict.
func Reconcile(ctx context.Context, source table.Handle, entity keys.Key, targets ...Target) (err error) {
	if len(targets) == 0 {
		return nil
	}
	ctx, end := door.Table(source).Span(ctx, "Reconcile")
	defer func() { end(err) }()
	rows := door.Rows[table.Table[table.Row]](door.Table(source), true)
	log := door.Table(source).Log("Reconcile", entity)
	log.Conflicts = true
	n, inDoubt := 0, 0
	conflict := false
	err = engine.Retry(door.Table(source).Options.Retry).ForConflicts().Repeat(ctx, log, func() (again bool, err error) {
		n, conflict = n+1, false
		began := door.Table(source).Options.Now()
		if err := each(ctx, targets, Target.Read); err != nil {
			return false, err
		}
		row, err := tabledoor.GetRow(ctx, rows, entity)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return false, err
		}
		err = each(ctx, targets, func(t Target, ctx context.Context) error {
			// By the wall clock, since the monotonic one may stand still while the machine is
			// suspended.
			if door.Table(source).Options.Now().Round(0).Sub(began.Round(0)) > mostAge {
				return errLate
			}
			return t.Write(ctx, row)
		})
		if errors.Is(err, table.ErrUnknownOutcome) && ctx.Err() == nil {
			inDoubt++
			return inDoubt < maxInDoubt, err
		}
		conflict = isConflict(err)
		return conflict, err
	})
	if conflict {
		return fmt.Errorf("gave up after %d attempts: concurrent writers changed rows of %v each time: %w", n, entity, err)
	}
	return err
}

// isConflict reports whether a target is not as it was read.
func isConflict(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound) || errors.Is(err, table.ErrExists)
}

// each calls f for all targets, several at a time. All calls end before it returns, also after an
// error. Of several errors it returns an error that is no conflict, if there is one.
func each(ctx context.Context, targets []Target, f func(Target, context.Context) error) error {
	if len(targets) == 1 {
		return f(targets[0], ctx)
	}
	var g errgroup.Group
	g.SetLimit(width)
	errs := make([]error, len(targets))
	for i, t := range targets {
		g.Go(func() error {
			errs[i] = f(t, ctx)
			return nil
		})
	}
	_ = g.Wait()
	var conflict error
	for _, err := range errs {
		if err != nil && !isConflict(err) {
			return err
		}
		conflict = cmp.Or(conflict, err)
	}
	return conflict
}

// Together executes effects of a pending commit record, and reports whether the record is done.
type Together func(ctx context.Context, record *commit.Record) (done bool)

// InlineTogether returns an outbox around another one: once a write of a table is committed, and
// before it returns, the writer executes what it can of all its effects. If all are executed, the
// notification is withdrawn. Otherwise, or if anything fails, it is shown, and a worker executes
// what is left.
func InlineTogether(outbox commit.Outbox, t table.Handle, execute Together) commit.Outbox {
	return &inline{engine.InnerOutbox(outbox), t, execute}
}

type inline struct {
	outbox   commit.Outbox
	table    table.Handle
	together Together
}

var _ engine.AroundOutbox = (*inline)(nil)

// Inner returns the outbox itself.
func (o *inline) Inner() commit.Outbox { return o.outbox }

// Notify stores a notification.
func (o *inline) Notify(ctx context.Context, n commit.Notification) (commit.SentNotification, error) {
	sent, err := o.outbox.Notify(ctx, n)
	if err != nil || sent == nil {
		return nil, err
	}
	return &inlineNotification{SentNotification: sent, outbox: o, of: n}, nil
}

type inlineNotification struct {
	commit.SentNotification
	outbox *inline
	of     commit.Notification
}

// Show executes the effects, or shows the notification.
func (n *inlineNotification) Show(ctx context.Context) error {
	if n.execute(ctx) {
		return n.Withdraw(ctx) // otherwise a worker finds the commit record done
	}
	ctx, cancel := engine.Bound(context.WithoutCancel(ctx), door.Table(n.outbox.table).Options.Retry.AttemptTimeout)
	defer cancel()
	return n.SentNotification.Show(ctx)
}

// execute executes the effects of the write, and reports whether nothing is left for a worker to
// do.
func (n *inlineNotification) execute(ctx context.Context) (done bool) {
	defer func() {
		if recover() != nil { // a function of the program's panics; a worker reports it
			done = false
		}
	}()
	record, err := records.Of(n.outbox.table).Get(ctx, keys.Raw(n.of.Partition, "").Partition(), n.of.OperationID)
	return err == nil && record.State == commit.Pending && n.outbox.together(ctx, record)
}

// IsZero reports whether a definition is nil, a nil pointer, or a value that no constructor has
// made.
func IsZero(x any) bool {
	v := reflect.ValueOf(x)
	return x == nil || v.Kind() == reflect.Pointer && (v.IsNil() || v.Elem().IsZero())
}
