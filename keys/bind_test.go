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
		"named": {keys.Partition(keys.Text(), department).Named("d"), keys.Row(keys.Text().Named("d"), department), "d_R=26D"},
		"two":   {keys.Partition2(six, four, idAndYear).Named("r"), keys.Row2(six, four, idAndYear).Named("r"), "r_000123_2012"},
		"three": {keys.Partition3(six, four, keys.Text(), all3).Named("r"), keys.Row3(six, four, keys.Text(), all3).Named("r"), "r_000123_2012_x"},
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

// TestInvalidBindings: each method of a key that is declared wrong returns the reason.
func TestInvalidBindings(t *testing.T) {
	t.Parallel()
	text := keys.Text()
	folded := keys.Partition(keys.Fold(text), section)
	for what, k := range map[string]keys.AnyPartition[review]{
		"folded":         folded,
		"spread":         keys.Partition2(keys.Spread(text, 4), text, func(r *review) (*string, *string) { return &r.Section, &r.Section }),
		"a bad name":     keys.Partition(text.Named("?"), section),
		"a nil function": keys.Partition[review](text, nil),
		"nil of two":     keys.Partition2[review](text, text, nil),
		"nil of three":   keys.Partition3[review](text, text, text, nil),
		"nil of raw":     keys.RawPartitionOf[review, string](nil),
		"nil computed":   keys.PartitionFunc[review](text, nil),
		"nil layout":     keys.PartitionFunc(nil, func(r *review) string { return r.Section }),
		"zero":           keys.PartitionOf[review, string]{},
		"zero of two":    keys.PartitionOf2[review, string, string]{},
		"zero of three":  keys.PartitionOf3[review, string, string, string]{},
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
	none := row(nil)
	if none.Set || none.OneWay || none.Err != nil || none.Key(&review{}).Err() == nil || none.Fields(&review{}) != nil {
		t.Errorf("no key: got %+v; want a key that is left out", none.Half)
	}
}
