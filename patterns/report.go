package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/aztablekit/aztablekit/requests"
)

// report is the result of a recipe.
type report struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Guide   []string `json:"guide"`
	Problem string   `json:"problem"`
	Steps   []step   `json:"steps,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// step is one step of a recipe: an operation with its requests, or the rows that are stored at that point.
type step struct {
	What     string          `json:"what"`
	Naive    bool            `json:"naive,omitempty"`
	Class    string          `json:"class,omitempty"`
	Filter   string          `json:"filter,omitempty"`
	Select   string          `json:"select,omitempty"`
	Answers  []string        `json:"answers,omitempty"`
	Rows     []storedRow     `json:"rows,omitempty"`
	Requests requests.Counts `json:"requests,omitempty"`
}

type storedRow struct {
	PartitionKey string   `json:"partitionKey"`
	RowKey       string   `json:"rowKey"`
	Properties   []string `json:"properties"`
}

// print writes the report as text.
func (r report) print(out io.Writer) {
	fmt.Fprintf(out, "== %s: %s (%s)\n", r.Name, r.Title, strings.Join(r.Guide, ", "))
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
