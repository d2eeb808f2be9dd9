package jobs

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// The states of a job.
const (
	Running  = "running"
	Canceled = "canceled"
	Finished = "finished"

	deleting = "deleting" // as if there were no such job
)

// Status is how far a job has come.
type Status struct {
	Kind  string
	Name  string
	State string // Running, Canceled or Finished
	Began time.Time
	Ended time.Time // when it was finished or canceled

	Ranges, Open int // ranges, and those that are not done

	// What slices have counted that are stored. A slice that is at work counts at its end, and one
	// that has crashed does not: a later one counts its rows, but not as changed, unless it changes
	// them again. Rows that it has deleted or archived are not counted.
	Rows, Changed, Faults int

	// Part is which part of the work is done, from 0 to 1, and Left how long the rest takes at the
	// speed so far; 0 if it is not known. Both are estimates by the keys, as if rows lay as close
	// everywhere.
	Part float64
	Left time.Duration

	Failures []Failure // of ranges whose last slice has failed

	weight float64 // of what is left
}

// Failure is why the last slice of a range has failed. After eventual.WorkerOptions.Attempts, the
// message of the range is in the poison queue: replay it, or start the job again.
type Failure struct {
	From     string // where the range begins: a PartitionKey, or a RowKey of Within
	Within   string
	Attempts int
	Error    string
	Time     time.Time
}

// Status returns how far a job has come. Anybody may call it. Errors: *table.DefinitionError for a
// handle without the job; table.ErrNotFound for no such job; the errors of a read (see package
// table). Requests: 1, and 1 for each 1,000 ranges.
func (j *Job[T, P]) Status(ctx context.Context, t *table.Table[T], name string) (Status, error) {
	of, err := j.binding(t)
	if err != nil {
		return Status{}, err
	}
	return of.Status(ctx, name)
}

func (j *bound) Status(ctx context.Context, name string) (Status, error) {
	s, err := j.status(ctx, name)
	if err != nil {
		return Status{}, fmt.Errorf("jobs: Status %s %s: %w", j.name, name, err)
	}
	return s, nil
}

func (j *bound) status(ctx context.Context, name string) (s Status, err error) {
	h, err := j.ledger.head(ctx, name)
	if err != nil {
		return s, err
	}
	if h.Value.State == deleting {
		return s, fmt.Errorf("it is being deleted: %w", table.ErrNotFound)
	}
	s = newStatus(&h.Value)
	for r, err := range j.ledger.parts.List(ctx, table.Query[part]{Partition: j.ledger.job(name)}) {
		if err != nil {
			return s, err
		}
		s.add(&r.Value)
	}
	s.estimate()
	return s, nil
}

func newStatus(h *head) Status {
	return Status{Kind: h.Kind, Name: h.Name, State: h.State, Began: h.Began, Ended: h.Ended}
}

// estimate makes Part and Left of the sums of the ranges.
func (s *Status) estimate() {
	switch all := s.Part + s.weight; {
	case s.State == Finished:
		s.Part = 1
	case all > 0 && s.Part >= 0 && s.weight >= 0:
		s.Part /= all
	default:
		s.Part = 0
	}
	left := float64(max(time.Since(s.Began), 0)) * (1 - s.Part) / s.Part
	if s.State == Running && left < float64(100*365*24*time.Hour) { // else nothing is known yet
		s.Left = time.Duration(left)
	}
}

func (s *Status) add(r *part) {
	s.Ranges++
	s.Rows += r.Rows
	s.Changed += r.Changed
	s.Faults += r.Faults
	s.Part += r.Passed
	s.weight += r.Weight
	if r.Done {
		return
	}
	s.Open++
	if r.Attempts > 0 {
		f := Failure{From: r.From, Attempts: r.Attempts, Error: r.Error, Time: r.Failed}
		if r.Within != nil {
			f.Within = *r.Within
		}
		s.Failures = append(s.Failures, f)
	}
}

// List yields the jobs of a table, of all kinds, in the order of their kinds and names, also to a
// program that does not declare them. The name of the table is that of the store. Errors:
// *table.ValueError for a store or name that cannot be used; table.ErrNotCreated for a table that
// never had jobs; the other errors of a read (see package table). Requests: 1 for each 1,000 jobs
// and ranges.
func List(ctx context.Context, s extend.Store, tableName string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		fail := func(err error) { yield(Status{}, fmt.Errorf("jobs: List %s: %w", tableName, err)) }
		l, err := newLedger(undeclared(s), tableName+"jobs", "list")
		if err != nil {
			fail(err)
			return
		}
		rows, err := table.NewMixed(l.heads, l.parts)
		if err != nil {
			fail(err)
			return
		}
		var at *Status // its ranges follow it
		give := func() bool {
			if at == nil || at.State == deleting {
				return true
			}
			at.estimate()
			return yield(*at, nil)
		}
		for r, err := range rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
			if err != nil {
				fail(err)
				return
			}
			switch e := r.(type) {
			case *table.Entity[head]:
				if !give() {
					return
				}
				s := newStatus(&e.Value)
				at = &s
			case *table.Entity[part]:
				if at != nil && at.Kind == e.Value.Kind && at.Name == e.Value.Name { // else what a crash has left of a deleted job
					at.add(&e.Value)
				}
			}
		}
		give()
	}
}

// Cancel is [Job.Cancel] for a program that does not declare the job. The name of the table is that
// of the store.
func Cancel(ctx context.Context, s extend.Store, tableName, kind, name string) error {
	l, err := newLedger(undeclared(s), tableName+"jobs", kind)
	if err != nil {
		return fmt.Errorf("jobs: Cancel %s %s: %w", kind, name, err)
	}
	return l.cancel(ctx, name)
}

// undeclared returns a store that claims no table: that of jobs belongs to their declaration, which
// the program may have, or another one.
func undeclared(s extend.Store) extend.Store {
	h := *host.Of(s)
	h.Registry = nil
	return &h
}
