package index

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// suffixOf returns what the RowKeys of an entity's rows end with.
func (ix *core) suffixOf(primary keys.Key) keys.RowKey {
	if ix.elsewhere {
		return keys.Raw("p", memberText(primary)).Row()
	}
	return primary.Row()
}

// rowKeys returns the RowKeys of an entity's rows, in order; see rows.
func (ix *core) rowKeys(v any, primary keys.Key) ([]string, error) {
	if ix.hasOneRow() && v != nil {
		return ix.oneRowKey(v, primary)
	}
	all, err := ix.rows(v, primary)
	return rowKeysOf(all), err
}

func rowKeysOf(rows []keys.Key) (all []string) {
	for _, k := range rows {
		all = append(all, k.RowKey())
	}
	return all
}

// rows returns the keys of an entity's rows, in order. It calls the key function twice: rows of a
// key function that is not pure would never be found and deleted again.
func (ix *core) rows(v any, primary keys.Key) ([]keys.Key, error) {
	if v == nil {
		return nil, nil
	}
	rows, err := ix.rowsOnce(v, primary)
	if err != nil {
		return nil, err
	}
	again, err := ix.rowsOnce(v, primary)
	if err == nil && !slices.Equal(rows, again) {
		err = &table.DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: for one entity it returned the keys of %q, and then of %q", rowKeysOf(rows), rowKeysOf(again))}
	}
	return rows, err
}

func (ix *core) rowsOnce(v any, primary keys.Key) (rows []keys.Key, err error) {
	all, err := derived.CallUser(ix.name, "key", func() entityValues { return ix.values.list(v) })
	if err != nil {
		return nil, err
	}
	for i := range all.len() {
		row, err := ix.row(v, all, i, primary)
		if err != nil {
			return nil, withDefinition(ix.name, err)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b keys.Key) int { return strings.Compare(a.RowKey(), b.RowKey()) })
	if rows = slices.Compact(rows); len(rows) > ix.maxValues {
		return nil, &table.LimitError{Field: "index " + ix.name, Limit: "values of one entity", Got: len(rows), Max: ix.maxValues}
	}
	return rows, nil
}

// row returns the key of the row of an entity and one of its values, the i-th.
func (ix *core) row(v any, all entityValues, i int, primary keys.Key) (row keys.Key, err error) {
	type result struct {
		rowKey string
		err    error
	}
	r, err := derived.CallUser(ix.name, "key", func() (r result) { // functions of the layout may panic
		if ix.opt.unique {
			r.rowKey, r.err = ix.stored(all.rowKey(i))
		} else {
			r.rowKey, r.err = ix.stored(all.rowKeyOf(i, ix.suffixOf(primary)))
		}
		return r
	})
	if err == nil {
		err = r.err
	}
	if err != nil {
		return row, err
	}
	if !ix.elsewhere {
		return keys.Raw(primary.PartitionKey(), r.rowKey), nil
	}
	pk, err := ix.partitionElsewhere(v, all, i)
	return keys.Raw(pk, r.rowKey), err
}

// stored returns the RowKey of a row as it is stored, for that of the layout.
func (ix *core) stored(of keys.RowKey) (string, error) {
	s, err := of.Result()
	if err == nil && ix.opt.reserved {
		s = ix.prefixed(s)
		err = keys.Raw("p", s).Err() // the prefix makes it longer
	}
	return s, err
}

// hasRow reports whether a row follows from an entity, also if other rows of the entity are more
// than it may have or invalid.
func (ix *core) hasRow(v any, primary, row keys.Key) bool {
	all, err := derived.CallUser(ix.name, "key", func() entityValues { return ix.values.list(v) })
	if err != nil {
		return false
	}
	for i := range all.len() {
		if is, err := ix.row(v, all, i, primary); err == nil && is == row {
			return true
		}
	}
	return false
}

// matcher returns hasRow for the rows of a list. It is for one goroutine: it reuses its memory.
func (ix *core) matcher() func(v any, primary, row keys.Key) bool {
	if !ix.hasOneRow() {
		return ix.hasRow
	}
	m := ix.values.maker()
	return func(v any, primary, row keys.Key) bool {
		is, err := derived.CallUser(ix.name, "key", func() bool { return ix.values.is(m, v, primary, row.RowKey()) })
		return err == nil && is && row.PartitionKey() == primary.PartitionKey()
	}
}

