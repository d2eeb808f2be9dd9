package table_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// T14: Update and Delete write into the caller's options, Upsert ignores its ETag, nil options mean merge, and zero options are
// an error.
func TestTrapT14(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	sdk := sdkClient(t, w).NewClient("staff")
	body := []byte(`{"PartitionKey":"p","RowKey":"r"}`)
	o := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace}
	if _, err := sdk.UpdateEntity(ctx, body, o); err != nil || o.IfMatch == nil {
		t.Errorf("the options of the SDK's Update: got %v; want no error and o.IfMatch != nil", err)
	}
	if _, err := sdk.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{ETag: "x", UpdateMode: aztables.UpdateModeReplace}); err != nil || w.last().header["If-Match"] != nil {
		t.Errorf(`the ETag of the SDK's Upsert: got %v; want no error and w.last().header["If-Match"] == nil`, err)
	}
	if _, err := sdk.UpdateEntity(ctx, body, nil); err != nil || w.last().method != "PATCH" {
		t.Errorf(`nil options of the SDK: got %v, %s; want no error and w.last().method == "PATCH"`, err, w.last().method)
	}
	if _, err := sdk.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{}); err == nil {
		t.Error("zero options of the SDK: got no error; want one, unless the SDK was repaired")
	}

	w.sent = nil
	staff := newStaff(t, sdkClient(t, w))
	e := readEmployee(t, staff, w)
	match := func() string { return strings.Join(w.last().header["If-Match"], "") }
	if err := staff.Replace(ctx, e); err != nil || match() != etag || w.last().method != "PUT" {
		t.Errorf(`replace: got %v, %s; want no error and match() == etag and w.last().method == "PUT"`, err, match())
	}
	if err := staff.Merge(ctx, e, age.Set(1)); err != nil || match() != etag || w.last().method != "PATCH" {
		t.Errorf(`merge: got %v, %s; want no error and match() == etag and w.last().method == "PATCH"`, err, match())
	}
	if _, err := staff.Upsert(ctx, &e.Value, table.ReplaceExisting); err != nil || match() != "" || w.last().method != "PUT" {
		t.Errorf(`upsert: got %v, %s; want no error and match() == "" and w.last().method == "PUT"`, err, match())
	}
	if err := staff.Delete(ctx, e); err != nil || match() != etag || w.last().method != "DELETE" {
		t.Errorf(`delete: got %v, %s; want no error and match() == etag and w.last().method == "DELETE"`, err, match())
	}
	if err := staff.DeleteAny(ctx, e.Key); err != nil || match() != "*" {
		t.Errorf(`delete any: got %v, %s; want no error and match() == "*"`, err, match())
	}
}

// T15: Top is the size of a page and bounds nothing, and Get has no projection.
func TestTrapT15(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// The service has five employees and pages of one.
	page := func(r *http.Request, _ string) (*http.Response, error) {
		id := "1"
		if n := r.URL.Query().Get("NextRowKey"); n != "" {
			id = n
		}
		h := []string{}
		if id < "5" {
			h = []string{"x-ms-continuation-NextPartitionKey", "Sales", "x-ms-continuation-NextRowKey", string(id[0] + 1)}
		}
		return jsonResponse(200, `{"value":[{"odata.etag":"e","PartitionKey":"Sales","RowKey":"empid_00000`+id+`","LastName":"L`+id+`"}]}`, h...), nil
	}
	w := &fakeTransport{respond: page}
	top := int32(2)
	n := 0
	for p := sdkClient(t, w).NewClient("staff").NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: &top}); p.More(); {
		r, err := p.NextPage(ctx)
		noError(t, err)
		n += len(r.Entities)
	}
	if n != 5 {
		t.Errorf("the SDK's Top: got %d entities; want 5, unless the SDK was repaired", n)
	}
	w.sent = nil
	staff := newStaff(t, sdkClient(t, w))
	n = 0
	for _, err := range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 2}) {
		noError(t, err)
		n++
	}
	if n != 2 || w.requests() != "GET GET" {
		t.Errorf("got %d entities by %s; want 2 by GET GET", n, w.requests())
	}
	type name struct {
		Last string `table:"LastName"`
	}
	names, err := table.ViewOf[name](staff)
	noError(t, err)
	w.sent = nil
	got, err := names.Get(ctx, employeeKey("Sales", 1))
	if err != nil || got.Value.Last != "L1" || w.requests() != "GET" {
		t.Errorf(`got %+v, %v, %s; want no error and got.Value.Last == "L1" and w.requests() == "GET"`, got, err, w.requests())
	}
	q, _ := url.ParseQuery(w.last().query)
	if q.Get("$select") != "PartitionKey,RowKey,LastName,_parts,_tx" || q.Get("$top") != "1" || q.Get("$filter") != "PartitionKey eq 'Sales' and RowKey eq 'empid_000001'" {
		t.Errorf(`got %v; want q.Get("$select") == "PartitionKey,RowKey,LastName,_parts,_tx" and q.Get("$top") == "1" and q.Get("$filter") == "PartitionKey eq 'Sales' and RowKey eq 'empid_000001'"`, q)
	}
}

