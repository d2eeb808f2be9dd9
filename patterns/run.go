package main

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// recipe is one pattern.
type recipe struct {
	name    string   // for the command line
	title   string   // in a line
	guide   []string // the requirements of the guide that it shows
	problem string   // what one meets without it
	run     func(context.Context, *Run) error
	other   func(context.Context, *Run, []string) error // what another process does, if the recipe needs one
}

func (r recipe) head() report {
	problem := strings.Join(strings.Fields(r.problem), " ") // it is wrapped in the source
	return report{Name: r.name, Title: r.title, Guide: r.guide, Problem: problem}
}

// Run is what a recipe has of the catalogue: tables of its own, and a report. Everything else it does by the library's
// public packages, so a copy needs only the lines with Run replaced.
type Run struct {
	service *service
	prefix  string
	tables  []string // as they are called in the account
	queues  []string
	names   map[string]string // that were random, and how they are shown
	report  report
}

// Tables is the SDK's client of the Table service.
func (r *Run) Tables() table.Service { return r.service.acc.Tables() }

// Account is the account, for what only it can do.
func (r *Run) Account() *account.Account { return r.service.acc }

// Counter counts the requests that are shown; a client that a recipe makes itself takes it.
func (r *Run) Counter() *table.Counter { return &r.service.counter }

// Emulated tells that the service is an emulator, which takes requests without encryption.
func (r *Run) Emulated() bool { return r.service.emulated }

// Table returns the name under which a table called name stands in the account.
func (r *Run) Table(name string) string {
	full := r.prefix + name
	for _, t := range r.tables {
		if t == full {
			return full
		}
	}
	r.tables = append(r.tables, full)
	return full
}

// Queue is the client of a queue called name in the catalogue.
func (r *Run) Queue(name string) *azqueue.QueueClient {
	full := r.prefix + name
	if !slices.Contains(r.queues, full) {
		r.queues = append(r.queues, full)
	}
	return r.service.acc.Queue(full)
}

// Do is a step: what it does, and the requests that it takes.
func (r *Run) Do(what string, f func() error) error {
	return r.step(step{What: what}, f)
}

// Ask is a step that queries: with the query's class and what is sent.
func (r *Run) Ask(what string, ex table.Explanation, f func() error) error {
	return r.step(step{What: what, Class: ex.Class.String(), Filter: ex.Filter, Select: ex.Select}, f)
}

// Naive is what one would do without the pattern: only its requests are shown.
func (r *Run) Naive(what string, f func() error) error {
	return r.step(step{What: what, Naive: true}, f)
}

// Answer is a line of what a step has found.
func (r *Run) Answer(format string, args ...any) {
	s := &r.report.Steps[len(r.report.Steps)-1]
	s.Answers = append(s.Answers, r.plain(fmt.Sprintf(format, args...)))
}

func (r *Run) step(s step, f func() error) error {
	r.service.counter.Take()
	s.Filter = strings.ReplaceAll(r.plain(s.Filter), keys.FirstAboveReserved, `\u00a0`) // which looks like a space
	r.report.Steps = append(r.report.Steps, s)
	err := f()
	last := &r.report.Steps[len(r.report.Steps)-1]
	last.Requests = r.service.counter.Take()
	if err != nil {
		return fmt.Errorf("%s: %w", s.What, err)
	}
	return nil
}

// plain calls the tables by their plain names.
func (r *Run) plain(s string) string {
	if r.prefix != "" {
		s = strings.ReplaceAll(s, r.prefix, "")
	}
	s = times.ReplaceAllString(s, "TIME")
	return byChance.ReplaceAllStringFunc(s, func(name string) string {
		if r.names == nil {
			r.names = map[string]string{}
		}
		if r.names[name] == "" {
			kind := map[int]string{16: "LIFE", 26: "OP"}[len(name)]
			n := 1
			for _, shown := range r.names {
				if strings.HasPrefix(shown, kind) {
					n++
				}
			}
			r.names[name] = fmt.Sprint(kind, n)
		}
		return r.names[name]
	})
}

// times are those that the library notes.
var times = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// byChance are the operation IDs, and the lives of entities.
var byChance = regexp.MustCompile(`\b([0-9A-Z]{26}|[0-9A-Z]{16})\b`)

// Stored shows every row of a table as it is.
func (r *Run) Stored(ctx context.Context, name string) error {
	rows, err := table.New(r.Tables(), r.Table(name), table.Schema[struct{}]{}, nil)
	if err != nil {
		return err
	}
	return r.stored("stored in "+name, rows.Rows(ctx, table.Query[struct{}]{TableScan: true}))
}

// Library shows the rows that the library keeps in a partition besides the entities.
func (r *Run) Library(ctx context.Context, name, partition string) error {
	rows, err := table.New(r.Tables(), r.Table(name), table.Schema[table.Row]{}, nil)
	if err != nil {
		return err
	}
	q := table.Query[table.Row]{Partition: keys.Raw(partition), Rows: keys.StoredBetween("~", "~~")}
	return r.stored("besides, in "+name, rows.Untyped(false).Rows(ctx, q))
}

func (r *Run) stored(what string, rows iter.Seq2[*table.Row, error]) error {
	s := step{What: what, Rows: []storedRow{}}
	for row, err := range rows {
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, storedRow{row.Key.PartitionKey(), r.plain(row.Key.RowKey()), r.properties(row)})
	}
	r.report.Steps = append(r.report.Steps, s)
	return nil
}

// insert is Insert for recipes that do not need the entity.
func insert[T any](ctx context.Context, t *table.Table[T], v *T) error {
	_, err := t.Insert(ctx, v)
	return err
}

// properties writes a row's properties, long ones cut.
func (r *Run) properties(row *table.Row) []string {
	const most = 40
	var out []string
	for name, value := range row.All() {
		if name == "_op" {
			continue // see the catalogue's first line
		}
		s := r.plain(fmt.Sprint(value))
		n := len(s)
		if b, is := value.([]byte); is {
			s, n = r.plain(strconv.Quote(string(b))), len(b)
		}
		if len(s) > most {
			s = fmt.Sprintf("%s… (%d bytes)", s[:most], n)
		}
		out = append(out, name+"="+s)
	}
	return out
}
