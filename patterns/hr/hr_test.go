package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

const jones = `{"department":"Sales","id":223,"name":"Jones","email":"JonesJ@contoso.com","salary":5000000}`

// client sends requests to a service in memory.
type client struct {
	t       *testing.T
	storage *storagetest.Service
	server  *server
}

func newClient(t *testing.T) *client {
	t.Helper()
	storage := storagetest.New(nil)
	s, err := newServer(t.Context(), storage, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	storage.Count() // starts at 0
	return &client{t, storage, s}
}

// send sends a request and expects a status. The header may be nil.
func (c *client) send(want int, method, path, body string, header http.Header) *httptest.ResponseRecorder {
	c.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	c.server.routes().ServeHTTP(w, r)
	if w.Code != want {
		c.t.Errorf("%s %s: got status %d, %s; want %d", method, path, w.Code, w.Body, want)
	}
	return w
}

// expect sends a request without a header and compares the JSON of the response.
func (c *client) expect(want, method, path, body string) {
	c.t.Helper()
	if got := strings.TrimSpace(c.send(200, method, path, body, nil).Body.String()); got != want {
		c.t.Errorf("%s %s: got %s, want %s", method, path, got, want)
	}
}

// drain lets the worker execute all effects, also those of crashed writers, whose notifications are hidden for up to a minute.
func (c *client) drain() {
	c.t.Helper()
	time.Sleep(5 * time.Minute) // in the time of a bubble of synctest
	if err := c.server.company.Drain(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// expectLog compares the kinds of the changes in the log, the newest first.
func (c *client) expectLog(want string) {
	c.t.Helper()
	var changes []changeJSON
	if err := json.Unmarshal(c.send(200, "GET", "/changes?n=100", "", nil).Body.Bytes(), &changes); err != nil {
		c.t.Fatal(err)
	}
	var kinds []string
	for _, change := range changes {
		kinds = append(kinds, change.Kind)
	}
	if got := strings.Join(kinds, " "); got != want {
		c.t.Errorf("log: got changes %q, want %q", got, want)
	}
}

// bubble runs a test in a bubble of synctest, where a pause takes no time.
func bubble(t *testing.T, f func(t *testing.T, c *client)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newClient(t)) })
}

// pause lets the next change be later in the log, which has an order of milliseconds.
func pause() { time.Sleep(time.Second) }

var jpeg = http.Header{"Content-Type": {"image/jpeg"}}

// TestStory: each route does its work, and refuses what it should.
func TestStory(t *testing.T) {
	bubble(t, func(t *testing.T, c *client) {
		etag := c.send(201, "POST", "/employees", jones, nil).Header().Get("ETag")
		c.send(409, "POST", "/employees", jones, nil)
		c.send(409, "POST", "/employees", `{"department":"IT","id":1,"name":"X","email":"jonesj@CONTOSO.com"}`, nil)
		c.send(400, "POST", "/employees", `{"department":"IT","id":1234567,"name":"X","email":"x@contoso.com"}`, nil)
		c.send(400, "POST", "/employees", `{"department":"IT","id":1}`, nil)
		c.send(400, "POST", "/employees", `{`, nil)
		c.send(413, "POST", "/employees", `{"name":"`+strings.Repeat("x", maxBody)+`"}`, nil)
		if got := c.send(200, "GET", "/employees/Sales/223", "", nil).Header().Get("ETag"); got != etag {
			t.Errorf("got ETag %s, want %s", got, etag)
		}
		c.send(404, "GET", "/employees/Sales/224", "", nil)
		c.send(400, "GET", "/employees/Sales/x", "", nil)

		pause()
		match := http.Header{"If-Match": {etag}}
		c.send(428, "PATCH", "/employees/Sales/223", `{"salary":6000000}`, nil)
		for _, other := range []string{`"eA"`, `"x"`, "*"} {
			c.send(412, "PATCH", "/employees/Sales/223", `{"salary":6000000}`, http.Header{"If-Match": {other}})
		}
		c.send(400, "PATCH", "/employees/Sales/223", `{"salary":-1}`, match)
		newer := c.send(204, "PATCH", "/employees/Sales/223", `{"salary":6000000}`, match).Header().Get("ETag")
		c.send(412, "PATCH", "/employees/Sales/223", `{"salary":7000000}`, match)
		if got := c.send(200, "GET", "/employees/Sales/223", "", nil).Header().Get("ETag"); got != newer || got == etag {
			t.Errorf("got ETag %s, want the new one, %s", got, newer)
		}

		pause()
		photo := strings.Repeat("photo", 1<<20)
		c.send(404, "GET", "/employees/Sales/223/photo", "", nil)
		c.send(415, "PUT", "/employees/Sales/223/photo", photo, nil)
		c.send(404, "PUT", "/employees/Sales/224/photo", photo, jpeg)
		c.send(200, "PUT", "/employees/Sales/223/photo", photo, jpeg)
		c.send(413, "PUT", "/employees/Sales/223/photo", strings.Repeat("x", maxPhoto+1), jpeg)

		pause()
		c.send(400, "POST", "/employees/Sales/223/move", `{}`, nil)
		c.send(404, "POST", "/employees/Sales/224/move", `{"to":"Marketing"}`, nil)
		c.send(200, "POST", "/employees/Sales/223/move", `{"to":"Marketing"}`, nil)
		c.send(404, "GET", "/employees/Sales/223", "", nil)
		if w := c.send(200, "GET", "/employees/Marketing/223/photo", "", nil); w.Body.String() != photo || w.Header().Get("Content-Type") != "image/jpeg" {
			t.Errorf("photo after the move: got %d bytes of %s, want the photo", w.Body.Len(), w.Header().Get("Content-Type"))
		}
		c.send(404, "POST", "/login", `{"email":"cao@contoso.com"}`, nil)
		c.expect(`{"department":"Marketing","id":223,"name":"Jones","email":"JonesJ@contoso.com","salary":6000000,"photoBytes":5242880}`,
			"POST", "/login", `{"email":"jonesj@contoso.com"}`)
		c.expect(`{"employees":0,"salaries":0}`, "GET", "/departments/Sales/summary", "")
		c.expect(`{"employees":1,"salaries":6000000}`, "GET", "/departments/Marketing/summary", "")

		c.drain()
		c.expectLog("moved photo salary hired")
		c.send(400, "GET", "/changes?n=1001", "", nil)
		c.send(503, "GET", "/readyz", "", nil) // the worker does not run
		if err := c.server.company.RunDaily(t.Context()); err != nil {
			t.Errorf("daily: %v", err)
		}
	})
}

