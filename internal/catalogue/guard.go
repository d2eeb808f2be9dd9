package catalogue

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
)

// Guard says what the handle of a declared type may do.
type Guard struct {
	of       *Catalogue
	typ      Type
	own      []Declared
	judgment atomic.Pointer[judgment]
}

// Declared is a definition that the program declares. Former is its form in rows of an earlier
// release, "" for none.
type Declared struct{ Name, Form, Former string }

// is reports whether a form in the row is that of the definition.
func (d Declared) is(form string) bool {
	return form == d.Form || d.Former != "" && form == d.Former
}

// Guard returns the guard of a type that is being declared.
func (c *Catalogue) Guard() *Guard { return &Guard{of: c} }

// Declare says what the type and its definitions are, when the declaration is complete.
func (g *Guard) Declare(t Type, own []Declared) {
	g.typ, g.own = t, own
	g.of.guards = append(g.of.guards, g)
}

// declared returns a definition that the program declares, and whether it does.
func (g *Guard) declared(name string) (Declared, bool) {
	i := slices.IndexFunc(g.own, func(d Declared) bool { return d.Name == name })
	if i < 0 {
		return Declared{}, false
	}
	return g.own[i], true
}

// judgment is what follows from a reading for writes by a handle. It is a lease.
type judgment struct {
	reading *reading
	of      *Catalogue
	refusal error
	dropped []string // the definitions whose rows writes drop
}

// Left implements engine.Lease.
func (j *judgment) Left() time.Duration { return j.reading.left(j.of.now()) }

// Suffices implements engine.Lease.
func (j *judgment) Suffices() bool { return j.Left() >= j.reading.lasts/parts }

// Keeps implements engine.Lease.
func (j *judgment) Keeps(maintainer string) bool { return !slices.Contains(j.dropped, maintainer) }

// Again implements engine.Lease. Requests: none or 1.
func (j *judgment) Again(ctx context.Context) (engine.Lease, error) {
	r, err := j.of.reading(ctx)
	if err != nil || r.etag != j.reading.etag || r.hidden != j.reading.hidden {
		return nil, err
	}
	again := *j
	again.reading = r
	return &again, nil
}

// judge returns what follows from a reading.
func (g *Guard) judge(r *reading) *judgment {
	if j := g.judgment.Load(); j != nil && j.reading == r {
		return j
	}
	j := &judgment{reading: r, of: g.of, refusal: g.of.unusable(r)}
	if r.row != nil && r.broken == nil {
		j.refusal = g.refusal(r.row)
		stamps := r.row.keepsStamps()
		for _, d := range g.own {
			is := r.row.find(g.typ.Scope, d.Name)
			if is != nil && !is.State.kept() && (d.Form != Stamps || !stamps) {
				j.dropped = append(j.dropped, d.Name)
			}
		}
	}
	g.judgment.Store(j)
	return j
}

// refusal returns why the handle must not write.
func (g *Guard) refusal(row *Row) error {
	if err := g.otherKeys(row.typeOf(g.typ.Scope)); err != nil {
		return err
	}
	for _, d := range row.Definitions {
		declared, own := g.declared(d.Name)
		other := d.Scope != g.typ.Scope
		switch {
		case other && d.State.kept() && d.Form == Stamps && !g.stamps():
			return g.of.fail(d.Name, d.State, errs.ErrNotDeclared, fmt.Sprintf("it is %s for another type of the table, and concerns all of them: give transfer.Snapshots to this type, too, or retire it there (Store.Retire)", d.State), nil)
		case other && d.State.kept() && g.typ.overlaps(row.typeOf(d.Scope)):
			return g.otherType(d)
		case other || !d.State.kept() && !(own && d.State == Retired):
		case !own:
			return g.of.fail(d.Name, d.State, errs.ErrNotDeclared, fmt.Sprintf("it is %s; declare it as the programs do that have it, or retire it there (Store.Retire)", d.State), nil)
		case !declared.is(d.Form):
			return g.otherForm(d, declared.Form)
		}
	}
	for _, d := range g.own {
		if row.find(g.typ.Scope, d.Name) == nil {
			return g.of.fail(d.Name, "", errs.ErrNotRecorded, "call Store.Ensure", nil)
		}
	}
	return nil
}

// stamps reports whether the program declares that writes store stamps.
func (g *Guard) stamps() bool {
	return slices.ContainsFunc(g.own, func(d Declared) bool { return d.Form == Stamps })
}

// otherType returns the error of a type in whose range another one has a definition: the name of
// the type was added, or is another one.
func (g *Guard) otherType(d Definition) error {
	return g.of.fail(d.Name, d.State, errs.ErrNotDeclared, fmt.Sprintf("it is of a type with other keys or another Schema.Type (%q), whose rows this type (%q) could write: declare the type as the programs do that have it, or retire the definition there first (Store.Retire)", d.Scope, g.typ.Scope), nil)
}

