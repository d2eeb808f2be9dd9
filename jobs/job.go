package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/split"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of [Job.Start]. The zero value of each field is its default.
type Options struct {
	// Pass is how the workers of the store go through the table together. Start uses Partitions,
	// Rate and Concurrency, and refuses the other fields; Status says how far the job has come. A
	// worker reads a page before it waits for the Rate. Concurrency is how many ranges may be open
	// at a time, 64 by default: above it, a range is not halved, unless a slice of it has come to
	// no row that the query finds. Set it to more than what all workers execute at a time.
	table.Pass

	// Slice is for how long a worker works on a range before it leaves the rest to another slice.
	// The first slices are shorter, so that there is soon work for all workers: six times a second,
	// and then twice as long each time; and while fewer than half of Concurrency ranges are open,
	// such as towards the end of a job, slices last 10 s. Defaults to 1 min, and to half of
	// WorkerOptions.HandlerTimeout at most.
	Slice time.Duration
}

func (o *Options) check() error {
	if err := cmp.Or(door.CheckPass(&o.Pass, "Partitions", "Rate", "Concurrency"), o.Partitions.Err()); err != nil {
		return err
	}
	switch {
	case o.Progress != nil:
		return &table.ValueError{Field: "Pass.Progress", Reason: "is set, and a job has no call to report to; see Status"}
	case o.Slice < 0:
		return &table.ValueError{Field: "Options.Slice", Reason: "is negative; 0 means 1 min"}
	}
	return nil
}

// Job is a kind of work on the rows of a table: a definition for aztablekit.Table. Its methods take
// the handle of a table that it was given to: they start jobs of the kind, each with a name of its
// own, and look at them. A Job can be a package's variable, and is safe for concurrent use.
type Job[T, P any] struct{ k *kind }

// kind is a Job without its type parameters. An argument is a P.
type kind struct {
	name   string
	work   func(ctx context.Context, s *slice, arg any) error
	check  func(arg any) error // nil for none
	arg    reflect.Type
	decode func(text string) (any, error)

	// rows reports whether slices may be rows of one partition; nil for no. byRows says that the
	// work passes its rows itself.
	rows   func(t table.Handle, arg any) bool
	byRows bool

	// needs returns why the table does not have what the work needs; nil for none.
	needs func(t table.Handle) error

	// last is done before a job is finished. Such a job is of all partitions.
	last func(ctx context.Context, t table.Handle, job string) error

	wrong error // an option that the kind does not have
}

// New is a kind of work on partitions. work works on a slice: on the partitions of s.Partitions, in
// their order. It calls s.Passed for each that it has finished, and returns the error of that. If
// it returns nil, all partitions of the slice are finished.
//
// work must be idempotent: a slice is repeated after a crash of its worker, and two workers may
// work on it at the same time. P is what [Job.Start] gives to all slices of a job, as JSON. An
// error counts as an attempt, as that of a handler of an effect does; see [extend.Handler].
//
// Errors, returned by the methods of the store and of the table: *table.ValueError for an empty
// kind and a nil work; *keys.KeyError for a kind that is too long; *table.TypeError for an arg with
// a largeentity.Blob.
func New[T, P any](kind string, work func(ctx context.Context, s *Slice[T], arg P) error) *Job[T, P] {
	j := newJob[T, P](kind)
	if work != nil {
		j.k.work = func(ctx context.Context, s *slice, arg any) error {
			return work(ctx, typed[T](s), argOf[P](arg))
		}
	}
	return j
}

//go:noinline
func newJob[T, P any](name string) *Job[T, P] {
	return &Job[T, P]{&kind{name: name, arg: reflect.TypeFor[P](), decode: decode[P]}}
}

// argOf returns an argument with its type. A nil one is that of an interface.
func argOf[P any](arg any) (of P) {
	if arg == nil {
		return of
	}
	return arg.(P)
}

func decode[P any](text string) (any, error) {
	var arg P
	err := json.Unmarshal([]byte(text), &arg)
	return arg, err
}

// Name returns the kind.
func (j *Job[T, P]) Name() string {
	if j == nil || j.k == nil {
		return ""
	}
	return j.k.name
}

// Define adds the job to the declaration of a table; aztablekit.Table calls it. The rows of its
// jobs are in a table of their own, whose name ends with jobs.
func (j *Job[T, P]) Define(d *extend.Declaration[T]) error {
	if j == nil {
		return define(d, j, nil)
	}
	return define(d, j, j.k)
}

