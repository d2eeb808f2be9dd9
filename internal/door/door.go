// Package door holds what the packages of this module do with handles, rows, operations and plans
// beyond what programs can do: it opens a typed value to the engine's, and makes typed values of
// the engine's. Packages table and extend have no exported methods for that; they set [Tables] and
// [Plans], whose functions reach their unexported ones.
package door

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Tables is set by package table, before any function of this package is called.
var Tables interface {
	Table(t any) *engine.Table
	Inner(t any) any
	KeyOf(e any) keys.Key
	ValueOf(e any) any
	QueryOf(q any) query.Query
	CheckPass(p any, used ...string) error
	InMode(t any, change func(*engine.Mode)) any
	Rows(t *engine.Table, hasID bool) any
	Elsewhere(t any, other *engine.Table) any
	Op(op any) *engine.Op
	Scan(ctx context.Context, t, q any, entities bool, h *stored.Hasher, yield func(*engine.Scanned) bool) error
	InsertRow(ctx context.Context, t any, k keys.Key, r *stored.Row) (any, error)
	InsertRowOp(t any, k keys.Key, r *stored.Row) any
	Faulty(t any, name string, fault error) any
	New(t, service any, name string, schema, o any) (any, error)
}

// Plans is set by package extend, before any function of this package is called with a plan or a
// change.
var Plans interface {
	Insert(p any, r *stored.Row, taken error) error
	Put(p any, r *stored.Row) error
	Maintain(t *engine.Table, m any) (func(*engine.Mode), error)
	Plan(p any) *engine.Plan
	Retake(p any, r *stored.Row) (bool, error)
	Participant(p any, t *engine.Table, partition string) (any, error)
}

// Workers is set by package eventual, before any function of this package is called that makes an
// outbox or a worker.
var Workers interface {
	Outbox(queue, o any) (any, error)
	Worker(queue, poison, handlers, o any) (any, error)
	PoisonQueue(queue, poison, o any) (any, error)
	Clean(ctx context.Context, worker, t any, partition string, through time.Time) (left int, err error)
}

// Table returns the handle of a table.Handle without its type parameter, nil for a nil or zero
// Table.
func Table(t any) *engine.Table { return Tables.Table(t) }

// Note lets a handle store a note before its commit records, if the registry is that of a store,
// which has notes.
func Note(t, registry any) {
	if noted, is := registry.(interface{ Notes() engine.RecordNotes }); is {
		Table(t).Notes = noted.Notes()
	}
}

// CheckPass returns a *table.ValueError for the fields of a *table.Pass that are wrong, or that a
// call does not use. used has the names of those that it uses besides Progress.
func CheckPass(p any, used ...string) error { return Tables.CheckPass(p, used...) }

// InMode returns a *table.Table in another mode.
func InMode[H any](t H, change func(*engine.Mode)) H { return Tables.InMode(t, change).(H) }

// Faulty returns a *table.Table (H) that was declared wrong: it sends nothing, and each of its
// methods returns the fault.
func Faulty[H any](name string, fault error) H {
	var none H
	return Tables.Faulty(none, name, fault).(H)
}

// New returns a *table.Table (H) that knows nothing of a store; see package bare. service is a
// engine.Service, schema a *table.Schema of the type of H, and o a *table.Options.
func New[H any](service any, name string, schema, o any) (H, error) {
	var none H
	t, err := Tables.New(none, service, name, schema, o)
	made, _ := t.(H)
	return made, err
}

// Rows returns a handle for rows of any type, a *table.Table[table.Row], also for derived rows and
// the library's own. It has no maintainers, and its Entity returns every row whole, also a copy. If
// hasID is set, it stores an operation ID in each row that it writes: set it for entities, not for
// lists and summaries.
func Rows[H any](t *engine.Table, hasID bool) *H { return Tables.Rows(t, hasID).(*H) }

// Elsewhere returns a handle without maintainers for the copies of a table's entities in another
// table. Its lists take any partition.
func Elsewhere[H any](t H, other *engine.Table) H { return Tables.Elsewhere(t, other).(H) }

// Op returns a table.Op without the entity that it stores.
func Op(op any) *engine.Op { return Tables.Op(op) }

