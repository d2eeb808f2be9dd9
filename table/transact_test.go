package table_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var opNames = []string{"insert", "replace", "merge", "upsert", "delete", "pin"}

// oneOfEach returns one operation of each kind, in the order of opNames, and their loaded entities.
func oneOfEach(t testing.TB, staff *table.Table[employee], w *fakeTransport) ([]table.Op, []*table.Entity[employee]) {
	t.Helper()
	var es []*table.Entity[employee]
	for i := range 4 {
		e := readEmployee(t, staff, w)
		id := 1 + i
		e.Key, e.Value.ID = employeeKey("Sales", id), id
		es = append(es, e)
	}
	return []table.Op{
		staff.InsertOp(&employee{"Sales", 10, "New", 20}), staff.ReplaceOp(es[0]), staff.MergeOp(es[1], age.Set(50)),
		staff.UpsertOp(&employee{"Sales", 11, "Up", 21}, table.ReplaceExisting), staff.DeleteOp(es[2]), tabledoor.PinOp(staff, es[3]),
	}, es
}

// TestTransact: Transact returns the ETag of each operation and renews each entity.
func TestTransact(t *testing.T) {
	t.Parallel()
	w := batchService(batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(0), donePart(5)))
	staff := newStaff(t, sdkClient(t, w))
	list, es := oneOfEach(t, staff, w)
	r, err := table.Transact(context.Background(), list...)
	if err != nil || w.requests() != "POST" {
		t.Fatalf(`got %v, %q; want no error and w.requests() == "POST"`, err, w.requests())
	}
	want := []azcore.ETag{azcore.ETag(etagOf(1)), azcore.ETag(etagOf(2)), azcore.ETag(etagOf(3)), azcore.ETag(etagOf(4)), "", azcore.ETag(etagOf(5))}
	if !slices.Equal(r.ETags, want) {
		t.Errorf("got %q; want slices.Equal(r.ETags, want)", r.ETags)
	}
	if string(es[0].ETag) != etagOf(2) || string(es[1].ETag) != etagOf(3) || string(es[3].ETag) != etagOf(5) || es[1].Value.Age != 50 || es[0].Timestamp.Nanosecond() != 200 {
		t.Errorf("got %+v %+v %+v; want string(es[0].ETag) == etagOf(2) and string(es[1].ETag) == etagOf(3) and string(es[3].ETag) == etagOf(5) and es[1].Value.Age == 50 and es[0].Timestamp.Nanosecond() == 200", es[0], es[1], es[3])
	}
	in, up := table.Stored[employee](r, 0), table.Stored[employee](r, 3)
	if in == nil || in.Key != employeeKey("Sales", 10) || string(in.ETag) != etagOf(1) || in.Value.Last != "New" || up == nil || string(up.ETag) != etagOf(4) {
		t.Errorf(`got %+v, %+v; want in != nil and in.Key == employeeKey("Sales", 10) and string(in.ETag) == etagOf(1) and in.Value.Last == "New" and up != nil and string(up.ETag) == etagOf(4)`, in, up)
	}
	if table.Stored[employee](r, 1) != es[0] || table.Stored[employee](r, 4) != nil || table.Stored[employee](r, 9) != nil || table.Stored[manager](r, 0) != nil {
		t.Errorf("got %v, %v, %v from Stored; want the replaced entity, and nil twice", table.Stored[employee](r, 1), table.Stored[employee](r, 4), table.Stored[employee](r, 9))
	}
	// A renewed entity can be written again at once.
	w.respond = func(*http.Request, string) (*http.Response, error) { return noContent(), nil }
	for _, e := range []*table.Entity[employee]{in, up, es[0], es[1], es[3]} {
		before := string(e.ETag)
		if err := staff.Replace(context.Background(), e); err != nil || w.last().header["If-Match"][0] != before {
			t.Errorf(`got %v, %v; want no error and w.last().header["If-Match"][0] == %q`, err, w.last().header, before)
		}
	}
}

