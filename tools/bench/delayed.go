package main

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
)

// serviceDelay is the time that the service takes for a request, in lines that measure waits.
const serviceDelay = 5 * time.Millisecond

// delayed is a service in memory that takes serviceDelay for each request, or delay if it is set,
// once it is slow.
type delayed struct {
	*storagetest.Service
	slow  atomic.Bool
	delay time.Duration
}

// Do executes a request.
func (d *delayed) Do(q *http.Request) (*http.Response, error) {
	if d.slow.Load() {
		t := time.NewTimer(cmp.Or(d.delay, serviceDelay))
		defer t.Stop()
		select {
		case <-t.C:
		case <-q.Context().Done():
			return nil, q.Context().Err()
		}
	}
	return d.Service.Do(q)
}

// openDelayed returns an account on a new service. The service is fast until slow is set.
func openDelayed() (*delayed, *account.Account, error) {
	d := &delayed{Service: storagetest.New(&storagetest.Options{RequestLogSize: -1})}
	acc, err := account.FromTransport(d, nil)
	return d, acc, err
}

// delay makes the service take d for each request.
func delay(s *storagetest.Service, d time.Duration) {
	s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Slow(d) })
}

// connections counts the connections that requests open.
type connections struct{ opened atomic.Int64 }

// trace returns a context whose requests are counted.
func (c *connections) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if !got.Reused {
			c.opened.Add(1)
		}
	}})
}

// medianTime returns the median of the times of n calls in milliseconds.
func medianTime(n int, f func() error) (float64, error) {
	took := make([]float64, n)
	for i := range took {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(began).Microseconds()) / 1000
	}
	return spreadOf(took).median, nil
}
