package recipe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/table"
)

// Do adds a step to the report: what it does, and the requests that f makes.
func (r *Run) Do(what string, f func() error) error {
	return r.step(Step{What: what}, f)
}

// Ask adds a step that queries. The report shows the query's class and what is sent to the service.
func (r *Run) Ask(what string, ex table.Explanation, f func() error) error {
	return r.step(Step{What: what, Class: ex.Class, Filter: ex.Filter, Select: ex.Select}, f)
}

// Naive adds a step that works without the pattern, to compare its requests.
func (r *Run) Naive(what string, f func() error) error {
	return r.step(Step{What: what, Naive: true}, f)
}

// NaiveQuery is Ask for a step that works without the pattern.
func (r *Run) NaiveQuery(what string, ex table.Explanation, f func() error) error {
	return r.step(Step{What: what, Naive: true, Class: ex.Class, Filter: ex.Filter, Select: ex.Select}, f)
}

// Answer adds a line to the result of the step. In a child process, it prints the line.
func (r *Run) Answer(format string, args ...any) {
	text := r.stable(fmt.Sprintf(format, args...))
	if r.answers != nil {
		fmt.Fprintln(r.answers, text)
		return
	}
	s := &r.report.Steps[len(r.report.Steps)-1]
	s.Answers = append(s.Answers, text)
}

// Refused adds the expected refusal of an operation to the result of the step. If err is nil or
// another error, the step fails.
func (r *Run) Refused(err, want error) error {
	if err == nil {
		return fmt.Errorf("got no error, want: %w", want)
	}
	if !errors.Is(err, want) {
		return fmt.Errorf("got error: %w; want: %w", err, want)
	}
	r.Answer("refused: %v", want)
	return nil
}

// Held expects that another holder has a lease, and adds that to the report.
func (r *Run) Held(err error) error {
	if !errors.As(err, new(*lease.HeldError)) {
		return fmt.Errorf("got error: %v; want a *lease.HeldError", err)
	}
	r.Answer("refused: another holder has the lease")
	return nil
}

// Stored adds all rows of a table to the report.
func (r *Run) Stored(ctx context.Context, name string) error {
	rows, err := bare.NewTable(r.Tables(), r.TableName(name), table.Schema[struct{}]{}, nil)
	if err != nil {
		return err
	}
	return r.showRows("rows of table "+name, rows.Rows(ctx, table.Query[struct{}]{TableScan: true}))
}

// Library adds the library's own rows of a partition to the report.
func (r *Run) Library(ctx context.Context, name, partition string) error {
	return r.ofLibrary(ctx, "rows of the library in table "+name, name, partition, keyrange.Stored("~", "~~"))
}

// Records adds the commit records of a partition to the report.
func (r *Run) Records(ctx context.Context, name, partition string) error {
	return r.ofLibrary(ctx, "commit records of table "+name, name, partition, keyrange.Stored(reserved.CommitRecord, strings.TrimSuffix(reserved.CommitRecord, "|")+"}"))
}

func (r *Run) ofLibrary(ctx context.Context, what, name, partition string, rows keys.RowRange) error {
	handle, err := bare.NewTable(r.Tables(), r.TableName(name), table.Schema[table.Row]{}, nil)
	if err != nil {
		return err
	}
	q := table.Query[table.Row]{Partition: keys.RawPartition(partition), Rows: rows}
	return r.showRows(what, handle.Rows(ctx, q))
}

func (r *Run) step(s Step, f func() error) error {
	r.service.counter.Take()
	r.service.recorder.take()
	s.Filter = strings.ReplaceAll(s.Filter, "\u00a0", `\u00a0`) // it looks like a space
	r.report.Steps = append(r.report.Steps, s)
	err := f()
	last := &r.report.Steps[len(r.report.Steps)-1]
	last.Requests = r.service.counter.Take()
	for _, x := range r.service.recorder.take() {
		x.What = r.stable(x.What)
		last.Sequence = append(last.Sequence, x)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.What, err)
	}
	return nil
}

func (r *Run) showRows(what string, rows iter.Seq2[*table.Row, error]) error {
	s := Step{What: what, Rows: []StoredRow{}}
	for row, err := range rows {
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, StoredRow{row.Key.PartitionKey(), r.stable(row.Key.RowKey()), r.properties(row)})
	}
	r.report.Steps = append(r.report.Steps, s)
	return nil
}

// properties returns the properties of a row as name=value. Long values are cut.
func (r *Run) properties(row *table.Row) []string {
	const limit = 40
	var out []string
	for name, value := range row.All() {
		if name == "_op" {
			continue // the first line of the catalogue says so
		}
		s := r.stable(fmt.Sprint(value))
		n := len(s)
		switch v := value.(type) {
		case []byte:
			n = len(v)
			if text, is := stored.StateText(v); is && name == "_ix" { // packed, its length differs with random IDs
				v, n = text, len(r.stable(string(text)))
			}
			s = r.stable(strconv.Quote(string(v)))
		case time.Time: // of the entity: only the library's own times are in texts
			s = v.Format(time.RFC3339)
			if time.Since(v).Abs() < 48*time.Hour { // of this run
				s = "TIME"
			}
		}
		if len(s) > limit {
			s = fmt.Sprintf("%s… (%d bytes)", s[:limit], n)
		}
		out = append(out, name+"="+s)
	}
	return out
}

// stable returns a text without what differs from run to run: prefixes of names, random IDs and
// times.
func (r *Run) stable(s string) string {
	if r.prefix != "" {
		s = strings.ReplaceAll(s, r.prefix, "")
	}
	s = storedTime.ReplaceAllString(s, "TIME")
	s = storedHour.ReplaceAllString(s, "${1}HOUR")
	return randomID.ReplaceAllStringFunc(s, func(id string) string {
		if r.randomIDs == nil {
			r.randomIDs = map[string]string{}
		}
		if r.randomIDs[id] == "" {
			kind := map[int]string{16: "LIFE", 26: "OP"}[len(id)]
			n := 1
			for _, shown := range r.randomIDs {
				if strings.HasPrefix(shown, kind) {
					n++
				}
			}
			r.randomIDs[id] = fmt.Sprint(kind, n)
		}
		return r.randomIDs[id]
	})
}

// storedTime matches the times that the library stores.
var storedTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// storedHour matches the hours of ends in RowKeys, and in what records them.
var storedHour = regexp.MustCompile(`(end_|ends_|\^)20[2-9]\d{7}`)

// randomID matches operation IDs and incarnations.
var randomID = regexp.MustCompile(`\b([0-9A-Z]{26}|[0-9A-Z]{16})\b`)
