package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// batch is a response to a transaction, in the service's words.
func batch(parts ...string) string {
	s := "--batchresponse_b\r\nContent-Type: multipart/mixed; boundary=changesetresponse_c\r\n\r\n"
	for _, p := range parts {
		s += "--changesetresponse_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + p + "\r\n"
	}
	return s + "--changesetresponse_c--\r\n--batchresponse_b--\r\n"
}

// part is an operation that was done; the n-th ETag of a response.
func part(n int) string {
	s := "HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 1.0;\r\n"
	if n > 0 {
		s += "ETag: " + tagged(n) + "\r\n"
	}
	return s + "\r\n\r\n"
}

func tagged(n int) string {
	return fmt.Sprintf(`W/"datetime'2026-11-21T01%%3A02%%3A03.%07dZ'"`, n)
}

// broken is the one operation that was not done.
func broken(status int, code, message string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 3.0;\r\n"+
		"Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n\r\n"+
		`{"odata.error":{"code":"%s","message":{"lang":"en-US","value":"%s\nRequestId:6493f9d0\nTime:2017-10-02T20:21:34.0618764Z"}}}`+"\r\n", status, http.StatusText(status), code, message)
}

func accepted(body string) (*http.Response, error) {
	r := reply(202, body, "x-ms-request-id", "6493f9d0")
	r.Header.Set("Content-Type", "multipart/mixed; boundary=batchresponse_b")
	return r, nil
}

// answering is a service that gives one answer to every transaction.
func answering(body string) *wire {
	return &wire{answer: func(*http.Request, string) (*http.Response, error) { return accepted(body) }}
}

var everyOp = []string{"insert", "replace", "merge", "upsert", "delete", "pin"}

// ops are one operation of each kind.
func ops(t *testing.T, staff *table.Table[employee], w *wire) ([]table.Op, []*table.Entity[employee]) {
	t.Helper()
	var es []*table.Entity[employee]
	for i := range 4 {
		e := stored(t, staff, w)
		id := 1 + i
		e.Key, e.Value.ID = at("Sales", id), id
		es = append(es, e)
	}
	return []table.Op{
		staff.InsertOp(&employee{"Sales", 10, "New", 20}), staff.ReplaceOp(es[0]), staff.MergeOp(es[1], age.Set(50)),
		staff.UpsertOp(&employee{"Sales", 11, "Up", 21}, table.ReplaceExisting), staff.DeleteOp(es[2]), staff.PinOp(es[3]),
	}, es
}

func TestTransact(t *testing.T) {
	t.Parallel()
	w := answering(batch(part(1), part(2), part(3), part(4), part(0), part(5)))
	staff := newStaff(t, bare(w))
	list, es := ops(t, staff, w)
	r, err := table.Transact(context.Background(), list...)
	if err != nil || w.requests() != "POST" {
		t.Fatal(err, w.requests())
	}
	want := []azcore.ETag{azcore.ETag(tagged(1)), azcore.ETag(tagged(2)), azcore.ETag(tagged(3)), azcore.ETag(tagged(4)), "", azcore.ETag(tagged(5))}
	if !slices.Equal(r.ETags, want) {
		t.Errorf("%q", r.ETags)
	}
	if string(es[0].ETag) != tagged(2) || string(es[1].ETag) != tagged(3) || string(es[3].ETag) != tagged(5) || es[1].Value.Age != 50 || es[0].Timestamp.Nanosecond() != 200 {
		t.Errorf("%+v %+v %+v", es[0], es[1], es[3])
	}
	in, up := table.Stored[employee](r, 0), table.Stored[employee](r, 3)
	if in == nil || in.Key != at("Sales", 10) || string(in.ETag) != tagged(1) || in.Value.Last != "New" || up == nil || string(up.ETag) != tagged(4) {
		t.Errorf("%+v, %+v", in, up)
	}
	if table.Stored[employee](r, 1) != es[0] || table.Stored[employee](r, 4) != nil || table.Stored[employee](r, 9) != nil || table.Stored[manager](r, 0) != nil {
		t.Error("Stored gives something else")
	}
	// What was renewed can be written again at once.
	w.answer = func(*http.Request, string) (*http.Response, error) { return done(), nil }
	for _, e := range []*table.Entity[employee]{in, up, es[0], es[1], es[3]} {
		before := string(e.ETag)
		if err := staff.Replace(context.Background(), e); err != nil || w.last().header["If-Match"][0] != before {
			t.Errorf("%v, %v", err, w.last().header)
		}
	}
}

