// Package barevalues makes the large values of a table that is in no store, for tests.
package barevalues

import (
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// New returns the large values of a table, in a container, and the handle of the table that keeps track of them. It sends nothing. Errors: those of
// largeentity.In.
func New[T any](t *table.Table[T], a extend.Account, container string, o *largeentity.Options) (*largeentity.Values[T], *table.Table[T], error) {
	host := &extend.Host{Account: a}
	v := largeentity.In[T](host, container, o)
	d := extend.NewDeclaration(host, t)
	if err := d.Add(v); err != nil {
		return nil, nil, err
	}
	kept, _, err := d.Declared()
	if err != nil {
		return nil, nil, err
	}
	v.Bind(kept)
	return v, kept, nil
}