// hasOwnPartitions reports whether each value has a partition of its own.
func (ix *core) hasOwnPartitions() bool {
	return ix.elsewhere && ix.partition == nil
}

const fieldPartition = "In"

// partitionElsewhere returns the PartitionKey of the row of an entity and one of its values, the
// i-th.
func (ix *core) partitionElsewhere(v any, all entityValues, i int) (string, error) {
	if ix.hasOwnPartitions() {
		return all.partitionKey(i).Result()
	}
	e, err := derived.CallUser(ix.name, fieldPartition, func() keys.PartitionKey { return ix.partition(v) })
	if err != nil {
		return "", err
	}
	if !e.IsSet() {
		return "", &table.DefinitionError{Definition: ix.name, Field: fieldPartition, Reason: "returns no key"}
	}
	return e.Result()
}

// namedBy returns the key of the entity that an index row names. is is false for a foreign row and
// for a tombstone. Errors: *table.DecodeError.
func namedBy(row *table.Row) (k keys.Key, is bool, err error) {
	k, is = (*stored.Row)(row).Primary()
	return k, is && k.Err() == nil && !reconcile.IsTombstone(row), ownerError(row)
}

// ownerError returns a *table.DecodeError for a row whose owner another program has stored with
// another type. Without the check, the row would count as foreign, and be left out.
func ownerError(row *table.Row) error {
	_, err := property.Text(row, reserved.Owner)
	if err != nil {
		err = fmt.Errorf("%w; delete the row, and verify.Repair writes it again", err)
	}
	return err
}

// entityOf returns the entity of an index row, nil if there is none or it does not have the row's
// value.
func (ix *core) entityOf(ctx context.Context, t tabledoor.Untyped, row *table.Row) (e tabledoor.Entity, err error) {
	k, is, err := namedBy(row)
	if err != nil || !is {
		return nil, err
	}
	mustRead := ix.readsEntity()
	if !mustRead {
		if e, mustRead, err = ix.decodeCopy(t, row); err != nil {
			return nil, err
		}
	}
	if mustRead {
		return ix.readEntity(ctx, t, k, row.Key)
	}
	return ix.ifCurrent(e, row.Key), nil
}

// entityOfCopy is entityOf for what Copies yields: e is the entity of a full copy, nil for other
// rows. hasRow is core.hasRow or a matcher.
func (ix *core) entityOfCopy(
	ctx context.Context, t tabledoor.Untyped, row *stored.Row, e tabledoor.Entity, hasRow func(v any, primary, row keys.Key) bool,
) (tabledoor.Entity, error) {
	switch {
	case e == nil:
		return ix.entityOf(ctx, t, (*table.Row)(row))
	case !ix.full():
		return ix.readEntity(ctx, t, tabledoor.KeyOf(e), row.Key)
	}
	return current(e, row.Key, hasRow), nil
}

