package recipe

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/requests"
)

// Request is a request of a step.
type Request struct {
	Kind   requests.Kind `json:"kind"`
	What   string        `json:"what"`             // the path in the account, with the query's filter; of a transaction, the table
	Rows   int           `json:"rows,omitempty"`   // of a transaction
	Status int           `json:"status,omitempty"` // of the response; 0 if there was none
}

// operationURL matches the first operation of a transaction.
var operationURL = regexp.MustCompile(`(?m)^[A-Z]+ (\S+) HTTP/1\.1`)

// recorder is a policy that records requests.
type recorder struct {
	mu       sync.Mutex
	requests []*Request
}

// Do implements policy.Policy.
func (c *recorder) Do(r *policy.Request) (*http.Response, error) {
	x := &Request{Kind: requests.KindOf(r.Raw()), What: pathOf(r.Raw().URL)}
	if x.Kind == requests.Transaction && r.Body() != nil {
		body, err := io.ReadAll(r.Body())
		if err == nil {
			err = r.RewindBody()
		}
		if err != nil {
			return nil, err
		}
		x.Rows = bytes.Count(body, []byte(" HTTP/1.1"))
		if m := operationURL.FindSubmatch(body); m != nil {
			if u, err := url.Parse(string(m[1])); err == nil {
				x.What, _, _ = strings.Cut(pathOf(u), "(")
			}
		}
	}
	c.mu.Lock()
	c.requests = append(c.requests, x)
	c.mu.Unlock()
	resp, err := r.Next()
	if resp != nil {
		c.mu.Lock()
		x.Status = resp.StatusCode
		c.mu.Unlock()
	}
	return resp, err
}

// take returns the requests since the last call.
func (c *recorder) take() (all []Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.requests {
		all = append(all, *x)
	}
	c.requests = nil
	return all
}

// pathOf returns what a request is for: the path without the account, and the filter.
func pathOf(u *url.URL) string {
	path := strings.TrimPrefix(u.Path, "/")
	if host := u.Hostname(); net.ParseIP(host) != nil || host == "localhost" {
		_, path, _ = strings.Cut(path, "/")
	}
	if f := u.Query().Get("$filter"); f != "" {
		path += fmt.Sprintf(" where %s", f)
	}
	return path
}
