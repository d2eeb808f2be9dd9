package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// mostAtOnce is how many recipes run at the same time, each on a service in memory of its own; most
// of them wait, for the end of a lease or of a window of time. Fewer share one account.
const (
	mostAtOnce    = 8
	mostOnAccount = 4
)

// runRecipes runs recipes at the same time, and calls done with each report in the order of the
// recipes, as soon as those before it are complete. A nil done is not called.
func runRecipes(ctx context.Context, s *service, all recipe.Recipes, done func(recipe.Report)) (reports []recipe.Report, err error) {
	finished := make([]chan recipe.Report, len(all))
	for i := range finished {
		finished[i] = make(chan recipe.Report, 1)
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
		if r.Failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", rec.Name, r.Failed))
		}
		reports = append(reports, r)
		if done != nil {
			done(r)
		}
	}
	return reports, err
}

// runRecipe runs the recipe of a number among so many.
func runRecipe(ctx context.Context, s *service, rec recipe.Recipe, number, of int) recipe.Report {
	r := rec.Head()
	if own, stop, err := s.forRecipe(uint64(number)); err != nil {
		r.Failed, r.Error = err, err.Error()
	} else {
		r = rec.On(ctx, own)
		stop()
	}
	r.Number, r.Of = number, of
	return r
}
