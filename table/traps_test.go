package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Each trap of the SDK has a test of two halves: the bare SDK falls into it, the library does not. A first half that fails
// means that the SDK has mended the trap.

// T1: Upsert and Update panic where a key is missing from the body or is no string.
func TestTrapT01(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return done(), nil }}
	sdk := bare(w).NewClient("staff")
	for _, body := range []string{`{"RowKey":"r"}`, `{"PartitionKey":"p","RowKey":5}`} {
		for _, call := range []func() error{
			func() error { _, err := sdk.UpsertEntity(context.Background(), []byte(body), nil); return err },
			func() error { _, err := sdk.UpdateEntity(context.Background(), []byte(body), nil); return err },
		} {
			if !panics(func() { call() }) {
				t.Errorf("the SDK no longer panics on %s", body)
			}
		}
	}
	type loose struct{ Name string }
	tab, err := table.New(bare(w), "staff", table.Schema[loose]{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := table.FieldOf(func(l *loose) *string { return &l.Name })
	for _, k := range []keys.Key{{}, keys.Stored("", "r"), keys.Stored("p", ""), keys.At(keys.Raw("p"), keys.Enc{})} {
		_, err1 := tab.UpsertAt(context.Background(), k, &loose{}, table.ReplaceExisting)
		_, err2 := tab.Upsert(context.Background(), &loose{}, table.MergeExisting)
		err3 := tab.MergeAny(context.Background(), k, name.Set("x"))
		err4 := tab.Replace(context.Background(), &table.Entity[loose]{Key: k, ETag: etag})
		for _, err := range []error{err1, err2, err3, err4} {
			var ke *keys.KeyError
			if !errors.As(err, &ke) {
				t.Errorf("%v: %v", k, err)
			}
		}
	}
	if got := w.requests(); got != "" {
		t.Errorf("sent %s", got)
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// T2: a failed transaction is a ResponseError with status 202 and no code; which operation failed stands in the body alone.
func TestTrapT02(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := answering(batch(broken(409, "EntityAlreadyExists", "1:The specified entity already exists.")))
	add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}
	_, err := bare(w).NewClient("staff").SubmitTransaction(ctx, []aztables.TransactionAction{add, add}, nil)
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != 202 || re.ErrorCode != "" {
		t.Errorf("the SDK tells what has failed now: %v", err)
	}
	staff := newStaff(t, bare(w))
	_, err = table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "a", 1}), staff.InsertOp(&employee{"Sales", 2, "b", 1}))
	var be *table.BatchError
	if !errors.As(err, &be) || be.Index != 1 || be.Key != at("Sales", 2) || !errors.Is(err, table.ErrExists) || !errors.As(err, &re) || re.StatusCode != 409 {
		t.Error(err)
	}
}

// T3: a reply to a failed transaction that is cut short is reported as success, or makes the SDK panic.
func TestTrapT03(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	refusal := batch(broken(409, "EntityAlreadyExists", "1:The specified entity already exists."))
	certain := strings.Index(refusal, "}}}") + len("}}}")
	add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}
	w := &wire{}
	sdk, staff := bare(w).NewClient("staff"), newStaff(t, bare(w))
	successes, panicked := 0, 0
	for cut := range certain {
		w.answer = func(*http.Request, string) (*http.Response, error) { return accepted(refusal[:cut]) }
		if panics(func() {
			if _, err := sdk.SubmitTransaction(ctx, []aztables.TransactionAction{add, add}, nil); err == nil {
				successes++
			}
		}) {
			panicked++
		}
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "a", 1}), staff.InsertOp(&employee{"Sales", 2, "b", 1}))
		if !errors.Is(err, table.ErrUnknownOutcome) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	if successes == 0 || panicked == 0 {
		t.Errorf("of %d cuts the SDK takes %d for success now, and panics at %d", certain, successes, panicked)
	}
}

