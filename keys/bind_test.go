package keys_test

import (
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/keydoor"
	"github.com/aztablekit/aztablekit/keys"
)

type review struct {
	Department string
	ID         int
	Year       int
	Section    string
}

func department(r *review) *string         { return &r.Department }
func section(r *review) *string            { return &r.Section }
func idAndYear(r *review) (*int, *int)     { return &r.ID, &r.Year }
func all3(r *review) (*int, *int, *string) { return &r.ID, &r.Year, &r.Section }
func partition(k any) *keydoor.Bound[keys.PartitionKey, keys.PartitionRange] {
	return keydoor.Partition[keys.PartitionKey, keys.PartitionRange](k)
}
func row(k any) *keydoor.Bound[keys.RowKey, keys.RowRange] {
	return keydoor.Row[keys.RowKey, keys.RowRange](k)
}

// TestBindRoundTrip: a key in either role is made of fields, lies in its range, and sets the fields again.
func TestBindRoundTrip(t *testing.T) {
	t.Parallel()
	want := review{Department: "R&D", ID: 123, Year: 2012, Section: "x"}
	six, four := keys.Digits[int](6), keys.Digits[int](4)
	for what, b := range map[string]struct {
		partition keys.AnyPartition[review]
		row       keys.AnyRow[review]
		key       string
	}{
		"one":   {keys.Partition(keys.Text(), department), keys.Row(keys.Text(), department), "R=26D"},
		"named": {keys.Partition(keys.Text().Named("d"), department), keys.Row(keys.Text().Named("d"), department), "d_R=26D"},
		"two":   {keys.Partition2(six.Named("r"), four, idAndYear), keys.Row2(six.Named("r"), four, idAndYear), "r_000123_2012"},
		"three": {keys.Partition3(six.Named("r"), four, keys.Text(), all3), keys.Row3(six.Named("r"), four, keys.Text(), all3), "r_000123_2012_x"},
		"raw":   {keys.RawPartitionOf(department), keys.RawRowOf(department), "R&D"},
		"same":  {keys.OnePartition[review]("all"), keys.OneRow[review]("all"), "all"},
	} {
		p, r := partition(b.partition), row(b.row)
		if got := p.Key(&want); got.String() != b.key || !p.All.Contains(b.key) {
			t.Errorf("%s: got PartitionKey %v in the range %v; want %s in its range", what, got, p.All, b.key)
		}
		if got := r.Key(&want); got.String() != b.key || !r.All.Contains(b.key) {
			t.Errorf("%s: got RowKey %v in the range %v; want %s in its range", what, got, r.All, b.key)
		}
		for role, half := range map[string]keydoor.Half{"PartitionKey": p.Half, "RowKey": r.Half} {
			var got review
			if err := half.Decode(&got, b.key); err != nil || half.Err != nil || half.OneWay || !half.Set {
				t.Errorf("%s, %s: got error %v, %+v; want a key that is decoded", what, role, err, half)
			}
			if again, err := half.Text(&got); again != b.key || err != nil {
				t.Errorf("%s, %s: encoded again: got %q, %v; want %q", what, role, again, err, b.key)
			}
		}
	}
}

// TestPartitionRanges: PartitionKeys of several values have the ranges that RowKeys have.
func TestPartitionRanges(t *testing.T) {
	t.Parallel()
	six, four := keys.Digits[int](6), keys.Digits[int](4)
	p2, p3 := keys.Partition2(six, four, idAndYear), keys.Partition3(six, four, keys.Text(), all3)
	r2, r3 := keys.Row2(six, four, idAndYear), keys.Row3(six, four, keys.Text(), all3)
	for _, c := range []struct {
		got  keys.PartitionRange
		want keys.RowRange
	}{
		{p2.All(), r2.All()}, {p2.Before(7), r2.Before(7)}, {p2.Under(7).AtMost(2012), r2.Under(7).AtMost(2012)},
		{p3.All(), r3.All()}, {p3.AtLeast(7), r3.AtLeast(7)}, {p3.Under(7).Between(1, 2), r3.Under(7).Between(1, 2)},
		{p3.Under2(7, 1).Starting("a"), r3.Under2(7, 1).Starting("a")},
	} {
		if c.got.Err() != nil || c.got.String() != c.want.String() {
			t.Errorf("got %v; want %v", c.got, c.want)
		}
	}
}

