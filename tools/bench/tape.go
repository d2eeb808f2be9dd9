package main

import (
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"sync"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// tape is a replay whose responses are in a file, so that many pages take no memory of the process.
// A read of the file costs about what a read from a connection does.
type tape struct {
	service *storagetest.Service // nil if everything is recorded
	address string               // its connection string
	file    *os.File             // without a name, so that it ends with the process

	mu       sync.Mutex
	recorded map[request]*taped
	end      int64 // of the file
}

// taped is a response whose body is in the file.
type taped struct {
	http.Response
	from, length int64
}

// newTape returns a transport that records the responses of a service.
func newTape(s *storagetest.Service) (*tape, error) {
	f, err := os.CreateTemp("", "bench")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil && runtime.GOOS != "windows" { // which deletes no open file
		return nil, err
	}
	return &tape{service: s, address: s.ConnectionString(), file: f, recorded: map[request]*taped{}}, nil
}

// ConnectionString returns that of the service.
func (t *tape) ConnectionString() string { return t.address }

// Do returns the recorded response to a request without a body.
func (t *tape) Do(q *http.Request) (*http.Response, error) {
	of := request{q.Method, q.URL.Path, q.URL.RawQuery, one(q.Header["Accept"]), one(q.Header["Prefer"])}
	t.mu.Lock()
	defer t.mu.Unlock()
	got := t.recorded[of]
	if got == nil {
		if q.Method != http.MethodGet || t.service == nil {
			return nil, &recordingError{"got a request that is not recorded: " + q.Method + " " + q.URL.String()}
		}
		resp, err := t.service.Do(q)
		if err != nil {
			return nil, err
		}
		got = &taped{Response: *resp, from: t.end}
		if got.length, err = io.Copy(t.file, resp.Body); err != nil {
			return nil, err
		}
		got.Body, got.Request = nil, nil
		t.end += got.length
		t.recorded[of] = got
	}
	resp := got.Response
	resp.Header = maps.Clone(resp.Header)
	resp.Body, resp.ContentLength, resp.Request = &section{*io.NewSectionReader(t.file, got.from, got.length)}, got.length, q
	return &resp, nil
}

// section is the body of a response on a tape: a read returns no more than 32 KiB, and there is no
// WriteTo.
type section struct{ r io.SectionReader }

func (s *section) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 32<<10)]) }

func (s *section) Close() error { return nil }

// tapedOrders returns the table of an account on a tape, with indexes.
func tapedOrders(t *tape, definitions ...extend.Definition[order]) (*table.Table[order], error) {
	acc, err := account.FromTransport(t, nil)
	if err != nil {
		return nil, err
	}
	base, err := bare.NewTable(acc.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return nil, err
	}
	return baretest.Attach(base, definitions...)
}
