package index

import (
	"fmt"

	"github.com/aztablekit/aztablekit/internal/suffix"
	"github.com/aztablekit/aztablekit/keys"
)

// This file makes the row of an entity in most indexes with fewer allocations than the functions of rowkeys.go, and with the same
// results.

// isPlain reports whether an entity has one row at most, in its own partition and under its value and its own RowKey.
func (ix *Index[T, K]) isPlain() bool {
	return ix.oneKey != nil && ix.opt.Unique == NotUnique && ix.opt.Elsewhere == nil && !ix.opt.Reserved
}

// maker makes the RowKeys of the rows of an index.
type maker[K any] = suffix.Maker[K, keys.Enc]

// plainRow is the RowKey of an entity's row, if the entity has one.
type plainRow struct {
	key string
	in  bool
	err error
}

func plainRowOf[K any](m maker[K], k K, in bool, primary keys.Key) (r plainRow) {
	if r.in = in; in {
		r.key, r.err = m.Of(k, primary.Row()).Result()
	}
	return r
}

// plainRowKey is rowKeys for a plain index.
func (ix *Index[T, K]) plainRowKey(v *T, primary keys.Key) ([]string, error) {
	m := ix.byValueAndKey.Maker()
	r, err := callUser(ix.name, "key", func(v *T) plainRow {
		k, in := ix.oneKey(v)
		return plainRowOf(m, k, in, primary)
	}, v)
	if err == nil && r.err != nil {
		err = withDefinition(ix.name, r.err)
	}
	if err != nil {
		return nil, err
	}
	again, err := callUser(ix.name, "key", func(v *T) plainRow {
		k, in := ix.oneKey(v)
		if in && r.in && m.Is(r.key, k, primary.Row()) {
			return r
		}
		return plainRowOf(m, k, in, primary)
	}, v)
	switch {
	case err != nil:
		return nil, err
	case again.err != nil:
		return nil, withDefinition(ix.name, again.err)
	case again != r:
		return nil, &DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: for one entity it returned the keys of %q, and then of %q", r.all(), again.all())}
	}
	return r.all(), nil
}

func (r plainRow) all() []string {
	if !r.in {
		return nil
	}
	return []string{r.key}
}
