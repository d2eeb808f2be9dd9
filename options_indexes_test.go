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

// indexOptionCases are the constructors of indexes: each takes the same options, and uses or
// refuses each.
func indexOptionCases() (all []optionCase) {
	number := keys.Digits[int64](6)
	several := func(i *optionItem) []int64 { return []int64{i.Size, 7} }
	for call, declare := range map[string]func(o *index.Options) extend.Definition[optionItem]{
		"index.New": func(o *index.Options) extend.Definition[optionItem] { return index.New("i", number, bySizeOf, o) },
		"index.NewMulti": func(o *index.Options) extend.Definition[optionItem] {
			return index.NewMulti("i", number, 3, several, o)
		},
		"index.NewGlobal": func(o *index.Options) extend.Definition[optionItem] {
			return index.NewGlobal("i", number, bySizeOf, o)
		},
		"index.NewGlobalMulti": func(o *index.Options) extend.Definition[optionItem] {
			return index.NewGlobalMulti("i", number, 3, several, o)
		},
		"index.NewUnique": func(o *index.Options) extend.Definition[optionItem] {
			return index.NewUnique("i", number, bySizeOf, o)
		},
		"index.NewUniqueMulti": func(o *index.Options) extend.Definition[optionItem] {
			return index.NewUniqueMulti("i", number, 3, several, o)
		},
		"Index.In": func(o *index.Options) extend.Definition[optionItem] {
			return index.New("i", number, bySizeOf, o).In(func(*optionItem) keys.PartitionKey { return optionGroup.Of("all") })
		},
	} {
		c := optionCase{
			call: call, options: &index.Options{},
			values: map[string]any{"Inline": true, "Pointer": true, "ReadEntities": true, "Reserved": true, "Table": "another", "Unique": true, "Version": 2},
			run:    func(r *optionRun, o any) error { return r.declare(declare(o.(*index.Options))) },
		}
		if strings.HasPrefix(call, "index.NewUnique") {
			c.elsewhere = map[string]string{"Pointer": "its rows are pointers", "ReadEntities": "it always reads the entity"}
		}
		all = append(all, c)
	}
	for call, declare := range map[string]func(o *index.ListOptions) extend.Definition[optionItem]{
		"index.NewLists": func(o *index.ListOptions) extend.Definition[optionItem] {
			return index.NewLists("i", number, bySizeOf, o)
		},
		"index.NewGlobalLists": func(o *index.ListOptions) extend.Definition[optionItem] {
			return index.NewGlobalLists("i", number, bySizeOf, o)
		},
	} {
		all = append(all, optionCase{
			call: call, options: &index.ListOptions{},
			values: map[string]any{"Inline": true, "Property": "Other", "Reserved": true, "Table": "another", "Version": 2},
			run:    func(r *optionRun, o any) error { return r.declare(declare(o.(*index.ListOptions))) },
		})
	}
	return append(all, optionCase{
		call: "index.NewSummary", options: &index.SummaryOptions{}, values: map[string]any{"Most": int64(1), "Reserved": true, "Version": 2},
		run: func(r *optionRun, o any) error {
			return r.declare(index.NewSummary("i", number, bySizeOf, o.(*index.SummaryOptions)))
		},
	})
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
