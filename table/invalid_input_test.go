package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// noRequests is a service that must not receive a request.
func noRequests(t testing.TB) *fakeTransport {
	return &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		t.Errorf("got the request %s %s; want none", r.Method, r.URL)
		return errorResponse(500, "InternalError"), nil
	}}
}

// TestInvalidKeys: every method refuses the keys that the service refuses (R1) with a *keys.KeyError, for both keys.
func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type row struct{ V int32 }
	tab, err := bare.NewTable(sdkClient(t, noRequests(t)), "ttt", table.Schema[row]{}, singleAttempt())
	noError(t, err)
	v := table.FieldOf(func(r *row) *int32 { return &r.V })
	bad := []string{"", "~i|x", "a\xed\xa0\x80", "a\xff", strings.Repeat("x", 513), strings.Repeat("é", 513), strings.Repeat("😀", 257)}
	for _, c := range `/\#?` {
		bad = append(bad, "a"+string(c))
	}
	for c := rune(0); c <= 0x9f; c++ {
		if c < 0x20 || c >= 0x7f {
			bad = append(bad, "a"+string(c))
		}
	}
	for _, s := range bad {
		for half, k := range map[string]keys.Key{"PartitionKey": keys.At(keys.RawPartition(s), keys.RawRow("r")), "RowKey": keys.At(keys.RawPartition("p"), keys.RawRow(s))} {
			_, get := tab.Get(ctx, k)
			_, insert := tab.InsertAt(ctx, k, &row{})
			_, upsert := baretest.UpsertAt(ctx, tab, k, &row{}, table.ReplaceExisting)
			_, update := tab.Update(ctx, k, func(*row) error { return nil })
			e := &table.Entity[row]{Key: k, ETag: etag}
			for method, err := range map[string]error{"get": get, "insert": insert, "upsert": upsert, "update": update, "replace": tab.Replace(ctx, e),
				"merge": tab.Merge(ctx, e, v.Set(1)), "merge any": tab.MergeAny(ctx, k, v.Set(1)), "delete": tab.Delete(ctx, e), "delete any": tab.DeleteAny(ctx, k)} {
				var ke *keys.KeyError
				if !errors.As(err, &ke) || ke.Key != half || len(err.Error()) > 300 {
					t.Errorf("%s, %s %q: got %v; want a *keys.KeyError and ke.Key == %q and len(err.Error()) <= 300", method, half, s, err, half)
				}
			}
		}
	}
	// A loaded row may have a key of the library's. No new row gets one.
	for _, k := range []keys.Key{keys.Raw("p", "~r"), keys.Raw("~p", "r")} {
		_, insert := tab.InsertAt(ctx, k, &row{})
		_, upsert := baretest.UpsertAt(ctx, tab, k, &row{}, table.MergeExisting)
		var ke *keys.KeyError
		if !errors.As(insert, &ke) || !errors.As(upsert, &ke) {
			t.Errorf("%v: got %v, %v; want insert to be a *keys.KeyError and upsert to be a *keys.KeyError", k, insert, upsert)
		}
	}
}

