package integration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// money is a composite field: an amount and its currency.
type money struct {
	Cents    int64
	Currency string
}

func (money) PropertySuffixes() []string { return []string{"Cents", "Currency"} }
func (m money) PropertyValues() ([]any, error) {
	if m == (money{}) {
		return nil, nil
	}
	return []any{m.Cents, m.Currency}, nil
}
func (m *money) SetPropertyValues(v []any) error {
	m.Cents, _ = v[0].(int64)
	m.Currency, _ = v[1].(string)
	return nil
}

type values struct {
	N      int
	S      string
	OptS   *string
	I8     int8
	I32    int32
	I64    int64
	U32    uint32
	U64    uint64
	F32    float32
	F64    float64
	B      bool
	T      time.Time
	PT     *time.Time
	G      [16]byte
	Bin    []byte
	Kind   kind
	Doc    map[string][]int `table:",json"`
	Hours  []int64          `table:"h,each=24"`
	Salary money
	Größe  int32
}

var valuesSchema = table.Schema[values]{Partition: keys.OnePartition[values]("p"), Row: keys.Row(keys.Digits[int](3), func(v *values) *int { return &v.N })}

// valuesRoundTrip: values of all types are read exactly as they were written.
func valuesRoundTrip(e *env) {
	ctx := context.Background()
	tab := newTable(e, valuesSchema, nil)
	moment := time.Date(2026, 11, 21, 23, 59, 59, 123456700, time.UTC)
	empty := ""
	all := []values{
		{},
		{S: "plain", OptS: &empty, Bin: []byte{}, Doc: map[string][]int{}, Hours: []int64{0}},
		{S: "tab\t \"quotes\" \\ é日😀 ' % + & <b> \u2028\u2029", I8: math.MinInt8, I32: math.MinInt32, I64: math.MinInt64, U32: math.MaxUint32, U64: math.MaxInt64, F32: math.MaxFloat32, F64: math.MaxFloat64, B: true},
		{I32: math.MaxInt32, I64: 1<<53 + 1, F64: math.SmallestNonzeroFloat64, T: moment, PT: &moment, G: [16]byte{0xff, 15: 1}, Bin: []byte{0, 1, 255}},
		{F64: 3, F32: -0.5, T: time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC), Kind: 7, Doc: map[string][]int{"a": {1, 2}}, Hours: []int64{1, 2, 3}, Salary: money{math.MaxInt64, "CHF"}, Größe: 42},
		{F64: 1.23456789012346e24, T: time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC)},
		{F64: math.Inf(1), F32: float32(math.Inf(-1))},
		{F64: 1e21, F32: 0.1},
		{S: " leading and trailing ", F64: -1e-7},
	}
	for i := range all {
		v := all[i]
		v.N = i
		_, err := tab.Insert(ctx, &v)
		e.must(err)
		read := func(after string) *table.Entity[values] {
			got, err := tab.Get(ctx, keys.At(keys.RawPartition("p"), keys.Digits[int](3).RowKey(i)))
			e.must(err)
			if !reflect.DeepEqual(got.Value, v) {
				e.Errorf("Get %d after %s: got\n%+v; want\n%+v", i, after, got.Value, v)
			}
			return got
		}
		read("an insert")
		_, err = table.Transact(ctx, tab.UpsertOp(&v, table.ReplaceExisting))
		e.must(err)
		got := read("a transaction")
		e.must(tab.Replace(ctx, got))
	}
	i := 0
	for got, err := range tab.List(ctx, table.Query[values]{}) {
		e.must(err)
		want := all[i]
		want.N = i
		if !reflect.DeepEqual(got.Value, want) {
			e.Errorf("List %d: got\n%+v; want\n%+v", i, got.Value, want)
		}
		i++
	}
	if i != len(all) {
		e.Errorf("got %d entities; want %d", i, len(all))
	}
	nan, err := tab.Insert(ctx, &values{N: 100, F64: math.NaN(), T: moment.In(time.FixedZone("", 5*3600)).Add(50)})
	e.must(err)
	got, err := tab.Get(ctx, nan.Key)
	e.must(err)
	if !math.IsNaN(got.Value.F64) || !got.Value.T.Equal(moment) || got.Value.T.Location() != time.UTC {
		e.Errorf("got %+v; want NaN, and %v in UTC", got.Value, moment)
	}
}

