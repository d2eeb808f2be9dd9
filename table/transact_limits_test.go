package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestTransactRefusedBeforeSending: Transact refuses operations that the service would refuse, and operations that only Azurite
// would accept, before any request.
func TestTransactRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := noRequests(t)
	s := sdkClient(t, w)
	staff := newStaff(t, s)
	other, err := bare.NewTable(s, "other", staffSchema, singleAttempt())
	noError(t, err)
	elsewhere := newStaff(t, sdkClient(t, w))
	insert := func(d string, id int) table.Op { return staff.InsertOp(&employee{d, id, "x", 1}) }
	many := func(n int) (list []table.Op) {
		for i := range n {
			list = append(list, insert("Sales", i))
		}
		return list
	}
	e := readEmployee(t, staff, w)
	var (
		limit *table.LimitError
		value *table.ValueError
		key   *keys.KeyError
	)
	for what, c := range map[string]struct {
		ops   []table.Op
		index int // -1: not about one operation
		is    error
		as    any
	}{
		"none":             {nil, -1, nil, &limit},
		"101":              {many(101), -1, nil, &limit},
		"a row twice":      {[]table.Op{insert("Sales", 1), insert("Sales", 2), staff.DeleteAnyOp(employeeKey("Sales", 1))}, 2, errs.ErrDuplicateRow, nil},
		"side by side":     {[]table.Op{insert("Sales", 1), insert("Sales", 2), staff.DeleteAnyOp(employeeKey("Sales", 2))}, 2, errs.ErrDuplicateRow, nil},
		"not in order":     {[]table.Op{insert("Sales", 3), insert("Sales", 1), insert("Sales", 2), insert("Sales", 3)}, 3, errs.ErrDuplicateRow, nil},
		"two partitions":   {[]table.Op{insert("Sales", 1), insert("Marketing", 2)}, 1, errs.ErrOtherPartition, nil},
		"two tables":       {[]table.Op{insert("Sales", 1), other.InsertOp(&employee{"Sales", 2, "x", 1})}, 1, nil, &value},
		"two services":     {[]table.Op{insert("Sales", 1), elsewhere.InsertOp(&employee{"Sales", 2, "x", 1})}, 1, nil, &value},
		"a zero operation": {[]table.Op{{}}, 0, nil, &value},
		"nil":              {[]table.Op{staff.InsertOp(nil)}, 0, nil, &value},
		"a bad key":        {[]table.Op{insert("Sales", 1), insert("", 2)}, 1, nil, &key},
		"a bad value":      {[]table.Op{insert("Sales", 1), staff.InsertOp(&employee{"Sales", 2, strings.Repeat("x", 40000), 1})}, 1, nil, &limit},
		"no ETag":          {[]table.Op{staff.ReplaceOp(&table.Entity[employee]{Key: employeeKey("Sales", 1)})}, 0, table.ErrNotRead, nil},
		"a partial entity": {[]table.Op{staff.ReplaceOp(&table.Entity[employee]{Key: employeeKey("Sales", 1), ETag: etag})}, 0, table.ErrNotRead, nil},
		"an empty merge":   {[]table.Op{staff.MergeOp(e)}, 0, nil, &value},
		"no upsert mode":   {[]table.Op{staff.UpsertOp(&employee{"Sales", 1, "x", 1}, 0)}, 0, nil, &value},
	} {
		_, err := table.Transact(ctx, c.ops...)
		var be *table.BatchError
		if err == nil || c.is != nil && !errors.Is(err, c.is) || c.as != nil && !errors.As(err, c.as) || errors.As(err, &be) != (c.index >= 0) || be != nil && be.Index != c.index {
			t.Errorf("%s: got %v; want index %d, %v, %T", what, err, c.index, c.is, c.as)
		}
	}
}

// TestTransactSize: with table.ClientOptions, the limit of 4 MiB applies to the bytes that are sent. With any client, the
// bodies alone must fit.
func TestTransactSize(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type bag struct {
		Extra map[string]any `table:",extra"`
	}
	w := &fakeTransport{respond: func(r *http.Request, body string) (*http.Response, error) {
		if len(body) > 4<<20 {
			t.Errorf("got a request of %d bytes; want at most 4 MiB", len(body))
		}
		return batchResponse(batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(5), donePart(6), donePart(7), donePart(8), donePart(9)))
	}}
	options := azcore.ClientOptions{Transport: w}
	s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: table.ClientOptions(options, nil)})
	noError(t, err)
	bags, err := bare.NewTable(s, "bags", table.Schema[bag]{}, singleAttempt())
	noError(t, err)
	ops := func(in *table.Table[bag], last int) (list []table.Op) {
		for i := range 9 {
			b := bag{map[string]any{}}
			for j := range 14 {
				b.Extra[fmt.Sprint("p", j)] = strings.Repeat("x", 32768)
			}
			b.Extra["last"] = strings.Repeat("x", 4000)
			if i == 8 {
				b.Extra["last"] = strings.Repeat("x", last)
			}
			list = append(list, baretest.InsertAtOp(in, keys.At(keys.RawPartition("p"), keys.RawRow(fmt.Sprint(i))), &b))
		}
		return list
	}
	if _, err := table.Transact(ctx, ops(bags, 100)...); err != nil {
		t.Fatal(err)
	}
	room := 4<<20 - len(w.last().body) // how much the last property can still grow
	if _, err := table.Transact(ctx, ops(bags, 100+room)...); err != nil || len(w.last().body) != 4<<20 {
		t.Errorf("at the limit: got %v, %d bytes; want no error and len(w.last().body) == 4<<20", err, len(w.last().body))
	}
	w.sent = nil
	var le *table.LimitError
	if _, err := table.Transact(ctx, ops(bags, 100+room+1)...); !errors.As(err, &le) || le.Got != 4<<20+1 || le.Max != 4<<20 || w.requests() != "" || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf(`a byte over the limit: got %v, %s; want a *LimitError and le.Got == 4<<20+1 and le.Max == 4<<20 and w.requests() == "" and not ErrUnknownOutcome`, err, w.requests())
	}
	base, err := bare.NewTable(sdkClient(t, noRequests(t)), "bags", table.Schema[bag]{}, singleAttempt())
	noError(t, err)
	tenth := baretest.InsertAtOp(base, keys.At(keys.RawPartition("p"), keys.RawRow("tenth")), &bag{map[string]any{"x": strings.Repeat("x", 32768)}})
	if _, err := table.Transact(ctx, append(ops(base, 30000), tenth)...); !errors.As(err, &le) || le.Got <= le.Max {
		t.Errorf("bodies that do not fit: got %v; want a *LimitError and le.Got > le.Max", err)
	}
}

