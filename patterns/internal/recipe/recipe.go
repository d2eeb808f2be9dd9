package recipe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Recipe is one pattern of the guide. It stands in the package that a user keeps.
type Recipe struct {
	Name    string   // on the command line
	Title   string   // one line
	Guide   []string // the requirements of the guide that the recipe shows, or Beyond alone
	Related []string // the names of related recipes
	Problem string   // why the pattern is needed, and what it does

	Consistency string   // a word that the catalogue explains
	Measured    []string // how the descriptions of the steps begin whose requests are compared with those without the pattern
	NaiveGrows  string   // requests that the way without the pattern takes in a larger table, such as 1 per 1,000 rows

	Kept  string // the folder of the code that a user keeps, and of a short main
	Run   func(context.Context, *Run) error
	Child func(context.Context, *Run, []string) error // the part that runs in a child process; nil if the recipe has none
}

// Beyond stands in the place of requirements for a recipe that the guide does not have.
const Beyond = "beyond the guide"

// Recipes are some of the catalogue.
type Recipes []Recipe

// Find returns the recipe of a name. The error names those that are similar.
func (all Recipes) Find(name string) (Recipe, error) {
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	return Recipe{}, fmt.Errorf("no recipe has the name %q%s; the command list shows all names", name, all.meant(name))
}

// meant returns the names that are close to a wrong one, "" if none is.
func (all Recipes) meant(name string) string {
	var near []string
	for _, r := range all {
		part := len(name) > 2 && strings.Contains(r.Name+" "+r.Kept, strings.ToLower(name))
		if part || distance(strings.ToLower(name), r.Name) <= 1+len(name)/5 {
			near = append(near, r.Name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; similar to it: " + strings.Join(near, ", ")
}

// distance returns how many bytes must be changed, added and left out to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // for the beginning of a
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Head returns the report of a recipe that has not run.
func (r Recipe) Head() Report {
	problem := strings.Join(strings.Fields(r.Problem), " ") // the source wraps it
	return Report{Name: r.Name, Title: r.Title, Guide: r.Guide, Related: r.Related, Problem: problem, Consistency: r.Consistency}
}

// mostTime is how long a recipe takes at most, on any service. It ends then, with its child
// processes, and has failed.
const mostTime = 10 * time.Minute

// On runs the recipe on a service, and deletes what it has created. A recipe that fails says so in
// its report.
func (r Recipe) On(ctx context.Context, s *Service) Report {
	run := &Run{service: s, report: r.Head(), prefix: "t" + strings.ToLower(rand.Text()[:8])}
	err := errors.Join(r.runFor(ctx, run, mostTime), run.cleanUp(ctx))
	if err != nil {
		run.report.Failed, run.report.Error = err, err.Error()
	}
	run.report.compare(r.Measured, r.NaiveGrows)
	return run.report
}

func (r Recipe) runFor(ctx context.Context, run *Run, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return r.Run(ctx, run)
}