// define adds a kind to a declaration, d. job is the definition as the program has it.
func define(d, job any, k *kind) error {
	switch {
	case k == nil || k.name == "":
		return &table.ValueError{Field: "kind", Reason: "is empty"}
	case k.work == nil:
		return &table.ValueError{Field: "work", Reason: "is nil; give a function that works on a slice"}
	case k.wrong != nil:
		return k.wrong
	}
	if err := edm.CheckStoredJSON(k.arg); err != nil {
		return err
	}
	if err := headKey.Of(k.name, "").Err(); err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	made := &bound{kind: k}
	if err := host.Attach(d, func(t table.Handle) (table.Handle, error) { return bare.Bind(t, job, made), nil }); err != nil {
		return err
	}
	return host.Needs(d, func(t table.Handle) (parts host.Parts, err error) {
		h := host.OfDeclaration(d)
		made.table = tabledoor.Of(t)
		made.typed = t
		made.ledger, err = newLedger(h, strings.TrimPrefix(t.Name(), h.Prefix)+"jobs", k.name)
		if err == nil && k.needs != nil {
			err = k.needs(t)
		}
		if err != nil {
			return parts, err
		}
		if k.last != nil {
			made.ledger.last = func(ctx context.Context, job string) error { return k.last(ctx, t, job) }
		}
		rows := made.ledger.parts
		parts.Handlers = []host.Handler{bare.NewHandler(k.name, rows, made.execute)}
		parts.Tables = []string{rows.Name()}
		parts.Ensure = []host.Task{{Name: "table " + rows.Name(), Do: door.Table(rows).Ensure}}
		parts.Daily = []host.Task{{Name: "pending effects of " + rows.Name(), Do: func(ctx context.Context) error { return notifyPending(ctx, h.Outbox, rows) }}}
		return parts, nil
	})
}

// binding returns the job of a table that the job was given to.
func (j *Job[T, P]) binding(t *table.Table[T]) (*bound, error) { return bare.BoundTo[*bound](t, j) }

// bound is a Job of a table.
type bound struct {
	*kind
	ledger *ledger
	table  tabledoor.Untyped
	typed  table.Handle // the same, a *table.Table
}

// Verifies reports whether the argument is a Verification: the job can fill a definition.
func (j *bound) Verifies() bool { return j.arg == reflect.TypeFor[Verification]() }

// isByRows reports whether slices of a job may be rows of one partition.
func (j *bound) isByRows(arg any) bool { return j.rows != nil && j.rows(j.typed, arg) }

// notifyPending notifies the workers of all ranges whose message was lost.
func notifyPending(ctx context.Context, o commit.Outbox, t table.Handle) error {
	n, is := o.(interface {
		NotifyPending(ctx context.Context, source table.Handle, age time.Duration, p *table.Pass) (table.Progress, error)
	})
	if !is {
		return nil
	}
	_, err := n.NotifyPending(ctx, t, 0, nil)
	return err
}

// Start starts a job of the kind, under a name of yours, such as the date of a job of each week.
// The workers of the store execute it. arg is what all of its slices get; at most 30 KiB as JSON.
//
// If there is a job of the name already, Start goes on with what is left of it, by the new Rate,
// Slice and Concurrency: one that was canceled, whose queue was cleared, or whose messages are
// poison. Slices that are at work then are repeated. A finished job stays finished.
//
// Errors:
//   - *table.DefinitionError for a handle without the job
//   - *table.ValueError for wrong options, a query that a job cannot divide, an arg that is no
//     JSON, and an arg or partitions that the job of the name does not have
//   - *table.LimitError for a large one
//   - *keys.KeyError for a long name and an invalid range
//   - table.ErrOutbox
//   - the errors of a write (see package table)
//
// Requests: 3; of an existing job 7 more, and the worker's 3 for each open range. Idempotent.
func (j *Job[T, P]) Start(ctx context.Context, t *table.Table[T], name string, arg P, o *Options) error {
	of, err := j.binding(t)
	if err != nil {
		return err
	}
	return of.Start(ctx, name, arg, o)
}

func (j *bound) Start(ctx context.Context, name string, arg any, o *Options) error {
	ctx, end := j.ledger.span(ctx, "Start")
	err := j.start(ctx, name, arg, o)
	end(err)
	if err != nil {
		return fmt.Errorf("jobs: Start %s %s: %w", j.name, name, err)
	}
	return nil
}

func (j *bound) start(ctx context.Context, name string, arg any, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	text, err := json.Marshal(arg)
	if err != nil {
		return &table.ValueError{Field: "arg", Reason: "cannot be stored as JSON: " + err.Error()}
	}
	if err := o.check(); err != nil {
		return err
	}
	if j.check != nil {
		if err := j.check(arg); err != nil {
			return err
		}
	}
	if j.last != nil && o.Partitions.IsSet() {
		return &table.ValueError{Field: "Pass.Partitions", Reason: "is set; a job of this kind is of the whole table, and transfer.Export takes a range"}
	}
	h := &head{Kind: j.name, Name: name, State: Running, Arg: string(text), In: o.Partitions.String(), Began: j.ledger.now()}
	h.set(o)
	first, err := firstSpan(o.Partitions, j.isByRows(arg))
	if err != nil {
		return err
	}
	r := &part{Kind: j.name, Name: name, ID: j.ledger.newID(0), Version: 1, Weight: 1}
	r.setSpan(first)
	_, err = table.Transact(ctx, j.ledger.heads.InsertOp(h), j.ledger.parts.InsertOp(r))
	if !errors.Is(err, table.ErrExists) {
		return err
	}
	_, err = j.ledger.heads.Update(ctx, keys.At(j.ledger.job(name), keys.RawRow(headRow)), func(stored *head) error {
		switch {
		case stored.State == deleting:
			return errDeleting
		case stored.In != h.In:
			return &table.ValueError{Field: "Pass.Partitions", Reason: fmt.Sprintf("is %s, and that of the job %q is %s: choose another name", h.In, name, stored.In)}
		case stored.Arg != h.Arg:
			return &table.ValueError{Field: "arg", Reason: fmt.Sprintf("is %.80s, and that of the job %q is %.80s: choose another name", h.Arg, name, stored.Arg)}
		case stored.State == Finished:
			return errNothing
		}
		stored.State, stored.Ended = Running, time.Time{}
		stored.Starts++ // a worker does the rest
		stored.set(o)
		return nil
	})
	switch {
	case errors.Is(err, errNothing):
		return nil
	case errors.Is(err, errDeleting), isAbsent(err):
		if err := j.delete(ctx, name); err != nil { // what a crash has left
			return err
		}
		return j.start(ctx, name, arg, o)
	}
	return err
}

