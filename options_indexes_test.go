package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// indexOptionCases are the constructors of definitions.
func indexOptionCases() []optionCase {
	number := keys.Digits[int64](6)
	several := func(i *optionItem) []int64 { return []int64{i.Size, 7} }
	all := func(*optionItem) keys.PartitionKey { return optionGroup.Of("all") }
	inPartition := map[string]any{"Reserved": true, "Unique": true}
	global := map[string]any{"Table": "another"}
	unique := map[string]any{"Table": "another"}
	return []optionCase{
		declaring("index.New", inPartition, func(o *index.Options) optionDefinition { return index.New("i", number, bySizeOf, o) }),
		declaring("index.NewMulti", inPartition, func(o *index.Options) optionDefinition {
			return index.NewMulti("i", number, 3, several, o)
		}),
		declaring("index.NewGlobal", global, func(o *index.GlobalOptions) optionDefinition {
			return index.NewGlobal("i", number, bySizeOf, o)
		}),
		declaring("index.NewGlobalMulti", global, func(o *index.GlobalOptions) optionDefinition {
			return index.NewGlobalMulti("i", number, 3, several, o)
		}),
		declaring("Global.In", global, func(o *index.GlobalOptions) optionDefinition {
			return index.NewGlobal("i", number, bySizeOf, o).In(all)
		}),
		declaring("index.NewUnique", unique, func(o *index.UniqueOptions) optionDefinition {
			return index.NewUnique("i", number, bySizeOf, o)
		}),
		declaring("index.NewUniqueMulti", unique, func(o *index.UniqueOptions) optionDefinition {
			return index.NewUniqueMulti("i", number, 3, several, o)
		}),
		declaring("Unique.In", unique, func(o *index.UniqueOptions) optionDefinition {
			return index.NewUnique("i", number, bySizeOf, o).In(all)
		}),
		declaring("index.NewLists", map[string]any{"Property": "Other", "Reserved": true}, func(o *index.ListOptions) optionDefinition {
			return index.NewLists("i", number, bySizeOf, o)
		}),
		declaring("index.NewSummary", map[string]any{"Most": int64(1), "Reserved": true}, func(o *index.SummaryOptions) optionDefinition {
			return index.NewSummary("i", number, bySizeOf, o)
		}),
	}
}

type optionDefinition = extend.Definition[optionItem]

// declaring is the case of a constructor with options of type O.
func declaring[O any](call string, values map[string]any, declare func(*O) optionDefinition) optionCase {
	return optionCase{call: call, options: new(O), values: values, run: func(r *optionRun, o any) error { return r.declare(declare(o.(*O))) }}
}

// declare declares a definition in a store of its own, and uses it: two entities are written with
// it, one is changed, and the derived rows are listed.
func (r *optionRun) declare(d extend.Definition[optionItem]) error {
	o := *optionStore
	o.Worker.Concurrency = 1 // two workers of one list would be in each other's way
	s := aztablekit.Open(r.service, "others", &o)
	others := aztablekit.Table(s, "others", optionGroup, optionName, d)
	if err := s.Ensure(r.ctx); err != nil {
		return err
	}
	var refused error // such as of a value that is unique
	for i := range 2 {
		_, err := others.Insert(r.ctx, &optionItem{Group: "a", Name: fmt.Sprint(i), Size: 5})
		refused = errors.Join(refused, err)
	}
	_, err := others.Upsert(r.ctx, &optionItem{Group: "a", Name: "1", Size: 5}, table.ReplaceExisting)
	err = errors.Join(refused, err, s.Drain(r.ctx), lookUp(r.ctx, others, d))
	for _, name := range r.service.TableNames() {
		for _, row := range r.service.Rows(name) {
			if text, is := row.Get("Definitions").(string); is {
				for _, part := range strings.Split(text, ",") {
					if strings.Contains(part, "form") || strings.Contains(part, "ersion") {
						r.note("catalogue %s", part)
					}
				}
			}
			if row.PartitionKey != "~c" && len(row.RowKey) > 0 && row.RowKey[0] != '~' {
				var names []string
				for _, p := range row.Properties {
					names = append(names, p.Name)
				}
				r.note("row %s %s %s with %v", name, row.PartitionKey, row.RowKey, names)
			}
		}
	}
	return err
}

// lookUp looks entities up by an index.
func lookUp(ctx context.Context, t *table.Table[optionItem], d extend.Definition[optionItem]) (err error) {
	switch d := d.(type) {
	case *index.Index[optionItem, int64]:
		_, err = table.Collect(d.Query(ctx, t, table.Query[optionItem]{TableScan: true}))
	case *index.Global[optionItem, int64]:
		_, err = table.Collect(d.List(ctx, t, 5))
	}
	return err
}
