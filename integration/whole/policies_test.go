package whole_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// policyFunc is a policy of a program.
type policyFunc func(*policy.Request) (*http.Response, error)

func (f policyFunc) Do(r *policy.Request) (*http.Response, error) { return f(r) }

// replaceBody is a behaviour that puts another reader in the place of the body.
func replaceBody(reader func(*http.Response) io.Reader) func(*http.Response, error) (*http.Response, error) {
	return func(resp *http.Response, err error) (*http.Response, error) {
		if err == nil && resp.Body != nil {
			resp.Body = io.NopCloser(reader(resp))
		}
		return resp, err
	}
}

func readBody(resp *http.Response) []byte {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	return body
}

// policyBehaviours are what a policy or a transport does to a response without a change of what it says.
var policyBehaviours = []struct {
	name  string
	after func(*http.Response, error) (*http.Response, error)
}{
	{"reads the body", replaceBody(func(resp *http.Response) io.Reader { return bytes.NewReader(readBody(resp)) })},
	{"copies the body", replaceBody(func(resp *http.Response) io.Reader { return io.TeeReader(resp.Body, io.Discard) })},
	{"buffers the body", replaceBody(func(resp *http.Response) io.Reader { return bufio.NewReader(resp.Body) })},
	{"slows the body", replaceBody(func(resp *http.Response) io.Reader { return iotest.OneByteReader(resp.Body) })},
	{"ends with the last", replaceBody(func(resp *http.Response) io.Reader { return iotest.DataErrReader(resp.Body) })},
	{"decompresses the body", replaceBody(func(resp *http.Response) io.Reader {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(readBody(resp)); err != nil {
			panic(err)
		}
		w.Close()
		r, err := gzip.NewReader(&b)
		if err != nil {
			panic(err)
		}
		resp.Uncompressed = true
		if resp.Request == nil || resp.Request.Method != http.MethodHead {
			resp.ContentLength = -1
		}
		return r
	})},
	{"changes headers", func(resp *http.Response, err error) (*http.Response, error) {
		if err == nil {
			resp.Header = resp.Header.Clone()
			resp.Header.Set("X-Proxy", "1")
			resp.Header.Del("Server")
		}
		return resp, err
	}},
	{"copies the response", func(resp *http.Response, err error) (*http.Response, error) {
		if err != nil {
			return resp, err
		}
		other := *resp
		return &other, nil
	}},
	{"makes another response", func(resp *http.Response, err error) (*http.Response, error) {
		if err != nil {
			return resp, err
		}
		return &http.Response{Status: resp.Status, StatusCode: resp.StatusCode, Proto: resp.Proto, ProtoMajor: 1, ProtoMinor: 1, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(readBody(resp))), ContentLength: resp.ContentLength, Request: resp.Request}, nil
	}},
	{"delays", func(resp *http.Response, err error) (*http.Response, error) {
		time.Sleep(100 * time.Millisecond)
		return resp, err
	}},
	{"wraps errors", func(resp *http.Response, err error) (*http.Response, error) {
		if err != nil {
			err = fmt.Errorf("policy: %w", err)
		}
		return resp, err
	}},
	{"returns the same", func(resp *http.Response, err error) (*http.Response, error) { return resp, err }},
}

