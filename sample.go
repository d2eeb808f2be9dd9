package aztablekit

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// samples is how many entities of a type Ensure compares with what the definitions make of them.
const samples = 10

// ensureCatalogue lets the catalogue of a table name its definitions, and warns of those of a type
// that are not what the program may think. Requests: those of Catalogue.Ensure, and 1 for a type
// with definitions in a table that is not new.
func ensureCatalogue(ctx context.Context, t tabledoor.Untyped, c *catalogue.Catalogue) error {
	all, isNew, err := c.Ensure(ctx)
	if err != nil || isNew {
		return err
	}
	var readable []string
	for _, d := range all {
		if d.Scope != door.Table(t).Mode.Schema.Scope() {
			continue
		}
		if d.State == catalogue.Readable {
			readable = append(readable, d.Name)
		} else {
			warnUnreadable(ctx, t, d)
		}
	}
	return compareSamples(ctx, t, readable)
}

func warnUnreadable(ctx context.Context, t table.Handle, d catalogue.Definition) {
	log := door.Table(t).Options.Logger
	if log == nil {
		return
	}
	log.WarnContext(ctx, "a definition is not readable: look-ups by it fail, and values that it makes unique can be "+
		"stored twice; call Store.Fill when all programs have this release",
		"table", t.Name(), "definition", d.Name, "state", d.State)
}

// compareSamples warns of definitions that make other rows of stored entities than these record:
// their functions have changed in place, or another program has written the entities. Requests:
// none without definitions, else 1.
func compareSamples(ctx context.Context, t tabledoor.Untyped, definitions []string) error {
	log := door.Table(t).Options.Logger
	if log == nil || len(definitions) == 0 {
		return nil
	}
	different, looked := map[string]int{}, 0
	q := table.Query[table.Row]{TableScan: true, Limit: samples, Budget: table.Budget{Requests: 1}}
	q.Skip = func(keys.Key, error) bool { return true }
	for e, err := range t.List(ctx, q) {
		switch {
		case errors.Is(err, table.ErrBudget):
			continue // the first page has few entities of the type
		case err != nil:
			return err
		}
		looked++
		for _, name := range definitions {
			if m := door.Table(t).Mode.Maintainer(name); m != nil && derived.Differs(m.Typed(), e) {
				different[name]++
			}
		}
	}
	for name, n := range different {
		log.WarnContext(ctx, "a definition makes other rows of stored entities than they have, so that look-ups miss them: "+
			"if its functions have changed, raise its Version or give it another name; "+
			"if another program has written the entities, run Store.Repair",
			"table", t.Name(), "definition", name, "entities", looked, "different", n)
	}
	return nil
}
