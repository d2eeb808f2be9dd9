package oldorders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "adopt-a-table",
	Title:       "Take over a table while an older program goes on",
	Guide:       []string{"G20"},
	Related:     []string{"new-index", "intra-partition-index", "typed-filters"},
	Consistency: "strong or eventual",
	Measured:    []string{"Fill adds"},
	NaiveGrows:  "1 per row",
	Problem: `A table has rows of a program with plain aztables, which cannot stop: its times are text, its numbers are doubles, and its
		queries must find what they have always found. The new program reads the rows in its own types, and writes the same form. Then it gets
		an index of pointers, whose rows no query by a property finds. Until the older program stops, Verify repairs the index in a loop:
		look-ups may miss an order in between, and find no wrong one.`,
	Kept: "oldorders",
	Run: func(ctx context.Context, r *recipe.Run) error {
		o := r.StoreOptions("shop", "orders")
		o.CatalogueAge = 2 * time.Second // 66 s, but for an example
		old := oldShop{r.Table("orders")}
		if _, err := old.client.CreateTable(ctx, nil); err != nil {
			return err
		}
		typed, indexed := ReadTyped(r.Account(), o), Open(r.Account(), o)
		acme := keys.RawPartition("acme")
		at := func(id string) keys.Key { return keys.At(acme, keys.RawRow(id)) }
		open := func() error {
			for e, err := range indexed.ByStatus(ctx, "acme", "open") {
				if err != nil {
					return err
				}
				r.Answer("%s: %d cents, placed %s", e.Value.ID, e.Value.Cents, e.Value.Placed.Format(time.DateOnly))
			}
			return nil
		}
		queries := func() error {
			for _, filter := range []string{"Status eq 'open'", "RowKey lt '~'", ""} {
				if err := old.find(ctx, r, filter); err != nil {
					return err
				}
			}
			return nil
		}
		for _, step := range []struct {
			what   string
			run    func() error
			store  *Orders
			stored bool
		}{
			{"the older program stores three orders", func() error {
				for i, status := range []string{"open", "open", "paid"} {
					if err := old.place(ctx, fmt.Sprint(1001+i), status, 1999); err != nil {
						return err
					}
				}
				return nil
			}, nil, false},
			{"the first release of the new program reads them in its own types, and both write", func() error {
				e, err := typed.Table.Update(ctx, at("1001"), func(o *Order) error { o.Cents = 2499; return nil })
				if err != nil {
					return err
				}
				r.Answer("%s: %d cents, placed %s", e.Value.ID, e.Value.Cents, e.Value.Placed.Format(time.DateOnly))
				return old.pay(ctx, "1002")
			}, typed, true},
			{"Fill adds the rows of an index, which the second release has", func() error {
				report, err := indexed.Fill(ctx, nil)
				r.Answer("orders: %d; repaired: %d", report.Rows, report.Changed)
				return err
			}, indexed, true},
			{"find the open orders of acme", open, indexed, false},
			{"the older program's queries: open orders, all with RowKey lt '~', and all", queries, nil, false},
			{"the older program writes beside the index: it pays 1001, and places 1004", func() error {
				if err := old.pay(ctx, "1001"); err != nil {
					return err
				}
				return old.place(ctx, "1004", "open", 500)
			}, nil, false},
			{"find the open orders: 1001 is not among them, and 1004 is missing", open, indexed, false},
			{"KeepSound repairs, by a Verify now and then", func() error {
				loop, stop := context.WithCancel(ctx)
				defer stop()
				var failed error
				err := indexed.KeepSound(loop, time.Hour, func(report table.Progress, err error) {
					failed = err
					r.Answer("%v", report)
					stop()
				})
				if errors.Is(err, context.Canceled) {
					err = nil
				}
				return errors.Join(err, failed)
			}, indexed, false},
			{"find the open orders", open, indexed, false},
			{"the older program only reads now, and the new one writes: look-ups are right at each instant", func() error {
				if _, err := indexed.Table.Update(ctx, at("1002"), func(o *Order) error { o.Status = "open"; return nil }); err != nil {
					return err
				}
				return open()
			}, indexed, false},
		} {
			if step.store != nil { // on a slow service, it would read the catalogue again in some steps, after 2 s
				if err := step.store.Ensure(ctx); err != nil {
					return err
				}
			}
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
			if !step.stored {
				continue
			}
			if err := r.Stored(ctx, "orders"); err != nil {
				return err
			}
		}
		return r.Naive("stop both programs, and write all rows into a new table, 1 request for each", func() error {
			copies := r.Table("neworders")
			if _, err := copies.CreateTable(ctx, nil); err != nil {
				return err
			}
			for e, err := range indexed.Table.List(ctx, table.Query[Order]{Partition: acme}) {
				if err != nil {
					return err
				}
				body, err := json.Marshal(oldOrder{"acme", e.Value.ID, e.Value.Status, float64(e.Value.Cents), e.Value.Placed.Format(time.RFC3339)})
				if err != nil {
					return err
				}
				if _, err := copies.AddEntity(ctx, body, nil); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// oldShop is the older program: aztables, and JSON of a struct.
type oldShop struct{ client *aztables.Client }

type oldOrder struct {
	PartitionKey, RowKey string
	Status               string
	Cents                float64
	Placed               string
}

func (s oldShop) place(ctx context.Context, id, status string, cents float64) error {
	body, err := json.Marshal(oldOrder{"acme", id, status, cents, "2026-11-28T09:30:00+01:00"})
	if err == nil {
		_, err = s.client.AddEntity(ctx, body, nil)
	}
	return err
}

func (s oldShop) pay(ctx context.Context, id string) error {
	body := fmt.Appendf(nil, `{"PartitionKey":"acme","RowKey":%q,"Status":"paid"}`, id)
	_, err := s.client.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
	return err
}

// find adds to the result how many rows a filter selects in the partition, and how many of them are
// orders.
func (s oldShop) find(ctx context.Context, r *recipe.Run, filter string) error {
	all := "PartitionKey eq 'acme'"
	if filter != "" {
		all += " and " + filter
	}
	rows, orders := 0, 0
	for p := s.client.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &all}); p.More(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, row := range page.Entities {
			var o oldOrder
			if err := json.Unmarshal(row, &o); err != nil {
				return err
			}
			if rows++; o.Status != "" {
				orders++
			}
		}
	}
	r.Answer("%s: rows: %d, orders among them: %d", all, rows, orders)
	return nil
}
