package largeentity

import (
	"cmp"
	"context"
	"reflect"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Values are the large values of the entities of a table of a store: a definition for aztablekit.Table. They belong to one store, and so
// they are made together with it, by [In]. A table has one such definition, since the blobs of a table are swept together: types with
// blobs have tables of their own. The names of the blobs begin with the name of the table, so that several tables can share a
// container; two tables of the same name, in different accounts, cannot. Values are safe for concurrent use.
//
// They keep track of the blobs in the fields of type [Blob]: a write that stores a Blob also stores a row for its blob, in the same
// transaction, and a write that replaces a Blob or deletes its entity marks the row, and then deletes the blob.
//
// Writes fail with a *table.DerivedError that wraps ErrUploadAgain for a Blob that another entity has or had, that was replaced
// or deleted before, or that was uploaded more than half of Options.Grace ago; and ErrForeignBlob for a Blob of another table or
// partition. An entity can be rekeyed, and a Blob can pass from one entity to another in one transaction, in which the first
// gives it up before the second takes it. A restored entity of package archive has its Blobs again.
//
// Requests: a write still takes 1; 1 or 2 more for each blob that it replaces: to delete the blob and, if it was uploaded longer ago
// than Options.Grace, its row. A restore reads the row of each blob.
type Values[T any] struct {
	*store
	container string
	host      *host.Host
	given     Options
	table     *table.Table[T]
	made      *store // of a table that is being declared
	bound     bool   // the values are of a table that was declared
}

// In declares large values in a container of a store:
//
//	photos := largeentity.In[Employee](company, "photos", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid, photos)
//
// The store's Ensure creates the container, and its work of each day sweeps it, 500 rows and blobs
// a second. Zero fields of Options.Common are those of the store. Errors, returned by the methods
// of the store, of the table and of the values: *table.ValueError and *table.LimitError for names
// and options that are invalid, for an account without blobs, for a second definition of the
// table, for values that are given to a table of another store, for a T without fields of type
// Blob, and for one with more Blobs, with other definitions, than an entity can have rows;
// *table.TypeError for a T with a Blob in a field of another type, such as a slice. Values that
// are given to no table have the error for themselves.
func In[T any](s extend.Store, container string, o *Options) *Values[T] {
	v := &Values[T]{container: container, host: host.Of(s), store: &store{fault: errUndeclared}}
	if o != nil {
		v.given = *o
	}
	return v
}

var errUndeclared = &table.ValueError{Field: "values", Reason: "are of no table yet: give them to aztablekit.Table"}

// Name returns "large values", since a table has one such definition.
func (v *Values[T]) Name() string { return "large values" }

// Define adds the values to the declaration of a table; aztablekit.Table calls it.
func (v *Values[T]) Define(d *extend.Declaration[T]) error {
	err := host.Attach(d, func(t *table.Table[T]) (*table.Table[T], error) { return v.attach(host.OfDeclaration(d), t) })
	if err != nil {
		return err
	}
	return host.Needs(d, func(t *table.Table[T]) (host.Parts, error) {
		return host.Parts{
			Ensure: []host.Task{{Name: "container " + v.container, Do: v.made.ensure}},
			Daily:  []host.Task{{Name: "blobs of table " + t.Name(), Do: v.sweepDaily}},
		}, nil
	})
}

// Bind makes the values those of a table; aztablekit.Table calls it.
func (v *Values[T]) Bind(t *table.Table[T]) {
	fault := engine.CheckHandle("t", door.Table(t))
	switch {
	case v.bound:
	case fault != nil || v.made == nil:
		v.store = &store{fault: cmp.Or(fault, error(errUndeclared))}
	default:
		v.table, v.store, v.bound = t, v.made, true
	}
}

func (v *Values[T]) attach(h *host.Host, t *table.Table[T]) (*table.Table[T], error) {
	if v.host == nil || h.Registry != v.host.Registry || h.Tables != v.host.Tables {
		return nil, &table.ValueError{Field: "values", Reason: "are of another store: make them by In of the store of the table"}
	}
	in, err := h.Container(v.container)
	if err != nil {
		return nil, err
	}
	o := v.given
	o.Common = h.Options(o.Common)
	if v.made, err = newStore(in, t.Name(), o); err != nil {
		return nil, err
	}
	fields, err := fieldsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return bare.With(t, &links[T]{store: v.made, rows: door.Rows[table.Table[table.Row]](door.Table(t), false), fields: fields})
}

// Ensure creates the container unless it exists, as the Ensure of the store does. 1 request; idempotent.
func (v *Values[T]) Ensure(ctx context.Context) error {
	if err := v.check(); err != nil {
		return err
	}
	return v.ensure(ctx)
}

const dailyRate = 500 // rows and blobs a second

func (v *Values[T]) sweepDaily(ctx context.Context) error {
	_, err := v.Sweep(ctx, &SweepOptions{Rate: dailyRate})
	return err
}

// Check is the part of aztablekit.Store.Verify for the values: a [Values.Sweep], which changes nothing unless o.Repair is set. With
// o.RecordsOnly it does nothing: blobs have no records. Errors: *table.ValueError for o.Partitions and o.Token, which are of one table.
func (v *Values[T]) Check(ctx context.Context, o *verify.Options) (report verify.Report, err error) {
	if o == nil {
		o = &verify.Options{}
	}
	switch {
	case o.Partitions.IsSet():
		return report, &table.ValueError{Field: "Options.Partitions", Reason: "is of one table; leave it out, or call Sweep"}
	case o.Token != "":
		return report, &table.ValueError{Field: "Options.Token", Reason: "is of one table; leave it out, or call Sweep"}
	case o.RecordsOnly:
		return report, nil
	}
	report.Faults = map[verify.FaultKind]int{}
	swept, err := v.Sweep(ctx, &SweepOptions{DryRun: !o.Repair, Rate: o.Rate, Fault: func(f verify.Fault) {
		report.Faults[f.Kind]++
		if f.Repaired {
			report.Repaired++
		}
		if o.Fault != nil {
			o.Fault(f)
		}
	}})
	report.Rows = swept.Rows
	return report, err
}