// TestTransactSizeOnAnyClient: without table.ClientOptions, a character that JSON escapes for HTML counts as six bytes. The
// service's refusal of a request that is too large is a *LimitError.
func TestTransactSizeOnAnyClient(t *testing.T) {
	t.Parallel()
	type bag struct{ A, B string }
	w := &fakeTransport{respond: func(_ *http.Request, body string) (*http.Response, error) {
		if len(body) <= 4<<20 {
			t.Errorf("got a request of %d bytes; want more than 4 MiB", len(body))
		}
		return errorResponse(413, "RequestBodyTooLarge"), nil
	}}
	bags, err := bare.NewTable(sdkClient(t, w), "bags", table.Schema[bag]{}, singleAttempt())
	noError(t, err)
	for text, sent := range map[string]string{"x": "POST", "<": "", "\u2028": ""} {
		w.sent = nil
		n := map[string]int{"x": 20_900, "<": 20_900, "\u2028": 4_000}[text]
		var ops []table.Op
		for i := range 100 {
			ops = append(ops, baretest.InsertAtOp(bags, keys.At(keys.RawPartition("p"), keys.RawRow(fmt.Sprint(i))), &bag{strings.Repeat(text, n), strings.Repeat(text, n)}))
		}
		var le *table.LimitError
		if _, err := table.Transact(context.Background(), ops...); !errors.As(err, &le) || le.Got <= 4<<20 || errors.Is(err, table.ErrUnknownOutcome) || w.requests() != sent {
			t.Errorf("%q: got %v by %q; want a *LimitError and le.Got > 4<<20 and not ErrUnknownOutcome and w.requests() == %q", text, err, w.requests(), sent)
		}
	}
}

// TestETagsAreChecked: an ETag that names no version, or that could add a header, is refused before any request.
func TestETagsAreChecked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff := newStaff(t, sdkClient(t, noRequests(t)))
	for _, tag := range []azcore.ETag{"", "*", " *", "* ", `"`, `""`, "x", "*\r\n\r\n{\"Age\":99}\r\n", "\"a\r\nX: y\"", `"a", "b"`, "W/\"\x00\""} {
		e := &table.Entity[employee]{Key: employeeKey("Sales", 1), ETag: tag}
		_, err := table.Transact(ctx, staff.MergeOp(e, age.Set(1)))
		if !errors.Is(err, table.ErrNotRead) || !errors.Is(staff.Merge(ctx, e, age.Set(1)), table.ErrNotRead) || !errors.Is(staff.Delete(ctx, e), table.ErrNotRead) {
			t.Errorf("%q: got %v; want ErrNoETag and staff.Merge(ctx, e, age.Set(1)) to be ErrNoETag and staff.Delete(ctx, e) to be ErrNoETag", tag, err)
		}
	}
}

// TestStoredKeysAreChecked: a write by key checks a stored key against the service's rules. A row may have an empty RowKey, as TestEmptyRowKey
// shows.
func TestStoredKeysAreChecked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff := newStaff(t, sdkClient(t, noRequests(t)))
	for _, s := range []string{"", "a/b", "a#b", "a?b", `a\b`, "a\x00b", "a\u0080", "\xff", strings.Repeat("x", 513)} {
		for _, k := range []keys.Key{keys.Raw("Sales", s), keys.Raw(s, "x")} {
			var ke *keys.KeyError
			if k.RowKey() == "" {
				continue
			}
			_, terr := table.Transact(ctx, staff.DeleteAnyOp(k))
			_, gerr := staff.Get(ctx, k)
			for _, err := range []error{staff.MergeAny(ctx, k, age.Set(1)), terr, gerr, staff.DeleteAny(ctx, k), staff.Delete(ctx, &table.Entity[employee]{Key: k, ETag: etag})} {
				if !errors.As(err, &ke) || ke.Key == "" {
					t.Errorf(`%q: got %v; want a *keys.KeyError and ke.Key != ""`, s, err)
				}
			}
		}
	}
}