// TestTransactSends: methods, addresses, conditions and bodies of each operation.
func TestTransactSends(t *testing.T) {
	t.Parallel()
	w := answering(batch(part(1), part(2), part(3), part(4), part(0), part(5)))
	staff := newStaff(t, bare(w))
	list, _ := ops(t, staff, w)
	if _, err := table.Transact(context.Background(), list...); err != nil {
		t.Fatal(err)
	}
	parts := sentParts(w)
	if len(parts) != len(everyOp) {
		t.Fatalf("%d parts", len(parts))
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
			t.Errorf("%s: %+v", everyOp[i], p)
		}
	}
	if list := parts[0].prefer; list != "return-no-content" {
		t.Errorf("the service is asked to repeat what it is sent: %q", list)
	}
}

// sentPart is one operation as the last transaction has sent it.
type sentPart struct{ line, match, prefer, body string }

func sentParts(w *wire) (parts []sentPart) {
	for _, text := range strings.Split(w.last().body, "Content-Type: application/http\r\n\r\n")[1:] {
		text, _, _ = strings.Cut(text, "\r\n--changeset_")
		head, body, _ := strings.Cut(text, "\r\n\r\n")
		p := sentPart{body: strings.TrimSpace(body)}
		for j, line := range strings.Split(head, "\r\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch {
			case j == 0:
				p.line = strings.TrimSuffix(line, " HTTP/1.1")
			case name == "If-Match":
				p.match = value
			case name == "Prefer":
				p.prefer = value
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// TestTransactRefused: the error names operation and row, everything else stays as it was.
func TestTransactRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		reply string
		index int
		key   keys.Key
		want  error
		code  string
	}{
		"exists":            {batch(broken(409, "EntityAlreadyExists", "0:The specified entity already exists.")), 0, at("Sales", 10), table.ErrExists, "EntityAlreadyExists"},
		"changed, no index": {batch(broken(412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")), 0, at("Sales", 10), table.ErrChanged, "UpdateConditionNotSatisfied"},
		"changed":           {batch(broken(412, "UpdateConditionNotSatisfied", "2:The update condition specified in the request was not satisfied.")), 2, at("Sales", 2), table.ErrChanged, "UpdateConditionNotSatisfied"},
		"gone":              {batch(broken(404, "ResourceNotFound", "4:The specified resource does not exist.")), 4, at("Sales", 3), table.ErrNotFound, "ResourceNotFound"},
		"no table":          {batch(broken(404, "TableNotFound", "0:The table specified does not exist.")), 0, at("Sales", 10), table.ErrTableNotFound, "TableNotFound"},
		"too large":         {batch(broken(400, "EntityTooLarge", "1:The entity is larger than the maximum allowed size (1MB).")), 1, at("Sales", 1), nil, "EntityTooLarge"},
		"nobody's":          {batch(broken(400, "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.")), -1, keys.Key{}, nil, "InvalidInput"},
	} {
		w := answering(c.reply)
		staff := newStaff(t, bare(w))
		list, es := ops(t, staff, w)
		r, err := table.Transact(context.Background(), list...)
		var be *table.BatchError
		var re *azcore.ResponseError
		if !errors.As(err, &be) || r != nil || be.Index != c.index || be.Key != c.key || be.Code != c.code || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %+v", what, err, be)
			continue
		}
		if !errors.As(err, &re) || re.StatusCode < 400 || re.ErrorCode != c.code || re.RawResponse == nil || re.RawResponse.Header.Get("x-ms-request-id") != "6493f9d0" || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: the service's own error is %+v", what, re)
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.HasPrefix(text, "table: Transact staff: ") || strings.Count(text, c.code) != 1 {
			t.Errorf("%s: %s", what, text)
		}
		for _, e := range es {
			if string(e.ETag) != etag || e.Value.Age != 44 {
				t.Errorf("%s: a refused transaction changed an entity: %+v", what, e)
			}
			w.answer = func(*http.Request, string) (*http.Response, error) { return done(), nil }
			if err := staff.Merge(context.Background(), e, age.Set(1)); err != nil {
				t.Errorf("%s: afterwards: %v", what, err)
			}
		}
	}
}

// TestTransactUnknown: where the outcome is open, so is that of every entity.
func TestTransactUnknown(t *testing.T) {
	t.Parallel()
	whole := batch(part(1), part(2), part(3), part(4), part(0), part(5))
	for what, answer := range map[string]func(*http.Request, string) (*http.Response, error){
		"lost": func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"500":  func(*http.Request, string) (*http.Response, error) { return failure(500, "InternalError"), nil },
		"503":  func(*http.Request, string) (*http.Response, error) { return failure(503, "ServerBusy"), nil },
		"inner 500": func(*http.Request, string) (*http.Response, error) {
			return accepted(batch(broken(500, "OperationTimedOut", "0:x")))
		},
		"inner 503": func(*http.Request, string) (*http.Response, error) {
			return accepted(batch(broken(503, "ServerBusy", "0:x")))
		},
		"204":        func(*http.Request, string) (*http.Response, error) { return reply(204, ""), nil },
		"202, empty": func(*http.Request, string) (*http.Response, error) { return accepted("") },
		"202, JSON":  func(*http.Request, string) (*http.Response, error) { return accepted(`{"odata.error":{"code":"x"}}`) },
		"a part too few": func(*http.Request, string) (*http.Response, error) {
			return accepted(batch(part(1), part(2), part(3), part(4), part(0)))
		},
		"a part too many": func(*http.Request, string) (*http.Response, error) {
			return accepted(batch(part(1), part(2), part(3), part(4), part(0), part(5), part(6)))
		},
		"204, and a whole reply": func(*http.Request, string) (*http.Response, error) {
			r, err := accepted(whole)
			r.StatusCode = 204
			return r, err
		},
		"connection cut": func(*http.Request, string) (*http.Response, error) { return severed(whole, len(whole)-1), nil },
	} {
		w := &wire{answer: answer}
		staff := newStaff(t, bare(w))
		list, es := ops(t, staff, w)
		_, err := table.Transact(context.Background(), list...)
		var be *table.BatchError
		if !errors.Is(err, table.ErrUnknownOutcome) || w.requests() != "POST" || errors.As(err, &be) || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("%s: %v, %s", what, err, w.requests())
		}
		for _, e := range es {
			if err := staff.Merge(context.Background(), e, age.Set(1)); !errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("%s: an entity in doubt was written: %v", what, err)
			}
		}
	}
	for what, answer := range map[string]error{"never connected": dialed, "cancelled": context.Canceled} {
		w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return nil, answer }}
		staff := newStaff(t, bare(w))
		list, _ := ops(t, staff, w)
		ctx, cancel := context.WithCancel(context.Background())
		if what == "cancelled" {
			cancel()
		}
		if _, err := table.Transact(ctx, list...); err == nil || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
}

