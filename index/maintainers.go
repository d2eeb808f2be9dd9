package index

import (
	"github.com/aztablekit/aztablekit/table"
)

func (ix *Index[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &indexMaintainer[T, K]{Index: ix, table: t, schema: t.Engine().Mode.Schema}
	if ix.invalid != nil {
		return m, ix.invalid
	}
	if t.Engine().Options.OmitOperationID && ix.full() {
		return m, &DefinitionError{Definition: ix.name, Field: "Only", Reason: "is empty, but with Common.OmitOperationID nothing shows whether a full copy is up to date: set Only to the fields to copy, or set Pointer"}
	}
	var err error
	if m.copied, err = m.schema.Properties(untyped(ix.opt.Only)...); err != nil {
		return m, &DefinitionError{Definition: ix.name, Field: "Only", Reason: err.Error(), Err: err}
	}
	if err := ix.probe(t, m.copied...); err != nil || ix.opt.Elsewhere == nil {
		return m, err
	}
	e, err := newElsewhere(t, ix, m, copyForm[T, K]{m})
	if err == nil && ix.isUniqueElsewhere() {
		return &uniqueElsewhere[T]{e, 2 * ix.maxValues}, nil
	}
	return e, err
}

func (l *Lists[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &listsMaintainer[T, K]{Lists: l, tag: tagOf(l.ix.name, t)}
	if l.ix.invalid != nil {
		return m, l.ix.invalid
	}
	if err := l.ix.probe(t); err != nil || l.ix.opt.Elsewhere == nil {
		return m, err
	}
	return newElsewhere(t, l.ix, m, listForm[T, K]{m})
}
