package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
)

// Ensure makes the row name what the program declares. On an empty table without a row, the
// definitions are readable at once; otherwise those that are new are unfilled. Two programs may
// call it at once. It returns the definitions of the row that the program declares, and whether the
// table was new. Requests: 1, and for a change 1 more; for a table without a row, 2 more.
func (c *Catalogue) Ensure(ctx context.Context) (declared []Definition, isNew bool, err error) {
	var now *Row
	err = c.change(ctx, nil, func(row *Row) (_ *Row, err error) {
		state := Unfilled
		isNew = false
		if row == nil {
			if isNew, err = c.isEmpty(ctx); err != nil {
				return nil, err
			}
			if isNew {
				state = Readable
			}
			row = &Row{Version: version, Lease: c.lease}
		}
		now, err = c.withDeclared(row, state)
		return now, err
	})
	if errors.Is(err, errHidden) {
		return nil, false, nil // the log says so
	}
	if err != nil {
		return nil, false, err
	}
	others := func(d Definition) bool { return !c.declares(d) }
	return slices.DeleteFunc(slices.Clone(now.Definitions), others), isNew, nil
}

// isEmpty reports whether the table has no rows. A client that sees a part of the table has not
// come so far: it may not create tables. Requests: 1.
func (c *Catalogue) isEmpty(ctx context.Context) (empty bool, err error) {
	empty = true
	err = c.table.Partitions(ctx, keys.PartitionRange{}, func(string) bool {
		empty = false
		return false
	})
	return empty, err
}

// withDeclared returns a row that names all that the program declares; the row itself if it does
// already.
func (c *Catalogue) withDeclared(row *Row, state State) (*Row, error) {
	to := row.clone()
	changed := false
	for _, g := range c.guards {
		for _, d := range row.Definitions {
			if d.Scope != g.typ.Scope && d.State != Unfilled && g.typ.overlaps(row.typeOf(d.Scope)) {
				return nil, g.otherType(d)
			}
		}
		i := slices.IndexFunc(to.Types, func(t Type) bool { return t.Scope == g.typ.Scope })
		if i < 0 {
			if err := g.otherScope(row); err != nil {
				return nil, err
			}
			to.Types, changed = append(to.Types, g.typ), true
		} else {
			if err := g.otherKeys(to.Types[i]); err != nil {
				return nil, err
			}
			merged := to.Types[i].merged(g.typ)
			changed = changed || merged != to.Types[i]
			to.Types[i] = merged
		}
		for _, own := range g.own {
			d := to.find(g.typ.Scope, own.Name)
			switch {
			case d == nil:
				to.Definitions, changed = append(to.Definitions, c.newDefinition(g.typ.Scope, own, state)), true
			case d.Form == own.Form:
			case own.is(d.Form): // of an earlier release
				d.Form, changed = own.Form, true
			case d.State != Unfilled:
				return nil, g.otherForm(*d, own.Form)
			default: // Fill makes its rows right
				*d, changed = c.newDefinition(g.typ.Scope, own, Unfilled), true
			}
		}
	}
	if !changed {
		return row, nil
	}
	return to, nil
}

func (c *Catalogue) newDefinition(scope string, d Declared, state State) Definition {
	return Definition{Scope: scope, Name: d.Name, Form: d.Form, State: state, ID: c.table.Options.NewID(), Since: c.now().Wall.UTC().Truncate(time.Second), Confirmed: state == Readable}
}

// IsHidden reports whether an error means that the client may not read the catalogue.
func IsHidden(err error) bool { return errors.Is(err, errHidden) }

var errHidden = errors.New("the client may not read the catalogue of the table; use one whose signature is for the whole table")

// change changes the row by its ETag until no other program was faster. edit returns the row itself
// for no change. The outcome of a write that is unknown is found out by reading the row, so that
// edit must accept its own change. The first attempt is on what is known, unless that is nil.
// Requests: 1, and 1 to read the row if it is not known.
func (c *Catalogue) change(ctx context.Context, known *reading, edit func(*Row) (*Row, error)) error {
	conflicts := c.table.Options.NewConflicts()
	for {
		r, err := known, error(nil)
		if r == nil {
			r, err = c.fetch(ctx)
		}
		switch {
		case err != nil:
			return err
		case r.hidden:
			return errHidden
		case r.broken != nil:
			return c.unusable(r)
		}
		to, err := edit(r.row)
		if known != nil && (err != nil || to == r.row) {
			known = nil // it may be too old
			continue
		}
		known = nil
		if err != nil || to == r.row {
			return err
		}
		err = c.store(ctx, to, r)
		if err == nil || !errors.Is(err, errs.ErrChanged) && !errors.Is(err, errs.ErrExists) && !errors.Is(err, errs.ErrNotFound) && !errors.Is(err, errs.ErrUnknownOutcome) {
			return err
		}
		if again, _ := conflicts.Wait(ctx, c.table.Log("Catalogue", key), err); !again {
			return err
		}
	}
}

// store writes the row in the place of the one that was read.
func (c *Catalogue) store(ctx context.Context, to *Row, was *reading) error {
	row, err := to.encode()
	if err != nil {
		return err
	}
	if err := c.table.WriteRow(ctx, "Catalogue", row, was.etag); err != nil {
		return err
	}
	c.known.Store(nil) // the next write reads the row, with its ETag
	return nil
}

// fetchRow reads the row, which must be there. 1 request.
func (c *Catalogue) fetchRow(ctx context.Context) (*Row, error) {
	r, err := c.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if r.hidden {
		return nil, errHidden
	}
	return r.row, c.unusable(r)
}

