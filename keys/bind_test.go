package keys_test

import (
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

type review struct {
	Department string
	ID         int
	Year       int
	Section    string
}

func TestBindRoundTrip(t *testing.T) {
	t.Parallel()
	want := review{Department: "R&D", ID: 123, Year: 2012, Section: "x"}
	for what, b := range map[string]keys.Bind[review]{
		"one":   keys.Bind1(keys.Tuple1(keys.Text()), func(r *review) *string { return &r.Department }),
		"two":   keys.Bind2(keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4)), func(r *review) (*int, *int) { return &r.ID, &r.Year }),
		"three": keys.Bind3(keys.Tuple3(keys.Digits[int](6), keys.Digits[int](4), keys.Text()), func(r *review) (*int, *int, *string) { return &r.ID, &r.Year, &r.Section }),
		"raw":   keys.BindRaw(func(r *review) *string { return &r.Department }),
		"const": keys.Const[review]("all"),
	} {
		s, err := b.Encode(&want).Result()
		if err != nil || b.Err() != nil || b.OneWay() || !b.IsSet() || !b.Range().Contains(s) {
			t.Errorf("%s: got key %q, %v, range %v, %v; want a two-way binding and a key in its range", what, s, err, b.Range(), b.Err())
		}
		var got review
		if err := b.Decode(&got, s); err != nil {
			t.Errorf("%s: decoding %q: got %v, want no error", what, s, err)
		}
		if again := b.Encode(&got).String(); what != "const" && again != s {
			t.Errorf("%s: encoded again: got %q, want %q", what, again, s)
		}
	}
}

func TestInvalidBindings(t *testing.T) {
	t.Parallel()
	folded := keys.Bind1(keys.Tuple1(keys.Fold(keys.Text())), func(r *review) *string { return &r.Section })
	spread := keys.Bind2(keys.Tuple2(keys.Spread(keys.Text(), 4), keys.Text()), func(r *review) (*string, *string) { return &r.Section, &r.Section })
	mistake := keys.Bind1(keys.Tuple1(keys.Text()).Named("?"), func(r *review) *string { return &r.Section })
	for _, b := range []keys.Bind[review]{folded, spread, mistake,
		keys.Bind1[review](keys.Tuple1(keys.Text()), nil), keys.Bind2[review](keys.Tuple2(keys.Text(), keys.Text()), nil),
		keys.Bind3[review](keys.Tuple3(keys.Text(), keys.Text(), keys.Text()), nil), keys.BindRaw[review, string](nil), keys.BindFunc[review](keys.RawBetween("", ""), nil)} {
		if b.Err() == nil || !b.IsSet() || b.Encode(&review{}).Err() == nil || b.Decode(&review{}, "x") == nil {
			t.Errorf("got %v, want an error of Err, Encode and Decode", b.Err())
		}
		b.Fields(&review{}) // does not panic
	}
	if !strings.Contains(folded.Err().Error(), "BindFunc") {
		t.Errorf("got %v, want an error that names BindFunc", folded.Err())
	}
	hashed := keys.BindFunc(keys.Tuple1(keys.Uint(2)).All(), func(r *review) keys.Enc { return keys.Tuple1(keys.Spread(keys.Text(), 16)).Of(r.Section) })
	if hashed.Err() != nil || !hashed.OneWay() || hashed.Decode(&review{}, "anything") != nil {
		t.Errorf("a hash: got %v, one-way %v, want a one-way binding", hashed.Err(), hashed.OneWay())
	}
	var none keys.Bind[review]
	if none.IsSet() || none.OneWay() || none.Encode(&review{}).Err() == nil || none.Err() != nil || none.Fields(&review{}) != nil {
		t.Errorf("the zero Bind: got set %v, one-way %v, %v, want a Bind that binds nothing", none.IsSet(), none.OneWay(), none.Err())
	}
	if keys.Const[review]("all").Decode(&review{}, "other") == nil {
		t.Error("Const decoded another key: got no error, want one")
	}
}
