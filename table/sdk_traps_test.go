package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Each trap of the SDK has a test of two halves: the SDK alone has the fault, the library does not. If the first half fails, the
// SDK was repaired.

// T1: Upsert and Update panic if a key is missing from the body or is no string.
func TestTrapT01(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	sdk := sdkClient(t, w).NewClient("staff")
	for _, body := range []string{`{"RowKey":"r"}`, `{"PartitionKey":"p","RowKey":5}`} {
		for _, call := range []func() error{
			func() error { _, err := sdk.UpsertEntity(context.Background(), []byte(body), nil); return err },
			func() error { _, err := sdk.UpdateEntity(context.Background(), []byte(body), nil); return err },
		} {
			if !panics(func() { call() }) {
				t.Errorf("%s: got no panic of the SDK; want one, unless the SDK was repaired", body)
			}
		}
	}
	type loose struct{ Name string }
	tab, err := bare.NewTable(sdkClient(t, w), "staff", table.Schema[loose]{}, singleAttempt())
	noError(t, err)
	name := table.FieldOf(func(l *loose) *string { return &l.Name })
	for _, k := range []keys.Key{{}, keys.Raw("", "r"), keys.At(keys.RawPartition("p"), keys.RowKey{})} {
		_, err1 := baretest.UpsertAt(context.Background(), tab, k, &loose{}, table.ReplaceExisting)
		_, err2 := tab.Upsert(context.Background(), &loose{}, table.MergeExisting)
		err3 := tab.MergeAny(context.Background(), k, name.Set("x"))
		err4 := tab.Replace(context.Background(), &table.Entity[loose]{Key: k, ETag: etag})
		for _, err := range []error{err1, err2, err3, err4} {
			var ke *keys.KeyError
			if !errors.As(err, &ke) {
				t.Errorf("%v: got %v; want a *keys.KeyError", k, err)
			}
		}
	}
	if got := w.requests(); got != "" {
		t.Errorf("got requests %s; want none", got)
	}
}

// panics reports whether f panics.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// T2: a failed transaction is a ResponseError with status 202 and no code. Only the body names the failed operation.
func TestTrapT02(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := batchService(batchBody(failedPart(409, "EntityAlreadyExists", "1:The specified entity already exists.")))
	add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}
	_, err := sdkClient(t, w).NewClient("staff").SubmitTransaction(ctx, []aztables.TransactionAction{add, add}, nil)
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != 202 || re.ErrorCode != "" {
		t.Errorf(`the SDK's error: got %v; want a *azcore.ResponseError and re.StatusCode == 202 and re.ErrorCode == ""`, err)
	}
	staff := newStaff(t, sdkClient(t, w))
	_, err = table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "a", 1}), staff.InsertOp(&employee{"Sales", 2, "b", 1}))
	var be *table.BatchError
	if !errors.As(err, &be) || be.Index != 1 || be.Key != employeeKey("Sales", 2) || !errors.Is(err, table.ErrExists) || !errors.As(err, &re) || re.StatusCode != 409 {
		t.Errorf(`got %v; want a *BatchError and be.Index == 1 and be.Key == employeeKey("Sales", 2) and ErrExists and a *azcore.ResponseError and re.StatusCode == 409`, err)
	}
}

// T3: a truncated response to a failed transaction is reported as success, or makes the SDK panic.
func TestTrapT03(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	refusal := batchBody(failedPart(409, "EntityAlreadyExists", "1:The specified entity already exists."))
	complete := strings.Index(refusal, "}}}") + len("}}}")
	add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}
	w := &fakeTransport{}
	sdk, staff := sdkClient(t, w).NewClient("staff"), newStaff(t, sdkClient(t, w))
	successes, panicked := 0, 0
	for cut := range complete {
		w.respond = func(*http.Request, string) (*http.Response, error) { return batchResponse(refusal[:cut]) }
		if panics(func() {
			if _, err := sdk.SubmitTransaction(ctx, []aztables.TransactionAction{add, add}, nil); err == nil {
				successes++
			}
		}) {
			panicked++
		}
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "a", 1}), staff.InsertOp(&employee{"Sales", 2, "b", 1}))
		if !errors.Is(err, table.ErrUnknownOutcome) {
			t.Fatalf("cut at %d: got %v; want ErrUnknownOutcome", cut, err)
		}
	}
	if successes == 0 || panicked == 0 {
		t.Errorf("of %d cuts: got %d successes and %d panics of the SDK; want both, unless the SDK was repaired", complete, successes, panicked)
	}
}