// T16: the SDK waits without end for a service that does not respond.
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
		if _, err := sdkClient(t, &fakeTransport{respond: hang}).NewClient("staff").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r"}`), nil); err == nil || time.Since(start) < patience {
			t.Errorf("the SDK after %v: got %v; want an error and time.Since(start) >= patience", time.Since(start), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &fakeTransport{respond: hang}
		staff := newStaff(t, sdkClient(t, w))
		start := time.Now()
		_, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
		if !errors.Is(err, table.ErrUnknownOutcome) || time.Since(start) != engine.DefaultAttemptTimeout || w.requests() != "POST" {
			t.Errorf(`got %v after %v, %s; want ErrUnknownOutcome and time.Since(start) == engine.DefaultAttemptTimeout and w.requests() == "POST"`, err, time.Since(start), w.requests())
		}
	})
	synctest.Test(t, func(t *testing.T) { // reads by any client
		staff := newStaff(t, sdkClient(t, &fakeTransport{respond: hang}))
		for what, read := range map[string]func() error{
			"get": func() error { _, err := staff.Get(context.Background(), employeeKey("Sales", 1)); return err },
			"list": func() (err error) {
				for _, err = range staff.List(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
				}
				return err
			},
		} {
			start := time.Now()
			if err := read(); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, table.ErrUnknownOutcome) || time.Since(start) != time.Minute {
				t.Errorf("%s: got %v after %v; want context.DeadlineExceeded and not ErrUnknownOutcome and time.Since(start) == time.Minute", what, err, time.Since(start))
			}
		}
	})
	synctest.Test(t, func(t *testing.T) { // reads by a client with account's options
		w := &fakeTransport{respond: hang}
		options := table.ClientOptions(azcore.ClientOptions{Transport: w}, nil)
		s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: options})
		noError(t, err)
		start := time.Now()
		if _, err := newStaff(t, s).Get(context.Background(), employeeKey("Sales", 1)); err == nil || time.Since(start) > 2*time.Minute {
			t.Errorf("got %v after %v; want an error and time.Since(start) <= 2*time.Minute", err, time.Since(start))
		}
	})
}

// eachError calls f for an error and all errors that it wraps.
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

// scansPartition is a maintainer that reads all rows of the partition.
type scansPartition struct{}

func (scansPartition) Name() string { return "scanning" }
func (scansPartition) MaxRows() int { return 0 }
func (scansPartition) Maintain(ctx context.Context, p *extend.Plan, _ *extend.Change[employee]) error {
	for _, err := range p.Scan(ctx, keys.RawRows("", "")) {
		if err != nil {
			return err
		}
	}
	return nil
}

// T17: transport errors contain the URL with its signature, and the service's error contains keys and body.
func TestTrapT17(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const secret = "sig=c2VjcmV0"
	broken := func(r *http.Request, _ string) (*http.Response, error) {
		return nil, &url.Error{Op: "Put", URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
	}
	w := &fakeTransport{respond: broken}
	sas := func(o azcore.ClientOptions) *aztables.ServiceClient {
		s, err := aztables.NewServiceClientWithNoCredential("https://account.table.invalid/?sv=2019-02-02&"+secret, &aztables.ClientOptions{ClientOptions: o})
		noError(t, err)
		return s
	}
	plain := azcore.ClientOptions{Transport: w}
	plain.Retry.MaxRetries = -1
	if _, err := sas(plain).NewClient("staff").GetEntity(ctx, "p", "r", nil); err == nil || !strings.Contains(err.Error(), secret) {
		t.Errorf("the SDK's error: got %v; want an error and strings.Contains(err.Error(), secret)", err)
	}
	if _, err := sas(table.ClientOptions(plain, nil)).NewClient("staff").GetEntity(ctx, "p", "r", nil); err == nil || strings.Contains(err.Error(), "sig") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf(`the SDK's client with our options: got %v; want an error and "sig" not in the error and io.ErrUnexpectedEOF`, err)
	}
	staff := newStaff(t, sas(plain))
	e := readEmployee(t, staff, w)
	e.Value.Last = "confidential"
	_, errGet := staff.Get(ctx, employeeKey("Sales", 1))
	_, errInsert := staff.Insert(ctx, &e.Value)
	var errList error
	for _, errList = range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
	}
	_, errRow := tabledoor.GetRow(ctx, staff, employeeKey("Sales", 1))
	var errRecords error
	for _, errRecords = range records.Of(staff).List(ctx, dept.PartitionKey("Sales"), time.Now()) {
	}
	scanned, err := bare.With(staff, scansPartition{})
	noError(t, err)
	_, errScan := scanned.Insert(ctx, &employee{"Sales", 6, "confidential", 1})
	for what, err := range map[string]error{"get": errGet, "row": errRow, "commit records": errRecords, "scan": errScan, "insert": errInsert, "list": errList, "replace": staff.Replace(ctx, e), "ensure": tabledoor.Ensure(ctx, staff)} {
		eachError(err, func(deep error) {
			if strings.Contains(deep.Error(), "sig") || strings.Contains(deep.Error(), "c2Vj") {
				t.Errorf("%s: got %v; want no signature in the text", what, deep)
			}
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v; want io.ErrUnexpectedEOF", what, err)
		}
		var ue *url.Error
		if errors.As(err, &ue) {
			t.Errorf("%s: got a *url.Error with the URL; want none", what)
		}
	}

	w.respond = func(*http.Request, string) (*http.Response, error) {
		return jsonResponse(400, `{"odata.error":{"code":"InvalidInput","message":{"lang":"en-US","value":"confidential is wrong"}}}`), nil
	}
	if _, err := sas(plain).NewClient("staff").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r"}`), nil); !strings.Contains(err.Error(), "confidential") {
		t.Errorf(`the SDK's error: got %v; want "confidential" in the error`, err)
	}
	_, err = staff.Insert(ctx, &employee{"Sales", 5, "confidential", 1})
	if err == nil || strings.Contains(err.Error(), "confidential") || !strings.Contains(err.Error(), "InvalidInput") || !strings.Contains(err.Error(), "400") {
		t.Errorf(`got %v; want an error and "confidential" not in the error and "InvalidInput" in the error and "400" in the error`, err)
	}
}

