package aztablekit_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
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

// TestPolicies: the library works with each policy and transport that a program may have, which changes a response but not what it
// says, wherever it stands, with the clients of an account and with those of the SDK.
func TestPolicies(t *testing.T) {
	t.Parallel()
	plain := map[string]string{} // the requests of each method without a policy
	for _, m := range outageMethods {
		for _, path := range []string{"account", "SDK"} {
			sent, err := callBehind(t, m.kit, path, nil, func(*azcore.ClientOptions) {})
			fatal(t, err)
			plain[m.name+path] = sent
		}
	}
	for name, after := range map[string]func(*http.Response, error) (*http.Response, error){
		"reads the body":     replaceBody(func(resp *http.Response) io.Reader { return bytes.NewReader(readBody(resp)) }),
		"copies the body":    replaceBody(func(resp *http.Response) io.Reader { return io.TeeReader(resp.Body, io.Discard) }),
		"buffers the body":   replaceBody(func(resp *http.Response) io.Reader { return bufio.NewReader(resp.Body) }),
		"slows the body":     replaceBody(func(resp *http.Response) io.Reader { return iotest.OneByteReader(resp.Body) }),
		"ends with the last": replaceBody(func(resp *http.Response) io.Reader { return iotest.DataErrReader(resp.Body) }),
		"decompresses the body": replaceBody(func(resp *http.Response) io.Reader {
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
		}),
		"changes headers": func(resp *http.Response, err error) (*http.Response, error) {
			if err == nil {
				resp.Header = resp.Header.Clone()
				resp.Header.Set("X-Proxy", "1")
				resp.Header.Del("Server")
			}
			return resp, err
		},
		"copies the response": func(resp *http.Response, err error) (*http.Response, error) {
			if err != nil {
				return resp, err
			}
			other := *resp
			return &other, nil
		},
		"makes another response": func(resp *http.Response, err error) (*http.Response, error) {
			if err != nil {
				return resp, err
			}
			return &http.Response{Status: resp.Status, StatusCode: resp.StatusCode, Proto: resp.Proto, ProtoMajor: 1, ProtoMinor: 1, Header: resp.Header, Body: resp.Body, ContentLength: resp.ContentLength, Request: resp.Request}, nil
		},
		"delays": func(resp *http.Response, err error) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return resp, err
		},
		"wraps errors": func(resp *http.Response, err error) (*http.Response, error) {
			if err != nil {
				err = fmt.Errorf("policy: %w", err)
			}
			return resp, err
		},
		"returns the same": func(resp *http.Response, err error) (*http.Response, error) { return resp, err },
	} {
		p := policyFunc(func(r *policy.Request) (*http.Response, error) { return after(r.Next()) })
		again := policyFunc(func(r *policy.Request) (*http.Response, error) { // as a retrying policy
			resp, err := after(r.Clone(r.Raw().Context()).Next())
			if err != nil && errors.Is(err, io.ErrUnexpectedEOF) {
				if err := r.RewindBody(); err != nil {
					return nil, err
				}
				return after(r.Clone(r.Raw().Context()).Next())
			}
			return resp, err
		})
		for place, options := range map[string]func(*azcore.ClientOptions){
			"per call":     func(o *azcore.ClientOptions) { o.PerCallPolicies = []policy.Policy{p} },
			"per try":      func(o *azcore.ClientOptions) { o.PerRetryPolicies = []policy.Policy{p} },
			"retries":      func(o *azcore.ClientOptions) { o.PerRetryPolicies = []policy.Policy{again} },
			"in transport": func(o *azcore.ClientOptions) {},
		} {
			t.Run(name+"/"+place, func(t *testing.T) {
				t.Parallel()
				for _, m := range outageMethods {
					for _, path := range []string{"account", "SDK"} {
						sent, err := callBehind(t, m.kit, path, nil, options)
						if place == "in transport" {
							sent, err = callBehind(t, m.kit, path, after, options)
						}
						if want := plain[m.name+path]; err != nil || sent != want {
							t.Errorf("%s, clients of the %s: got %v and %s; want none and %s", m.name, path, err, sent, want)
						}
					}
				}
			})
		}
	}
}

// callBehind calls a method with clients that have options, behind a function of the transport, and returns its error and
// its requests.
func callBehind(t *testing.T, call func(context.Context, *outage) error, path string, after func(*http.Response, error) (*http.Response, error), options func(*azcore.ClientOptions)) (sent string, err error) {
	synctest.Test(t, func(t *testing.T) {
		service := &transport{Service: storagetest.New(nil)}
		if after != nil {
			service.between = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
				return after(next(r))
			}
		}
		o := azcore.ClientOptions{Transport: service}
		options(&o)
		acc, openErr := account.FromTransport(service, &account.Options{Client: o})
		fatal(t, openErr)
		x := newOutageOf(t, service.Service, map[string]services{"account": acc, "SDK": sdkServices{service.ConnectionString(), o}}[path])
		service.Count()
		err, sent = call(t.Context(), x), service.Count().String()
	})
	return sent, err
}
