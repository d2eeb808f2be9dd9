package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// redirectServer redirects every request to a handler that is not the service.
func redirectServer(t testing.TB, status int, handler http.HandlerFunc) (url string, followed *atomic.Int64) {
	t.Helper()
	followed = new(atomic.Int64)
	mux := http.NewServeMux()
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		followed.Add(1)
		handler(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, followed
}

// TestRedirects: the response to a redirected request is neither the outcome of a write nor a row.
func TestRedirects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	handlers := map[string]http.HandlerFunc{
		"no such row": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(404)
			fmt.Fprint(w, `{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"x"}}}`)
		},
		"no content": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", etag)
			w.WriteHeader(204)
		},
		"a row": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, employeeJSON)
		},
		"a row of another account": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Ms-Request-Id", "1")
			w.Header().Set("X-Ms-Version", "2019-02-02")
			fmt.Fprint(w, employeeJSON)
		},
		"a web page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for what, handler := range handlers {
			t.Run(fmt.Sprint(status, " ", what), func(t *testing.T) {
				t.Parallel()
				url, followed := redirectServer(t, status, handler)
				acc, err := account.FromSAS(account.Endpoints{Table: url}, nil)
				noError(t, err)
				client, err := aztables.NewServiceClientWithNoCredential(url+"/", nil)
				noError(t, err)
				for maker, service := range map[string]engine.Service{"account": acc.Tables(), "the SDK": client} {
					o := singleAttempt()
					staff, err := bare.NewTable(service, "staff", staffSchema, o)
					noError(t, err)
					e := &table.Entity[employee]{Value: employee{"Sales", 223, "Jones", 44}, Key: employeeKey("Sales", 223), ETag: etag}
					for method := range writeMethods(staff, e) {
						e := *e
						write := writeMethods(staff, &e)[method]
						if strings.HasPrefix(method, "Replace") {
							continue // these need a loaded entity, and no read succeeds
						}
						if err := write(ctx); !errors.Is(err, table.ErrUnknownOutcome) || errors.Is(err, table.ErrNotFound) {
							t.Errorf("%s client, %s: got %v; want ErrUnknownOutcome", maker, method, err)
						}
					}
					if _, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "New", 1}), staff.DeleteAnyOp(employeeKey("Sales", 2))); !errors.Is(err, table.ErrUnknownOutcome) {
						t.Errorf("%s client, Transact: got %v; want ErrUnknownOutcome", maker, err)
					}
					if e, err := staff.Get(ctx, employeeKey("Sales", 223)); err == nil || errors.Is(err, table.ErrNotFound) {
						t.Errorf("%s client, Get: got %v, %v; want an error that is not ErrNotFound", maker, e, err)
					}
					if n, err := staff.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}); err == nil {
						t.Errorf("%s client, Count: got %v, %v; want an error", maker, n, err)
					}
					if n := followed.Swap(0); maker == "account" && n > 0 {
						t.Errorf("account's client: got %d redirects followed; want none", n)
					}
				}
			})
		}
	}
}

// TestForeignResponses: a response to a write that does not have the service's form is no outcome.
func TestForeignResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	html := func(status int) func(*http.Request, string) (*http.Response, error) {
		return func(*http.Request, string) (*http.Response, error) {
			re := jsonResponse(status, "<html>who are you?")
			re.Header.Del("X-Ms-Version")
			return re, nil
		}
	}
	withoutETag := func(*http.Request, string) (*http.Response, error) { return jsonResponse(204, ""), nil }
	for what, answer := range map[string]func(*http.Request, string) (*http.Response, error){
		"204 of the service without an ETag": withoutETag,

		"400": html(400), "403": html(403), "404": html(404), "405": html(405), "407": html(407), "409": html(409), "412": html(412),
		"200": html(200), "201": html(201), "202": html(202), "204 without an ETag": html(204),
	} {
		w := &fakeTransport{respond: answer}
		staff := newStaff(t, sdkClient(t, w))
		for method := range writeMethods(staff, &table.Entity[employee]{}) {
			if what == "204 of the service without an ETag" && !slices.Contains([]string{"Insert", "Upsert", "Replace", "ReplaceAny", "Merge", "MergeAny"}, method) {
				continue // the service sends none
			}
			e := readEmployee(t, staff, w)
			w.respond = answer
			if err := writeMethods(staff, e)[method](ctx); !errors.Is(err, table.ErrUnknownOutcome) || errors.Is(err, table.ErrNotFound) {
				t.Errorf("%s, %s: got %v; want ErrUnknownOutcome", what, method, err)
			}
		}
	}
	var re *azcore.ResponseError
	w := &fakeTransport{respond: html(403)}
	if err := newStaff(t, sdkClient(t, w)).DeleteAny(ctx, employeeKey("Sales", 1)); !errors.As(err, &re) || re.StatusCode != 403 {
		t.Errorf("got %v; want an *azcore.ResponseError of status 403", err)
	}
}
