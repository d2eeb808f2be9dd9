package aztablekit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// verifier is a job of jobs.Verify.
type verifier interface {
	Start(ctx context.Context, name string, arg jobs.Verification, o *jobs.Options) error
	Status(ctx context.Context, name string) (jobs.Status, error)
	Delete(ctx context.Context, name string) error
}

// byWorkers fills the definitions of one type by jobs, and compares what is elsewhere: first what is elsewhere, since a write for a row in the partition would
// record a value elsewhere that another entity has.
func (f *filler) byWorkers(ctx context.Context, t *tableToFill, d *declaration, near, far []verify.Definition) (all verify.Report, err error) {
	if d.verifier == nil {
		return all, &table.ValueError{Field: "FillOptions.Workers", Reason: fmt.Sprintf("needs a job of type %v of the table: give a jobs.Verify to its definitions", d.of)}
	}
	if len(far) > 0 {
		report, err := f.job(ctx, t, d, "elsewhere", far)
		all.Add(report)
		if err == nil && !f.opt.Partitions.IsSet() {
			o := &verify.Options{Repair: true, Rate: f.opt.Rate, Fault: f.opt.Fault}
			o.Progress = func(r verify.Report) { f.tell(t, Progress{State: string(catalogue.Building), Report: r}) }
			report, err = f.compare(ctx, d, o, far)
			all.Add(report)
		}
		if err != nil {
			return all, err
		}
	}
	if len(near) > 0 {
		report, err := f.job(ctx, t, d, "near", near)
		all.Add(report)
		return all, err
	}
	return all, nil
}

// job fills definitions by a job, and waits for it. A call that was interrupted finds the job by its name.
func (f *filler) job(ctx context.Context, t *tableToFill, d *declaration, name string, of []verify.Definition) (verify.Report, error) {
	arg := jobs.Verification{Repair: true, RecordsOnly: true}
	for _, definition := range of {
		arg.Definitions = append(arg.Definitions, definition.Name())
	}
	name = "fill/" + name + "/" + tokenPrefix(t, door.Table(d.handle).Mode.Schema.Scope(), f.opt.Partitions)
	status, err := d.verifier.Status(ctx, name)
	if errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrTableNotFound) || status.State == jobs.Canceled {
		err = d.verifier.Start(ctx, name, arg, &jobs.Options{Partitions: f.opt.Partitions, Rate: f.opt.Rate})
		status.State = jobs.Running
	}
	for pause := firstLook; err == nil && status.State == jobs.Running; pause = min(2*pause, lastLook) {
		if err = pace.Sleep(ctx, pause); err == nil {
			status, err = d.verifier.Status(ctx, name)
			f.tell(t, Progress{State: string(catalogue.Building), Report: reportOf(status)})
		}
	}
	switch {
	case err != nil:
		return reportOf(status), err
	case status.State == jobs.Canceled:
		return reportOf(status), fmt.Errorf("%w: the job %q of its workers was canceled; call Fill again", ErrUnfilled, name)
	}
	err = d.verifier.Delete(ctx, name)
	if status.Faults > 0 {
		err = fmt.Errorf("%w: workers have found %d faults that they cannot repair, and logged them; Store.Verify lists them", ErrUnfilled, status.Faults)
	}
	return reportOf(status), err
}

// How often Fill looks how far the workers have come.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 5 * time.Second
)

// reportOf returns what the slices of a job have reported.
func reportOf(s jobs.Status) verify.Report {
	return verify.Report{Entities: s.Rows, Repaired: s.Changed, Failed: s.Faults, Faults: map[verify.FaultKind]int{}}
}
