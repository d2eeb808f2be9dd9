package largeentity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Values are the large values of the entities of a table: a definition for aztablekit.Table. [In]
// makes them. Their methods take the handle of a table that they were given to. They can be a
// package's variable, and are safe for concurrent use.
//
// A table has one such definition, since the blobs of a table are swept together: types with blobs
// have tables of their own. The names of the blobs begin with the name of the table, so that
// several tables can share a container; two tables of the same name, in different accounts, cannot.
//
// They keep track of the blobs in the fields of type [Blob]: a write that stores a Blob also stores
// a row for its blob, in the same transaction, and a write that replaces a Blob or deletes its
// entity marks the row, and then deletes the blob.
//
// Writes fail with a *table.DerivedError that wraps ErrUploadAgain for a Blob that another entity
// has or had, that was replaced or deleted before, or that was uploaded more than half of
// Options.Grace ago; and ErrForeignBlob for a Blob of another table or partition. An entity can be
// rekeyed, and a Blob can pass from one entity to another in one transaction, in which the first
// gives it up before the second takes it. A restored entity of package archive has its Blobs again.
//
// Requests: a write still takes 1; 1 or 2 more for each blob that it replaces: to delete the blob
// and, if it was uploaded longer ago than Options.Grace, its row. A restore reads the row of each
// blob.
type Values[T any] struct {
	container string
	opt       Options
}

// In declares large values in a container of the store of the table:
//
//	var photos = largeentity.In[Employee]("photos", nil)
//
//	staff := aztablekit.Table(company, "staff", dept, empid, photos)
//	photo, err := photos.Upload(ctx, staff, key, file, "image/jpeg")
//
// The store's Ensure creates the container, and its work of each day sweeps it, 500 rows and blobs
// a second. Zero fields of Options.Common are those of the store.
//
// Errors, returned by the methods of the store and of the table:
//   - *table.ValueError and *table.LimitError for names and options that are invalid, for an
//     account without blobs, and for a second definition of the table
//   - *table.ValueError for a T without fields of type Blob
//   - *table.LimitError for one with more Blobs, with other definitions, than an entity can have
//     rows
//   - *table.TypeError for a T with a Blob in a field of another type, such as a slice
func In[T any](container string, o *Options) *Values[T] {
	v := &Values[T]{container: container}
	if o != nil {
		v.opt = *o
	}
	return v
}

// Name returns "large values", since a table has one such definition.
func (v *Values[T]) Name() string { return "large values" }

// Define adds the values to the declaration of a table; aztablekit.Table calls it.
func (v *Values[T]) Define(d *extend.Declaration[T]) error {
	if v == nil || v.container == "" {
		return &table.ValueError{Field: "values", Reason: "are nil or a zero value; make them by In"}
	}
	return define(d, v, reflect.TypeFor[T](), v.container, v.opt)
}

// define adds values to a declaration, d. definition is the Values as the program has it.
func define(d, definition any, of reflect.Type, container string, o Options) error {
	made := &values{}
	err := host.Attach(d, func(t table.Handle) (_ table.Handle, err error) {
		if made.store, err = storeOf(host.OfDeclaration(d), t, container, o); err != nil {
			return nil, err
		}
		fields, err := fieldsOf(of)
		if err != nil {
			return nil, err
		}
		rows := door.Rows[table.Table[table.Row]](door.Table(t), false)
		return bare.WithAny(bare.Bind(t, definition, made), &links{store: made.store, rows: rows, fields: fields})
	})
	if err != nil {
		return err
	}
	return host.Needs(d, func(t table.Handle) (parts host.Parts, err error) {
		made.table = tabledoor.Of(t)
		if made.archives, err = archivesOf(t, o.Archived); err != nil {
			return parts, err
		}
		parts.Ensure = []host.Task{{Name: "container " + container, Do: made.Ensure}}
		parts.Daily = []host.Task{{Name: "blobs of table " + t.Name(), Do: made.sweepDaily}}
		return parts, nil
	})
}

// storeOf returns where the blobs of a table are.
func storeOf(h *host.Host, t table.Handle, container string, o Options) (*store, error) {
	in, err := h.Container(container)
	if err != nil {
		return nil, err
	}
	o.Common = h.Options(o.Common)
	return newStore(in, t.Name(), o)
}

// binding returns the values of a table that they were given to.
func (v *Values[T]) binding(t *table.Table[T]) (*values, error) { return bare.BoundTo[*values](t, v) }

// values are Values of a table.
type values struct {
	*store
	table tabledoor.Untyped
}

// archive is a mover of package archive.
type archive interface {
	Contains(ctx context.Context, k keys.Key, incarnation string) (bool, error)
}

// archivesOf returns the movers of a table that have these names.
func archivesOf(t table.Handle, names []string) (all []archive, err error) {
	for _, name := range names {
		a, is := bare.BoundByName(t, name).(archive)
		if !is {
			return nil, &table.ValueError{Field: "Options.Archived", Reason: fmt.Sprintf("contains %q, which is no definition of package archive of the table", name)}
		}
		all = append(all, a)
	}
	return all, nil
}

const dailyRate = 500 // rows and blobs a second

func (v *values) sweepDaily(ctx context.Context) error {
	_, err := v.Sweep(ctx, &table.Pass{Rate: dailyRate})
	return err
}

// Check is the part of aztablekit.Store.Verify and Repair for the values: a sweep. With
// o.RecordsOnly it does nothing: blobs have no records.
func (v *values) Check(ctx context.Context, o *verify.Options) (report table.Progress, err error) {
	if o.RecordsOnly {
		return report, nil
	}
	report.Counts = map[string]int{}
	swept, err := v.sweep(ctx, sweepOptions{Pass: table.Pass{DryRun: o.DryRun, Rate: o.Rate}, archived: v.archivedAnywhere(), fault: func(f verify.Fault) {
		report.Counts[f.Kind]++
		if f.Repaired {
			report.Changed++
		} else {
			report.Faults++
		}
		if o.Fault != nil {
			o.Fault(f)
		}
	}})
	report.Rows = swept.report.Rows
	if err != nil {
		err = fmt.Errorf("largeentity: Sweep: %w", err)
	}
	return report, err
}
