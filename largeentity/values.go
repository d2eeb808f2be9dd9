package largeentity

import (
	"cmp"
	"context"
	"io"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Values are the large values of the entities of a table of a store: a definition for aztablekit.Table, with the methods of [Store].
// They belong to one store, and so they are made together with it, by [In]. A table has one such definition, since the blobs of a table
// are swept together: types with blobs have tables of their own.
type Values[T any] struct {
	*Store
	container string
	host      *extend.Host
	given     Options
	table     *table.Table[T]
	made      *Store // for a table that is being declared
	bound     bool   // the values are of a table that was declared
}

// In declares large values in a container of a store:
//
//	photos := largeentity.In[Employee](company, "photos", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid, photos)
//
// The store's Ensure creates the container, and its work of each day sweeps it, 500 rows and blobs a second. Options.Common is that of
// the store if it is zero. Errors, returned by the methods of the store, of the table and of the values: *table.ValueError and
// *table.LimitError for names and options that are invalid, for an account without blobs, for a second definition of the table, and for
// values that are given to a table of another store; those of [Attach]. Values that are given to no table have the error for themselves.
func In[T any](s extend.Store, container string, o *Options) *Values[T] {
	v := &Values[T]{container: container, host: extend.HostOf(s), Store: &Store{fault: errUndeclared}}
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
	err := d.Attach(func(t *table.Table[T]) (*table.Table[T], error) { return v.attach(d.Host(), t) })
	if err != nil {
		return err
	}
	return d.Needs(func(t *table.Table[T]) (extend.Parts, error) {
		return extend.Parts{
			Ensure: []extend.Task{{Name: "container " + v.container, Do: v.made.Ensure}},
			Daily:  []extend.Task{{Name: "blobs of table " + t.Name(), Do: v.sweepDaily}},
		}, nil
	})
}

// Bind makes the values those of a table; aztablekit.Table calls it.
func (v *Values[T]) Bind(t *table.Table[T]) {
	fault := engine.CheckHandle("t", door.Table(t))
	switch {
	case v.bound:
	case fault != nil || v.made == nil:
		v.Store = &Store{fault: cmp.Or(fault, error(errUndeclared))}
	default:
		v.table, v.Store, v.bound = t, v.made, true
	}
}

func (v *Values[T]) attach(host *extend.Host, t *table.Table[T]) (*table.Table[T], error) {
	if host != v.host {
		return nil, &table.ValueError{Field: "values", Reason: "are of another store: make them by In of the store of the table"}
	}
	in, err := host.Container(v.container)
	if err != nil {
		return nil, err
	}
	o := v.given
	o.Common = host.Options(o.Common)
	made, err := NewStore(in, t.Name(), &o)
	if err != nil {
		return nil, err
	}
	v.made = made
	return Attach(t, made)
}

// OpenAt is [Open] for the value of the entity under a key.
func (v *Values[T]) OpenAt(ctx context.Context, k keys.Key, value func(*T) Blob) (io.ReadCloser, *table.Entity[T], error) {
	if err := v.check(); err != nil {
		return nil, nil, err
	}
	return Open(ctx, v.table, v.Store, k, value)
}

// Sweep is the function [Sweep] for the values. SweepOptions.Archived is Options.Archived if it is nil.
func (v *Values[T]) Sweep(ctx context.Context, o *SweepOptions) (SweepReport, error) {
	if err := v.check(); err != nil {
		return SweepReport{}, err
	}
	var opt SweepOptions
	if o != nil {
		opt = *o
	}
	if opt.Archived == nil {
		opt.Archived = v.opt.Archived
	}
	return Sweep(ctx, v.table, v.Store, &opt)
}

const dailyRate = 500 // rows and blobs a second

func (v *Values[T]) sweepDaily(ctx context.Context) error {
	_, err := v.Sweep(ctx, &SweepOptions{Rate: dailyRate})
	return err
}

// Check is the part of aztablekit.Store.Verify for the values: a [Sweep], which changes nothing unless o.Repair is set.
func (v *Values[T]) Check(ctx context.Context, o *verify.Options) (report verify.Report, err error) {
	if o == nil {
		o = &verify.Options{}
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