// T5: an update in a transaction without IfMatch has no If-Match header, and so inserts a missing row.
func TestTrapT05(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := batchService(batchBody(donePart(1), donePart(2), donePart(3)))
	var actions []aztables.TransactionAction
	for i, kind := range []aztables.TransactionType{aztables.TransactionTypeUpdateMerge, aztables.TransactionTypeUpdateReplace, aztables.TransactionTypeUpdateMerge} {
		actions = append(actions, aztables.TransactionAction{ActionType: kind, Entity: fmt.Appendf(nil, `{"PartitionKey":"p","RowKey":"r%d"}`, i)})
	}
	if _, err := sdkClient(t, w).NewClient("staff").SubmitTransaction(ctx, actions, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range sentParts(w) {
		if p.match != "" {
			t.Errorf(`the SDK's update: got %+v; want p.match == ""`, p)
		}
	}
	staff := newStaff(t, sdkClient(t, w))
	e, f := readEmployee(t, staff, w), readEmployee(t, staff, w)
	f.Key, f.Value.ID = employeeKey("Sales", 1), 1
	if _, err := table.Transact(ctx, baretest.ReplaceAnyOp(staff, e), baretest.MergeAnyOp(staff, employeeKey("Sales", 2), age.Set(1)), staff.ReplaceOp(f)); err != nil {
		t.Fatal(err)
	}
	var matches []string
	for _, p := range sentParts(w) {
		matches = append(matches, p.match)
	}
	if want := []string{"*", "*", etag}; !slices.Equal(matches, want) {
		t.Errorf("got %q; want slices.Equal(matches, want)", matches)
	}
}

// T6: bodies go through map[string]any. An int64 written as a number is rounded, and a whole double becomes an Int32.
func TestTrapT06(t *testing.T) {
	t.Parallel()
	type numbers struct {
		P, R  string
		Big   int64
		Whole float64
	}
	const big = 1<<53 + 1
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	body, err := json.Marshal(map[string]any{"PartitionKey": "p", "RowKey": "r", "Big": int64(big), "Whole": json.RawMessage("5.0")})
	noError(t, err)
	if _, err := sdkClient(t, w).NewClient("t").UpsertEntity(context.Background(), body, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.last().body; !strings.Contains(got, `"Big":9007199254740992`) || !strings.Contains(got, `"Whole":5}`) {
		t.Errorf("the SDK's body: got %s; want `\"Big\":9007199254740992` in got and `\"Whole\":5}` in got", got)
	}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[numbers]{
		Partition: keys.RawPartitionOf(func(n *numbers) *string { return &n.P }),
		Row:       keys.RawRowOf(func(n *numbers) *string { return &n.R }),
	}, singleAttempt())
	noError(t, err)
	if _, err := tab.Upsert(context.Background(), &numbers{"p", "r", big, 5}, table.ReplaceExisting); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Big":"9007199254740993"`, `"Big@odata.type":"Edm.Int64"`, `"Whole@odata.type":"Edm.Double"`} {
		if got := w.last().body; !strings.Contains(got, want) {
			t.Errorf("got %s; want %s in it", got, want)
		}
	}
}

