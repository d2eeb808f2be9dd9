package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// replay is a transport that sends each request once to a service in memory, and then returns the
// recorded response to all requests of the same method, address and preference. So a measurement
// does not contain the work of the service, and the responses have the headers, the metadata and
// the ETags of the service.
type replay struct {
	service *storagetest.Service

	mu       sync.Mutex
	recorded map[request]*response
}

// request is what distinguishes requests of one measurement. Requests of the two sides have
// different preferences: the SDK asks for the entity that it has inserted.
type request struct{ method, path, query, accept, prefer string }

type response struct {
	http.Response
	body []byte
}

// serviceTime is the time of the service. An ETag contains a time with its digits of 100 ns.
var serviceTime = time.Date(2026, 11, 20, 23, 47, 59, 15216300, time.UTC)

// newReplay returns a transport with an empty service.
func newReplay() *replay {
	s := storagetest.New(&storagetest.Options{Now: func() time.Time { return serviceTime }, RequestLogSize: -1})
	return &replay{service: s, recorded: map[request]*response{}}
}

// ConnectionString returns that of the service.
func (r *replay) ConnectionString() string { return r.service.ConnectionString() }

// Do returns the recorded response.
func (r *replay) Do(q *http.Request) (*http.Response, error) {
	of := request{q.Method, q.URL.Path, q.URL.RawQuery, one(q.Header["Accept"]), one(q.Header["Prefer"])}
	r.mu.Lock()
	got := r.recorded[of]
	r.mu.Unlock()
	if got == nil {
		var err error
		if got, err = r.record(of, q); err != nil {
			return nil, err
		}
	} else if q.Body != nil {
		// A connection takes the whole body.
		if _, err := io.Copy(io.Discard, q.Body); err != nil {
			return nil, err
		}
		q.Body.Close()
	}
	resp := got.Response
	resp.Header = maps.Clone(resp.Header) // a policy may change it
	resp.Body, resp.ContentLength, resp.Request = &body{bytes.NewReader(got.body)}, int64(len(got.body)), q
	return &resp, nil
}

func (r *replay) record(of request, q *http.Request) (*response, error) {
	resp, err := r.service.Do(q)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 || bytes.Contains(b, []byte("\nHTTP/1.1 4")) {
		return nil, &recordingError{fmt.Sprintf("recording %s %s: got status %d and body %q, want success", q.Method, q.URL.Path, resp.StatusCode, b)}
	}
	got := &response{*resp, b}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorded[of] = got
	return got, nil
}

// recordingError reports a response that cannot be measured.
type recordingError struct{ text string }

func (e *recordingError) Error() string { return e.text }

// NonRetriable ends the attempts of the SDK.
func (e *recordingError) NonRetriable() {}

func one(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// body is the body of a response from a network: a read returns no more than 32 KiB, and there is
// no WriteTo.
type body struct{ r *bytes.Reader }

func (b *body) Read(p []byte) (int, error) { return b.r.Read(p[:min(len(p), 32<<10)]) }

func (b *body) Close() error { return nil }