// TestTransactSends: each operation has the right method, URL, condition and body.
func TestTransactSends(t *testing.T) {
	t.Parallel()
	w := batchService(batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(0), donePart(5)))
	staff := newStaff(t, sdkClient(t, w))
	list, _ := oneOfEach(t, staff, w)
	if _, err := table.Transact(context.Background(), list...); err != nil {
		t.Fatal(err)
	}
	parts := sentParts(w)
	if len(parts) != len(opNames) {
		t.Fatalf("got %d parts; want len(opNames)", len(parts))
	}
	for i, want := range []struct{ line, match, body string }{
		{"POST http://127.0.0.1:1/account/staff", "", `"RowKey":"empid_000010"`},
		{"PUT http://127.0.0.1:1/account/staff(PartitionKey='Sales',RowKey='empid_000001')", etag, `"LastName":"Jones"`},
		{"PATCH http://127.0.0.1:1/account/staff(PartitionKey='Sales',RowKey='empid_000002')", etag, `{"Age":50,"PartitionKey":"Sales","RowKey":"empid_000002"}`},
		{"PUT http://127.0.0.1:1/account/staff(PartitionKey='Sales',RowKey='empid_000011')", "", `"Age":21`},
		{"DELETE http://127.0.0.1:1/account/staff(PartitionKey='Sales',RowKey='empid_000003')", etag, ""},
		{"PATCH http://127.0.0.1:1/account/staff(PartitionKey='Sales',RowKey='empid_000004')", etag, `{"PartitionKey":"Sales","RowKey":"empid_000004"}`},
	} {
		p := parts[i]
		if line, _, _ := strings.Cut(p.line, "?"); line != want.line || p.match != want.match || !strings.Contains(p.body, want.body) {
			t.Errorf("%s: got %+v; want line == %q and p.match == %q and strings.Contains(p.body, want.body)", opNames[i], p, want.line, want.match)
		}
	}
	if list := parts[0].prefer; list != "return-no-content" {
		t.Errorf("the Prefer header: got %q; want %q", list, "return-no-content")
	}
}