// T5: an update in a transaction without IfMatch carries no If-Match, and so inserts a row that is missing.
func TestTrapT05(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := answering(batch(part(1), part(2), part(3)))
	var actions []aztables.TransactionAction
	for i, kind := range []aztables.TransactionType{aztables.TransactionTypeUpdateMerge, aztables.TransactionTypeUpdateReplace, aztables.TransactionTypeUpdateMerge} {
		actions = append(actions, aztables.TransactionAction{ActionType: kind, Entity: fmt.Appendf(nil, `{"PartitionKey":"p","RowKey":"r%d"}`, i)})
	}
	if _, err := bare(w).NewClient("staff").SubmitTransaction(ctx, actions, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range sentParts(w) {
		if p.match != "" {
			t.Errorf("the SDK asks for a row that exists now: %+v", p)
		}
	}
	staff := newStaff(t, bare(w))
	e, f := stored(t, staff, w), stored(t, staff, w)
	f.Key, f.Value.ID = at("Sales", 1), 1
	if _, err := table.Transact(ctx, staff.ReplaceAnyOp(e), staff.MergeAnyOp(at("Sales", 2), age.Set(1)), staff.ReplaceOp(f)); err != nil {
		t.Fatal(err)
	}
	var matches []string
	for _, p := range sentParts(w) {
		matches = append(matches, p.match)
	}
	if want := []string{"*", "*", etag}; !slices.Equal(matches, want) {
		t.Errorf("%q", matches)
	}
}

// T6: bodies go through map[string]any: an int64 written as a number is rounded, and a whole double becomes an Int32.
func TestTrapT06(t *testing.T) {
	t.Parallel()
	type numbers struct {
		P, R  string
		Big   int64
		Whole float64
	}
	const big = 1<<53 + 1
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return done(), nil }}
	body, err := json.Marshal(map[string]any{"PartitionKey": "p", "RowKey": "r", "Big": int64(big), "Whole": json.RawMessage("5.0")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bare(w).NewClient("t").UpsertEntity(context.Background(), body, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.last().body; !strings.Contains(got, `"Big":9007199254740992`) || !strings.Contains(got, `"Whole":5}`) {
		t.Errorf("the SDK keeps numbers now: %s", got)
	}
	tab, err := table.New(bare(w), "ttt", table.Schema[numbers]{
		Partition: keys.BindRaw(func(n *numbers) *string { return &n.P }),
		Row:       keys.BindRaw(func(n *numbers) *string { return &n.R }),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Upsert(context.Background(), &numbers{"p", "r", big, 5}, table.ReplaceExisting); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Big":"9007199254740993"`, `"Big@odata.type":"Edm.Int64"`, `"Whole@odata.type":"Edm.Double"`} {
		if got := w.last().body; !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// T7: EDMEntity doubles ' in keys in the body, reads whole doubles as int32, drops annotated strings and lets a property
// named PartitionKey win over the key.
func TestTrapT07(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "O'Brien", RowKey: "r"}})
	if err != nil || !strings.Contains(string(b), "O''Brien") {
		t.Errorf("the SDK no longer doubles quotes: %s, %v", b, err)
	}
	const reply200 = `{"odata.etag":"x","PartitionKey":"O'Brien","RowKey":"r","Ratio":3.0,"Text@odata.type":"Edm.String","Text":"kept"}`
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return reply(200, reply200), nil
		}
		return done(), nil
	}}
	got, err := bare(w).NewClient("t").GetEntity(context.Background(), "O'Brien", "r", nil)
	if err != nil {
		t.Fatal(err)
	}
	var e aztables.EDMEntity
	if err := json.Unmarshal(got.Value, &e); err != nil || e.Properties["Ratio"] != int32(3) || e.Properties["Text"] != nil {
		t.Errorf("the SDK keeps types now: %#v, %v", e.Properties, err)
	}
	b, err = json.Marshal(aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "p", RowKey: "r"}, Properties: map[string]any{"PartitionKey": "other"}})
	if err != nil || !strings.Contains(string(b), `"PartitionKey":"other"`) {
		t.Errorf("the SDK keeps the key now: %s, %v", b, err)
	}

	type row struct {
		P, R  string
		Extra map[string]any `table:",extra"`
	}
	tab, err := table.New(bare(w), "ttt", table.Schema[row]{
		Partition: keys.BindRaw(func(r *row) *string { return &r.P }),
		Row:       keys.BindRaw(func(r *row) *string { return &r.R }),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Insert(context.Background(), &row{P: "O'Brien", R: "r"}); err != nil || !strings.Contains(w.last().body, `"PartitionKey":"O'Brien"`) {
		t.Errorf("%s, %v", w.last().body, err)
	}
	in, err := tab.Get(context.Background(), keys.At(keys.Raw("O'Brien"), keys.Raw("r")))
	if err != nil || in.Value.Extra["Ratio"] != 3.0 || in.Value.Extra["Text"] != "kept" || !strings.Contains(w.last().path, "O''Brien") {
		t.Errorf("%+v, %v", in, err)
	}
	var ve *table.ValueError
	if _, err := tab.Insert(context.Background(), &row{P: "p", R: "r", Extra: map[string]any{"PartitionKey": "other"}}); !errors.As(err, &ve) {
		t.Errorf("a property named PartitionKey: %v", err)
	}
}

// T8: EDMDateTime writes the local clock reading with a Z.
func TestTrapT08(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("", 5*3600))
	b, err := json.Marshal(aztables.EDMEntity{Properties: map[string]any{"When": aztables.EDMDateTime(local)}})
	if err != nil || !strings.Contains(string(b), `"2026-11-21T12:00:00`) {
		t.Errorf("the SDK converts to UTC now: %s, %v", b, err)
	}
	type row struct{ When time.Time }
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return done(), nil }}
	tab, err := table.New(bare(w), "ttt", table.Schema[row]{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.InsertAt(context.Background(), keys.At(keys.Raw("p"), keys.Raw("r")), &row{local}); err != nil || !strings.Contains(w.last().body, `"When":"2026-11-21T07:00:00Z"`) {
		t.Errorf("%s, %v", w.last().body, err)
	}
	when := table.FieldOf(func(r *row) *time.Time { return &r.When })
	ex, err := tab.Explain(table.Query[row]{Partition: keys.Raw("p"), Where: when.Ge(local)})
	if err != nil || !strings.Contains(ex.Filter, "datetime'2026-11-21T07:00:00Z'") {
		t.Errorf("%+v, %v", ex, err)
	}
}

// T9: in a transaction the SDK does not double the quotes in a key's address, so that a key can address another row.
func TestTrapT09(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := answering(batch(part(1)))
	any := azcore.ETagAny
	merge := aztables.TransactionAction{ActionType: aztables.TransactionTypeUpdateMerge, Entity: []byte(`{"PartitionKey":"O'Brien","RowKey":"r"}`), IfMatch: &any}
	if _, err := bare(w).NewClient("staff").SubmitTransaction(ctx, []aztables.TransactionAction{merge}, nil); err != nil || !strings.Contains(sentParts(w)[0].line, "O%27Brien'") {
		t.Errorf("the SDK doubles quotes now: %v, %s", err, sentParts(w)[0].line)
	}
	type row struct{ P, R, Name string }
	tab, err := table.New(bare(w), "ttt", table.Schema[row]{
		Partition: keys.BindRaw(func(r *row) *string { return &r.P }),
		Row:       keys.BindRaw(func(r *row) *string { return &r.R }),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := table.FieldOf(func(r *row) *string { return &r.Name })
	const pk, rk = "O'Brien", "x',RowKey='y"
	k := keys.At(keys.Raw(pk), keys.Raw(rk))
	const address = "(PartitionKey='O%27%27Brien',RowKey='x%27%27%2CRowKey=%27%27y')"
	for what, op := range map[string]table.Op{
		"insert":       tab.InsertOp(&row{pk, rk, "n"}),
		"upsert":       tab.UpsertOp(&row{pk, rk, "n"}, table.ReplaceExisting),
		"upsert merge": tab.UpsertOp(&row{pk, rk, "n"}, table.MergeExisting),
		"merge":        tab.MergeAnyOp(k, name.Set("n")),
		"merge by tag": tab.MergeOp(&table.Entity[row]{Value: row{P: pk, R: rk}, Key: k, ETag: etag}, name.Set("n")),
		"delete":       tab.DeleteAnyOp(k),
		"pin":          tab.PinOp(&table.Entity[row]{Value: row{P: pk, R: rk}, Key: k, ETag: etag}),
	} {
		if _, err := table.Transact(ctx, op); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		p := sentParts(w)[0]
		if what == "insert" {
			if strings.Contains(p.line, "(") || !strings.Contains(p.body, `"PartitionKey":"O'Brien"`) || !strings.Contains(p.body, `"RowKey":"x',RowKey='y"`) {
				t.Errorf("%s: %+v", what, p)
			}
			continue
		}
		if !strings.Contains(p.line, address) {
			t.Errorf("%s: %s", what, p.line)
		}
		if what != "delete" && what != "pin" && !strings.Contains(p.body, `"Name":"n"`) {
			t.Errorf("%s: %s", what, p.body)
		}
	}
}

// T11: a reply to a POST that is cut off is neither asked for again nor told from a refusal.
func TestTrapT11(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return severed(batch(part(1)), 40), nil }}
	add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}
	_, err := bare(w).NewClient("staff").SubmitTransaction(ctx, []aztables.TransactionAction{add}, nil)
	var re *azcore.ResponseError
	if err == nil || errors.As(err, &re) || w.requests() != "POST" {
		t.Errorf("the SDK does something else now: %v after %s", err, w.requests())
	}
	w.sent = nil
	staff := newStaff(t, bare(w))
	e := stored(t, staff, w)
	if _, err := table.Transact(ctx, staff.ReplaceOp(e)); !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, io.ErrUnexpectedEOF) || w.requests() != "POST" {
		t.Errorf("%v after %s", err, w.requests())
	}
	if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("the entity can be used although nobody knows its ETag: %v", err)
	}
	// An insert on its own is a POST too.
	if _, err := staff.Insert(ctx, &employee{"Sales", 1, "x", 1}); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Error(err)
	}
}