// TestInvalidValues: every method refuses a value that no property can contain. The error names the property.
func TestInvalidValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type row struct {
		U     uint64
		T     time.Time
		S     string
		B     []byte
		Extra map[string]any `table:",extra"`
	}
	tab, err := bare.NewTable(sdkClient(t, noRequests(t)), "ttt", table.Schema[row]{}, singleAttempt())
	noError(t, err)
	var (
		u = table.FieldOf(func(r *row) *uint64 { return &r.U })
		m = table.FieldOf(func(r *row) *time.Time { return &r.T })
		s = table.FieldOf(func(r *row) *string { return &r.S })
		b = table.FieldOf(func(r *row) *[]byte { return &r.B })
	)
	k := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	long, data := strings.Repeat("é", 32769), make([]byte, 65537)
	for field, c := range map[string]struct {
		v   row
		set table.Set[row]
	}{
		"U":   {row{U: math.MaxInt64 + 1}, u.Set(math.MaxUint64)},
		"T":   {row{T: year(1600)}, m.Set(year(1600))},
		" T":  {row{T: year(10000)}, m.Set(year(10000))},
		"S":   {row{S: long}, s.Set(long)},
		" S":  {row{S: "secret\xed\xa0\x80"}, s.Set("secret\xff")},
		"B":   {row{B: data}, b.Set(data)},
		"x y": {row{Extra: map[string]any{"x y": 1}}, s.Set(long)},
	} {
		_, insert := tab.InsertAt(ctx, k, &c.v)
		_, upsert := baretest.UpsertAt(ctx, tab, k, &c.v, table.MergeExisting)
		merge := tab.Merge(ctx, &table.Entity[row]{Key: k, ETag: etag}, c.set)
		mergeAny := tab.MergeAny(ctx, k, c.set)
		for method, err := range map[string]error{"insert": insert, "upsert": upsert, "merge": merge, "merge any": mergeAny} {
			var ve *table.ValueError
			var le *table.LimitError
			if !errors.As(err, &ve) && !errors.As(err, &le) {
				t.Errorf("%s of %s: got %v; want a *ValueError or a *LimitError", method, field, err)
				continue
			}
			text := err.Error()
			if !strings.Contains(text, strings.TrimSpace(field)) && !strings.Contains(text, "S") || strings.Contains(text, "secret") || len(text) > 300 {
				t.Errorf(`%s of %s: got %q; want at most 300 bytes with the name of the property and without "secret"`, method, field, text)
			}
			if le != nil && le.Got <= le.Max {
				t.Errorf("%s of %s: got %+v; want Got above Max", method, field, le)
			}
		}
	}
	for _, name := range []string{"", "PartitionKey", "RowKey", "Timestamp", "a-b", "1a", "a b", "a.b", "odata.etag", "a@odata.type", "_op", "_life", "_ix", "_type", "_v", "_sys", "S", strings.Repeat("x", 256), "a\"b"} {
		_, err := tab.InsertAt(ctx, k, &row{Extra: map[string]any{name: "x"}})
		var ve *table.ValueError
		var le *table.LimitError
		if !errors.As(err, &ve) && !errors.As(err, &le) {
			t.Errorf("the property %q: got %v; want a *ValueError or a *LimitError", name, err)
		}
	}
	for what, c := range map[string]table.Cond[row]{"uint64": u.Ge(math.MaxUint64), "year 1600": m.Lt(year(1600)), "year 10000": m.Eq(year(10000)), "surrogate": s.Eq("a\xed\xa0\x80")} {
		_, err := tab.Explain(table.Query[row]{Partition: keys.RawPartition("p"), Where: c})
		var ve *table.ValueError
		if !errors.As(err, &ve) {
			t.Errorf("compared with %s: got %v; want a *ValueError", what, err)
		}
	}
}

// TestNilArguments: a nil argument is an error.
func TestNilArguments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff := newStaff(t, sdkClient(t, noRequests(t)))
	_, insert := staff.Insert(ctx, nil)
	_, insertAt := staff.InsertAt(ctx, employeeKey("Sales", 1), nil)
	_, upsert := staff.Upsert(ctx, nil, table.ReplaceExisting)
	for method, err := range map[string]error{"insert": insert, "insert at": insertAt, "upsert": upsert, "replace": staff.Replace(ctx, nil), "replace any": staff.ReplaceAny(ctx, nil),
		"merge": staff.Merge(ctx, nil, age.Set(1)), "delete": staff.Delete(ctx, nil)} {
		var ve *table.ValueError
		if !errors.As(err, &ve) {
			t.Errorf("%s: got %v; want a *ValueError", method, err)
		}
	}
	if _, err := bare.NewTable(nil, "staff", staffSchema, singleAttempt()); err == nil {
		t.Error("got no error from New without a service; want one")
	}
}

