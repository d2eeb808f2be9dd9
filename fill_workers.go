package aztablekit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// verifier is a job of jobs.Repair.
type verifier interface {
	Verifies() bool
	Start(ctx context.Context, name string, arg any, o *jobs.Options) error // a jobs.Verification
	Status(ctx context.Context, name string) (jobs.Status, error)
	Delete(ctx context.Context, name string) error
}

// byWorkers fills the definitions of one type by jobs, and compares what is elsewhere. What is
// elsewhere comes first, since its writes also add the rows in the partition, and the job of those
// then finds little to do.
func (f *filler) byWorkers(ctx context.Context, t *tableToFill, d *declaration, near, far []verify.Definition) (all table.Progress, err error) {
	if d.verifier == nil {
		return all, &table.ValueError{Field: "FillOptions.Workers", Reason: fmt.Sprintf("needs a job of type %v of the table: give a jobs.Repair to its definitions", d.of)}
	}
	if len(far) > 0 {
		report, err := f.job(ctx, t, d, "elsewhere", far)
		tabledoor.AddProgress(&all, report)
		if err == nil && !f.opt.Partitions.IsSet() {
			o := &verify.Options{Pass: table.Pass{Rate: f.opt.Rate}, Fault: f.opt.Fault}
			o.Progress = func(r table.Progress) { f.tell(t, catalogue.Building, r) }
			report, err = f.compare(ctx, d, o, far)
			tabledoor.AddProgress(&all, report)
		}
		if err != nil {
			return all, err
		}
	}
	if len(near) > 0 {
		report, err := f.job(ctx, t, d, "near", near)
		tabledoor.AddProgress(&all, report)
		return all, err
	}
	return all, nil
}

// job fills definitions by a job, and waits for it. A call that was interrupted finds the job by
// its name.
func (f *filler) job(ctx context.Context, t *tableToFill, d *declaration, name string, of []verify.Definition) (table.Progress, error) {
	arg := jobs.Verification{RecordsOnly: true}
	for _, definition := range of {
		arg.Definitions = append(arg.Definitions, definition.Name())
	}
	name = "fill/" + name + "/" + tokenPrefix(t, door.Table(d.handle).Mode.Schema.Scope(), f.opt.Partitions)
	status, err := d.verifier.Status(ctx, name)
	isNew := errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound)
	if isNew || err == nil && (status.State == jobs.Canceled || len(status.Failures) > 0) {
		err = d.verifier.Start(ctx, name, arg, &jobs.Options{Pass: table.Pass{Partitions: f.opt.Partitions, Rate: f.opt.Rate}})
		status = jobs.Status{State: jobs.Running}
	}
	for began := time.Now(); err == nil && status.State == jobs.Running && !f.allFail(status); {
		pause := min(time.Since(began)/lookPart, lastLook)
		if status.Left > 0 {
			pause = min(pause, status.Left/2)
		}
		if err = pace.Sleep(ctx, max(pause, firstLook)); err == nil {
			status, err = d.verifier.Status(ctx, name)
			f.tell(t, catalogue.Building, reportOf(status))
		}
	}
	fail := func(reason string, args ...any) (table.Progress, error) {
		return reportOf(status), fmt.Errorf("%w: job %q: %s", ErrUnfilled, name, fmt.Sprintf(reason, args...))
	}
	switch {
	case errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound):
		return fail("another call has ended it; call Fill again")
	case err != nil:
		return reportOf(status), err
	case status.State == jobs.Canceled:
		return fail("it was canceled; call Fill again")
	case status.State == jobs.Running:
		return fail("%d ranges of it fail, such as by: %s; mend the cause and call Fill again", status.Open, status.Failures[0].Error)
	}
	err = d.verifier.Delete(ctx, name)
	if status.Faults > 0 {
		_, unfilled := fail("workers have found %d faults that they cannot repair, and logged them; Store.Verify lists them", status.Faults)
		err = errors.Join(unfilled, err)
	}
	return reportOf(status), err
}

// allFail reports whether nothing is left of a job but ranges whose messages are poison.
func (f *filler) allFail(s jobs.Status) bool {
	return s.Open > 0 && !slices.ContainsFunc(s.Failures, func(fail jobs.Failure) bool { return fail.Attempts < f.attempts }) && len(s.Failures) == s.Open
}

// How often Fill looks how far the workers have come: after a part of the time that they have
// worked, and more often when little is left.
const (
	firstLook = 250 * time.Millisecond
	lookPart  = 20
	lastLook  = 5 * time.Second
)

// reportOf returns what the slices of a job have reported.
func reportOf(s jobs.Status) table.Progress {
	return table.Progress{Rows: s.Rows, Changed: s.Changed, Faults: s.Faults, Counts: map[string]int{derived.Failed: s.Faults}}
}