// T10: the SDK repeats each request whose response was lost, and reports the result of the second request.
func TestTrapT10(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	body := []byte(`{"PartitionKey":"Sales","RowKey":"empid_000002"}`)
	for what, c := range map[string]struct {
		sdk     func(*aztables.Client, *table.Entity[employee]) error
		code    string
		library func(*table.Table[employee], *table.Entity[employee]) error
	}{
		"insert": {func(c *aztables.Client, _ *table.Entity[employee]) error {
			_, err := c.AddEntity(ctx, body, nil)
			return err
		}, "EntityAlreadyExists",
			func(s *table.Table[employee], _ *table.Entity[employee]) error {
				_, err := s.Insert(ctx, &employee{"Sales", 2, "x", 1})
				return err
			}},
		"replace": {func(c *aztables.Client, e *table.Entity[employee]) error {
			_, err := c.UpdateEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"empid_000001"}`), &aztables.UpdateEntityOptions{IfMatch: &e.ETag, UpdateMode: aztables.UpdateModeReplace})
			return err
		}, "UpdateConditionNotSatisfied", func(s *table.Table[employee], e *table.Entity[employee]) error { return s.Replace(ctx, e) }},
		"transaction": {func(c *aztables.Client, _ *table.Entity[employee]) error {
			_, err := c.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: body}}, nil)
			return err
		}, "EntityAlreadyExists", func(s *table.Table[employee], _ *table.Entity[employee]) error {
			_, err := table.Transact(ctx, s.InsertOp(&employee{"Sales", 2, "x", 1}))
			return err
		}},
		"delete": {func(c *aztables.Client, e *table.Entity[employee]) error {
			_, err := c.DeleteEntity(ctx, "Sales", "empid_000001", &aztables.DeleteEntityOptions{IfMatch: &e.ETag})
			return err
		}, "ResourceNotFound", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			lose := func(s *testkit.Hooked) {
				lost := false
				s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
					now := !lost && q.Kind != requests.Get
					lost = lost || now
					return now
				}, storagetest.LostResponse()))
			}
			_, e, s := staffInMemory(t, nil)
			lose(s)
			var re *azcore.ResponseError
			if err := c.sdk(sdkClientOf(t, s).NewClient("staff"), e); err == nil || !errors.As(err, &re) || !strings.Contains(err.Error(), c.code) {
				t.Errorf("%s by the SDK: got %v; want %s", what, err, c.code)
			}
			staff, e, s := staffInMemory(t, nil)
			lose(s)
			if c.library == nil {
				// A deleted row does not prove which write has deleted it.
				if err := staff.Delete(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
					t.Errorf("%s by the library: got %v; want ErrUnknownOutcome", what, err)
				}
			} else if err := c.library(staff, e); err != nil {
				t.Errorf("%s by the library: got %v; want no error", what, err)
			}
		})
	}
}

// T12: a write can be applied after its caller has given up and has read the row. The library does not conclude from a
// read-back that the write was not applied.
func TestTrapT12(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		staff, _, s := staffInMemory(t, nil)
		s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Late(0)))
		client := sdkClientOf(t, s).NewClient("staff")
		_, err := client.AddEntity(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1}), []byte(`{"PartitionKey":"Sales","RowKey":"empid_000007"}`), nil)
		_, rerr := client.GetEntity(ctx, "Sales", "empid_000007", nil)
		s.Deliver()
		if err == nil || rerr == nil || len(s.Rows("staff")) != 2 {
			t.Errorf(`got %v, %v, %d rows; want an error and rerr != nil and len(s.Rows("staff")) == 2`, err, rerr, len(s.Rows("staff")))
		}
		_, err = staff.Insert(ctx, &employee{"Sales", 8, "x", 1})
		if !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("before the late insert is applied: got %v; want ErrUnknownOutcome", err)
		}
		if s.Deliver(); len(s.Rows("staff")) != 3 {
			t.Errorf("got %d rows; want 3", len(s.Rows("staff")))
		}
	})
}
