package aztablekit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Retire takes a definition of a table out of use: look-ups by it are refused, then all programs
// may write, with and without it, and then its rows are deleted. Call it before a release that
// lacks the definition, also before a roll-back to a release from before it, if it was filled.
// Afterwards the definition is one that is not filled: a program that still declares it writes and
// adds no rows, and [Store.Fill] makes it readable again. The store must declare the definition in
// the form that the catalogue has.
//
// Retire waits two times one and a half Options.CatalogueAge, 198 s by default. If it is
// interrupted, call it again. Two calls at once do no harm. Of the pass, Retire uses Rate, Token
// and Progress. The State of its Progress is retiring, retired, or unfilled when no row is left;
// Wait is how long Retire waits, and Changed counts the entities and rows of which the definition
// was removed.
//
// Rows of definitions in other partitions stay as tombstones until the work of a day deletes them.
//
// Errors:
//   - the mistakes of the declarations
//   - *table.ValueError for a table or a definition that the store does not declare, and for a
//     field of the pass that Retire does not use
//   - an error of the catalogue if another program has changed the state meanwhile, and for a table
//     without a catalogue
//   - errors of reads and writes
//
// Requests: 6; a scan of the entities, 1 for each 1,000, and 1 for each 100 that record the
// definition, if a transaction has room for them; a scan of its rows.
func (s *Store) Retire(ctx context.Context, tableName, definition string, pass *table.Pass) error {
	if err := s.begin(); err != nil {
		return err
	}
	r := &retirer{}
	if pass != nil {
		r.opt.Pass = *pass
	}
	if err := door.CheckPass(&r.opt.Pass, "Rate", "Token"); err != nil {
		return err
	}
	if err := r.choose(s, tableName, definition); err != nil {
		return err
	}
	return r.table.named(r.retire(engine.Enduring(ctx)))
}

// retirer is a call of Retire in progress.
type retirer struct {
	filler
	table      *tableToFill
	of         *declaration
	maintainer string
}

// choose finds the definition among those that are declared.
func (r *retirer) choose(s *Store, tableName, definition string) error {
	name := s.host.TableName(tableName)
	for _, t := range s.catalogued() {
		if !strings.EqualFold(t.name, name) {
			continue
		}
		for _, d := range t.types {
			_, own := declared(d)
			for _, is := range own {
				if named := d.definition(is.Name); named != nil && named.Name() == definition || is.Form == catalogue.Stamps && is.Name == definition {
					r.table, r.of, r.maintainer = t, d, is.Name
					return nil
				}
			}
		}
		return &table.ValueError{Field: "definition", Reason: fmt.Sprintf("%.80q is none of table %s that has rows", definition, tableName)}
	}
	return noTable(tableName)
}

// retire leads the definition from state to state. Each wait counts from the change, or from the
// read that has found it.
func (r *retirer) retire(ctx context.Context) error {
	all, err := r.table.catalogue.In(ctx, catalogue.Unfilled, catalogue.Building, catalogue.Readable, catalogue.Retiring, catalogue.Retired)
	if err != nil {
		return err
	}
	scope := door.Table(r.of.handle).Mode.Schema.Scope()
	all = slices.DeleteFunc(all, func(d catalogue.Definition) bool { return d.Scope != scope || d.Name != r.maintainer })
	if len(all) == 0 {
		return &errs.CatalogueError{Table: r.table.name, Definition: r.maintainer, Is: table.ErrNotRecorded, Reason: "or in another form; there is nothing to retire"}
	}
	r.table.building = all
	switch all[0].State {
	case catalogue.Building, catalogue.Readable:
		if err := r.become(ctx, catalogue.Retiring); err != nil {
			return err
		}
		fallthrough
	case catalogue.Retiring:
		if err := r.wait(ctx); err != nil {
			return err
		}
		fallthrough
	case catalogue.Unfilled: // a table from before its catalogue may have rows
		if err := r.become(ctx, catalogue.Retired); err != nil {
			return err
		}
	}
	if err := r.wait(ctx); err != nil {
		return err
	}
	w := &sweeper{maintainer: r.maintainer, pacer: pace.New(r.opt.Rate), prefix: tokenPrefix(r.table, scope, keys.PartitionRange{})}
	w.token, _ = strings.CutPrefix(r.opt.Token, w.prefix)
	if w.token == r.opt.Token {
		w.token = ""
	}
	w.hold = func(ctx context.Context) (engine.Lease, error) {
		return r.table.catalogue.While(ctx, r.table.building[0])
	}
	w.progress = func(token string) {
		r.tell(r.table, catalogue.Retired, table.Progress{Changed: w.swept, Token: token})
	}
	if err := r.of.sweep(ctx, w); err != nil {
		return err
	}
	if err := r.become(ctx, catalogue.Unfilled); err != nil {
		return err
	}
	r.tell(r.table, catalogue.Unfilled, table.Progress{Changed: w.swept})
	return nil
}

func (r *retirer) become(ctx context.Context, state catalogue.State) (err error) {
	r.table.building, err = r.table.catalogue.Set(ctx, r.table.building, state)
	return err
}

// wait waits until no program goes by an earlier state, and makes certain that the state is the
// same.
func (r *retirer) wait(ctx context.Context) error {
	pause := r.table.catalogue.Pause()
	r.tell(r.table, r.table.building[0].State, table.Progress{Wait: pause})
	if err := pace.Sleep(ctx, pause); err != nil {
		return err
	}
	return r.table.catalogue.Still(ctx, r.table.building)
}
