package table_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// numberEntity is an entity with a number.
type numberEntity[N number] struct {
	ID string
	N  N
}

// numberColumns returns columns as other programs write them, by RowKey.
func numberColumns() map[string]string {
	all := map[string]string{}
	for i, n := range []int64{0, 1, 2, 5, 6, 127, 128, 255, 256, 32767, 65535, 1<<31 - 2, 1<<31 - 1, 1 << 31, 5e9, 1<<53 + 1, math.MaxInt64} {
		for _, n := range []int64{n, -n - 1} {
			if n == int64(int32(n)) {
				all[fmt.Sprintf("int32_%02d_%v", i, n < 0)] = fmt.Sprintf(`"N":%d`, n)
			}
			all[fmt.Sprintf("int64_%02d_%v", i, n < 0)] = fmt.Sprintf(`"N@odata.type":"Edm.Int64","N":"%d"`, n)
		}
	}
	for i, f := range []string{"0.0", "5.0", "5.5", "-5.5", "2147483647.0", "2147483647.5", "2147483648.0", "-2147483648.5", "5000000000.0", "5000000000.5", "9223372036854775807.0", "1E+300", "-1E+300"} {
		all[fmt.Sprintf("double_%02d", i)] = `"N@odata.type":"Edm.Double","N":` + f
	}
	all["double_NaN"] = `"N@odata.type":"Edm.Double","N":"NaN"`
	all["absent"] = `"M":5`
	return all
}

// TestWhereFindsWhatIsRead: a condition finds the rows whose value the field reads and for which Go's operator is true, for
// each numeric type and each column of numbers. Explain returns the number of comparisons that the filter contains.
func TestWhereFindsWhatIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range testkit.Some([]struct {
		name string
		test func(*testing.T)
	}{
		{"int", testWhere[int]}, {"int8", testWhere[int8]}, {"int16", testWhere[int16]}, {"int32", testWhere[int32]}, {"int64", testWhere[int64]},
		{"uint", testWhere[uint]}, {"uint8", testWhere[uint8]}, {"uint16", testWhere[uint16]}, {"uint32", testWhere[uint32]}, {"uint64", testWhere[uint64]},
		{"float32", testWhere[float32]}, {"float64", testWhere[float64]}, {"EDMInt64", testWhere[aztables.EDMInt64]},
	}) {
		t.Run(c.name, c.test)
	}
}

