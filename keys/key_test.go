package keys_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestRawRefuses checks every rule for keys.
func TestRawRefuses(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"empty":             "",
		"reserved":          "~i|1",
		"lone surrogate":    "a\xed\xa0\x80",
		"invalid UTF-8":     "a\xff",
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
		_, err := keys.RawRow(s).Result()
		var ke *keys.KeyError
		if !errors.As(err, &ke) {
			t.Errorf("%s, %q: got %v, want a *KeyError", what, s, err)
			continue
		}
		if ke.Reason == "" || strings.Contains(what, "units") && (ke.Length != 513 || ke.Limit != 512) {
			t.Errorf("%s: got %+v, want a reason, and the length and the limit if the key is too long", what, ke)
		}
	}
	for _, s := range []string{"O'Brien", "100%", " ", "a b", "aÄ日😀", strings.Repeat("x", 512), strings.Repeat("x", 510) + "😀", "a~", "}"} {
		if got, err := keys.RawRow(s).Result(); err != nil || got != s {
			t.Errorf("got %q, %v, want %q", got, err, s)
		}
	}
}

// TestLongKeys: the error of a key that is too long shows the value, shortened, and says what an escaped
// letter takes.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	umlauts := strings.Repeat("ü", 200)
	shown := strings.Repeat("ü", 32) + "…"
	two := keys.Row2(keys.Digits[int](4), keys.Text(), func(c *struct {
		N int
		S string
	}) (*int, *string) {
		return &c.N, &c.S
	})
	const escaped = " makes a key of too many UTF-16 units where it is escaped: a letter such as ü takes 3, others up to 5"
	for want, key := range map[string]keys.RowKey{
		`keys: component 1, ordered: "` + shown + `"` + escaped + " (600, at most 512)": keys.Ordered().RowKey(umlauts),
		`keys: component 1, text: "` + shown + `"` + escaped + " (602, at most 512)":    keys.Text().Named("n").RowKey(umlauts),
		`keys: component 2, text: "` + shown + `"` + escaped + " (605, at most 512)": valuesOf(two).RowKey(struct {
			N int
			S string
		}{7, umlauts}),
		`keys: "` + strings.Repeat("a", 64) + `…" makes a key of too many UTF-16 units (513, at most 512)`:                    keys.RawRow(strings.Repeat("a", 513)),
		`keys: component 1, text: "` + strings.Repeat("a", 64) + `…" makes a key of too many UTF-16 units (514, at most 512)`: keys.Text().Named("n").RowKey(strings.Repeat("a", 512)),
	} {
		var ke *keys.KeyError
		err := key.Err()
		if !errors.As(err, &ke) || err.Error() != want || ke.Limit != 512 {
			t.Errorf("got error\n%v; want\n%s", err, want)
		}
	}
}

func TestUnsetIsNotEmpty(t *testing.T) {
	t.Parallel()
	var unset keys.RowKey
	if unset.IsSet() || unset.Err() == nil {
		t.Errorf("the zero Enc: got set %v, %v, want an error", unset.IsSet(), unset.Err())
	}
	if empty := keys.RawRow(""); !empty.IsSet() || empty.Err() == nil || empty.Err().Error() == unset.Err().Error() {
		t.Errorf("an empty key: got %v, want an error other than that of an unset key", empty.Err())
	}
	if (keys.Key{}).Err() == nil || keys.Raw("p", "").Err() == nil || keys.Raw("", "r").Err() == nil {
		t.Error("a key with an empty half: got no error, want one")
	}
	if (keys.RowRange{}).IsSet() || (keys.RowRange{}).Contains("a") {
		t.Error("the zero Range is set or contains a key, want neither")
	}
}

func TestKeyErrorNamesTheInvalidHalf(t *testing.T) {
	t.Parallel()
	empid := keys.Digits[int](6).Named("empid")
	good := keys.At(keys.RawPartition("Sales"), empid.RowKey(223))
	if good.Err() != nil || good.PartitionKey() != "Sales" || good.RowKey() != "empid_000223" || good.String() != "('Sales','empid_000223')" {
		t.Errorf("got %v, %v, want ('Sales','empid_000223')", good, good.Err())
	}
	if good != keys.Raw("Sales", "empid_000223") {
		t.Error("two equal keys differ by ==")
	}
	var ke *keys.KeyError
	err := keys.At(keys.RawPartition("Sales"), empid.RowKey(1234567)).Err()
	if !errors.As(err, &ke) || ke.Key != "RowKey" || ke.Component != "component 1, digits(6)" || ke.Length != 7 || ke.Limit != 6 || ke.Value != "1234567" {
		t.Errorf("seven digits: got %v, want a *KeyError of component 1 of the RowKey with length 7 of at most 6", err)
	}
	err = keys.At(keys.RawPartition("a/b"), empid.RowKey(-1)).Err()
	for _, word := range []string{"PartitionKey", "RowKey", "negative", `'/'`} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("two invalid halves: got %v, want an error with %s", err, word)
		}
	}
	if e := keys.RawRow(strings.Repeat("ü", 600)).Err().Error(); len(e) > 200 {
		t.Errorf("the error of a long key: got %d bytes, want at most 200: %s", len(e), e)
	}
}

// TestKeysInLogs: JSON and logs contain keys as text.
func TestKeysInLogs(t *testing.T) {
	t.Parallel()
	k := keys.At(keys.RawPartition("Sales"), keys.RawRow(`O'Brien "x"`))
	b, err := json.Marshal(map[string]any{"enc": keys.RawRow("a"), "key": k})
	if want := `{"enc":"a","key":{"PartitionKey":"Sales","RowKey":"O'Brien \"x\""}}`; string(b) != want || err != nil {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
	var back struct{ Key keys.Key }
	if err := json.Unmarshal(b, &back); err != nil || back.Key != k {
		t.Errorf("got %v, %v, want %v", back.Key, err, k)
	}
	if b, err := json.Marshal([]any{keys.At(keys.RawPartition(""), keys.RawRow("r"))}); err == nil {
		t.Errorf("a key with an error: got %s, want the error", b)
	}
	if b, err := json.Marshal([]any{keys.RowKey{}}); err == nil {
		t.Errorf("an unset key: got %s, want an error", b)
	}
	var text strings.Builder
	slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "key", k, "enc", keys.RawRow("a"), "unset", keys.RowKey{}, "range", keys.RawRows("a", "b"))
	if got := text.String(); !strings.Contains(got, `"key":"('Sales','O''Brien \"x\"')","enc":"a","unset":"(keys: key is not set)","range":"[a, b)"`) {
		t.Errorf("got %s, want the texts of key, enc, unset and range", got)
	}
}
