package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// intro says how to read the rows of the catalogue.
const intro = `The recipes show rows as they are stored, except that
- the property _op is left out: it contains the operation ID of the write;
- random IDs are shown as OP1, LIFE1 and so on, and the times that the library stores as TIME.
A program that writes reads the catalogue of a table, the row ('~c','~c'), once a minute; most steps do not show it.
Before the first commit record of a day in a partition, it stores a note of the partition: 1 insert-or-replace.
_ix contains maintainer state: the keys of the rows that were derived from an entity. It is shown without its header, and unpacked.
_sys in a derived row names its entity or its definition.

`

// printOverview prints the chapters with their recipes.
func printOverview(out io.Writer) {
	fmt.Fprintf(out, "The patterns of the Azure Table storage design guide: %d recipes, each with its rows and requests.\n\n", len(catalogue))
	for _, c := range chapters {
		var names []string
		for _, r := range c.recipes {
			names = append(names, r.Name)
		}
		fmt.Fprintf(out, "%s\n  %s\n", c.title, strings.ReplaceAll(recipe.Wrap(strings.Join(names, ", "), 98), "\n", "\n  "))
	}
	fmt.Fprint(out, "\nThe guide's numbers, such as G20, are in brackets; some recipes go beyond the guide. A table at the end compares the requests with those without the patterns.\n\n")
}

// consistencies explains what readers may rely on while other programs write and crash.
var consistencies = []struct{ word, meaning string }{
	{"strong", "a reader sees all of a write, or nothing of it"},
	{"by part", "this is so for each partition, page or transaction by itself"},
	{"eventual", "a worker executes the rest of a write a moment later, also after a crash"},
	{"strong or eventual", "the recipe shows a strong way and an eventual one"},
	{"buffered", "records are stored when the buffer is flushed; a crash loses what is in it"},
}

// printTable prints the requests of each recipe beside the requests without the pattern.
func printTable(out io.Writer, reports []recipe.Report) {
	const line = "%-24s  %-62s  %4s  %-21s  %s\n"
	fmt.Fprintf(out, line, "REQUESTS OF THE PATTERN", "for this step", "here", "without the pattern", "consistency")
	for _, r := range reports {
		c := r.Compared
		fmt.Fprintf(out, line, r.Name, shorten(c.What, 62), fmt.Sprint(c.Requests.Total()), naiveRequests(c), r.Consistency)
	}
	fmt.Fprintln(out)
	for _, c := range consistencies {
		fmt.Fprintf(out, "%s: %s\n", c.word, c.meaning)
	}
	fmt.Fprint(out, "A Get counts as one request, and so does a transaction of 100 rows. (+1 per 1,000 rows) is what a larger table adds.\n\n")
	fmt.Fprint(out, "go run ./patterns copy NAME DIR writes a recipe as a program of its own.\n")
}

// naiveRequests returns the requests of the way without the pattern, or a dash if the recipe does
// not show it.
func naiveRequests(c *recipe.Comparison) string {
	if c.Naive == nil {
		return "-"
	}
	n := fmt.Sprint(c.Naive.Total())
	if c.NaiveGrows != "" {
		n += " (+" + c.NaiveGrows + ")"
	}
	return n
}

// shorten cuts a text to at most n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