// TestTransactRefused: the error of a refused transaction names the operation and the row. The entities are unchanged.
func TestTransactRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		body  string
		index int
		key   keys.Key
		want  error
		code  string
	}{
		"exists":            {batchBody(failedPart(409, "EntityAlreadyExists", "0:The specified entity already exists.")), 0, employeeKey("Sales", 10), table.ErrExists, "EntityAlreadyExists"},
		"changed, no index": {batchBody(failedPart(412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")), 0, employeeKey("Sales", 10), table.ErrChanged, "UpdateConditionNotSatisfied"},
		"changed":           {batchBody(failedPart(412, "UpdateConditionNotSatisfied", "2:The update condition specified in the request was not satisfied.")), 2, employeeKey("Sales", 2), table.ErrChanged, "UpdateConditionNotSatisfied"},
		"gone":              {batchBody(failedPart(404, "ResourceNotFound", "4:The specified resource does not exist.")), 4, employeeKey("Sales", 3), table.ErrNotFound, "ResourceNotFound"},
		"no table":          {batchBody(failedPart(404, "TableNotFound", "0:The table specified does not exist.")), 0, employeeKey("Sales", 10), table.ErrNotCreated, "TableNotFound"},
		"too large":         {batchBody(failedPart(400, "EntityTooLarge", "1:The entity is larger than the maximum allowed size (1MB).")), 1, employeeKey("Sales", 1), nil, "EntityTooLarge"},
		"no operation":      {batchBody(failedPart(400, "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.")), -1, keys.Key{}, nil, "InvalidInput"},
	} {
		w := batchService(c.body)
		staff := newStaff(t, sdkClient(t, w))
		list, es := oneOfEach(t, staff, w)
		r, err := table.Transact(context.Background(), list...)
		var be *table.BatchError
		var re *azcore.ResponseError
		if !errors.As(err, &be) || r != nil || be.Index != c.index || be.Key != c.key || be.Code != c.code || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %+v; want a *BatchError of operation %d, key %v, code %s, %v", what, err, be, c.index, c.key, c.code, c.want)
			continue
		}
		if !errors.As(err, &re) || re.StatusCode < 400 || re.ErrorCode != c.code || re.RawResponse == nil || re.RawResponse.Header.Get("x-ms-request-id") != "6493f9d0" || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: got the service's error %+v; want code %s with its response", what, re, c.code)
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.HasPrefix(text, "table: Transact staff: ") || strings.Count(text, c.code) != 1 {
			t.Errorf(`%s: got %s; want "\n" not in text and strings.HasPrefix(text, "table: Transact staff: ") and strings.Count(text, c.code) == 1`, what, text)
		}
		for _, e := range es {
			if string(e.ETag) != etag || e.Value.Age != 44 {
				t.Errorf("%s: got entity %+v; want it unchanged", what, e)
			}
			w.respond = func(*http.Request, string) (*http.Response, error) { return noContent(), nil }
			if err := staff.Merge(context.Background(), e, age.Set(1)); err != nil {
				t.Errorf("%s: Merge afterwards: got %v; want no error", what, err)
			}
		}
	}
}

// TestTransactUnknown: if the outcome of a transaction is unknown, so is that of each of its entities.
func TestTransactUnknown(t *testing.T) {
	t.Parallel()
	whole := batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(0), donePart(5))
	for what, answer := range map[string]func(*http.Request, string) (*http.Response, error){
		"lost": func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"500":  func(*http.Request, string) (*http.Response, error) { return errorResponse(500, "InternalError"), nil },
		"503":  func(*http.Request, string) (*http.Response, error) { return errorResponse(503, "ServerBusy"), nil },
		"inner 500": func(*http.Request, string) (*http.Response, error) {
			return batchResponse(batchBody(failedPart(500, "OperationTimedOut", "0:x")))
		},
		"inner 503": func(*http.Request, string) (*http.Response, error) {
			return batchResponse(batchBody(failedPart(503, "ServerBusy", "0:x")))
		},
		"204":        func(*http.Request, string) (*http.Response, error) { return jsonResponse(204, ""), nil },
		"202, empty": func(*http.Request, string) (*http.Response, error) { return batchResponse("") },
		"202, JSON": func(*http.Request, string) (*http.Response, error) {
			return batchResponse(`{"odata.error":{"code":"x"}}`)
		},
		"a part too few": func(*http.Request, string) (*http.Response, error) {
			return batchResponse(batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(0)))
		},
		"a part too many": func(*http.Request, string) (*http.Response, error) {
			return batchResponse(batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(0), donePart(5), donePart(6)))
		},
		"204 with a body": func(*http.Request, string) (*http.Response, error) {
			r, err := batchResponse(whole)
			r.StatusCode = 204
			return r, err
		},
		"connection cut": func(*http.Request, string) (*http.Response, error) { return cutResponse(whole, len(whole)-1), nil },
	} {
		w := &fakeTransport{respond: answer}
		staff := newStaff(t, sdkClient(t, w))
		list, es := oneOfEach(t, staff, w)
		_, err := table.Transact(context.Background(), list...)
		var be *table.BatchError
		if !errors.Is(err, table.ErrUnknownOutcome) || w.requests() != "POST" || errors.As(err, &be) || !strings.Contains(err.Error(), "unknown") {
			t.Errorf(`%s: got %v, %s; want ErrUnknownOutcome and w.requests() == "POST" and no *BatchError and "unknown" in the error`, what, err, w.requests())
		}
		for _, e := range es {
			if err := staff.Merge(context.Background(), e, age.Set(1)); !errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("%s: Merge of an entity in doubt: got %v; want ErrUnknownOutcome", what, err)
			}
		}
	}
	for what, answer := range map[string]error{"never connected": errDial, "cancelled": context.Canceled} {
		w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return nil, answer }}
		staff := newStaff(t, sdkClient(t, w))
		list, _ := oneOfEach(t, staff, w)
		ctx, cancel := context.WithCancel(context.Background())
		if what == "cancelled" {
			cancel()
		}
		if _, err := table.Transact(ctx, list...); err == nil || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: got %v; want an error and not ErrUnknownOutcome", what, err)
		}
		cancel()
	}
}

