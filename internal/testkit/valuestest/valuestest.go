// Package valuestest makes the large values of a table that is in no store, for tests.
package valuestest

import (
	"context"
	"io"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// Values has the methods of *largeentity.Values without the handle, and Ensure, which creates the
// container.
type Values[T any] struct {
	bound
	definition *largeentity.Values[T]
	table      *table.Table[T]
}

// bound is what a *largeentity.Values makes for a table.
type bound interface {
	Copy(ctx context.Context, owner keys.Key, b largeentity.Blob) (largeentity.Blob, error)
	Ensure(ctx context.Context) error
	Open(ctx context.Context, b largeentity.Blob) (io.ReadCloser, error)
	OpenRange(ctx context.Context, b largeentity.Blob, offset, count int64) (io.ReadCloser, error)
	Relink(ctx context.Context, p *table.Pass) (table.Progress, error)
	Sweep(ctx context.Context, p *table.Pass) (table.Progress, error)
	Upload(ctx context.Context, owner keys.Key, r io.Reader, contentType string) (largeentity.Blob, error)
}

// Bound returns what the definition has made, for tests of package largeentity.
func (v Values[T]) Bound() any { return v.bound }

// OpenAt is largeentity.Values.OpenAt.
func (v Values[T]) OpenAt(
	ctx context.Context, k keys.Key, value func(*T) largeentity.Blob,
) (io.ReadCloser, *table.Entity[T], error) {
	return v.definition.OpenAt(ctx, v.table, k, value)
}

// New returns the large values of a table, in a container, and the handle of the table that keeps
// track of them. It sends nothing. Errors: those of largeentity.In.
func New[T any](t *table.Table[T], a host.Account, container string, o *largeentity.Options) (Values[T], *table.Table[T], error) {
	v := largeentity.In[T](container, o)
	d := bare.Declare(&host.Host{Account: a}, t)
	if err := d.Add(v); err != nil {
		return Values[T]{}, nil, err
	}
	kept, _, err := host.Declared(d)
	if err != nil {
		return Values[T]{}, nil, err
	}
	with := kept.(*table.Table[T])
	made, err := bare.BoundTo[bound](with, v)
	return Values[T]{made, v, with}, with, err
}
