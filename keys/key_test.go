package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestRawRefuses goes through everything that the service or the library cannot address.
func TestRawRefuses(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"empty":             "",
		"reserved":          "~i|1",
		"lone surrogate":    "a\xed\xa0\x80",
		"broken UTF-8":      "a\xff",
		"513 units":         strings.Repeat("x", 513),
		"257 pairs of them": "x" + strings.Repeat("😀", 256),
	}
	for _, c := range `/\#?` {
		bad["character "+string(c)] = "a" + string(c) + "b"
	}
	for c := rune(0); c < 0x20; c++ {
		bad["control "+string('a'+c)] = "a" + string(c)
	}
	for c := rune(0x7f); c <= 0x9f; c++ {
		bad["control high "+string(c)] = "a" + string(c)
	}
	for what, s := range bad {
		_, err := keys.Raw(s).Result()
		var ke *keys.KeyError
		if !errors.As(err, &ke) {
			t.Errorf("%s: %q was taken: %v", what, s, err)
			continue
		}
		if ke.Reason == "" || strings.Contains(what, "units") && (ke.Length != 513 || ke.Limit != 512) {
			t.Errorf("%s: the error does not tell the rule: %+v", what, ke)
		}
	}
	for _, s := range []string{"O'Brien", "100%", " ", "a b", "aÄ日😀", strings.Repeat("x", 512), strings.Repeat("x", 510) + "😀", "a~", "}"} {
		if got, err := keys.Raw(s).Result(); err != nil || got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

func TestUnsetIsNotEmpty(t *testing.T) {
	t.Parallel()
	var unset keys.Enc
	if unset.IsSet() || unset.Err() == nil {
		t.Error("an unset key passes for a key")
	}
	if empty := keys.Raw(""); !empty.IsSet() || empty.Err() == nil || empty.Err().Error() == unset.Err().Error() {
		t.Errorf("an empty key is not told from an unset one: %v", empty.Err())
	}
	if (keys.Key{}).Err() == nil || keys.Stored("p", "").Err() == nil || keys.Stored("", "r").Err() == nil {
		t.Error("a key that the SDK cannot address is usable")
	}
	if (keys.Range{}).IsSet() || (keys.Range{}).Contains("a") {
		t.Error("an unset range holds something")
	}
}

func TestKeyNamesTheHalfThatIsWrong(t *testing.T) {
	t.Parallel()
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	good := keys.At(keys.Raw("Sales"), empid.Of(223))
	if good.Err() != nil || good.PartitionKey() != "Sales" || good.RowKey() != "empid_000223" || good.String() != "('Sales','empid_000223')" {
		t.Errorf("good key: %v, %v", good, good.Err())
	}
	if good != keys.Stored("Sales", "empid_000223") {
		t.Error("equal keys differ")
	}
	var ke *keys.KeyError
	err := keys.At(keys.Raw("Sales"), empid.Of(1234567)).Err()
	if !errors.As(err, &ke) || ke.Key != "RowKey" || ke.Part != "part 1, digits(6)" || ke.Length != 7 || ke.Limit != 6 || ke.Value != "1234567" {
		t.Errorf("seven digits: %v", err)
	}
	err = keys.At(keys.Raw("a/b"), empid.Of(-1)).Err()
	for _, word := range []string{"PartitionKey", "RowKey", "negative", `'/'`} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error of two halves lacks %s: %v", word, err)
		}
	}
	if e := keys.Raw(strings.Repeat("ü", 600)).Err().Error(); len(e) > 200 {
		t.Errorf("a long key is printed whole: %s", e)
	}
}
