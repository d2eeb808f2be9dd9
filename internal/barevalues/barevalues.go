// Package barevalues makes the large values of a table that is in no store, for tests.
package barevalues

import (
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// New returns the large values of a table, in a container, and the handle of the table that keeps track of them. It sends nothing. Errors: those of
// largeentity.In.
func New[T any](t *table.Table[T], a host.Account, container string, o *largeentity.Options) (*largeentity.Values[T], *table.Table[T], error) {
	h := &host.Host{Account: a}
	v := largeentity.In[T](h, container, o)
	d := bare.Declare(h, t)
	if err := d.Add(v); err != nil {
		return nil, nil, err
	}
	kept, _, err := host.Declared[T](d)
	if err != nil {
		return nil, nil, err
	}
	v.Bind(kept)
	return v, kept, nil
}