// T14: Update and Delete write into the caller's options, Upsert ignores its ETag, nil options mean merge, and zero options
// are an error.
func TestTrapT14(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return done(), nil }}
	sdk := bare(w).NewClient("staff")
	body := []byte(`{"PartitionKey":"p","RowKey":"r"}`)
	o := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace}
	if _, err := sdk.UpdateEntity(ctx, body, o); err != nil || o.IfMatch == nil {
		t.Errorf("the SDK leaves options alone now: %v", err)
	}
	if _, err := sdk.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{ETag: "x", UpdateMode: aztables.UpdateModeReplace}); err != nil || w.last().header["If-Match"] != nil {
		t.Errorf("the SDK heeds the ETag of an upsert now: %v", err)
	}
	if _, err := sdk.UpdateEntity(ctx, body, nil); err != nil || w.last().method != "PATCH" {
		t.Errorf("nil options no longer mean merge: %v, %s", err, w.last().method)
	}
	if _, err := sdk.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{}); err == nil {
		t.Error("zero options are no error now")
	}

	w.sent = nil
	staff := newStaff(t, bare(w))
	e := stored(t, staff, w)
	match := func() string { return strings.Join(w.last().header["If-Match"], "") }
	if err := staff.Replace(ctx, e); err != nil || match() != etag || w.last().method != "PUT" {
		t.Errorf("replace: %v, %s", err, match())
	}
	if err := staff.Merge(ctx, e, age.Set(1)); err != nil || match() != etag || w.last().method != "PATCH" {
		t.Errorf("merge: %v, %s", err, match())
	}
	if _, err := staff.Upsert(ctx, &e.Value, table.ReplaceExisting); err != nil || match() != "" || w.last().method != "PUT" {
		t.Errorf("upsert: %v, %s", err, match())
	}
	if err := staff.Delete(ctx, e); err != nil || match() != etag || w.last().method != "DELETE" {
		t.Errorf("delete: %v, %s", err, match())
	}
	if err := staff.DeleteAny(ctx, e.Key); err != nil || match() != "*" {
		t.Errorf("delete any: %v, %s", err, match())
	}
}