var dialed = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

// severed is a response whose connection breaks after n bytes.
func severed(body string, n int) *http.Response {
	r, _ := accepted("")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return r
}

// TestTransactCutAnywhere: a success and a refusal, cut at every byte in both ways.
func TestTransactCutAnywhere(t *testing.T) {
	t.Parallel()
	w := &wire{}
	staff := newStaff(t, bare(w))
	for what, c := range map[string]struct {
		reply, certain string
		want           error
	}{
		"done":    {batch(part(1), part(2)), "--batchresponse_b--", nil},
		"refused": {batch(broken(412, "UpdateConditionNotSatisfied", "1:The update condition specified in the request was not satisfied.")), "}}}", table.ErrChanged},
	} {
		certain := strings.LastIndex(c.reply, c.certain) + len(c.certain)
		for cut := range len(c.reply) + 1 {
			for _, clean := range []bool{true, false} {
				e := stored(t, staff, w)
				w.answer = func(*http.Request, string) (*http.Response, error) {
					if clean {
						return accepted(c.reply[:cut])
					}
					return severed(c.reply, cut), nil
				}
				want := c.want
				if cut < certain || !clean { // the SDK does not give away what has come before a connection broke
					want = table.ErrUnknownOutcome
				}
				_, err := table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "New", 1}), staff.MergeOp(e, age.Set(1)))
				if (want == nil) != (err == nil) || !errors.Is(err, want) {
					t.Fatalf("%s, cut at %d of %d, cleanly %v: %v, want %v", what, cut, len(c.reply), clean, err, want)
				}
				var be *table.BatchError
				if errors.As(err, &be) != (want == table.ErrChanged) || be != nil && (be.Index != 1 || be.Key != e.Key) {
					t.Fatalf("%s, cut at %d: %+v", what, cut, be)
				}
			}
		}
	}
}

