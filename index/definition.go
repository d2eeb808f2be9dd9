package index

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// withDefinition adds the name of the definition to an error that does not contain it yet.
func withDefinition(definition string, err error) error {
	if de, is := err.(*table.DefinitionError); is && de.Definition == definition {
		return err
	}
	return fmt.Errorf("index %s: %w", definition, err)
}

// checkName returns a *table.DefinitionError for a name that a definition cannot have.
func checkName(name string) error {
	if name == "" {
		return &table.DefinitionError{Field: "name", Reason: "is empty"}
	}
	for _, c := range []byte(name) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return &table.DefinitionError{Definition: name, Field: "name", Reason: "may contain only letters and digits"}
		}
	}
	return nil
}

// withOne returns t with one more definition.
func withOne(t table.Handle, d named, m maintaining) (table.Handle, error) {
	if reconcile.IsZero(d) {
		return nil, &table.ValueError{Field: "definitions", Reason: "contain nil or a zero definition; use one of index.New and the like"}
	}
	if door.Table(t).Mode.Maintainer(d.Name()) != nil {
		return nil, &table.DefinitionError{Definition: d.Name(), Field: "name", Reason: "is the name of another definition of the table; choose another one"}
	}
	of := tabledoor.Of(t)
	made, err := m.maintainer(of)
	if err != nil {
		return nil, err
	}
	others := derived.MaintainersOf[maintainer](door.Table(t))
	if err := checkRanges(of, made, others); err != nil {
		return nil, err
	}
	if err := checkTargetProperties(made, others); err != nil {
		return nil, err
	}
	with, err := bare.WithAny(t, made)
	var limit *table.LimitError
	switch {
	case err == nil:
		return with, nil
	case errors.As(err, &limit):
		reason := fmt.Sprintf("are %d for one change of an entity, with those of the other definitions; a transaction has room for %d, and each value counts twice, for the row that is deleted and the row that is inserted", limit.Got, limit.Max)
		return nil, &table.DefinitionError{Definition: d.Name(), Field: "rows", Reason: reason, Err: err}
	}
	return nil, fmt.Errorf("definition %s: %w", d.Name(), err)
}

// checkRanges returns the error of a definition whose rows are in the range of the table or of
// another definition.
func checkRanges(t tabledoor.Untyped, m maintainer, others []maintainer) error {
	in := tableOf(m, t)
	fail := func(format string, args ...any) error {
		return &table.DefinitionError{Definition: m.Name(), Field: "layout", Reason: fmt.Sprintf(format, args...)}
	}
	for _, r := range m.Ranges() {
		own := door.Table(t).Mode.Schema.Rows()
		otherwise := "set Reserved"
		if _, is := m.(ofElsewhere); is {
			otherwise = "set another Table"
		}
		if in.Same(door.Table(t)) && keyrange.RowsOverlap(r, own) {
			return fail("has its rows in %v, which overlaps the range of the table, %v: give the table's layout a name, or %s", r, own, otherwise)
		}
		for _, other := range others {
			if in.Same(tableOf(other, t)) && slices.ContainsFunc(other.Ranges(), func(o keys.RowRange) bool { return keyrange.RowsOverlap(r, o) }) {
				return fail("has its rows in %v, which overlaps the range of %s: give one of the two another name", r, other.Name())
			}
		}
	}
	return nil
}

// checkTargetProperties returns the error of a definition that makes the same properties as another
// one.
func checkTargetProperties(m maintainer, others []maintainer) error {
	for _, other := range others {
		for _, property := range other.targetProperties() {
			if slices.Contains(m.targetProperties(), property) {
				return &table.DefinitionError{Definition: m.Name(), Field: "prefix", Reason: fmt.Sprintf("makes the property %s, as %s does; choose another prefix", property, other.Name())}
			}
		}
	}
	return nil
}

// tableOf returns the table where the rows of a maintainer of t are.
func tableOf(m maintainer, t tabledoor.Untyped) *engine.Table {
	if e, is := m.(ofElsewhere); is {
		return door.Table(e.rowsTable())
	}
	return door.Table(t)
}

// named is an [Index], [Global], [Unique], [Lists], [Details] or [Summary] as the
// program has it, and maintaining what it makes of it.
type named interface{ Name() string }

type maintaining interface {
	maintainer(tabledoor.Untyped) (maintainer, error)
}

// define adds a definition to the declaration of a table, to. It needs nothing if its rows are in
// the partitions of their entities.
func define(to any, d named, m maintaining) error {
	err := host.Attach(to, func(t table.Handle) (table.Handle, error) { return withOne(t, d, m) })
	if err != nil {
		return err
	}
	return host.Needs(to, func(t table.Handle) (host.Parts, error) {
		m := door.Table(t).Mode.Maintainer(d.Name()).Typed()
		elsewhere, is := m.(ofElsewhere)
		if !is {
			return host.Parts{Rows: map[string][]keys.RowRange{t.Name(): m.(maintainer).Ranges()}}, nil
		}
		rows := elsewhere.rowsTable()
		return host.Parts{
			Rows:     map[string][]keys.RowRange{rows.Name(): m.(maintainer).Ranges()},
			Handlers: []host.Handler{derived.Handler(t)},
			Tables:   []string{rows.Name()},
			Ensure:   []host.Task{{Name: "table " + rows.Name(), Do: door.Table(rows).Ensure}},
		}, nil
	})
}

// maintainer writes the rows of a definition.
type maintainer interface {
	bare.Maintainer
	derived.Maintainer
	// targetProperties returns the properties that the definition writes into entities of other
	// types.
	targetProperties() []string
}

// untyped returns fields without their type, for engine.Schema.
func untyped[T any](fields []table.FieldIn[T]) []any {
	all := make([]any, len(fields))
	for i, f := range fields {
		all[i] = f
	}
	return all
}

// digestOf returns a short text that differs if contents differ. The maintainer state contains the
// digest of the entity's rows. By it, a later write finds out whether they are up to date, also if
// another program has changed the entity since.
func digestOf(form string, content *table.Row) string {
	var all []string
	for name, v := range content.All() {
		all = append(all, fmt.Sprintf("%s %s %v", name, content.Type(name), v))
	}
	slices.Sort(all)
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %q", form, all)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// ErrNoTarget: the entity that is to hold details does not exist. Insert it first; see [Details].
var ErrNoTarget = errors.New("the entity that is to hold the details does not exist; insert it first")

// repairable adds the way out to an error about a row that cannot be read.
func repairable(err error) error {
	return fmt.Errorf("%w; verify.Repair writes the row again", err)
}

// unsetPartition is ErrTableScan of a method that takes the partition as an argument.
type unsetPartition struct{}

func (unsetPartition) Error() string {
	return "partition is not set: give the partition to look in, such as dept.Of(…); NewGlobal looks in all"
}

func (unsetPartition) Unwrap() error { return table.ErrTableScan }