// T15: Top is the size of a page and bounds nothing, and Get knows no projection.
func TestTrapT15(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// The service has five employees and gives one a page.
	page := func(r *http.Request, _ string) (*http.Response, error) {
		id := "1"
		if n := r.URL.Query().Get("NextRowKey"); n != "" {
			id = n
		}
		h := []string{}
		if id < "5" {
			h = []string{"x-ms-continuation-NextPartitionKey", "Sales", "x-ms-continuation-NextRowKey", string(id[0] + 1)}
		}
		return reply(200, `{"value":[{"odata.etag":"e","PartitionKey":"Sales","RowKey":"empid_00000`+id+`","LastName":"L`+id+`"}]}`, h...), nil
	}
	w := &wire{answer: page}
	top := int32(2)
	n := 0
	for p := bare(w).NewClient("staff").NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: &top}); p.More(); {
		r, err := p.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += len(r.Entities)
	}
	if n != 5 {
		t.Errorf("the SDK's Top ends a list after %d now", n)
	}
	w.sent = nil
	staff := newStaff(t, bare(w))
	n = 0
	for _, err := range staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales"), Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 || w.requests() != "GET GET" {
		t.Errorf("%d entities by %s", n, w.requests())
	}
	type name struct {
		Last string `table:"LastName"`
	}
	names, err := table.As[name](staff)
	if err != nil {
		t.Fatal(err)
	}
	w.sent = nil
	got, err := names.Get(ctx, at("Sales", 1))
	if err != nil || got.Value.Last != "L1" || w.requests() != "GET" {
		t.Errorf("%+v, %v, %s", got, err, w.requests())
	}
	q, _ := url.ParseQuery(w.last().query)
	if q.Get("$select") != "PartitionKey,RowKey,LastName" || q.Get("$top") != "1" || q.Get("$filter") != "PartitionKey eq 'Sales' and RowKey eq 'empid_000001'" {
		t.Errorf("%v", q)
	}
}

