package account_test

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
)

// burst is a policy that sends requests at the same time: each has a connection before any of them is sent. It counts the
// connections that are opened.
type burst struct {
	wait   atomic.Pointer[sync.WaitGroup]
	opened atomic.Int64
}

func (b *burst) Do(r *policy.Request) (*http.Response, error) {
	wait := b.wait.Load()
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			b.opened.Add(1)
		}
		wait.Done()
		wait.Wait()
	}}
	return r.Clone(httptrace.WithClientTrace(r.Raw().Context(), trace)).Next()
}

// send sends n requests at the same time, and returns how many connections they have opened.
func (b *burst) send(n int, request func()) int64 {
	b.opened.Store(0)
	together := new(sync.WaitGroup)
	together.Add(n)
	b.wait.Store(together)
	var all sync.WaitGroup
	for range n {
		all.Go(request)
	}
	all.Wait()
	return b.opened.Load()
}

// TestConnections: a burst of 64 requests to each service opens no connection after the first burst. A transport of the program is
// used as it is.
func TestConnections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	cs, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, own := range []bool{false, true} {
		var b burst
		o := &account.Options{}
		o.Client.PerRetryPolicies = []policy.Policy{&b}
		if own {
			o.Client.Transport = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
		}
		a, err := account.FromConnectionString(cs, o)
		if err != nil {
			t.Fatal(err)
		}
		tables, queue, container := a.Tables().NewClient("staff"), a.Queues().NewQueueClient("notifications"), a.Blobs().NewContainerClient("photos")
		const size = 64
		for i, want := range []int64{size, 0, 0} {
			if own && i > 0 {
				want = size - 10
			}
			for name, request := range map[string]func(){
				"tables": func() { tables.GetEntity(ctx, "p", "r", nil) },
				"queues": func() { queue.GetProperties(ctx, nil) },
				"blobs":  func() { container.GetProperties(ctx, nil) },
			} {
				if got := b.send(size, request); got != want {
					t.Errorf("own transport=%v: burst %d of %d requests to %s: got %d new connections, want %d", own, i, size, name, got, want)
				}
			}
		}
	}
}
