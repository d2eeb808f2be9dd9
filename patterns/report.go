package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/requests"
)

// report is the result of a recipe.
type report struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Guide   []string `json:"guide"`
	Related []string `json:"related,omitempty"`
	Problem string   `json:"problem"`
	Steps   []step   `json:"steps,omitempty"`
	Error   string   `json:"error,omitempty"`

	Consistency string      `json:"consistency"`
	Compared    *comparison `json:"compared,omitempty"`

	number, of int // of this run
	failed     error
}

// progress returns a text such as 3 of 41.
func (r report) progress() string { return fmt.Sprintf("%d of %d", r.number, r.of) }

// comparison is the cost of a pattern, and of the way without it.
type comparison struct {
	What       string          `json:"what"` // the measured step
	Requests   requests.Counts `json:"requests"`
	Naive      requests.Counts `json:"naive,omitempty"` // nil if the recipe does not show the way without the pattern
	NaiveGrows string          `json:"naiveGrows,omitempty"`
}

// compare sums up the steps whose descriptions begin with these texts.
func (r *report) compare(measured []string, naiveGrows string) {
	c := &comparison{Requests: requests.Counts{}, NaiveGrows: naiveGrows}
	add := func(sum, n requests.Counts) {
		for kind, n := range n {
			sum[kind] += n
		}
	}
	for _, prefix := range measured {
		i := slices.IndexFunc(r.Steps, func(s step) bool { return !s.Naive && strings.HasPrefix(s.What, prefix) })
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

// step is one step of a recipe: an operation with its requests, or the rows that are stored at that
// point.
type step struct {
	What     string          `json:"what"`
	Naive    bool            `json:"naive,omitempty"`
	Class    string          `json:"class,omitempty"`
	Filter   string          `json:"filter,omitempty"`
	Select   string          `json:"select,omitempty"`
	Answers  []string        `json:"answers,omitempty"`
	Rows     []storedRow     `json:"rows,omitempty"`
	Requests requests.Counts `json:"requests,omitempty"`
	Sequence []request       `json:"sequence,omitempty"` // the requests in the order in which they were sent
}

type storedRow struct {
	PartitionKey string   `json:"partitionKey"`
	RowKey       string   `json:"rowKey"`
	Properties   []string `json:"properties"`
}

// print writes the report as text.
func (r report) print(out io.Writer) {
	fmt.Fprintf(out, "== %s: %s (%s) [%s]\n", r.Name, r.Title, strings.Join(r.Guide, ", "), r.progress())
	fmt.Fprintf(out, "%s\n\n", wrap(r.Problem, 100))
	for _, s := range r.Steps {
		s.print(out)
	}
	if r.Error != "" {
		fmt.Fprintf(out, "FAILED: %s\n", r.Error)
	}
	fmt.Fprintln(out)
}

func (s step) print(out io.Writer) {
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

// wrap breaks a text into lines of at most width bytes.
func wrap(s string, width int) string {
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