// otherKeys returns the error of a type that the row names with other layouts of its keys.
func (g *Guard) otherKeys(is Type) error {
	how := is.otherLayout(g.typ)
	if how == "" {
		return nil
	}
	return g.refuseType(how + ", by which its rows are not found: declare the layout that the table has, " +
		"or give the type another table, and move the entities there (Table.MoveTo)")
}

// refuseType returns an error about the type.
func (g *Guard) refuseType(reason string) error {
	return g.of.fail("", "", errs.ErrNotDeclared, fmt.Sprintf("type %s: %s", g.typ.Go, reason), nil)
}

// otherScope returns the error of a type that the row does not name, if it names the same type of
// Go with other RowKeys or another Schema.Type, and this program does not declare that, too. A type
// that gets a name keeps its rows.
func (g *Guard) otherScope(row *Row) error {
	for _, is := range row.Types {
		if is.Go != g.typ.Go || g.typ.RowLayout+g.typ.PartitionLayout == "" || g.of.declaresType(is.Scope) {
			continue
		}
		named := g.typ
		if is.Name == "" {
			named.Name = ""
		}
		if is.Name == named.Name && is.From == named.From && is.To == named.To {
			return g.otherKeys(is)
		}
		return g.refuseType(fmt.Sprintf("the table has it as %s, and this program declares %s, by which its rows are not found: "+
			"declare both, the one before as a type of another name in Go, or give a new type another name", is, g.typ))
	}
	return nil
}

func (g *Guard) otherForm(d Definition, form string) error {
	return g.of.fail(d.Name, d.State, errs.ErrNotDeclared, fmt.Sprintf("the table has it as %q, and this program declares it as %q: give the new form another name, or retire the old one first (Store.Retire)", d.Form, form), nil)
}

// momentary is the part of a lease during which a refusal is not asked for again.
const momentary = 66

// Write implements engine.Guard. Requests: none or 1.
func (g *Guard) Write(ctx context.Context) (engine.Lease, error) {
	return g.leaseFor(ctx, func(r *reading) error { return g.judge(r).refusal })
}

// leaseFor returns a lease by what is known of the catalogue, or the refusal, once the catalogue
// was read again. Requests: none or 1.
func (g *Guard) leaseFor(ctx context.Context, refusal func(*reading) error) (engine.Lease, error) {
	r, err := g.of.readingLong(ctx)
	if err != nil {
		return nil, err
	}
	err = refusal(r)
	if err != nil && r.lasts-r.left(g.of.now()) > r.lasts/momentary {
		if r, err = g.of.repeat(ctx, g.of.readNow); err != nil {
			return nil, err
		}
		err = refusal(r)
	}
	if err != nil {
		return nil, err
	}
	return g.judge(r), nil
}

// Keeps implements engine.Guard. Requests: none or 1.
func (g *Guard) Keeps(ctx context.Context, maintainer string) (bool, error) {
	r, err := g.of.readingLong(ctx)
	if err == nil {
		err = g.of.unusable(r)
	}
	return err == nil && g.judge(r).Keeps(maintainer), err
}

// IsOthers implements engine.Guard. A row with a RowKey of the type's own range is none of another
// type's, unless its name says so.
func (g *Guard) IsOthers(rowKey, typeName string) bool {
	if g.typ.has(rowKey, typeName) {
		return false
	}
	return slices.ContainsFunc(g.of.guards, func(other *Guard) bool { return other.typ.has(rowKey, typeName) })
}

// LookUp implements engine.Guard. Requests: none or 1.
func (g *Guard) LookUp(ctx context.Context, definition string) (engine.Lease, error) {
	return g.leaseFor(ctx, func(r *reading) error { return g.unreadable(r, definition) })
}

// unreadable returns why a definition cannot be looked up.
func (g *Guard) unreadable(r *reading, definition string) error {
	declared, own := g.declared(definition)
	if !own {
		return nil // it was attached to the handle, and the catalogue knows nothing of it
	}
	if err := g.of.unusable(r); err != nil || r.hidden {
		return err
	}
	d := r.row.find(g.typ.Scope, definition)
	if d == nil {
		return g.of.fail(definition, "", errs.ErrNotRecorded, "call Store.Ensure", nil)
	}
	if !declared.is(d.Form) && d.State != Unfilled {
		return g.otherForm(*d, declared.Form)
	}
	switch d.State {
	case Readable:
		return nil
	case Unfilled:
		return g.of.fail(definition, d.State, errs.ErrNotReadable, "it is not filled; call Store.Fill when all programs have this release", nil)
	case Building:
		return g.of.fail(definition, d.State, errs.ErrNotReadable, "it is being filled; if no program fills it any more, call Store.Fill again", nil)
	}
	return g.of.fail(definition, d.State, errs.ErrNotReadable, retiring, nil)
}

const retiring = "it is being retired; if no program retires it any more, call Store.Retire again"
