package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Measure is a number that entities of a summary have.
type Measure[T any] struct {
	// Name begins the names of the properties: Age gives AgeCount, AgeSum, AgeMin, AgeMax, and the
	// numbers of the entities that have the least and the greatest value, AgeMinCount and
	// AgeMaxCount.
	Name string

	// Of returns the number, and false for an entity that has none. It must be pure.
	Of func(*T) (v int64, ok bool)

	// ExactUpTo is the most entities of a group in which Min and Max are exact. If the last entity
	// with one of them leaves such a group, the write reads all entities of the partition, and
	// starts again whenever a concurrent writer has changed the group: in a group that changes all
	// the time it fails with table.ErrContended. A larger group keeps Min and Max as approximate
	// bounds, which no entity may have any more, and which Stat.Approximate reports; verify.Repair
	// makes them exact again. Count and Sum are always exact. 0 means 1,000, and a negative number
	// none.
	ExactUpTo int64

	// Most is the greatest Sum that a group may have, such as bytes for each customer. A write that
	// would make the Sum of a group greater than this fails with a *FullError; see
	// SummaryOptions.Most. 0 means no bound.
	Most int64
}

// Summary stores one row for each value, with the number of the entities that have it, and the sum,
// least and greatest of their measures, so that an aggregate is one read. The row is exact at every
// instant.
//
// All writers of a group share its row: a write that changes a group, or a measure, reads the row
// first, 1 request more, and is replanned if a concurrent writer has changed the row. If the last
// entity with the least or the greatest value leaves a group of up to 1,000 entities, the write
// reads all entities of the partition, 1 request for each 1,000, and Min and Max stay exact. In a
// larger group such a write reads no other entities: Min or Max stays as an approximate bound,
// which Stat.Approximate reports, until verify.Repair makes it exact, or the group has shrunk to
// 1,000. Measure.ExactUpTo is for another number than 1,000.
//
// The first write of an entity that was stored before the summary was declared, or that another
// program has replaced without its _ix, counts again the group that the stored entity is in and the
// group that it joins, once for each group and transaction: 1 request for each 1,000 entities of
// the partition. If the entity is in no group, the write after which it is in one does so.
// aztablekit.Store.Fill makes a summary of a table in use readable: it counts each group once.
//
// Limitation: a group may still count an entity that another program has deleted, or moved to
// another group without its _ix. If the entity is inserted again into that group, or joins it later
// from the other group, the group counts it twice until verify.Repair repairs the group.
//
// Sums are whole numbers, which do not drift: for money, count cents. A write fails with a
// *table.LimitError if a sum would have more than 64 bits, also if only an operation in the middle
// of its transaction makes it so large.
//
// The group's row contains the name and kind of the definition and the type of its entities. If a
// row of another type, definition or program has the group's key, writes and Get fail with
// table.ErrForeignRow, and All leaves the group out.
type Summary[T, K any] struct {
	c *summaryCore
	k *keyed[K]
}

// summaryCore is a Summary without its type parameters.
type summaryCore struct {
	ix       *core // the key function and the range of the rows
	measures []measure
	most     int64 // entities of a group; 0 for no bound
}

// measure is a Measure without its type parameter.
type measure struct {
	Name            string
	Of              func(v any) (int64, bool)
	ExactUpTo, Most int64
}

// maxMeasures is the most measures that a row has room for, with seven properties each.
const maxMeasures = 35

// NewSummary defines a summary, which counts entities and adds up measures. Its name contains
// letters and digits. The store returns the error of a wrong definition.
//
//	ages := index.NewSummary("ages", keys.Text(), func(e *Employee) (string, bool) { return "all", true }, nil, index.Measure[Employee]{
//		Name: "Age",
//		Of:   func(e *Employee) (int64, bool) { return int64(e.Age), true },
//	})
func NewSummary[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *SummaryOptions, measures ...Measure[T]) *Summary[T, K] {
	if o == nil {
		o = &SummaryOptions{}
	}
	ix, k := single(name, layout, key, options{unique: true, reserved: o.Reserved})
	s := &Summary[T, K]{&summaryCore{ix: ix, most: o.Most}, k}
	for _, m := range measures {
		of := measure{m.Name, nil, m.ExactUpTo, m.Most}
		if m.Of != nil {
			of.Of = func(v any) (int64, bool) { return m.Of(v.(*T)) }
		}
		s.c.measures = append(s.c.measures, of)
	}
	ix.definition = s
	s.c.check()
	return s
}

