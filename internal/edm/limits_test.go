package edm

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestEncodeRefuses: the error of an invalid value names the field, the limit and the length.
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	p := newCodec(t, everything{})
	for what, c := range map[string]struct {
		v        everything
		field    string
		got, max int
	}{
		"string of 32,769 units": {everything{Str: strings.Repeat("x", 32769)}, "Str", 32769, 32768},
		"the same in pairs":      {everything{Str: strings.Repeat("😀", 16384) + "x"}, "Str", 32769, 32768},
		"binary of 64 KiB + 1":   {everything{Bin: make([]byte, 65537)}, "Bin", 65537, 65536},
		"list of 25":             {everything{Hours: make([]int64, 25)}, "h", 25, 24},
	} {
		_, err := encode(p, c.v)
		var le *errs.LimitError
		if !errors.As(err, &le) || le.Field != c.field || le.Got != c.got || le.Max != c.max {
			t.Errorf("%s: got %v, want a *LimitError of %s: %d of at most %d", what, err, c.field, c.got, c.max)
		}
	}
	for what, c := range map[string]struct {
		v     everything
		field string
	}{
		"uint64 past int64":     {everything{U64: math.MaxInt64 + 1}, "U64"},
		"year 1600":             {everything{Time: time.Date(1600, 12, 31, 23, 59, 59, 0, time.UTC)}, "Time"},
		"year 10000":            {everything{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "Time"},
		"invalid UTF-8":         {everything{Str: "a\xff"}, "Str"},
		"lone surrogate":        {everything{Str: "a\xed\xa0\x80"}, "Str"},
		"bad composite":         {everything{Home: place{City: "bad"}}, "Home"},
		"unstorable column":     {everything{Extra: map[string]any{"X": struct{}{}}}, "X"},
		"column of a field":     {everything{Extra: map[string]any{"Str": "x"}}, "Str"},
		"column of the service": {everything{Extra: map[string]any{"Timestamp": "x"}}, `"Timestamp"`},
		"column of the library": {everything{Extra: map[string]any{"_op": "x"}}, `"_op"`},
		"column with a hyphen":  {everything{Extra: map[string]any{"a-b": "x"}}, `"a-b"`},
		"column with a digit":   {everything{Extra: map[string]any{"1a": "x"}}, `"1a"`},
		"absent last element":   {everything{Times: []time.Time{time.Unix(0, 0), {}}}, "m1"},
		"column without a name": {everything{Extra: map[string]any{"": "x"}}, `""`},
	} {
		_, err := encode(p, c.v)
		var ve *errs.ValueError
		if !errors.As(err, &ve) || ve.Field != c.field {
			t.Errorf("%s: got %v, want a *ValueError of %s", what, err, c.field)
		}
	}
	if _, err := encode(p, everything{Str: strings.Repeat("é", 32768), Bin: make([]byte, 65536)}); err != nil { // a large entity
		t.Errorf("values at their limits: got %v, want no error", err)
	}
}

// TestEntityLimits: an entity may have 252 properties and 1 MiB by the service's formula, and no more.
func TestEntityLimits(t *testing.T) {
	t.Parallel()
	type bag struct {
		Extra map[string]any `table:",extra"`
	}
	p := newCodec(t, bag{})
	columns := func(n int) bag {
		b := bag{map[string]any{}}
		for i := range n {
			b.Extra["c"+strings.Repeat("x", i)] = true
		}
		return b
	}
	var le *errs.LimitError
	if _, err := encode(p, columns(252)); err != nil {
		t.Errorf("252 properties: got %v, want no error", err)
	}
	if _, err := encode(p, columns(253)); !errors.As(err, &le) || le.Got != 253 || le.Max != 252 {
		t.Errorf("253 properties: got %v, want a *LimitError", err)
	}
	// 4 + 2·2 for the keys; for each property 8 + 2·len(name) + 4 + 2·len(value).
	full := bag{map[string]any{}}
	for i := range 15 {
		full.Extra["s"+string(rune('a'+i))] = strings.Repeat("x", 32768)
	}
	rest := 1<<20 - 8 - 15*(8+4+4+2*32768) - (8 + 4 + 4)
	full.Extra["zz"] = strings.Repeat("x", rest/2)
	if _, err := encode(p, full); err != nil {
		t.Errorf("1 MiB: got %v, want no error", err)
	}
	full.Extra["zz"] = strings.Repeat("x", rest/2+1)
	if _, err := encode(p, full); !errors.As(err, &le) || le.Got != 1<<20+2 || le.Max != 1<<20 {
		t.Errorf("1 MiB + 2 bytes: got %v, want a *LimitError", err)
	}
}