// Bulk is table.Bulk with the options and the result of the engine. ops are of the type table.Op
// (O).
func Bulk[O any](ctx context.Context, ops iter.Seq2[O, error], o *engine.BulkOptions) (engine.BulkResult, error) {
	if o == nil {
		o = &engine.BulkOptions{}
	}
	return engine.Bulk(ctx, func(yield func(*engine.Op, error) bool) {
		for op, err := range ops {
			if !yield(Op(op), err) {
				return
			}
		}
	}, *o)
}

// Ops returns an operation for each element.
func Ops[E, O any](all []E, op func(E) O) iter.Seq2[O, error] {
	return func(yield func(O, error) bool) {
		for _, e := range all {
			if !yield(op(e), nil) {
				return
			}
		}
	}
}

// Scan is table.Table.Rows for callers that decode only some of what they read; see engine.Scanned.
// q is a *table.Query of any type, whose Where must be one of the handle's. Entities says that
// Scanned.Entity is called.
func Scan(ctx context.Context, t, q any, entities bool, h *stored.Hasher, yield func(*engine.Scanned) bool) error {
	return Tables.Scan(ctx, t, q, entities, h, yield)
}

// InsertRow stores a row that was read elsewhere, or is a copy, as a new entity (E is a
// *table.Entity) under a key. The columns that the type does not know are stored, too, but not the
// row's operation ID, incarnation, maintainer state and owner. The row must be one of the handle's
// type, as Get would read it, and is upgraded as by Get. Requests and errors are those of Insert,
// and about the row those of Get.
func InsertRow[E any](ctx context.Context, t any, k keys.Key, r *stored.Row) (e E, err error) {
	stored, err := Tables.InsertRow(ctx, t, k, r)
	e, _ = stored.(E)
	return e, err
}

// InsertRowOp is InsertRow as an operation (O is table.Op).
func InsertRowOp[O any](t any, k keys.Key, r *stored.Row) O { return Tables.InsertRowOp(t, k, r).(O) }

// NewOutbox returns an outbox (O); see package bareworker. queue is an *azqueue.QueueClient, and o
// a *table.Common.
func NewOutbox[O any](queue, o any) (O, error) {
	made, err := Workers.Outbox(queue, o)
	out, _ := made.(O)
	return out, err
}

// NewWorker returns a bareworker.Worker (W); see package bareworker. handlers is an []host.Handler,
// and o an *eventual.WorkerOptions.
func NewWorker[W any](queue, poison, handlers, o any) (W, error) {
	made, err := Workers.Worker(queue, poison, handlers, o)
	if err != nil {
		var none W
		return none, err
	}
	return made.(W), nil
}

// Insert is extend.Plan.Insert for a row of the engine.
func Insert(p any, r *stored.Row, taken error) error { return Plans.Insert(p, r, taken) }

// Put is extend.Plan.Put for a row of the engine.
func Put(p any, r *stored.Row) error { return Plans.Put(p, r) }

// PlanOf returns an extend.Plan as the engine's, whose errors are not those of derived rows.
func PlanOf(p any) *engine.Plan { return Plans.Plan(p) }

// Retake plans another content for a row that a maintainer has planned in a transaction, perhaps
// for another entity, and reports whether there is such a row. So an entity can take over what
// another entity of the transaction gives up. p is an *extend.Plan.
func Retake(p any, r *stored.Row) (bool, error) { return Plans.Retake(p, r) }

// Participant returns the plan (P is an *extend.Plan) of another partition, of any table of the
// same service, for rows that must change together with the entity, at every instant: the owner of
// a value that is unique everywhere. The write is then one over several partitions, as
// table.Table.Move is. In that plan, a row that Put or Remove names and Load has not read is read
// once, before the write is sent, and stays if it is another entity's. The partition of the table's
// writes returns p itself.
//
// Rows that are only loaded there are not protected: Put what must not change. The write needs an
// outbox. Errors: *table.ValueError for a table of another service, and for a partition of the
// library. Requests: 2 transactions more for each other partition, to prepare and to finish, and 2
// for the message.
func Participant[P any](p P, t *engine.Table, partition string) (P, error) {
	participant, err := Plans.Participant(p, t, partition)
	of, _ := participant.(P)
	return of, err
}
