// Package archivedirectory keeps the reports of departments in a table, moves old ones to files, and back.
package archivedirectory

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Report is stored by department.
type Report struct {
	Department string
	Number     int
	Title      string
}

var (
	dept   = keys.Partition(keys.Text(), func(r *Report) *string { return &r.Department })
	number = keys.Row(keys.Digits[int](6).Named("report"), func(r *Report) *int { return &r.Number })
)

// Reports is the reports in the table, and those in files.
type Reports struct {
	*aztablekit.Store
	Current *table.Table[Report]
	former  *archive.Mover[Report]
}

// Open declares the table of the reports, and their archive in a folder that exists. Call Ensure of the result when the program starts, and
// Run in one program, which executes the moves.
func Open(acc aztablekit.Account, folder string, o *aztablekit.Options) *Reports {
	s := aztablekit.Open(acc, "reports", o)
	former := archive.Into[Report]("reports", Directory(folder))
	return &Reports{s, aztablekit.Table(s, "Current", dept, number, former), former}
}

// Archive requests the move of a report to a file, unless another program has changed the report (table.ErrChanged). 3 requests.
func (r *Reports) Archive(ctx context.Context, e *table.Entity[Report]) error {
	return r.former.Archive(ctx, r.Current, e)
}

// Find returns a report, and whether it is in a file, table.ErrNotFound if it is in neither place. 1 request.
func (r *Reports) Find(ctx context.Context, department string, n int) (Report, bool, error) {
	e, archived, err := r.former.Find(ctx, r.Current, keys.At(dept.Of(department), number.Of(n)))
	if err != nil {
		return Report{}, false, err
	}
	return e.Value, archived, nil
}

// Restore moves a report back to the table, table.ErrNotFound if no file contains it, table.ErrIncomplete if its move has not ended. 4 requests.
func (r *Reports) Restore(ctx context.Context, department string, n int) error {
	_, err := r.former.Restore(ctx, r.Current, keys.At(dept.Of(department), number.Of(n)))
	return err
}