// In returns the definitions of the declared types that are in some states. 1 request.
func (c *Catalogue) In(ctx context.Context, states ...State) (all []Definition, err error) {
	row, err := c.fetchRow(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range row.Definitions {
		if slices.Contains(states, d.State) && c.declares(d) {
			all = append(all, d)
		}
	}
	return all, nil
}

// ToFill returns the definitions of the program that are unfilled or building. leftOut names each
// that Fill cannot make readable. 1 request. Errors also: those of a write, if the program must not
// write, and so cannot fill.
func (c *Catalogue) ToFill(ctx context.Context) (all []Definition, leftOut, err error) {
	row, err := c.fetchRow(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range c.guards {
		if len(g.own) == 0 {
			continue
		}
		if err := g.refusal(row); err != nil {
			return nil, nil, err
		}
		leftOut = errors.Join(leftOut, g.unfillable(row))
	}
	for _, d := range row.Definitions {
		if (d.State == Unfilled || d.State == Building) && c.declares(d) {
			all = append(all, d)
		}
	}
	return all, leftOut, nil
}

// unfillable returns an error for each definition that Fill cannot make readable.
func (g *Guard) unfillable(row *Row) (all error) {
	for _, own := range g.own {
		var err error
		switch d := row.find(g.typ.Scope, own.Name); {
		case !own.is(d.Form): // else it is kept, and the program must not write
			err = g.of.fail(d.Name, d.State, errs.ErrNotRecorded, "the catalogue has another form of it; call Store.Ensure, and then Store.Fill again", nil)
		case d.State == Retiring, d.State == Retired:
			err = g.of.fail(d.Name, d.State, errs.ErrNotReadable, retiring+", and then Store.Fill", nil)
		}
		all = errors.Join(all, err)
	}
	return all
}

// declaresType reports whether the program declares a type.
func (c *Catalogue) declaresType(scope string) bool {
	return slices.ContainsFunc(c.guards, func(g *Guard) bool { return g.typ.Scope == scope })
}

// declares reports whether the program declares a definition in the form of the catalogue.
func (c *Catalogue) declares(d Definition) bool {
	return slices.ContainsFunc(c.guards, func(g *Guard) bool {
		declared, own := g.declared(d.Name)
		return g.typ.Scope == d.Scope && own && declared.is(d.Form)
	})
}

// Set gives definitions another state, those that are as they were read. It returns them with the
// new IDs. Errors: *errs.CatalogueError if one of them has changed. Requests: 1 after a read of the
// row.
func (c *Catalogue) Set(ctx context.Context, all []Definition, state State) (changed []Definition, err error) {
	for _, d := range all {
		d.State, d.ID, d.Since, d.Confirmed = state, c.table.Options.NewID(), c.now().Wall.UTC().Truncate(time.Second), false
		changed = append(changed, d)
	}
	return changed, c.replace(ctx, all, changed)
}

// Confirm notes that the rows of definitions were compared again, of those that are as they were
// read. Requests: 1 after a read of the row.
func (c *Catalogue) Confirm(ctx context.Context, all []Definition) error {
	confirmed := slices.Clone(all)
	for i := range confirmed {
		confirmed[i].Confirmed = true
	}
	return c.replace(ctx, all, confirmed)
}

// replace replaces definitions that are as they were read.
func (c *Catalogue) replace(ctx context.Context, all, by []Definition) error {
	return c.change(ctx, c.known.Load(), func(row *Row) (*Row, error) {
		if row == nil {
			return nil, c.unusable(&reading{})
		}
		to := row.clone()
		for i, was := range all {
			d, next := to.find(was.Scope, was.Name), by[i]
			if d != nil {
				next.Form = d.Form // which the Ensure of another release may have spelled in another way
			}
			switch {
			case d != nil && *d == next: // an earlier attempt was applied
			case d == nil || d.ID != was.ID:
				return nil, c.fail(was.Name, "", nil, fmt.Sprintf("another program has changed its state, %s, meanwhile; begin again", was.State), nil)
			default:
				*d = next
			}
		}
		if slices.Equal(to.Definitions, row.Definitions) {
			return row, nil
		}
		return to, nil
	})
}

// Still returns an error unless definitions are as they were when they were read or set. 1 request.
func (c *Catalogue) Still(ctx context.Context, all []Definition) error {
	row, err := c.fetchRow(ctx)
	if err != nil {
		return err
	}
	for _, was := range all {
		if d := row.find(was.Scope, was.Name); d == nil || d.ID != was.ID {
			return c.fail(was.Name, "", nil, "another program has changed its state meanwhile; begin again", nil)
		}
	}
	return nil
}

// While returns a lease that holds while a definition is as it was read or set. Errors:
// *errs.CatalogueError if it is not. Requests: none or 1.
func (c *Catalogue) While(ctx context.Context, was Definition) (engine.Lease, error) {
	r, err := c.readingLong(ctx)
	if err != nil {
		return nil, err
	}
	if r.row == nil || r.broken != nil || r.row.find(was.Scope, was.Name) == nil || r.row.find(was.Scope, was.Name).ID != was.ID {
		if err := c.Still(ctx, []Definition{was}); err != nil {
			return nil, err
		}
		r = c.known.Load()
	}
	return &judgment{reading: r, of: c}, nil
}

// Pause returns how long to wait after a change until nobody goes by the state before: the lease of
// the row, and half of it for requests that are late.
func (c *Catalogue) Pause() time.Duration {
	return cmp.Or(time.Duration(c.lasts.Load()), c.lease) * 3 / 2
}

var _ engine.Guard = (*Guard)(nil)
