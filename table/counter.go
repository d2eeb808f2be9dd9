package table

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// Kind is what a request asks for.
type Kind string

// The kinds of requests. Conditional and unconditional writes are told apart as the service tells them apart.
const (
	KindGet             = Kind(wire.Get)             // one row by its keys
	KindQuery           = Kind(wire.Query)           // one page of a query
	KindInsert          = Kind(wire.Insert)          // a new row
	KindReplace         = Kind(wire.Replace)         // a row by If-Match, all properties
	KindMerge           = Kind(wire.Merge)           // a row by If-Match, some properties
	KindInsertOrReplace = Kind(wire.InsertOrReplace) // a row whether it exists or not, all properties
	KindInsertOrMerge   = Kind(wire.InsertOrMerge)   // a row whether it exists or not, some properties
	KindDelete          = Kind(wire.Delete)          // a row
	KindTransaction     = Kind(wire.Transaction)     // an entity group transaction
	KindTableCreate     = Kind(wire.TableCreate)
	KindTableDelete     = Kind(wire.TableDelete)
	KindTableQuery      = Kind(wire.TableQuery)
	KindMessagePut      = Kind(wire.MessagePut) // of a queue, as the next ones
	KindMessageGet      = Kind(wire.MessageGet)
	KindMessagePeek     = Kind(wire.MessagePeek)
	KindMessageUpdate   = Kind(wire.MessageUpdate)
	KindMessageDelete   = Kind(wire.MessageDelete)
	KindOther           = Kind(wire.Other) // everything else, such as what is asked of blobs
)

// Counter is a policy that counts the requests that go to the network, each try of a repeated one, by kind. Give it to
// [ClientOptions] or to account's options, or put it into PerRetryPolicies of any client's options. Several clients may
// share it. Its zero value is ready.
type Counter struct {
	mu     sync.Mutex
	counts Counts
}

// Counts is how many requests of each kind were sent.
type Counts map[Kind]int

// Do implements policy.Policy.
func (c *Counter) Do(r *policy.Request) (*http.Response, error) {
	kind := Kind(wire.Kind(r.Raw()))
	c.mu.Lock()
	if c.counts == nil {
		c.counts = Counts{}
	}
	c.counts[kind]++
	c.mu.Unlock()
	return r.Next()
}

// Take returns the counts and starts again from zero.
func (c *Counter) Take() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = nil
	return counts
}

// Total is the number of all requests.
func (c Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// String returns the counts in the form "1 get, 2 query", sorted by kind, or "none".
func (c Counts) String() string {
	var s []string
	for _, k := range slices.Sorted(maps.Keys(c)) {
		s = append(s, fmt.Sprintf("%d %s", c[k], k))
	}
	if s == nil {
		return "none"
	}
	return strings.Join(s, ", ")
}
