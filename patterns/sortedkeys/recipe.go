package sortedkeys

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "sorted-keys",
	Title:       "Choose RowKeys that sort in the order you need",
	Guide:       []string{"G06", "G07"},
	Related:     []string{"compound-keys", "range-query", "log-tail"},
	Consistency: "strong",
	Measured:    []string{"list the two newest"},
	Problem: `The service sorts rows by key and by nothing else, and keys are text: as text, 9 comes after 10. Choose RowKeys
		whose order is the order that you list most often: numbers with leading zeros, times as ticks, and inverted ticks if the
		newest row is to come first.`,
	Kept: "sortedkeys",
	Run: func(ctx context.Context, r *recipe.Run) error {
		company := Open(r.Account(), r.StoreOptions("company", "claims"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		monday := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
		for day := range 5 {
			if _, err := company.Claims.Insert(ctx, &Claim{Employee: "jonesj", Submitted: monday.AddDate(0, 0, day), Amount: int32(100 + day)}); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "claims"); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			q    table.Query[Claim]
		}{
			{"list the two newest claims of jonesj", Newest("jonesj", 2)},
			{"list the claims since Thursday", SubmittedSince("jonesj", monday.AddDate(0, 0, 3))},
		} {
			ex, err := company.Claims.Explain(c.q)
			if err != nil {
				return err
			}
			if err := r.Ask(c.what, ex, func() error {
				for e, err := range company.Claims.List(ctx, c.q) {
					if err != nil {
						return err
					}
					r.Answer("%s %d", e.Value.Submitted.Format("Monday"), e.Value.Amount)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return r.Naive("numbers without leading zeros", func() error {
			padded := keys.Digits[int](6)
			r.Answer("'9' < '10' is %v; '%s' < '%s' is %v", fmt.Sprint(9) < fmt.Sprint(10), padded.PartitionKey(9), padded.PartitionKey(10), padded.PartitionKey(9).String() < padded.PartitionKey(10).String())
			return nil
		})
	},
}