// T7: EDMEntity doubles ' in keys in the body, reads whole doubles as int32, drops annotated strings, and lets a property named
// PartitionKey replace the key.
func TestTrapT07(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "O'Brien", RowKey: "r"}})
	if err != nil || !strings.Contains(string(b), "O''Brien") {
		t.Errorf(`the SDK's body: got %s, %v; want no error and "O''Brien" in string(b)`, b, err)
	}
	const body200 = `{"odata.etag":"x","PartitionKey":"O'Brien","RowKey":"r","Ratio":3.0,"Text@odata.type":"Edm.String","Text":"kept"}`
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return jsonResponse(200, body200), nil
		}
		return noContent(), nil
	}}
	got, err := sdkClient(t, w).NewClient("t").GetEntity(context.Background(), "O'Brien", "r", nil)
	noError(t, err)
	var e aztables.EDMEntity
	if err := json.Unmarshal(got.Value, &e); err != nil || e.Properties["Ratio"] != int32(3) || e.Properties["Text"] != nil {
		t.Errorf(`the SDK's entity: got %#v, %v; want no error and e.Properties["Ratio"] == int32(3) and e.Properties["Text"] == nil`, e.Properties, err)
	}
	b, err = json.Marshal(aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "p", RowKey: "r"}, Properties: map[string]any{"PartitionKey": "other"}})
	if err != nil || !strings.Contains(string(b), `"PartitionKey":"other"`) {
		t.Errorf("the SDK's body: got %s, %v; want no error and `\"PartitionKey\":\"other\"` in string(b)", b, err)
	}

	type row struct {
		P, R  string
		Extra map[string]any `table:",extra"`
	}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{
		Partition: keys.RawPartitionOf(func(r *row) *string { return &r.P }),
		Row:       keys.RawRowOf(func(r *row) *string { return &r.R }),
	}, singleAttempt())
	noError(t, err)
	if _, err := tab.Insert(context.Background(), &row{P: "O'Brien", R: "r"}); err != nil || !strings.Contains(w.last().body, `"PartitionKey":"O'Brien"`) {
		t.Errorf("got %s, %v; want no error and `\"PartitionKey\":\"O'Brien\"` in w.last().body", w.last().body, err)
	}
	in, err := tab.Get(context.Background(), keys.At(keys.RawPartition("O'Brien"), keys.RawRow("r")))
	if err != nil || in.Value.Extra["Ratio"] != 3.0 || in.Value.Extra["Text"] != "kept" || !strings.Contains(w.last().path, "O''Brien") {
		t.Errorf(`got %+v, %v; want no error and in.Value.Extra["Ratio"] == 3.0 and in.Value.Extra["Text"] == "kept" and "O''Brien" in w.last().path`, in, err)
	}
	var ve *table.ValueError
	if _, err := tab.Insert(context.Background(), &row{P: "p", R: "r", Extra: map[string]any{"PartitionKey": "other"}}); !errors.As(err, &ve) {
		t.Errorf("a property named PartitionKey: got %v; want a *ValueError", err)
	}
}

// T8: EDMDateTime writes the local clock reading with a Z.
func TestTrapT08(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("", 5*3600))
	b, err := json.Marshal(aztables.EDMEntity{Properties: map[string]any{"When": aztables.EDMDateTime(local)}})
	if err != nil || !strings.Contains(string(b), `"2026-11-21T12:00:00`) {
		t.Errorf("the SDK's body: got %s, %v; want no error and `\"2026-11-21T12:00:00` in string(b)", b, err)
	}
	type row struct{ When time.Time }
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{}, singleAttempt())
	noError(t, err)
	if _, err := tab.InsertAt(context.Background(), keys.At(keys.RawPartition("p"), keys.RawRow("r")), &row{local}); err != nil || !strings.Contains(w.last().body, `"When":"2026-11-21T07:00:00Z"`) {
		t.Errorf("got %s, %v; want no error and `\"When\":\"2026-11-21T07:00:00Z\"` in w.last().body", w.last().body, err)
	}
	when := table.FieldOf(func(r *row) *time.Time { return &r.When })
	ex, err := tab.Explain(table.Query[row]{Partition: keys.RawPartition("p"), Where: when.Ge(local)})
	if err != nil || !strings.Contains(ex.Filter, "datetime'2026-11-21T07:00:00Z'") {
		t.Errorf(`got %+v, %v; want no error and "datetime'2026-11-21T07:00:00Z'" in ex.Filter`, ex, err)
	}
}