// T16: the SDK waits for ever for a service that does not answer.
func TestTrapT16(t *testing.T) {
	t.Parallel()
	hang := func(r *http.Request, _ string) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	synctest.Test(t, func(t *testing.T) {
		const patience = 24 * time.Hour
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		start := time.Now()
		if _, err := bare(&wire{answer: hang}).NewClient("staff").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r"}`), nil); err == nil || time.Since(start) < patience {
			t.Errorf("the SDK gives up after %v now: %v", time.Since(start), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: hang}
		staff := newStaff(t, bare(w))
		start := time.Now()
		_, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
		if !errors.Is(err, table.ErrUnknownOutcome) || time.Since(start) != table.DefaultTryTimeout || w.requests() != "POST" {
			t.Errorf("%v after %v, %s", err, time.Since(start), w.requests())
		}
	})
	synctest.Test(t, func(t *testing.T) { // reads, on any client
		staff := newStaff(t, bare(&wire{answer: hang}))
		for what, read := range map[string]func() error{
			"get": func() error { _, err := staff.Get(context.Background(), at("Sales", 1)); return err },
			"list": func() (err error) {
				for _, err = range staff.List(context.Background(), table.Query[employee]{Partition: dept.Of("Sales")}) {
				}
				return err
			},
		} {
			start := time.Now()
			if err := read(); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, table.ErrUnknownOutcome) || time.Since(start) != time.Minute {
				t.Errorf("%s: %v after %v", what, err, time.Since(start))
			}
		}
	})
	synctest.Test(t, func(t *testing.T) { // reads, with the options that account gives its clients
		w := &wire{answer: hang}
		options := table.ClientOptions(azcore.ClientOptions{Transport: w}, nil)
		s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: options})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := newStaff(t, s).Get(context.Background(), at("Sales", 1)); err == nil || time.Since(start) > 2*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// eachError visits an error and all that it wraps.
func eachError(err error, f func(error)) {
	if err == nil {
		return
	}
	f(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		eachError(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			eachError(inner, f)
		}
	}
}

// T17: transport errors print the URL with its signature, and the service's error prints keys and body.
func TestTrapT17(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const secret = "sig=c2VjcmV0"
	broken := func(r *http.Request, _ string) (*http.Response, error) {
		return nil, &url.Error{Op: "Put", URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
	}
	w := &wire{answer: broken}
	sas := func(o azcore.ClientOptions) *aztables.ServiceClient {
		s, err := aztables.NewServiceClientWithNoCredential("https://account.table.invalid/?sv=2019-02-02&"+secret, &aztables.ClientOptions{ClientOptions: o})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain := azcore.ClientOptions{Transport: w}
	plain.Retry.MaxRetries = -1
	if _, err := sas(plain).NewClient("staff").GetEntity(ctx, "p", "r", nil); err == nil || !strings.Contains(err.Error(), secret) {
		t.Errorf("the SDK keeps the secret now: %v", err)
	}
	if _, err := sas(table.ClientOptions(plain, nil)).NewClient("staff").GetEntity(ctx, "p", "r", nil); err == nil || strings.Contains(err.Error(), "sig") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the SDK's client with our options: %v", err)
	}
	staff := newStaff(t, sas(plain))
	e := stored(t, staff, w)
	e.Value.Last = "confidential"
	_, errGet := staff.Get(ctx, at("Sales", 1))
	_, errInsert := staff.Insert(ctx, &e.Value)
	var errList error
	for _, errList = range staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales")}) {
	}
	for what, err := range map[string]error{"get": errGet, "insert": errInsert, "list": errList, "replace": staff.Replace(ctx, e), "ensure": staff.Ensure(ctx)} {
		eachError(err, func(deep error) {
			if strings.Contains(deep.Error(), "sig") || strings.Contains(deep.Error(), "c2Vj") {
				t.Errorf("%s tells the signature: %v", what, deep)
			}
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s hides its cause: %v", what, err)
		}
		var ue *url.Error
		if errors.As(err, &ue) {
			t.Errorf("%s: the error with the URL is in reach", what)
		}
	}

	w.answer = func(*http.Request, string) (*http.Response, error) {
		return reply(400, `{"odata.error":{"code":"InvalidInput","message":{"lang":"en-US","value":"confidential is wrong"}}}`), nil
	}
	if _, err := sas(plain).NewClient("staff").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r"}`), nil); !strings.Contains(err.Error(), "confidential") {
		t.Errorf("the SDK prints no bodies now: %v", err)
	}
	_, err := staff.Insert(ctx, &employee{"Sales", 5, "confidential", 1})
	if err == nil || strings.Contains(err.Error(), "confidential") || !strings.Contains(err.Error(), "InvalidInput") || !strings.Contains(err.Error(), "400") {
		t.Errorf("%v", err)
	}
}
