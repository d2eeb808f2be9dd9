package index

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Stat is the statistics of a measure in a group. If Count is 0, so are Min and Max.
type Stat struct {
	Count, Sum, Min, Max int64

	// Approximate reports that Min and Max are approximate bounds: all entities are between them, but perhaps none has them. Causes
	// are a group of more than 1,000 entities, Measure.ApproximateBounds, and a repair by verify.Run that changes many entities of the
	// group. If the repair was interrupted, the bounds stay approximate until the group changes or verify.Run runs again.
	Approximate bool
}

// Group is a summary of the entities that have a value: their number, and the statistics of their measures.
type Group[K any] struct {
	Value    K // the value given to Get; in All, the value as the layout decodes it, such as folded text
	Count    int64
	Measures map[string]Stat
}

// Get returns the summary of the entities that have the value k in a partition. If there are none, its Count is 0. Errors:
// ErrWriteOnly; ErrForeignRow if a foreign row has the group's key; *keys.KeyError; *DefinitionError for a handle that the
// summary is not attached to; *table.DecodeError for a row that another program has stored with other types; those of
// table.Table.GetRow. 1 request.
func (s *Summary[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (g *Group[K], err error) {
	fail := func(err error) (*Group[K], error) { return nil, withDefinition(s.ix.name, err) }
	if _, err := s.ix.readable(t, s); err != nil {
		return fail(err)
	}
	at, err := s.ix.uniqueKey(t, partition, k)
	if err != nil {
		return fail(err)
	}
	ctx, end := t.Engine().Span(ctx, "Get")
	defer func() { end(err) }()
	row, err := t.GetRow(ctx, at)
	if errors.Is(err, table.ErrNotFound) {
		return &Group[K]{Value: k, Measures: map[string]Stat{}}, nil
	} else if err != nil {
		return fail(err)
	}
	if !tagOf(summaryTag+s.ix.name, t).matches(row.Engine().Owner()) {
		return fail(derived.ForeignRow(s.ix.name, at)) // the entities of the group may not be counted in any row
	}
	if g, err = s.group(row, k); err != nil {
		return fail(err)
	}
	return g, nil
}

// All yields the summaries of a partition, in the order of their values, without groups whose key a foreign row has. 1 request for
// each 1,000. Errors are those of table.Table.List, a *keys.KeyError if the layout cannot decode a value, and a *table.DecodeError for
// a row that another program has stored with other types.
func (s *Summary[T, K]) All(ctx context.Context, t *table.Table[T], partition keys.Enc) iter.Seq2[*Group[K], error] {
	return func(yield func(*Group[K], error) bool) {
		fail := func(err error) { yield(nil, withDefinition(s.ix.name, err)) }
		if _, err := s.ix.readable(t, s); err != nil {
			fail(err)
			return
		}
		mine := tagOf(summaryTag+s.ix.name, t)
		for row, err := range t.Rows(ctx, table.Query[T]{Partition: partition, Rows: s.ix.All()}) {
			var k K
			var g *Group[K]
			if err == nil {
				err = ownerError(row)
			}
			if err == nil {
				if !mine.matches(row.Engine().Owner()) {
					continue
				}
				k, err = s.layout.Decode(strings.TrimPrefix(row.Key.RowKey(), s.ix.prefixed("")))
			}
			if err == nil {
				g, err = s.group(row, k)
			}
			if err != nil {
				fail(err)
				return
			}
			if g.Count > 0 && !yield(g, nil) { // a repair is about to count an empty group
				return
			}
		}
	}
}

// group returns the group that a row contains.
func (s *Summary[T, K]) group(row *table.Row, k K) (*Group[K], error) {
	t, err := s.read(row)
	if err != nil {
		return nil, repairable(err)
	}
	g := &Group[K]{Value: k, Count: t.count, Measures: map[string]Stat{}}
	for i, m := range s.measures {
		st := &t.stats[i]
		g.Measures[m.Name] = Stat{st.count, st.sum.Int64(), st.min, st.max, st.approximate}
	}
	return g, nil
}