// TestTransactCutAnywhere: a success and a refusal, cut at every byte, with a clean end and with a broken connection.
func TestTransactCutAnywhere(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w))
	for what, c := range map[string]struct {
		body, complete string
		want           error
	}{
		"done":    {batchBody(donePart(1), donePart(2)), "--batchresponse_b--", nil},
		"refused": {batchBody(failedPart(412, "UpdateConditionNotSatisfied", "1:The update condition specified in the request was not satisfied.")), "}}}", table.ErrChanged},
	} {
		complete := strings.LastIndex(c.body, c.complete) + len(c.complete)
		for cut := range len(c.body) + 1 {
			for _, clean := range []bool{true, false} {
				e := readEmployee(t, staff, w)
				w.respond = func(*http.Request, string) (*http.Response, error) {
					if clean {
						return batchResponse(c.body[:cut])
					}
					return cutResponse(c.body, cut), nil
				}
				want := c.want
				if cut < complete || !clean { // the SDK returns nothing of a response whose connection broke
					want = table.ErrUnknownOutcome
				}
				_, err := table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "New", 1}), staff.MergeOp(e, age.Set(1)))
				if (want == nil) != (err == nil) || !errors.Is(err, want) {
					t.Fatalf("%s, cut at %d of %d, cleanly %v: got %v; want %v", what, cut, len(c.body), clean, err, want)
				}
				var be *table.BatchError
				if errors.As(err, &be) != (want == table.ErrChanged) || be != nil && (be.Index != 1 || be.Key != e.Key) {
					t.Fatalf("%s, cut at %d: got %+v; want the *BatchError of operation 1: %v", what, cut, be, want == table.ErrChanged)
				}
			}
		}
	}
}

// TestOperationInDoubt: an operation that was made before the outcome of its entity became unknown is refused.
func TestOperationInDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w))
	e := readEmployee(t, staff, w)
	merge, remove := staff.MergeOp(e, age.Set(1)), staff.DeleteOp(e)
	w.respond = func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	if _, err := table.Transact(ctx, merge); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Fatalf("got %v; want ErrUnknownOutcome", err)
	}
	w.sent = nil
	for _, op := range []table.Op{merge, remove} {
		if _, err := table.Transact(ctx, op); !errors.Is(err, table.ErrUnknownOutcome) || w.requests() != "" {
			t.Errorf(`got %v by %q; want ErrUnknownOutcome and w.requests() == ""`, err, w.requests())
		}
	}
}

// TestTransactHungService: a transaction to a hung service ends after the time of the write, or of its one attempt. The error
// does not contain the signature of the SDK's URL.
func TestTransactHungService(t *testing.T) {
	t.Parallel()
	for what, set := range map[string]func(*table.Options){
		"the write's time":   func(o *table.Options) { o.WriteTimeout, o.Retry.AttemptTimeout = 2*time.Second, -1 },
		"the attempt's time": func(o *table.Options) { o.WriteTimeout, o.Retry.AttemptTimeout = time.Hour, 2*time.Second },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
				<-r.Context().Done()
				return nil, &url.Error{Op: "Post", URL: "http://x/?sig=secret", Err: r.Context().Err()}
			}}
			o := singleAttempt()
			set(o)
			staff, err := bare.NewTable(sdkClient(t, w), "staff", staffSchema, o)
			noError(t, err)
			start := time.Now()
			_, err = table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "x", 1}))
			if took := time.Since(start); !errors.Is(err, table.ErrUnknownOutcome) || took != 2*time.Second || strings.Contains(err.Error(), "secret") {
				t.Errorf(`%s: got %v after %v; want ErrUnknownOutcome and took == 2*time.Second and "secret" not in the error`, what, err, took)
			}
		})
	}
}

// TestTransactPanics: a panic in a policy reaches the caller. Only the SDK's own panic about a response becomes an error.
func TestTransactPanics(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { panic("a policy's own") }}
	staff := newStaff(t, sdkClient(t, w))
	defer func() {
		if r := recover(); r != "a policy's own" {
			t.Errorf("got panic %v; want %q", r, "a policy's own")
		}
	}()
	_, err := table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "x", 1}))
	t.Errorf("got %v; want a panic", err)
}