// TestLostResponse: after a lost response to a request of a write, the client gets the same status, and the log has each change once.
func TestLostResponse(t *testing.T) {
	for _, kind := range []requests.Kind{"message-put", requests.Transaction, "message-update"} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *client) {
				loseOne := func() { c.storage.SetFaults(storagetest.OfKind(kind, storagetest.Once(storagetest.LostResponse()))) }
				loseOne()
				etag := c.send(201, "POST", "/employees", jones, nil).Header().Get("ETag")
				pause()
				loseOne()
				c.send(204, "PATCH", "/employees/Sales/223", `{"salary":6000000}`, http.Header{"If-Match": {etag}})
				c.storage.SetFaults(nil)
				c.drain()
				c.expectLog("salary hired")
				c.expect(`{"employees":1,"salaries":6000000}`, "GET", "/departments/Sales/summary", "")
			})
		})
	}
}

// TestUnreachable: if storage does not respond, the client gets the status 503 and no text of the library.
func TestUnreachable(t *testing.T) {
	bubble(t, func(t *testing.T, c *client) {
		c.storage.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.NotSent() })
		w := c.send(503, "GET", "/employees/Sales/223", "", nil)
		if got, want := w.Body.String(), "Service Unavailable\n"; got != want {
			t.Errorf("got body %q, want %q", got, want)
		}
	})
}

// TestCancelledMove: a move is cancelled before its first request, before its second, and so on. Each time, the employee is then in one
// department, with the photo, the log-in and the summary, and the log contains the move if there was one.
func TestCancelledMove(t *testing.T) {
	t.Parallel()
	photo := strings.Repeat("photo", 10<<10) // is stored as a blob
	stayed, moved := 0, 0
	for n := 1; ; n++ {
		complete := false
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t)
			c.send(201, "POST", "/employees", jones, nil)
			pause()
			c.send(200, "PUT", "/employees/Sales/223/photo", photo, jpeg)
			pause()
			c.drain()

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			sent := 0
			c.storage.SetFaults(func(storagetest.Request) storagetest.Fault {
				if sent++; sent != n {
					return storagetest.Fault{}
				}
				cancel()
				return storagetest.NotSent()
			})
			_, err := c.server.company.move(ctx, keyOf("Sales", 223), "IT")
			c.storage.SetFaults(nil)
			if complete = sent < n; complete && err != nil {
				t.Errorf("a move that was not cancelled: %v", err)
			}
			c.drain()
			if c.expectOnePlace(photo) == "IT" {
				moved++
				c.expectLog("moved photo hired")
			} else {
				stayed++
				c.expectLog("photo hired")
			}
			if t.Failed() {
				t.Logf("after a move that was cancelled before request %d with error %v", n, err)
			}
		})
		if complete {
			break
		}
	}
	if stayed < 2 || moved < 2 {
		t.Errorf("got %d moves that were rolled back and %d that were finished, want several of both", stayed, moved)
	}
}