// policyPlaces are where a program puts such a behaviour.
var policyPlaces = []struct {
	name string
	put  func(*azcore.ClientOptions, *transport, func(*http.Response, error) (*http.Response, error))
}{
	{"per call", func(o *azcore.ClientOptions, _ *transport, after func(*http.Response, error) (*http.Response, error)) {
		o.PerCallPolicies = []policy.Policy{policyFunc(func(r *policy.Request) (*http.Response, error) { return after(r.Next()) })}
	}},
	{"per try", func(o *azcore.ClientOptions, _ *transport, after func(*http.Response, error) (*http.Response, error)) {
		o.PerRetryPolicies = []policy.Policy{policyFunc(func(r *policy.Request) (*http.Response, error) { return after(r.Next()) })}
	}},
	{"transport", func(_ *azcore.ClientOptions, t *transport, after func(*http.Response, error) (*http.Response, error)) {
		t.between = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			return after(next(r))
		}
	}},
	{"retries", func(o *azcore.ClientOptions, t *transport, after func(*http.Response, error) (*http.Response, error)) {
		var refused atomic.Bool // each request is refused once, and the policy sends it again
		t.between = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			if refused.CompareAndSwap(false, true) {
				return nil, errBroken
			}
			refused.Store(false)
			return next(r)
		}
		o.PerRetryPolicies = []policy.Policy{policyFunc(func(r *policy.Request) (*http.Response, error) {
			for {
				resp, err := after(r.Clone(r.Raw().Context()).Next())
				if !errors.Is(err, errBroken) {
					return resp, err
				}
				if err := r.RewindBody(); err != nil {
					return nil, err
				}
			}
		})}
	}},
	{"redirects", func(_ *azcore.ClientOptions, t *transport, after func(*http.Response, error) (*http.Response, error)) {
		t.between = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			location := r.URL.RequestURI()
			for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} { // both keep the method and the body
				var err error
				if r, err = redirected(r, status, location); err != nil {
					return after(nil, err)
				}
			}
			return after(next(r))
		}
	}},
}

// redirected is the request that net/http sends after a response to r with such a status and location: the body of r has been read, and
// the next request begins it anew. It does not name the redirect as its cause. The library believes no response to a request that does,
// because it may be to another request; see TestRedirects of package table.
func redirected(r *http.Request, status int, location string) (*http.Request, error) {
	to := r.Clone(r.Context())
	var err error
	if to.URL, err = r.URL.Parse(location); err != nil || r.Body == nil || r.Body == http.NoBody {
		return to, err
	}
	if _, err = io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	r.Body.Close()
	if r.GetBody == nil {
		return nil, fmt.Errorf("a redirect of status %d is not followed: the body of %s %s cannot begin anew", status, r.Method, r.URL.Path)
	}
	to.Body, err = r.GetBody()
	return to, err
}

var errBroken = errors.New("connection broken")

// TestPolicies: the library works with each policy and transport that a program may have, which changes a response but not what it
// says, wherever it stands, with the clients of an account and with those of the SDK.
func TestPolicies(t *testing.T) {
	t.Parallel()
	nothing := func(*azcore.ClientOptions, *transport) {}
	plain := map[string]string{} // the requests of each method without a policy
	for _, m := range outageMethods {
		for _, path := range clientPaths {
			sent, err := callBehind(t, m.kit, path, nothing)
			fatal(t, err)
			plain[m.name+path] = sent
		}
	}
	for i, b := range policyBehaviours {
		for j, place := range policyPlaces {
			t.Run(b.name+"/"+place.name, func(t *testing.T) {
				t.Parallel()
				for k, m := range outageMethods {
					if (i+j+k)%testkit.Sample(2) != 0 { // of a sample, each method in each place
						continue
					}
					for _, path := range clientPaths {
						sent, err := callBehind(t, m.kit, path, func(o *azcore.ClientOptions, t *transport) { place.put(o, t, b.after) })
						if want := plain[m.name+path]; err != nil || sent != want {
							t.Errorf("%s, clients of the %s: got %v and %s; want none and %s", m.name, path, err, sent, want)
						}
					}
				}
			})
		}
	}
}

// clientPaths are the names of bothPaths.
var clientPaths = []string{"account", "SDK"}

// callBehind calls a method with clients behind a policy or transport, and returns its error and its requests.
func callBehind(t *testing.T, call func(context.Context, *outage) error, path string, put func(*azcore.ClientOptions, *transport)) (sent string, err error) {
	synctest.Test(t, func(t *testing.T) {
		service := &transport{Service: storagetest.New(nil)}
		o := azcore.ClientOptions{Transport: service}
		put(&o, service)
		acc, openErr := account.FromTransport(service, &account.Options{Client: o})
		fatal(t, openErr)
		x := newOutageOf(t, service.Service, map[string]services{"account": acc, "SDK": sdkServices{service.ConnectionString(), o}}[path])
		service.Count()
		err = call(t.Context(), x)
		sent = service.Count().String()
	})
	return sent, err
}