// T9: in a transaction the SDK does not double the quotes in a key's URL, so that a key can address another row.
func TestTrapT09(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := batchService(batchBody(donePart(1)))
	any := azcore.ETagAny
	merge := aztables.TransactionAction{ActionType: aztables.TransactionTypeUpdateMerge, Entity: []byte(`{"PartitionKey":"O'Brien","RowKey":"r"}`), IfMatch: &any}
	if _, err := sdkClient(t, w).NewClient("staff").SubmitTransaction(ctx, []aztables.TransactionAction{merge}, nil); err != nil || !strings.Contains(sentParts(w)[0].line, "O%27Brien'") {
		t.Errorf(`the SDK's URL: got %v, %s; want no error and "O%%27Brien'" in sentParts(w)[0].line`, err, sentParts(w)[0].line)
	}
	type row struct{ P, R, Name string }
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{
		Partition: keys.RawPartitionOf(func(r *row) *string { return &r.P }),
		Row:       keys.RawRowOf(func(r *row) *string { return &r.R }),
	}, singleAttempt())
	noError(t, err)
	name := table.FieldOf(func(r *row) *string { return &r.Name })
	const pk, rk = "O'Brien", "x',RowKey='y"
	k := keys.At(keys.RawPartition(pk), keys.RawRow(rk))
	const address = "(PartitionKey='O%27%27Brien',RowKey='x%27%27%2CRowKey=%27%27y')"
	for what, op := range map[string]table.Op{
		"insert":       tab.InsertOp(&row{pk, rk, "n"}),
		"upsert":       tab.UpsertOp(&row{pk, rk, "n"}, table.ReplaceExisting),
		"upsert merge": tab.UpsertOp(&row{pk, rk, "n"}, table.MergeExisting),
		"merge":        baretest.MergeAnyOp(tab, k, name.Set("n")),
		"merge by tag": tab.MergeOp(&table.Entity[row]{Value: row{P: pk, R: rk}, Key: k, ETag: etag}, name.Set("n")),
		"delete":       tab.DeleteAnyOp(k),
		"pin":          tabledoor.PinOp(tab, &table.Entity[row]{Value: row{P: pk, R: rk}, Key: k, ETag: etag}),
	} {
		if _, err := table.Transact(ctx, op); err != nil {
			t.Errorf("%s: got %v; want no error", what, err)
			continue
		}
		p := sentParts(w)[0]
		if what == "insert" {
			if strings.Contains(p.line, "(") || !strings.Contains(p.body, `"PartitionKey":"O'Brien"`) || !strings.Contains(p.body, `"RowKey":"x',RowKey='y"`) {
				t.Errorf("%s: got %+v; want \"(\" not in p.line and `\"PartitionKey\":\"O'Brien\"` in p.body and `\"RowKey\":\"x',RowKey='y\"` in p.body", what, p)
			}
			continue
		}
		if !strings.Contains(p.line, address) {
			t.Errorf("%s: got %s; want strings.Contains(p.line, address)", what, p.line)
		}
		if what != "delete" && what != "pin" && !strings.Contains(p.body, `"Name":"n"`) {
			t.Errorf("%s: got %s; want what == \"delete\" or what == \"pin\" or `\"Name\":\"n\"` in p.body", what, p.body)
		}
	}
}

// T11: a truncated response to a POST is neither requested again nor distinguished from a refusal.
func TestTrapT11(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
		return cutResponse(batchBody(donePart(1)), 40), nil
	}}
	add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}
	_, err := sdkClient(t, w).NewClient("staff").SubmitTransaction(ctx, []aztables.TransactionAction{add}, nil)
	var re *azcore.ResponseError
	if err == nil || errors.As(err, &re) || w.requests() != "POST" {
		t.Errorf(`the SDK's error: got %v after %s; want an error and no *azcore.ResponseError and w.requests() == "POST"`, err, w.requests())
	}
	w.sent = nil
	staff := newStaff(t, sdkClient(t, w))
	e := readEmployee(t, staff, w)
	if _, err := table.Transact(ctx, staff.ReplaceOp(e)); !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, io.ErrUnexpectedEOF) || w.requests() != "POST" {
		t.Errorf(`got %v after %s; want ErrUnknownOutcome and io.ErrUnexpectedEOF and w.requests() == "POST"`, err, w.requests())
	}
	if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("Replace of an entity in doubt: got %v; want ErrUnknownOutcome", err)
	}
	// A single insert is a POST too.
	if _, err := staff.Insert(ctx, &employee{"Sales", 1, "x", 1}); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrUnknownOutcome", err)
	}
}

// T4: the SDK's receipt has no fields.
func TestTrapT04(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[aztables.TransactionResponse]().NumField(); n != 0 {
		t.Errorf("the SDK's receipt: got %d fields; want 0, unless the SDK was repaired", n)
	}
	w := batchService(batchBody(donePart(7)))
	staff := newStaff(t, sdkClient(t, w))
	r, err := table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "x", 1}))
	if err != nil || string(r.ETags[0]) != etagOf(7) || string(table.Stored[employee](r, 0).ETag) != etagOf(7) {
		t.Errorf("got %+v, %v; want no error and string(r.ETags[0]) == etagOf(7) and string(table.Stored[employee](r, 0).ETag) == etagOf(7)", r, err)
	}
}