// Name returns the name of the definition.
func (s *summaryCore) Name() string { return s.ix.name }

// check finds the mistakes of a definition.
func (s *summaryCore) check() {
	s.ix.content = keyOnly
	seen, properties := map[string]bool{}, map[string]string{} // names, and the names by their properties
	if s.most < 0 {
		s.ix.fail("Most", fmt.Sprintf("is %d; a bound is positive, and 0 means none", s.most))
	}
	if len(s.measures) > maxMeasures {
		s.ix.fail("measures", fmt.Sprintf("are %d; a row has room for %d", len(s.measures), maxMeasures))
	}
	for _, m := range s.measures {
		switch {
		case m.Name == "":
			s.ix.fail("measures", "contain a measure without a Name")
		case seen[m.Name]:
			s.ix.fail("measures", fmt.Sprintf("contain two measures with the Name %q", m.Name))
		case m.Of == nil:
			s.ix.fail("measures", fmt.Sprintf("contain %q, whose function Of is nil", m.Name))
		case m.Most < 0:
			s.ix.fail("measures", fmt.Sprintf("contain %q, whose Most is %d; a bound is positive, and 0 means none", m.Name, m.Most))
		}
		for _, of := range []string{"Count", "Sum", "Min", "Max", "MinCount", "MaxCount", "Loose"} {
			if err := new(table.Row).Set(m.Name+of, 0); err != nil {
				s.ix.fail("measures", err.Error())
			}
			if other, taken := properties[m.Name+of]; taken && other != m.Name {
				s.ix.fail("measures", fmt.Sprintf("contain %q and %q, which would both make the property %s; rename one of them", other, m.Name, m.Name+of))
			}
			properties[m.Name+of] = m.Name
		}
		seen[m.Name] = true
	}
}

// Name returns the name of the definition.
func (s *Summary[T, K]) Name() string {
	c, _ := s.core()
	return c.ix.name
}

// core returns the summary and the values; a zero Summary has some that are wrong.
func (s *Summary[T, K]) core() (*summaryCore, *keyed[K]) {
	if s == nil || s.c == nil {
		ix, k := zero[K]()
		return &summaryCore{ix: ix}, k
	}
	return s.c, s.k
}

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (s *Summary[T, K]) Define(d *extend.Declaration[T]) error {
	c, _ := s.core()
	return define(d, s, c)
}

// Stat is the statistics of a measure in a group. If Count is 0, so are Min and Max.
type Stat struct {
	Count, Sum, Min, Max int64

	// Approximate reports that Min and Max are approximate bounds: all entities are between them,
	// but perhaps none has them. Causes are a group of more entities than Measure.ExactUpTo, and a
	// repair by verify.Repair that changes many entities of the group. If the repair was
	// interrupted, the bounds stay approximate until the group changes or verify.Repair runs again.
	Approximate bool
}

// Group is a summary of the entities that have a value: their number, and the statistics of their
// measures.
type Group[K any] struct {
	Value    K // the value given to Get; in All, the value as the layout decodes it, such as folded text
	Count    int64
	Measures map[string]Stat
}