// expectOnePlace returns the department of employee 223.
func (c *client) expectOnePlace(photo string) (in string) {
	c.t.Helper()
	ctx, company := c.t.Context(), c.server.company
	for _, department := range []string{"Sales", "IT"} {
		want := int64(0)
		body, _, err := company.photo(ctx, keyOf(department, 223))
		if err == nil {
			in, want = in+department, 1
			got, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || !bytes.Equal(got, []byte(photo)) {
				c.t.Errorf("%s: got a photo of %d bytes, error %v; want %d bytes", department, len(got), err, len(photo))
			}
		} else if !errors.Is(err, table.ErrNotFound) {
			c.t.Errorf("%s: got error %v, want ErrNotFound", department, err)
		}
		if employees, salaries, err := company.summary(ctx, department); err != nil || employees != want || salaries != want*5000000 {
			c.t.Errorf("%s: got a summary of %d employees, %d cents, error %v; want %d employees", department, employees, salaries, err, want)
		}
	}
	if e, err := company.login(ctx, "jonesj@contoso.com"); err != nil || e.Value.Department != in {
		c.t.Errorf("log-in: got %v, error %v; want the employee of %q", e, err, in)
	}
	return in
}

// TestMoveConflict: a move that a concurrent writer refuses is repeated, and gives up after some attempts.
func TestMoveConflict(t *testing.T) {
	bubble(t, func(t *testing.T, c *client) {
		conflict := storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied")
		c.send(201, "POST", "/employees", jones, nil)
		c.storage.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(conflict)))
		c.send(200, "POST", "/employees/Sales/223/move", `{"to":"IT"}`, nil)
		c.storage.SetFaults(storagetest.OfKind(requests.Transaction, conflict))
		c.send(503, "POST", "/employees/IT/223/move", `{"to":"Sales"}`, nil)
		c.storage.SetFaults(nil)
		c.send(200, "GET", "/employees/IT/223", "", nil)
	})
}

// TestRequests: a log-in takes 2 requests, and a summary 1.
func TestRequests(t *testing.T) {
	bubble(t, func(t *testing.T, c *client) {
		c.send(201, "POST", "/employees", jones, nil)
		c.storage.Count()
		for _, test := range []struct{ method, path, body, want string }{
			{"POST", "/login", `{"email":"JONESJ@contoso.com"}`, "2 get"},
			{"GET", "/departments/Sales/summary", "", "1 get"},
			{"GET", "/employees/Sales/223", "", "1 get"},
			{"GET", "/changes", "", "1 query"},
		} {
			c.send(200, test.method, test.path, test.body, nil)
			if got := c.storage.Count().String(); got != test.want {
				t.Errorf("%s %s: got requests %s, want %s", test.method, test.path, got, test.want)
			}
		}
	})
}

// TestHandlerTwice: the log contains a change once, also if the handler runs twice.
func TestHandlerTwice(t *testing.T) {
	bubble(t, func(t *testing.T, c *client) {
		calls := 0
		worker := aztablekit.Open(c.storage, "staff", nil) // of another program
		aztablekit.Table(worker, "staff", dept, empid, eventual.On("change", changeOf, func(ctx context.Context, j eventual.Job, change Change) error {
			calls++
			err := c.server.company.appendChange(ctx, j, change)
			if calls == 1 && err == nil {
				err = errors.New("crashed after the append")
			}
			return err
		}))
		c.send(201, "POST", "/employees", jones, nil)
		for n := range 2 { // the handler fails, and the message returns to the queue
			time.Sleep(5 * time.Minute) // in the time of the bubble
			if err := worker.Drain(t.Context()); (err != nil) != (n == 0) {
				t.Fatal(err)
			}
		}
		if calls != 2 {
			t.Errorf("got %d calls of the handler, want 2", calls)
		}
		c.expectLog("hired")
	})
}

// TestServe: the program serves, and ends without an error when its context ends.
func TestServe(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.server.serve(ctx, listener) }()
	response, err := http.Get("http://" + listener.Addr().String() + "/departments/Sales/summary")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if got, want := string(body), `{"employees":0,"salaries":0}`+"\n"; err != nil || got != want {
		t.Errorf("got %q, error %v; want %q", got, err, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve: got error %v, want none", err)
	}
}