// TestHandMadeEntity: an entity made of a key, a value and an ETag can be merged and deleted. A replace would delete the
// columns that T does not know, so Replace refuses such an entity.
func TestHandMadeEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	staff := newStaff(t, sdkClient(t, w))
	read := readEmployee(t, staff, w)
	text, err := json.Marshal(read)
	noError(t, err)
	sent := &table.Entity[employee]{}
	noError(t, json.Unmarshal(text, sent))
	sent.Key = read.Key
	for _, e := range []*table.Entity[employee]{sent, {Value: read.Value, Key: read.Key, ETag: read.ETag}} {
		w.sent = nil
		if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrNotRead) || w.requests() != "" {
			t.Errorf(`replace: got %v, %s; want ErrPartial and w.requests() == ""`, err, w.requests())
		}
		if err := staff.ReplaceAny(ctx, e); !errors.Is(err, table.ErrNotRead) || w.requests() != "" {
			t.Errorf(`replace any: got %v, %s; want ErrPartial and w.requests() == ""`, err, w.requests())
		}
		if err := errors.Join(staff.Merge(ctx, e, age.Set(1)), staff.Delete(ctx, e)); err != nil || w.requests() != "PATCH DELETE" {
			t.Errorf(`merge and delete: got %v, %s; want no error and w.requests() == "PATCH DELETE"`, err, w.requests())
		}
		if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrNotRead) {
			t.Errorf("replace after a merge: got %v; want ErrPartial", err)
		}
	}
}

// TestCancelledBeforehand: a cancelled context sends no request, so the outcome is not unknown.
func TestCancelledBeforehand(t *testing.T) {
	t.Parallel()
	w := noRequests(t)
	staff := newStaff(t, sdkClient(t, w))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for method := range writeMethods(staff, &table.Entity[employee]{}) {
		e := readEmployee(t, staff, w)
		if err := writeMethods(staff, e)[method](ctx); !errors.Is(err, context.Canceled) || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: got %v; want context.Canceled and not ErrUnknownOutcome", method, err)
		}
	}
	_, get := staff.Get(ctx, employeeKey("Sales", 1))
	_, update := staff.Update(ctx, employeeKey("Sales", 1), func(*employee) error { return nil })
	var list error
	for _, list = range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
	}
	if !errors.Is(get, context.Canceled) || !errors.Is(update, context.Canceled) || !errors.Is(list, context.Canceled) {
		t.Errorf("got %v, %v, %v; want get to be context.Canceled and update to be context.Canceled and list to be context.Canceled", get, update, list)
	}
}

// TestErrorsHideData: the text of an error contains no stored value, even if the error of the field's type does.
func TestErrorsHideData(t *testing.T) {
	t.Parallel()
	type row struct {
		Addr netip.Addr
		Doc  []int `table:",json"`
		N    int8
		G    [16]byte
	}
	w := &fakeTransport{}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{}, singleAttempt())
	noError(t, err)
	for _, property := range []string{`"Addr":"secret"`, `"Doc":"{\"secret\":1}"`, `"N":1234567`, `"G@odata.type":"Edm.Guid","G":"secret"`, `"Addr@odata.type":"Edm.Int64","Addr":"secret"`} {
		w.respond = func(*http.Request, string) (*http.Response, error) {
			return jsonResponse(200, `{"odata.etag":"e","PartitionKey":"p","RowKey":"r",`+property+`}`), nil
		}
		_, err := tab.Get(context.Background(), keys.At(keys.RawPartition("p"), keys.RawRow("r")))
		var de *table.DecodeError
		if !errors.As(err, &de) || de.Field == "" || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "1234567") {
			t.Errorf(`%s: got %v; want a *DecodeError and de.Field != "" and "secret" not in the error and "1234567" not in the error`, property, err)
		}
		if strings.HasPrefix(property, `"Addr":`) && errors.Unwrap(de) == nil {
			t.Errorf("got %v; want the error of the type wrapped", de)
		}
	}
}
