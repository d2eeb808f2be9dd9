package recipe

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/requests"
)

// Report is the result of a recipe.
type Report struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Guide   []string `json:"guide"`
	Related []string `json:"related,omitempty"`
	Problem string   `json:"problem"`
	Steps   []Step   `json:"steps,omitempty"`
	Error   string   `json:"error,omitempty"`

	Consistency string      `json:"consistency"`
	Compared    *Comparison `json:"compared,omitempty"`

	Number, Of int   `json:"-"` // of the recipes that run
	Failed     error `json:"-"`
}

// Progress returns a text such as 3 of 41.
func (r Report) Progress() string { return fmt.Sprintf("%d of %d", r.Number, r.Of) }

// Comparison is the cost of a pattern, and of the way without it.
type Comparison struct {
	What       string          `json:"what"` // the measured step
	Requests   requests.Counts `json:"requests"`
	Naive      requests.Counts `json:"naive,omitempty"` // nil if the recipe does not show the way without the pattern
	NaiveGrows string          `json:"naiveGrows,omitempty"`
}

// compare sums up the steps whose descriptions begin with these texts.
func (r *Report) compare(measured []string, naiveGrows string) {
	c := &Comparison{Requests: requests.Counts{}, NaiveGrows: naiveGrows}
	add := func(sum, n requests.Counts) {
		for kind, n := range n {
			sum[kind] += n
		}
	}
	for _, prefix := range measured {
		i := slices.IndexFunc(r.Steps, func(s Step) bool { return !s.Naive && strings.HasPrefix(s.What, prefix) })
		if i < 0 {
			return // the recipe failed before
		}
		add(c.Requests, r.Steps[i].Requests)
		if c.What != "" {
			c.What += ", and "
		}
		what, _, _ := strings.Cut(r.Steps[i].What, ": ") // the requests in words
		c.What += what
	}
	for _, s := range r.Steps {
		if s.Naive && len(s.Requests) > 0 {
			c.Naive = s.Requests
		}
	}
	r.Compared = c
}

// Step is one step of a recipe: an operation with its requests, or the rows that are stored at that
// point.
type Step struct {
	What     string          `json:"what"`
	Naive    bool            `json:"naive,omitempty"`
	Class    string          `json:"class,omitempty"`
	Filter   string          `json:"filter,omitempty"`
	Select   string          `json:"select,omitempty"`
	Answers  []string        `json:"answers,omitempty"`
	Rows     []StoredRow     `json:"rows,omitempty"`
	Requests requests.Counts `json:"requests,omitempty"`
	Sequence []Request       `json:"sequence,omitempty"` // the requests in the order in which they were sent
}

// StoredRow is a row of a table.
type StoredRow struct {
	PartitionKey string   `json:"partitionKey"`
	RowKey       string   `json:"rowKey"`
	Properties   []string `json:"properties"`
}

// Print writes the report as text.
func (r Report) Print(out io.Writer) {
	fmt.Fprintf(out, "== %s: %s (%s) [%s]\n", r.Name, r.Title, strings.Join(r.Guide, ", "), r.Progress())
	fmt.Fprintf(out, "%s\n\n", Wrap(r.Problem, 100))
	for _, s := range r.Steps {
		s.print(out)
	}
	if r.Error != "" {
		fmt.Fprintf(out, "FAILED: %s\n", r.Error)
	}
	fmt.Fprintln(out)
}

func (s Step) print(out io.Writer) {
	if s.Rows != nil {
		fmt.Fprintf(out, "   %s:\n", s.What)
		widths := [2]int{}
		for _, r := range s.Rows {
			widths[0], widths[1] = max(widths[0], len(r.PartitionKey)), max(widths[1], len(r.RowKey))
		}
		for _, r := range s.Rows {
			line := fmt.Sprintf("%-*s | %-*s | %s", widths[0], r.PartitionKey, widths[1], r.RowKey, strings.Join(r.Properties, " "))
			fmt.Fprintf(out, "      %s\n", strings.TrimRight(line, " "))
		}
		if len(s.Rows) == 0 {
			fmt.Fprintln(out, "      (none)")
		}
		return
	}
	mark := "-"
	if s.Naive {
		mark = "~ without the pattern:"
	}
	fmt.Fprintf(out, " %s %s\n", mark, s.What)
	if s.Class != "" {
		fmt.Fprintf(out, "      %s: %s\n", s.Class, s.Filter)
	}
	if s.Select != "" {
		fmt.Fprintf(out, "      select: %s\n", s.Select)
	}
	for _, a := range s.Answers {
		fmt.Fprintf(out, "      → %s\n", a)
	}
	fmt.Fprintf(out, "      requests: %v\n", s.Requests)
}

// Wrap breaks a text into lines of at most width bytes.
func Wrap(s string, width int) string {
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(s) {
		switch {
		case n > 0 && n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		case n > 0:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