// testWhere compares the conditions on a field of type N with Go's operators.
func testWhere[N number](t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	service := serviceOf(t, storagetest.New(nil))
	type entity = numberEntity[N]
	tab, err := bare.NewTable(service, "numbers", table.Schema[entity]{Partition: keys.OnePartition[entity]("p"), Row: keys.RawRowOf(func(e *entity) *string { return &e.ID })}, nil)
	noError(t, err)
	noError(t, tab.Ensure(ctx))
	raw := service.NewClient("numbers")
	read := map[string]N{}
	literals := map[N]bool{}
	for id, column := range numberColumns() {
		_, err := raw.AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"`+id+`",`+column+`}`), nil)
		noError(t, err)
		e, err := tab.Get(ctx, keys.Raw("p", id))
		if err != nil { // a value that the field cannot read ends a list
			var de *table.DecodeError
			if !errors.As(err, &de) {
				t.Fatalf("got %v; want a *DecodeError", err)
			}
			_, err := raw.DeleteEntity(ctx, "p", id, nil)
			noError(t, err)
			continue
		}
		if id == "absent" {
			literals[0] = true
			continue
		}
		read[id] = e.Value.N
		if v := e.Value.N; v == v && !math.IsInf(float64(v), 0) {
			literals[v], literals[v+1], literals[v-1] = true, true, true
		}
	}
	n := table.FieldOf(func(e *entity) *N { return &e.N })
	for v := range literals {
		if float64(v) >= 1<<63 && strings.HasPrefix(fmt.Sprintf("%T", v), "uint") {
			continue // a literal that is no Int64 is an error
		}
		for op, c := range map[string]struct {
			cond  table.Cond[entity]
			takes func(N) bool
		}{
			"eq": {n.Eq(v), func(x N) bool { return x == v }},
			"ne": {n.Ne(v), func(x N) bool { return x != v }},
			"lt": {n.Lt(v), func(x N) bool { return x < v }},
			"le": {n.Le(v), func(x N) bool { return x <= v }},
			"gt": {n.Gt(v), func(x N) bool { return x > v }},
			"ge": {n.Ge(v), func(x N) bool { return x >= v }},
		} {
			q := table.Query[entity]{Where: c.cond}
			ex, err := tab.Explain(q)
			if err != nil {
				t.Fatalf("%v %s: got %v; want no error", v, op, err)
			}
			if sent := strings.Count(ex.Filter, "N ") + strings.Count(ex.Filter, "Key "); sent != ex.Comparisons {
				t.Errorf("%s: got %d comparisons; want %d", ex.Filter, ex.Comparisons, sent)
			}
			var want, none []string
			for id, x := range read {
				if c.takes(x) {
					want = append(want, id)
				} else {
					none = append(none, id)
				}
			}
			slices.Sort(want)
			if got := idsOf(t, tab, q); !slices.Equal(got, want) {
				t.Errorf("%s: got %q; want %q", ex.Filter, got, want)
			}
			q.Where = table.Not(c.cond)
			slices.Sort(none)
			if got := slices.DeleteFunc(idsOf(t, tab, q), func(id string) bool { return id == "absent" }); !slices.Equal(got, none) {
				t.Errorf("not %s: got %q; want %q", ex.Filter, got, none)
			}
		}
	}
}

// idsOf returns the IDs that a query finds.
func idsOf[N number](t testing.TB, tab *table.Table[numberEntity[N]], q table.Query[numberEntity[N]]) (ids []string) {
	for e, err := range tab.List(context.Background(), q) {
		noError(t, err)
		ids = append(ids, e.Value.ID)
	}
	return ids
}

// storedTypes returns the stored type and the value of each property of a row.
func storedTypes(t testing.TB, tab *table.Table[tally], id string) string {
	t.Helper()
	row, err := tab.GetRow(context.Background(), keys.Raw("p", id))
	noError(t, err)
	var all []string
	for name, v := range row.All() {
		if !strings.HasPrefix(name, "_") {
			all = append(all, fmt.Sprintf("%s %s %v", name, strings.TrimPrefix(row.Type(name), "Edm."), v))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// tally has numbers in every form that a field can have.
type tally struct {
	ID     string
	A      int
	B      *int64
	C      int32
	D      float64
	E      []int `table:",each=2"`
	Both   span
	Narrow int64 `table:",int32"`
}

// span is a Composite of two numbers.
type span struct{ From, To int64 }

func (*span) PropertySuffixes() []string { return []string{"From", "To"} }
func (s *span) PropertyValues() ([]any, error) {
	return []any{s.From, s.To}, nil
}
func (s *span) SetPropertyValues(values []any) error {
	for i, to := range []*int64{&s.From, &s.To} {
		switch v := values[i].(type) {
		case int32:
			*to = int64(v)
		case int64:
			*to = v
		}
	}
	return nil
}

// TestStoredTypesStay: a loaded entity keeps the stored types of its numbers if the values fit. A new entity has the types of
// its fields.
func TestStoredTypesStay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	service := serviceOf(t, storagetest.New(nil))
	tab, err := bare.NewTable(service, "tallies", table.Schema[tally]{Partition: keys.OnePartition[tally]("p"), Row: keys.RawRowOf(func(e *tally) *string { return &e.ID })}, nil)
	noError(t, err)
	noError(t, tab.Ensure(ctx))
	raw := service.NewClient("tallies")
	const stored = "A Int32 5, B Int32 5, BothFrom Int32 5, BothTo Int64 5, C Int64 5, D Int32 5, E0 Int32 5, E1 Int64 5, Narrow Int64 5"
	for _, id := range []string{"replaced", "merged", "updated", "grown", "any"} {
		_, err := raw.AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"`+id+`","A":5,"B":5,"C@odata.type":"Edm.Int64","C":"5","D":5,"E0":5,"E1@odata.type":"Edm.Int64","E1":"5","BothFrom":5,"BothTo@odata.type":"Edm.Int64","BothTo":"5","Narrow@odata.type":"Edm.Int64","Narrow":"5"}`), nil)
		noError(t, err)
	}
	get := func(id string) *table.Entity[tally] {
		e, err := tab.Get(ctx, keys.Raw("p", id))
		noError(t, err)
		return e
	}
	is := func(id, want string) {
		t.Helper()
		if got := storedTypes(t, tab, id); got != want {
			t.Errorf("%s: got %s; want %s", id, got, want)
		}
	}
	noError(t, tab.Replace(ctx, get("replaced")))
	is("replaced", stored)
	_, err = tab.Update(ctx, keys.Raw("p", "updated"), func(v *tally) error { v.A, v.D = 6, 6; return nil })
	noError(t, err)
	is("updated", strings.Replace(strings.Replace(stored, "A Int32 5", "A Int32 6", 1), "D Int32 5", "D Int32 6", 1))
	a, d := table.FieldOf(func(v *tally) *int { return &v.A }), table.FieldOf(func(v *tally) *float64 { return &v.D })
	both := table.FieldOf(func(v *tally) *span { return &v.Both })
	noError(t, tab.Merge(ctx, get("merged"), a.Set(7), d.Set(7.5), both.Set(span{7, 7})))
	is("merged", "A Int32 7, B Int32 5, BothFrom Int32 7, BothTo Int64 7, C Int64 5, D Double 7.5, E0 Int32 5, E1 Int64 5, Narrow Int64 5")
	e := get("grown")
	big := int64(1 << 40)
	e.Value.A, e.Value.B, e.Value.D, e.Value.Both.From = math.MaxInt32+1, &big, math.NaN(), math.MinInt32-1
	noError(t, tab.Replace(ctx, e))
	is("grown", "A Int64 2147483648, B Int64 1099511627776, BothFrom Int64 -2147483649, BothTo Int64 5, C Int64 5, D Double NaN, E0 Int32 5, E1 Int64 5, Narrow Int64 5")
	noError(t, tab.MergeAny(ctx, keys.Raw("p", "any"), a.Set(8))) // which does not read the row
	is("any", strings.Replace(stored, "A Int32 5", "A Int64 8", 1))
	five := int64(5)
	_, err = tab.Insert(ctx, &tally{"new", 5, &five, 5, 5, []int{5, 5}, span{5, 5}, 5})
	noError(t, err)
	is("new", "A Int64 5, B Int64 5, BothFrom Int64 5, BothTo Int64 5, C Int32 5, D Double 5, E0 Int64 5, E1 Int64 5, Narrow Int32 5")

	// DeleteQuery deletes the rows that the condition finds.
	where := table.And(a.Ge(5), d.Le(7.5), table.FieldOf(func(v *tally) *int64 { return &v.Narrow }).Lt(5e9))
	result, err := table.BulkDelete(ctx, tab, table.Query[tally]{Where: where}, nil)
	if noError(t, err); result.Applied != 5 {
		t.Errorf("got %d deleted; want 5", result.Applied)
	}
}