// Get returns the summary of the entities that have the value k in a partition. If there are none,
// its Count is 0.
//
// Errors:
//   - table.ErrNotReadable
//   - table.ErrForeignRow if a foreign row has the group's key
//   - *keys.KeyError
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - *table.DecodeError for a row that another program has stored with other types
//   - errors of a read (see package table)
//
// 1 request.
func (s *Summary[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) (g *Group[K], err error) {
	c, v := s.core()
	of, err := c.get(ctx, tabledoor.Of(t), partition, v.wanted(c.ix, k))
	if err != nil {
		return nil, err
	}
	return &Group[K]{Value: k, Count: of.count, Measures: of.measures}, nil
}

// All yields the summaries of a partition, in the order of their values, without groups whose key a
// foreign row has. 1 request for each 1,000.
//
// Errors:
//   - table.ErrNotReadable
//   - table.ErrTableScan for an unset partition
//   - *keys.KeyError if the layout cannot decode a value
//   - *table.DecodeError for a row that another program has stored with other types
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - errors of a read (see package table)
func (s *Summary[T, K]) All(
	ctx context.Context, t *table.Table[T], partition keys.PartitionKey,
) iter.Seq2[*Group[K], error] {
	c, _ := s.core()
	return groups[K](c.all(ctx, tabledoor.Of(t), partition))
}

func groups[K any](of func(yield func(group, error) bool)) iter.Seq2[*Group[K], error] {
	return func(yield func(*Group[K], error) bool) {
		of(func(g group, err error) bool {
			if err != nil {
				return yield(nil, err)
			}
			value, _ := g.value.(K) // nil, if K is an interface
			return yield(&Group[K]{Value: value, Count: g.count, Measures: g.measures}, nil)
		})
	}
}

// group is a Group without its type parameter.
type group struct {
	value    any
	count    int64
	measures map[string]Stat
}

// get is Summary.Get.
func (s *summaryCore) get(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted,
) (g group, err error) {
	fail := func(err error) (group, error) { return group{}, withDefinition(s.ix.name, err) }
	rows, err := s.ix.readable(t)
	if err != nil {
		return fail(err)
	}
	at, err := s.ix.uniqueKey(t, partition, of)
	if err != nil {
		return fail(err)
	}
	ctx, end := door.Table(t).Span(ctx, "Get")
	defer func() { end(err) }()
	row, err := tabledoor.GetRow(ctx, rows, at)
	if errors.Is(err, table.ErrNotFound) {
		return group{measures: map[string]Stat{}}, nil
	} else if err != nil {
		return fail(err)
	}
	if !tagOf(summaryTag+s.ix.name, t).matches((*stored.Row)(row).Owner()) {
		return fail(derived.ForeignRow(s.ix.name, at)) // the entities of the group may not be counted in any row
	}
	if g, err = s.group(row); err != nil {
		return fail(err)
	}
	return g, nil
}

// all is Summary.All.
func (s *summaryCore) all(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey,
) func(yield func(group, error) bool) {
	return func(yield func(group, error) bool) {
		fail := func(err error) { yield(group{}, withDefinition(s.ix.name, err)) }
		rows, err := s.ix.readable(t)
		if err == nil {
			err = s.ix.checkPartition(t, partition)
		}
		if err != nil {
			fail(err)
			return
		}
		mine := tagOf(summaryTag+s.ix.name, t)
		for row, err := range rows.RowsOf(ctx, query.Query{Partition: partition, Rows: s.ix.all()}) {
			if err == nil {
				err = ownerError(row)
			}
			var g group
			if err == nil && mine.matches((*stored.Row)(row).Owner()) {
				g, err = s.groupOfValue(row)
			}
			if err != nil {
				fail(err)
				return
			}
			if g.count > 0 && !yield(g, nil) { // a repair is about to count an empty group
				return
			}
		}
	}
}

// groupOfValue is group, with the value that the key of the row names.
func (s *summaryCore) groupOfValue(row *table.Row) (g group, err error) {
	value, err := s.ix.values.decode(strings.TrimPrefix(row.Key.RowKey(), s.ix.prefixed("")))
	if err == nil {
		g, err = s.group(row)
	}
	g.value = value
	return g, err
}

// group returns the group that a row contains.
func (s *summaryCore) group(row *table.Row) (group, error) {
	t, err := s.read(row)
	if err != nil {
		return group{}, repairable(err)
	}
	g := group{count: t.count, measures: map[string]Stat{}}
	for i, m := range s.measures {
		st := &t.stats[i]
		g.measures[m.Name] = Stat{st.count, st.sum.Int64(), st.min, st.max, st.approximate}
	}
	return g, nil
}

// maxExactGroup is Measure.ExactUpTo unless it is set: one page of a list.
const maxExactGroup = 1000

// approximate reports whether the bounds of each measure may be approximate in a group of so many
// entities. In a repair, all bounds may be.
func (s *summaryCore) approximate(count int64, repairing bool) []bool {
	all := make([]bool, len(s.measures))
	for i, m := range s.measures {
		all[i] = repairing || count > cmp.Or(m.ExactUpTo, maxExactGroup)
	}
	return all
}

// totalOf reads a row, nil for none. valid is false if the row is not as a summary writes it.
func (s *summaryCore) totalOf(row *table.Row) (t total, valid bool) {
	if row == nil {
		return total{stats: make([]stat, len(s.measures))}, false
	}
	t, err := s.read(row)
	return t, err == nil && t.count > 0
}

// read reads a row. The row of an empty group has no measures. Errors: *table.DecodeError for the
// first property that is not as a summary writes it.
func (s *summaryCore) read(row *table.Row) (t total, err error) {
	t.stats = make([]stat, len(s.measures))
	get := func(name string) int64 {
		n, wrong := property.Whole(row, name)
		err = cmp.Or(err, wrong)
		return n
	}
	if t.count = get("Count"); t.count == 0 {
		return t, err
	}
	for i, m := range s.measures {
		st := &t.stats[i]
		st.count, st.min, st.max = get(m.Name+"Count"), get(m.Name+"Min"), get(m.Name+"Max")
		st.minCount, st.maxCount = get(m.Name+"MinCount"), get(m.Name+"MaxCount")
		st.sum.SetInt64(get(m.Name + "Sum"))
		approximate, wrong := property.Bool(row, m.Name+"Loose")
		st.approximate, err = approximate, cmp.Or(err, wrong)
	}
	return t, err
}

// total is the sum of the contributions of a group.
type total struct {
	count int64
	stats []stat
}

type stat struct {
	count, min, max    int64
	minCount, maxCount int64   // how many entities have min, and max; 0 if perhaps none
	sum                big.Int // may exceed 64 bits while entities are added up
	approximate        bool    // min and max are bounds
}

// apply subtracts a former contribution of an entity and adds its new contribution; nil for none.
// It reports whether the total is right afterwards. It is unknown if the last entity with an
// extreme has left, unless bounds may be approximate, and if the total was wrong before.
func (t *total) apply(less, more *contribution, approximate []bool) (known bool) {
	known = true
	if less != nil {
		t.count--
	}
	if more != nil {
		t.count++
	}
	value := func(c *contribution, i int) *int64 {
		if c == nil {
			return nil
		}
		return c.values[i]
	}
	for i := range t.stats {
		may := approximate != nil && approximate[i]
		known = t.stats[i].apply(value(less, i), value(more, i)) && known && (may || !t.stats[i].approximate)
	}
	return known && t.count >= 0
}

func (s *stat) apply(less, more *int64) (known bool) {
	if less != nil && more != nil && *less == *more {
		return true
	}
	// The new value is added first, because it may be the extreme that the former value was.
	if more != nil {
		s.add(*more)
	}
	return less == nil || s.remove(*less)
}

func (s *stat) add(v int64) {
	if s.count == 0 {
		*s = stat{min: v, max: v}
	}
	s.count++
	s.sum.Add(&s.sum, big.NewInt(v))
	switch {
	case v < s.min:
		s.min, s.minCount = v, 1
	case v == s.min:
		s.minCount++
	}
	switch {
	case v > s.max:
		s.max, s.maxCount = v, 1
	case v == s.max:
		s.maxCount++
	}
}

// remove reports whether the total is right afterwards. It is unknown if it was wrong before. If
// perhaps no entity has an extreme any more, the bounds become approximate.
func (s *stat) remove(v int64) (known bool) {
	if s.count < 1 || v < s.min || v > s.max {
		return false
	}
	s.count--
	s.sum.Sub(&s.sum, big.NewInt(v))
	if s.count == 0 {
		valid := s.sum.Sign() == 0
		*s = stat{}
		return valid
	}
	if last := s.sum.Int64(); s.count == 1 && s.sum.IsInt64() && s.min <= last && last <= s.max {
		s.min, s.max, s.minCount, s.maxCount, s.approximate = last, last, 1, 1, false
		return true
	}
	left := func(n *int64) bool { // reports whether another entity has the extreme
		if *n > 0 {
			*n--
		}
		return *n > 0
	}
	if v == s.min && !left(&s.minCount) || v == s.max && !left(&s.maxCount) {
		s.approximate = true
	}
	return true
}

// matches reports whether a total equals the exact one, except for the bounds of measures that may
// be approximate.
func (t *total) matches(exact *total, approximate []bool) bool {
	if t.count != exact.count {
		return false
	}
	for i := range t.stats {
		a, b := &t.stats[i], &exact.stats[i]
		if a.approximate && !approximate[i] {
			return false
		}
		same := a.count == b.count && a.sum.Cmp(&b.sum) == 0
		within := a.min <= b.min && b.max <= a.max
		if !same || !within || !a.approximate && (a.min != b.min || a.max != b.max || a.minCount != b.minCount || a.maxCount != b.maxCount) {
			return false
		}
	}
	return true
}

// contribution is what one entity adds to its group. The zero value is that of an entity in no
// group.
type contribution struct {
	group  string   // its RowKey
	values []*int64 // of the measures; nil for a measure that the entity lacks
}

// contributionOf returns what an entity should contribute.
func (s *summaryCore) contributionOf(v any, k keys.Key) (contribution, error) {
	rows, err := s.ix.rowKeys(v, k)
	if err != nil || len(rows) == 0 {
		return contribution{}, err
	}
	c := contribution{group: rows[0], values: make([]*int64, len(s.measures))}
	for i, m := range s.measures {
		type result struct {
			v  int64
			ok bool
		}
		of := func() result { n, ok := m.Of(v); return result{n, ok} }
		r, err := derived.CallUser(s.ix.name, "measure "+m.Name, of)
		if err != nil {
			return c, err
		}
		if again, err := derived.CallUser(s.ix.name, "measure "+m.Name, of); err != nil || again != r {
			return c, &table.DefinitionError{Definition: s.ix.name, Field: "measure " + m.Name, Reason: "is not pure: it returned different values for one entity"}
		}
		if r.ok {
			c.values[i] = &r.v
		}
	}
	return c, nil
}

// stateOf returns the maintainer state for a contribution: the RowKey of the group, and each
// measure with its name.
func (s *summaryCore) stateOf(c contribution) []string {
	if c.group == "" {
		return nil
	}
	texts := []string{c.group}
	for i, m := range s.measures {
		text := "/" + m.Name + "="
		if v := c.values[i]; v != nil {
			text += strconv.FormatInt(*v, 10)
		}
		texts = append(texts, text)
	}
	return texts
}

// contributionIn reads the contribution from maintainer state that stateOf has made, perhaps in an
// earlier release: measures that were added since are nil, and measures that were removed are left
// out, as they are when a group is counted.
func (s *summaryCore) contributionIn(texts []string) contribution {
	rows, measures := stored.SplitState(texts)
	if len(rows) == 0 {
		return contribution{}
	}
	c := contribution{group: rows[0], values: make([]*int64, len(s.measures))}
	for _, text := range measures {
		name, number, _ := strings.Cut(strings.TrimPrefix(text, "/"), "=")
		v, err := strconv.ParseInt(number, 10, 64)
		for i, m := range s.measures {
			if m.Name == name && err == nil {
				c.values[i] = &v
			}
		}
	}
	return c
}
