package requests

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Counter is a policy that counts the requests that go to the network by kind, including each
// repeated attempt. Its zero value is ready for use. Several clients may share a Counter.
type Counter struct {
	mu     sync.Mutex
	counts Counts
}

// Do implements policy.Policy.
func (c *Counter) Do(r *policy.Request) (*http.Response, error) {
	kind := KindOf(r.Raw())
	c.mu.Lock()
	if c.counts == nil {
		c.counts = Counts{}
	}
	c.counts[kind]++
	c.mu.Unlock()
	return r.Next()
}

// Take returns the counts since the last call of Take.
func (c *Counter) Take() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = nil
	return counts
}

// Counts are the numbers of requests by kind.
type Counts map[Kind]int

// Total returns the number of all requests.
func (c Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// String returns the counts in the form "1 get, 2 query", sorted by the names of the kinds, or
// "none".
func (c Counts) String() string {
	if len(c) == 0 {
		return "none"
	}
	var s []string
	for _, k := range slices.Sorted(maps.Keys(c)) {
		s = append(s, fmt.Sprintf("%d %s", c[k], k))
	}
	return strings.Join(s, ", ")
}