// TestNarrowOption: the tag int32 stores a 64-bit integer as an Int32. A value that does not fit is an error.
func TestNarrowOption(t *testing.T) {
	t.Parallel()
	w := pagesOf(nil)
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[tally]{}, singleAttempt())
	noError(t, err)
	_, err = tab.InsertAt(context.Background(), keys.Raw("p", "r"), &tally{Narrow: 1 << 31})
	var ve *table.ValueError
	if !errors.As(err, &ve) || ve.Field != "Narrow" || w.requests() != "" {
		t.Errorf(`got %v after %q; want a *ValueError and ve.Field == "Narrow" and w.requests() == ""`, err, w.requests())
	}
	type text struct {
		N string `table:",int32"`
	}
	var te *table.TypeError
	if _, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[text]{}, singleAttempt()); !errors.As(err, &te) {
		t.Errorf("got %v; want a *TypeError", err)
	}
}

// anything is a Composite whose value determines its type.
type anything struct{ v any }

func (anything) PropertySuffixes() []string               { return []string{"Value"} }
func (a anything) PropertyValues() ([]any, error)         { return []any{a.v}, nil }
func (a *anything) SetPropertyValues(v []any) (err error) { a.v = v[0]; return nil }

// TestCompositesChooseTypes: a Composite keeps the types of its values, whatever is stored.
func TestCompositesChooseTypes(t *testing.T) {
	t.Parallel()
	type entity struct {
		ID string `table:"-"`
		A  anything
	}
	ctx := context.Background()
	service := serviceOf(t, storagetest.New(nil))
	tab, err := bare.NewTable(service, "anything", table.Schema[entity]{Partition: keys.OnePartition[entity]("p"), Row: keys.RawRowOf(func(e *entity) *string { return &e.ID })}, nil)
	noError(t, err)
	noError(t, tab.Ensure(ctx))
	values := []any{int32(5), int64(6), float64(7), "8"}
	field := table.FieldOf(func(e *entity) *anything { return &e.A })
	for _, was := range values {
		for _, is := range values {
			for method, write := range map[string]func(*table.Entity[entity]) error{
				"Replace": func(e *table.Entity[entity]) error { e.Value.A.v = is; return tab.Replace(ctx, e) },
				"Merge":   func(e *table.Entity[entity]) error { return tab.Merge(ctx, e, field.Set(anything{is})) },
			} {
				e, err := tab.Insert(ctx, &entity{fmt.Sprintf("%T-%T-%s", was, is, method), anything{was}})
				noError(t, err)
				noError(t, write(e))
				got, err := tab.Get(ctx, e.Key)
				noError(t, err)
				if got.Value.A.v != is {
					t.Errorf("%s over %T: got %T %v; want %T %v", method, was, got.Value.A.v, got.Value.A.v, is, is)
				}
			}
		}
	}
}