// largestEntity: the largest entity is stored whole. A larger one is refused before it is sent.
func largestEntity(e *env) {
	ctx := context.Background()
	type bag struct {
		Extra map[string]any `table:",extra"`
	}
	tab := newTable(e, table.Schema[bag]{}, nil)
	k := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	big := bag{map[string]any{}}
	for i := range 15 {
		big.Extra[fmt.Sprintf("s%02d", i)] = strings.Repeat("a", 32768)
	}
	for i := range 200 {
		big.Extra[fmt.Sprintf("n%03d", i)] = int64(i)
	}
	big.Extra["text"] = strings.Repeat("日😀é", 2000)
	_, err := tab.InsertAt(ctx, k, &big)
	e.must(err)
	got, err := tab.Get(ctx, k)
	e.must(err)
	if !reflect.DeepEqual(got.Value, big) {
		e.Errorf("the largest entity: got %d properties, some of them changed; want %d as inserted", len(got.Value.Extra), len(big.Extra))
	}
	e.counter.Take()
	var le *table.LimitError
	for what, c := range map[string]struct {
		name  string
		value any
	}{"string": {"x", strings.Repeat("x", 32769)}, "binary": {"x", make([]byte, 65537)}, "entity": {"x", strings.Repeat("x", 30000)}} {
		v := bag{map[string]any{c.name: c.value}}
		if what == "entity" {
			for n, x := range big.Extra {
				v.Extra[n] = x
			}
			v.Extra["y"] = c.value
		}
		if _, err := baretest.UpsertAt(ctx, tab, k, &v, table.ReplaceExisting); !errors.As(err, &le) || le.Got <= le.Max {
			e.Errorf("%s: got error %v; want a *LimitError", what, err)
		}
	}
	many := bag{map[string]any{}}
	for i := range 253 {
		many.Extra[fmt.Sprint("p", i)] = true
	}
	if _, err := baretest.UpsertAt(ctx, tab, k, &many, table.ReplaceExisting); !errors.As(err, &le) || le.Got != 254 { // and the operation ID
		e.Errorf("253 properties: got error %v; want a *LimitError of 254", err)
	}
	e.wantRequests("none")
}

// keysRoundTrip: every method addresses every valid key.
func keysRoundTrip(e *env) {
	ctx := context.Background()
	tab := newTable(e, keyedSchema, nil)
	v := table.FieldOf(func(r *keyed) *int32 { return &r.V })
	for _, s := range []string{"O'Brien", "''", "'", "100%", "%20", "%27", "a b", "a+b", "a=b&c=d", "a@b.c", "a;b,c", "(x)", "a)", "!$*", "^|`", "[x]{y}", `"quoted"`, "<x>", "aé日😀", "a:b", "x',RowKey='y", "-", ".", "..", "_"} {
		for _, k := range []keyed{{s, "r", 1}, {"p", s, 1}, {s, s, 1}} {
			in, err := tab.Insert(ctx, &k)
			if err != nil {
				e.Errorf("Insert %q %q: got error %v; want none", k.P, k.R, err)
				continue
			}
			got, err := tab.Get(ctx, in.Key)
			if err != nil || got.Value != k || got.Key != in.Key {
				e.Errorf("Get %q %q: got %+v, error %v; want %+v", k.P, k.R, got, err, k)
				continue
			}
			got.Value.V = 2
			if err := tab.Replace(ctx, got); err != nil {
				e.Errorf("Replace %q %q: got error %v; want none", k.P, k.R, err)
			}
			if err := tab.Merge(ctx, got, v.Set(3)); err != nil {
				e.Errorf("Merge %q %q: got error %v; want none", k.P, k.R, err)
			}
			n := 0
			for l, err := range tab.List(ctx, table.Query[keyed]{Partition: got.Key.Partition(), Rows: got.Key.Row().Point()}) {
				if n++; err != nil || l.Value.V != 3 || l.Value.R != k.R {
					e.Errorf("List %q %q: got %+v, error %v; want the merged row", k.P, k.R, l, err)
				}
			}
			if n != 1 {
				e.Errorf("List %q %q: got %d rows; want 1", k.P, k.R, n)
			}
			up, err := tab.Upsert(ctx, &k, table.ReplaceExisting)
			if err != nil {
				e.Errorf("Upsert %q %q: got error %v; want none", k.P, k.R, err)
				continue
			}
			if err := tab.Delete(ctx, up); err != nil {
				e.Errorf("Delete %q %q: got error %v; want none", k.P, k.R, err)
			}
		}
	}
	left := 0
	for _, err := range tab.Rows(ctx, table.Query[keyed]{TableScan: true}) {
		e.must(err)
		left++
	}
	if left != 0 {
		e.Errorf("got %d rows at the end; want none: a method addressed another row", left)
	}
	e.counter.Take()
	var ke *keys.KeyError
	for _, bad := range []string{"", "~x", "a/b", `a\b`, "a#b", "a?b", "a\x00", "a\u0085", "a\xff", strings.Repeat("x", 513)} {
		_, err1 := tab.Insert(ctx, &keyed{P: "p", R: bad})
		_, err2 := tab.Get(ctx, keys.At(keys.RawPartition(bad), keys.RawRow("r")))
		err3 := tab.DeleteAny(ctx, keys.At(keys.RawPartition("p"), keys.RawRow(bad)))
		err4 := tab.MergeAny(ctx, keys.At(keys.RawPartition("p"), keys.RawRow(bad)), v.Set(1))
		if slices.ContainsFunc([]error{err1, err2, err3, err4}, func(err error) bool { return !errors.As(err, &ke) }) {
			e.Errorf("key %q: got errors %v, %v, %v, %v; want a *KeyError each", bad, err1, err2, err3, err4)
		}
	}
	e.wantRequests("none")
}