// TestNamedFirst: the name of the first component stands before the whole key, and the last name counts, also after one that is
// none. Another component has no name.
func TestNamedFirst(t *testing.T) {
	t.Parallel()
	six := keys.Digits[int](6)
	x := six.Named("?").Named("x")
	two := keys.Row2(x, six, func(p *pair[int, int]) (*int, *int) { return &p.a, &p.b })
	for what, got := range map[string]keys.RowKey{
		"one":    keys.Row(x, func(r *review) *int { return &r.ID }).Of(1),
		"two":    pairOf(x, six).Of(1, 2),
		"three":  tripleOf(x, six, six).Of(1, 2, 3),
		"struct": valuesOf(two).RowKey(pair[int, int]{1, 2}),
	} {
		if got.Err() != nil || !strings.HasPrefix(got.String(), "x_000001") {
			t.Errorf("%s: got %v; want a key that begins with x_000001", what, got)
		}
	}
	if r := two.Under(1).All(); !r.Contains("x_000001_000002") {
		t.Errorf("struct: got the range %v; want one with x_000001_000002", r)
	}
	for what, got := range map[string]keys.RowKey{
		"two": pairOf(x, six.Named("a")).Of(1, 2), "three": tripleOf(x, six, six.Named("a")).Of(1, 2, 3),
		"the second of three": tripleOf(six, x, six).Of(1, 2, 3), "no name": pairOf(six.Named("?"), six).Of(1, 2),
	} {
		if got.Err() == nil {
			t.Errorf("%s: got the key %v; want an error, for a name of another component or a wrong one", what, got)
		}
	}
}

// TestInvalidBindings: each method of a key that is declared wrong returns the reason.
func TestInvalidBindings(t *testing.T) {
	t.Parallel()
	text := keys.Text()
	folded := keys.Partition(keys.Fold(text), section)
	for what, k := range map[string]keys.AnyPartition[review]{
		"folded":          folded,
		"spread":          keys.Partition2(keys.Spread(text, 4), text, func(r *review) (*string, *string) { return &r.Section, &r.Section }),
		"a bad name":      keys.Partition(text.Named("?"), section),
		"a nil function":  keys.Partition[review](text, nil),
		"nil of two":      keys.Partition2[review](text, text, nil),
		"nil of three":    keys.Partition3[review](text, text, text, nil),
		"nil of raw":      keys.RawPartitionOf[review, string](nil),
		"nil computed":    keys.PartitionFunc[review](text, nil),
		"nil layout":      keys.PartitionFunc(nil, func(r *review) string { return r.Section }),
		"a nil pointer":   (*keys.PartitionOf[review, string])(nil),
		"a nil component": keys.PartitionFunc((*keys.Component[string])(nil), func(r *review) string { return r.Section }),
		"zero":            &keys.PartitionOf[review, string]{},
		"zero of two":     &keys.PartitionOf2[review, string, string]{},
		"zero of three":   &keys.PartitionOf3[review, string, string, string]{},
	} {
		b := partition(k)
		if b.Err == nil || !b.Set || b.Key(&review{}).Err() == nil || b.Decode(&review{}, "x") == nil {
			t.Errorf("%s: got %v; want an error of Key and Decode", what, b.Err)
		}
		if got := b.Fields(&review{}); got != nil {
			t.Errorf("%s: got fields %v; want none", what, got)
		}
	}
	if err := partition(folded).Err; err == nil || !strings.Contains(err.Error(), "PartitionFunc") {
		t.Errorf("got %v; want an error that names PartitionFunc", err)
	}
	if err := partition(keys.OnePartition[review]("all")).Decode(&review{}, "other"); err == nil {
		t.Error("OnePartition decoded another key: got no error; want one")
	}
}

// TestComputedKeys: a key that is computed is not decoded, and a key that is left out has no fields.
func TestComputedKeys(t *testing.T) {
	t.Parallel()
	b := partition(keys.PartitionFunc(keys.Spread(keys.Text(), 16), func(r *review) string { return r.Section }))
	if b.Err != nil || !b.OneWay || b.Decode(&review{}, "anything") != nil || b.Fields(&review{}) != nil {
		t.Errorf("a hash: got %+v; want a key that is computed", b.Half)
	}
	two := keys.Row2(keys.Digits[int](3), keys.Digits[int](2), func(p *pair[int, int]) (*int, *int) { return &p.a, &p.b })
	if all := row(keys.RowFunc(two, func(r *review) pair[int, int] { return pair[int, int]{r.ID, r.Year} })).All; !all.Contains("007_12") || all.Contains("note_x") {
		t.Errorf("two numbers: got the range %v; want one with 007_12 and without note_x", all)
	}
	none := row(nil)
	if none.Set || none.OneWay || none.Err != nil || none.Key(&review{}).Err() == nil || none.Fields(&review{}) != nil {
		t.Errorf("no key: got %+v; want a key that is left out", none.Half)
	}
}
