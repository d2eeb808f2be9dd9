package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/exports"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// Export is a kind that exports the table; see [transfer.Export]. place returns where the export of
// a job is stored, by the name of the job: a container, or a folder that all workers share.
//
//	backup := jobs.Export[Employee]("backup", func(job string) transfer.Place {
//		return transfer.Container(backups, job+"/staff", nil)
//	})
//
// Status counts the rows of slices that have ended in order, which may be fewer than the export
// has. When the job is finished, the export is complete. The rows of one partition are exported by
// one worker at a time. A slice ends behind a chunk, so short slices last some seconds. Such a job
// is of the whole table: Pass.Partitions is refused. An export that is older than its job, as after
// Delete and another Start of one name, makes the messages poison: take a name, and a place, for
// each export.
//
// Requests: those of transfer.Export, for each slice 2 to read the manifest, and at the end 1 for
// each range, and 2 for its chunk; see also [Rows].
func Export[T any](kind string, place func(job string) transfer.Place) *Job[T, struct{}] {
	if place == nil {
		return New[T, struct{}](kind, nil)
	}
	to := func(job string) (transfer.Place, error) {
		if at := place(job); at != nil {
			return at, nil
		}
		return nil, eventual.Poison(&table.ValueError{Field: "place", Reason: "has returned no place for the job " + job})
	}
	j := newJob[T, struct{}](kind)
	j.k.work = func(ctx context.Context, s *slice, _ any) error {
		at, err := to(s.job)
		if err != nil {
			return err
		}
		return export[T](ctx, s, at)
	}
	// It exports what lies between the ranges of the job, where there were hardly any rows.
	j.k.last = func(ctx context.Context, t table.Handle, job string) error {
		at, err := to(job)
		if err == nil {
			_, err = transfer.Export(ctx, t.(*table.Table[T]), at, &transfer.ExportOptions{ChunkTime: chunkTime, GoOn: true})
		}
		return err
	}
	return j
}

// export exports what is left of the partitions of a slice.
func export[T any](ctx context.Context, s *slice, to transfer.Place) error {
	p := newPieces(ctx, s)
	rows := 0
	// The export is the job's, which may stand for days: GoOn.
	o := &transfer.ExportOptions{Part: s.partitions, ChunkTime: chunkTime, GoOn: true}
	o.Concurrency, o.Rate = 1, s.rate
	o.Progress = func(r table.Progress) {
		s.Count(r.Changed-rows, 0, 0)
		s.addCounts() // the chunk is stored, also if no partition ends with it
		rows = r.Changed
		if through := r.Through.Partition(); through.IsSet() && s.partitions.Contains(through.String()) {
			p.passed(s.passPartition(p.ctx, through))
			return
		}
		p.passed(cmp.Or(s.pay(p.ctx), s.Check(p.ctx)))
	}
	_, err := transfer.Export(exports.NotBefore(p.ctx, s.began.Add(-clocks)), s.typed.(*table.Table[T]), to, o)
	if errors.As(err, new(*transfer.FileError)) {
		return eventual.Poison(fmt.Errorf("%w; choose another name for the job", err))
	}
	return p.end(err)
}

// chunkTime is how long the chunks of a slice last, and clocks by how much those of machines may
// differ.
const (
	chunkTime = 10 * time.Second
	clocks    = time.Hour
)
