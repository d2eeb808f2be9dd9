package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// recipe is one pattern of the guide.
type recipe struct {
	name    string   // on the command line
	title   string   // one line
	guide   []string // the requirements of the guide that the recipe shows, or beyond alone
	related []string // the names of related recipes
	problem string   // why the pattern is needed, and what it does

	consistency string   // one of those that consistencies explains
	measured    []string // how the descriptions of the steps begin whose requests are compared with those without the pattern
	naiveGrows  string   // requests that the way without the pattern takes in a larger table, such as 1 per 1,000 rows

	kept  string // the folder of the code that a user keeps, and of a short main
	run   func(context.Context, *Run) error
	child func(context.Context, *Run, []string) error // the part that runs in a child process; nil if the recipe has none
}

// beyond stands in the place of requirements for a recipe that the guide does not have.
const beyond = "beyond the guide"

type recipes []recipe

// find returns the recipe of a name.
func (all recipes) find(name string) (recipe, error) {
	for _, r := range all {
		if r.name == name {
			return r, nil
		}
	}
	return recipe{}, fmt.Errorf("no recipe has the name %q%s; the command list shows all names", name, all.meant(name))
}

// meant returns the names that are close to a wrong one, "" if none is.
func (all recipes) meant(name string) string {
	var near []string
	for _, r := range all {
		part := len(name) > 2 && strings.Contains(r.name+" "+r.kept, strings.ToLower(name))
		if part || distance(strings.ToLower(name), r.name) <= 1+len(name)/5 {
			near = append(near, r.name)
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

// head returns the report of a recipe that has not run.
func (r recipe) head() report {
	problem := strings.Join(strings.Fields(r.problem), " ") // the source wraps it
	return report{Name: r.name, Title: r.title, Guide: r.guide, Related: r.related, Problem: problem, Consistency: r.consistency}
}

// mostTime is how long a recipe takes at most, on any service. It ends then, with its child
// processes, and has failed.
const mostTime = 10 * time.Minute

func runOnce(ctx context.Context, rec recipe, r *Run) error {
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	return rec.run(ctx, r)
}

// mostAtOnce is how many recipes run at the same time, each on a service in memory of its own; most
// of them wait, for the end of a lease or of a window of time. Fewer share one account.
const (
	mostAtOnce    = 8
	mostOnAccount = 4
)

// runRecipes runs recipes at the same time, and calls done with each report in the order of the
// recipes, as soon as those before it are complete. A nil done is not called.
func runRecipes(ctx context.Context, s *service, all recipes, done func(report)) (reports []report, err error) {
	finished := make([]chan report, len(all))
	for i := range finished {
		finished[i] = make(chan report, 1)
	}
	go func() {
		most := mostAtOnce
		if s.connection != "" {
			most = mostOnAccount
		}
		slots := make(chan struct{}, most)
		for i, rec := range all {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				finished[i] <- runRecipe(ctx, s, rec, i+1, len(all))
			}()
		}
	}()
	for i, rec := range all {
		r := <-finished[i]
		if r.failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", rec.name, r.failed))
		}
		reports = append(reports, r)
		if done != nil {
			done(r)
		}
	}
	return reports, err
}

// runRecipe runs the recipe of a number among so many.
func runRecipe(ctx context.Context, s *service, rec recipe, number, of int) report {
	r := &Run{report: rec.head(), prefix: "t" + strings.ToLower(rand.Text()[:8])}
	r.report.number, r.report.of = number, of
	var err error
	if r.service, err = s.forRecipe(uint64(number)); err == nil {
		err = errors.Join(runOnce(ctx, rec, r), r.cleanUp(ctx))
		r.service.close()
	}
	if err != nil {
		r.report.failed, r.report.Error = err, err.Error()
	}
	r.report.compare(rec.measured, rec.naiveGrows)
	return r.report
}