// TestOperationsAndDoubt: an operation that was made before its entity's outcome became unknown is not sent after it.
func TestOperationsAndDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &wire{}
	staff := newStaff(t, bare(w))
	e := stored(t, staff, w)
	merge, remove := staff.MergeOp(e, age.Set(1)), staff.DeleteOp(e)
	w.answer = func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	if _, err := table.Transact(ctx, merge); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	w.sent = nil
	for _, op := range []table.Op{merge, remove} {
		if _, err := table.Transact(ctx, op); !errors.Is(err, table.ErrUnknownOutcome) || w.requests() != "" {
			t.Errorf("%v by %q", err, w.requests())
		}
	}
}

// TestTransactEnds: a service that hangs is left when the write's time is over, or that of the try; and what the SDK's
// errors say of a signature is not repeated.
func TestTransactEnds(t *testing.T) {
	t.Parallel()
	for what, set := range map[string]func(*table.Options){
		"the write's time": func(o *table.Options) { o.WriteTimeout, o.Retry.AttemptTimeout = 2*time.Second, -1 },
		"the try's time":   func(o *table.Options) { o.WriteTimeout, o.Retry.AttemptTimeout = time.Hour, 2*time.Second },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
				<-r.Context().Done()
				return nil, &url.Error{Op: "Post", URL: "http://x/?sig=secret", Err: r.Context().Err()}
			}}
			o := once()
			set(o)
			staff, err := table.New(bare(w), "staff", staffSchema, o)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "x", 1}))
			if took := time.Since(start); !errors.Is(err, table.ErrUnknownOutcome) || took != 2*time.Second || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v after %v", what, err, took)
			}
		})
	}
}

// TestTransactPanics: a panic that is not the SDK's about a response is nobody's to keep.
func TestTransactPanics(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { panic("a policy's own") }}
	staff := newStaff(t, bare(w))
	defer func() {
		if r := recover(); r != "a policy's own" {
			t.Errorf("recovered %v", r)
		}
	}()
	_, err := table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "x", 1}))
	t.Errorf("returned %v", err)
}

// T4: the SDK's receipt has no field at all.
func TestTrapT04(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[aztables.TransactionResponse]().NumField(); n != 0 {
		t.Errorf("the SDK's receipt has %d fields now", n)
	}
	w := answering(batch(part(7)))
	staff := newStaff(t, bare(w))
	r, err := table.Transact(context.Background(), staff.InsertOp(&employee{"Sales", 1, "x", 1}))
	if err != nil || string(r.ETags[0]) != tagged(7) || string(table.Stored[employee](r, 0).ETag) != tagged(7) {
		t.Errorf("%+v, %v", r, err)
	}
}