// readEntity reads the entity of an index row. It returns nil if there is none or it does not have
// the row's value.
func (ix *core) readEntity(ctx context.Context, t tabledoor.Untyped, k, row keys.Key) (tabledoor.Entity, error) {
	e, err := t.Get(ctx, k)
	switch {
	case errors.Is(err, table.ErrNotFound), derived.IsForeign(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return ix.ifCurrent(e, row), nil
}

// decodeCopy returns the entity of a copy. mustRead reports that the entity itself must be read,
// because the copy is of another kind than the index makes now, or of an older version that only a
// whole row can be upgraded from.
func (ix *core) decodeCopy(t tabledoor.Untyped, row *table.Row) (e tabledoor.Entity, mustRead bool, err error) {
	if _, isFull := row.Get(reserved.OperationID); ix.full() != isFull {
		return nil, true, nil
	}
	if !ix.full() {
		only, err := door.Table(t).Mode.Schema.Properties(ix.only...)
		if err != nil || (*stored.Row)(row).ProjectionID() != projectionID(only) {
			return nil, true, err
		}
	}
	e, err = t.Entity(row)
	var old *table.VersionError
	switch {
	case derived.IsForeign(err), errors.As(err, &old) && old.Got < old.Want:
		return nil, true, nil // Get returns the error
	}
	return e, false, err
}

// ifCurrent returns the entity if the row follows from it, else nil.
func (ix *core) ifCurrent(e tabledoor.Entity, row keys.Key) tabledoor.Entity {
	if ix.pointsElsewhere() {
		is, _ := ix.pointed(e, row)
		return is
	}
	return current(e, row, ix.hasRow)
}

// current is ifCurrent with core.hasRow or a matcher.
func current(e tabledoor.Entity, row keys.Key, hasRow func(v any, primary, row keys.Key) bool) tabledoor.Entity {
	if !hasRow(tabledoor.ValueOf(e), tabledoor.KeyOf(e), row) {
		return nil
	}
	return e
}

// The functions below make the row of an entity in most indexes with fewer allocations than those
// above, and with the same results.

// hasOneRow reports whether an entity has one row at most, in its own partition and under its value
// and its own RowKey.
func (ix *core) hasOneRow() bool {
	return ix.values.single() && !ix.opt.unique && !ix.elsewhere && !ix.opt.reserved
}

// oneRow is the RowKey of an entity's row, if the entity has one.
type oneRow struct {
	key string
	in  bool
	err error
}

// oneRowKey is rowKeys for an index in which an entity has one value and one row.
func (ix *core) oneRowKey(v any, primary keys.Key) ([]string, error) {
	m := ix.values.maker()
	r, err := derived.CallUser(ix.name, "key", func() oneRow { return ix.values.row(m, v, primary) })
	if err == nil && r.err != nil {
		err = withDefinition(ix.name, r.err)
	}
	if err != nil {
		return nil, err
	}
	again, err := derived.CallUser(ix.name, "key", func() oneRow { return ix.values.again(m, v, primary, r) })
	switch {
	case err != nil:
		return nil, err
	case again.err != nil:
		return nil, withDefinition(ix.name, again.err)
	case again != r:
		return nil, &table.DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: for one entity it returned the keys of %q, and then of %q", r.all(), again.all())}
	}
	return r.all(), nil
}

func (r oneRow) all() []string {
	if !r.in {
		return nil
	}
	return []string{r.key}
}

// tag says which definition has written a row that several entities share: its name and the type of
// its entities, so that another type's definition of the same name has another tag.
type tag struct {
	text    string
	untyped string // the tag of rows from before the schema had a type
}

// summaryTag begins the tag of a summary, because summaries have the RowKeys of lists of the same
// name. No name of a definition contains +.
const summaryTag = "+"

func tagOf(definition string, t tabledoor.Untyped) tag {
	g := tag{text: definition + ":" + door.Table(t).Mode.Schema.Scope()}
	g.untyped, _, _ = strings.Cut(g.text, "?") // no RowKey contains ?, which separates the type
	return g
}

// matches reports whether a text in a row is this tag. A schema without a type accepts the tags of
// all types, as it accepts the entities of its range whatever their type: they are of writers of
// the release before the type was added. A row without a tag is foreign.
func (g tag) matches(text string) bool {
	return text == g.text || text == g.untyped || g.text == g.untyped && strings.HasPrefix(text, g.text+"?")
}

// occursIn reports whether an entity that holds details has this tag.
func (g tag) occursIn(row *table.Row) bool {
	return slices.ContainsFunc((*stored.Row)(row).Tags(), g.matches)
}

// set adds the tag to an entity that holds details, or removes it. A type in the row's tag stays.
func (g tag) set(row *table.Row, off bool) {
	text := g.text
	for _, t := range (*stored.Row)(row).Tags() {
		if g.matches(t) {
			derived.Tag(row, t, true)
			text = max(text, t)
		}
	}
	derived.Tag(row, text, off)
}

// probe calls the key function for sample entities. It fails if the function is not pure, or uses a
// field that a projection does not copy. Mistakes that the samples do not show make writes fail
// later.
func (ix *core) probe(t tabledoor.Untyped, only ...string) error {
	at := keys.Raw("p", "r")
	for seed := range 4 {
		v := sampleOf(t, &seed)
		whole, err := derived.CallUser(ix.name, "key", func() any { return ix.values.list(v).boxed() })
		if err != nil {
			continue // the function may panic for values that no program stores
		}
		again, err := derived.CallUser(ix.name, "key", func() any { return ix.values.list(v).boxed() })
		if err != nil || !reflect.DeepEqual(whole, again) {
			return &table.DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: for one entity it returned %v, and then %v", whole, again)}
		}
		var de *table.DefinitionError
		_, err = ix.rows(v, at)
		partitionPanics := errors.As(err, &de) && de.Field == fieldPartition && strings.HasPrefix(de.Reason, "panics")
		if (len(ix.only) == 0 || ix.elsewhere) && de != nil && !partitionPanics {
			return err // the layout's own functions panic, or the function of In is wrong
		}
		if len(ix.only) == 0 {
			continue
		}
		part, err := door.Table(t).Mode.Schema.Projected(v, only...)
		if err != nil {
			continue // these values cannot be stored
		}
		want, err1 := ix.rowsOnce(v, at)
		got, err2 := ix.rowsOnce(part, at)
		if err1 == nil && (err2 != nil || !slices.Equal(want, got)) {
			return &table.DefinitionError{Definition: ix.name, Field: "Only", Reason: "lacks a field that the key function uses; add the field"}
		}
	}
	return nil
}

// form describes what must not change under the name of the definition; see derived.Maintainer.
func (ix *core) form(kind string) string {
	text := ix.kind(kind) + " by " + ix.values.spelling()
	if ix.opt.reserved {
		text += ", reserved"
	}
	if ix.partition != nil {
		text += ", in partitions of In"
	}
	return text
}

// kind tells an index of unique values from others.
func (ix *core) kind(kind string) string {
	if ix.opt.unique && kind == "index" {
		return "unique index"
	}
	return kind
}

// formerForm is form as releases have stored it that knew layouts by the key of a sample.
func (ix *core) formerForm(kind string) string {
	sample, _ := derived.CallUser(ix.name, "layout", func() string {
		rk, _ := ix.stored(ix.values.sample(ix.opt.unique, ix.suffixOf(keys.Raw("p", "r"))))
		return rk
	})
	return fmt.Sprintf("%s, %v %s", ix.kind(kind), ix.values.kind(), sample)
}

// sampleOf returns a pointer to a sample of the type of a table.
func sampleOf(t tabledoor.Untyped, seed *int) any {
	of, _ := door.Table(t).Mode.Schema.Type()
	v := reflect.New(of)
	fillSample(v.Elem(), seed, 0)
	return v.Interface()
}

// probeFunction calls a function of a definition for sample entities, and returns the
// DefinitionErrors that it finds. All other errors are about the values, which no program may
// store, and so are panics.
func probeFunction(t tabledoor.Untyped, f func(v any) error) error {
	for seed := range 4 {
		var de *table.DefinitionError
		if errors.As(f(sampleOf(t, &seed)), &de) && !strings.HasPrefix(de.Reason, "panics") {
			return de
		}
	}
	return nil
}

// fillSample gives each exported field of a value another content.
func fillSample(v reflect.Value, n *int, depth int) {
	if *n++; depth > 4 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n % 100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n % 100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n % 100))
	case reflect.String:
		v.SetString(fmt.Sprintf("a%d", *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillSample(v.Elem(), n, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillSample(v.Index(0), n, depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fillSample(v.Index(i), n, depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 1+*n%28, 0, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fillSample(v.Field(i), n, depth+1)
		}
	}
}

// unrecordedRows returns the rows that an entity may have although its maintainer state contains
// none: the rows that follow from the stored entity. Either another program has replaced the entity
// and its _ix, or the entity is older than the definition and has no rows.
func unrecordedRows(c *engine.Change, had []string, rows func(any, keys.Key) ([]string, error)) []string {
	return unrecorded(c, len(had) > 0, rows)
}

func unrecorded[R any](c *engine.Change, recorded bool, rows func(any, keys.Key) ([]R, error)) []R {
	if recorded || c.Old == nil {
		return nil
	}
	all, err := rows(c.Old, c.Key)
	if err != nil {
		return nil // no write can have made a row
	}
	return all
}
