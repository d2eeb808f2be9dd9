package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// recipe is one pattern of the guide.
type recipe struct {
	name    string   // on the command line
	title   string   // one line
	guide   []string // the requirements of the guide that the recipe shows
	problem string   // why the pattern is needed, and what it does
	run     func(context.Context, *Run) error
	child   func(context.Context, *Run, []string) error // the part that runs in a child process; nil if the recipe has none
}

// head returns the report of a recipe that has not run.
func (r recipe) head() report {
	problem := strings.Join(strings.Fields(r.problem), " ") // the source wraps it
	return report{Name: r.name, Title: r.title, Guide: r.guide, Problem: problem}
}

// runRecipes runs recipes one after another, and calls done with each report as soon as it is complete.
func runRecipes(ctx context.Context, s *service, recipes []recipe, done func(report)) (reports []report, err error) {
	for _, rec := range recipes {
		r := &Run{service: s, report: rec.head(), prefix: "t" + strings.ToLower(rand.Text()[:8])}
		failed := errors.Join(rec.run(ctx, r), r.cleanUp(ctx))
		if failed != nil {
			r.report.Error = failed.Error()
			err = errors.Join(err, fmt.Errorf("%s: %w", rec.name, failed))
		}
		reports = append(reports, r.report)
		done(r.report)
	}
	return reports, err
}