// errDeleting ends an update of a job that is being deleted.
var errDeleting = errors.New("the job is being deleted")

// set sets what may be changed of a job.
func (h *head) set(o *Options) {
	h.Rate, h.Slice, h.Open = o.Rate, cmp.Or(o.Slice, time.Minute), cmp.Or(o.Concurrency, 64)
}

// firstSpan returns the span of a range of partitions; rows says whether it may be the rows of one.
func firstSpan(in keys.PartitionRange, rows bool) (split.Span, error) {
	if !in.IsSet() {
		return split.Span{}, nil
	}
	from, to, closed := in.Bounds()
	switch {
	case in.IsEmpty():
		return split.Span{}, &table.ValueError{Field: "Pass.Partitions", Reason: fmt.Sprintf("%v is empty", in)}
	case in.IsPoint() && rows:
		return split.Span{Within: &from}, nil
	case closed:
		to = split.Behind(to)
	}
	return split.Span{From: from, To: to}, nil
}

// Cancel ends a job: slices that are at work end within 10 s or at their next piece, and no other
// begins. What is done stays done, and Start goes on with the rest. A finished job stays finished.
// Errors: *table.DefinitionError for a handle without the job; table.ErrNotFound for no such job;
// the errors of a write (see package table). 2 requests. Idempotent.
func (j *Job[T, P]) Cancel(ctx context.Context, t *table.Table[T], name string) error {
	of, err := j.binding(t)
	if err != nil {
		return err
	}
	return of.ledger.cancel(ctx, name)
}

func (l *ledger) cancel(ctx context.Context, name string) error {
	spanned, end := l.span(ctx, "Cancel")
	_, err := l.heads.Update(spanned, keys.At(l.job(name), keys.RawRow(headRow)), func(h *head) error {
		if h.State != Running {
			return errNothing
		}
		h.State, h.Ended = Canceled, l.now()
		return nil
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	end(err)
	if err != nil {
		err = fmt.Errorf("jobs: Cancel %s %s: %w", l.kind, name, err)
	}
	return err
}

// Delete deletes the rows of a job that is finished or canceled; it may then be started anew under
// its name. Errors: *table.DefinitionError for a handle without the job; *table.ValueError for one
// that runs; the errors of a write (see package table). Requests: 4, 1 for each 1,000 ranges, and 1
// for each 100. Idempotent.
func (j *Job[T, P]) Delete(ctx context.Context, t *table.Table[T], name string) error {
	of, err := j.binding(t)
	if err != nil {
		return err
	}
	return of.Delete(ctx, name)
}

func (j *bound) Delete(ctx context.Context, name string) error {
	ctx, end := j.ledger.span(ctx, "Delete")
	err := j.delete(ctx, name)
	end(err)
	if err != nil {
		return fmt.Errorf("jobs: Delete %s %s: %w", j.name, name, err)
	}
	return nil
}

func (j *bound) delete(ctx context.Context, name string) error {
	h, err := get(ctx, j.ledger.heads, keys.At(j.ledger.job(name), keys.RawRow(headRow)))
	if err != nil || h == nil {
		return err
	}
	if h.Value.State == Running {
		return &table.ValueError{Field: "name", Reason: fmt.Sprintf("%q is that of a running job: cancel it first", name)}
	}
	h.Value.State = deleting // until the last row is deleted, so that no other call takes it for a job without ranges
	if err := j.ledger.heads.Replace(ctx, h); err != nil {
		return err
	}
	if _, err := table.Bulk(ctx, tabledoor.DeleteOps(ctx, j.ledger.parts, table.Query[part]{Partition: j.ledger.job(name)}), nil); err != nil {
		return err
	}
	if _, err := table.Bulk(ctx, tabledoor.DeleteOps(ctx, j.ledger.paids, table.Query[paid]{Partition: j.ledger.job(name)}), nil); err != nil {
		return err
	}
	err = j.ledger.heads.Delete(ctx, h)
	if isAbsent(err) {
		return nil
	}
	return err
}
