package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// ErrCosmosDB refuses Cosmos DB, which has other rules for keys, lists and transactions than the
// library relies on.
var ErrCosmosDB = errors.New("the service is Azure Cosmos DB, which has no order of keys and other limits than Table storage; use an account of Azure Storage")

var errNoResponse = errors.New("the client's pipeline captured no response")

// probe is the part of a call's context that the Probe policies mark.
type probe struct {
	entered, sent atomic.Bool
	changed       atomic.Bool // the SDK or a policy has put values into the context
	max           int64
	ends          Ending          // nil for a request that may be sent at any time
	outer         context.Context // that the SDK got

	request  *Request                      // nil if the SDK's request is sent
	put      atomic.Bool                   // the request was put in the place of the SDK's
	address  atomic.Pointer[string]        // the path at which it was put there
	response atomic.Pointer[http.Response] // to the request
	reply    http.Response                 // that the SDK gets for a success: it has no headers to read
}

// BodyError reports a request body that exceeds [Call.MaxBody].
type BodyError struct{ Size int } // in bytes

func (e *BodyError) Error() string { return fmt.Sprintf("the request body has %d bytes", e.Size) }

type probeKey struct{}

// Ending is what requests are sent under, such as a lease. 0 or less is left when it is over.
type Ending interface{ Left() time.Duration }

type endKey struct{}

// WithEnd returns a context whose requests are not sent when e is over. They are refused behind the
// credential, which may take its time.
func WithEnd(ctx context.Context, e Ending) context.Context {
	return context.WithValue(ctx, endKey{}, e)
}

// ErrEnded: a request was not sent, because its Ending was over.
var ErrEnded = errors.New("the right to send the request is over")

func probeOf(r *policy.Request) *probe {
	p, _ := r.Raw().Context().Value(probeKey{}).(*probe)
	return p
}

// The Probe policies mark how far a request got, so that a request that failed before the network,
// for example for lack of a token, is not mistaken for one whose outcome is unknown. And they put a
// [Request] in the place of the SDK's.
type (
	ProbeCall  struct{} // per call: the request entered the pipeline
	ProbeRetry struct{} // per retry, after the credential: the request went on to the transport
)

// Do implements policy.Policy. Errors of the other policies and of the transport lose their
// signatures; see [Redact].
func (ProbeCall) Do(r *policy.Request) (*http.Response, error) {
	p := probeOf(r)
	if p == nil {
		resp, err := r.Next()
		return resp, Redact(err)
	}
	p.entered.Store(true)
	if isCosmos(r.Raw().URL.Host) {
		return nil, ErrCosmosDB
	}
	if p.request != nil {
		return p.exchange(r)
	}
	p.changed.Store(r.Raw().Context() != p.outer)
	return p.next(r)
}

// exchange sends the library's request. The SDK gets the response only if it is not a success, and
// an empty success otherwise.
func (p *probe) exchange(r *policy.Request) (*http.Response, error) {
	if err := p.replace(r); err != nil {
		return nil, err
	}
	resp, err := p.next(r)
	if err == nil && resp != nil {
		if _, err = runtime.Payload(resp); err != nil {
			err = Redact(err)
		}
	}
	p.response.Store(resp)
	if err == nil && resp != nil && p.request.succeeded(resp) {
		return &p.reply, nil
	}
	return resp, err
}

// replace puts the library's request in the place of the SDK's. It is there already if a policy in
// front sends the request again.
func (p *probe) replace(r *policy.Request) error {
	raw := r.Raw()
	if was := p.address.Load(); was == nil || raw.URL.Path != *was || raw.Method != p.request.Method {
		if err := p.request.put(r); err != nil {
			return err
		}
		at := raw.URL.Path
		p.address.Store(&at)
		p.put.Store(true)
	}
	runtime.SkipBodyDownload(r) // ProbeRetry does it
	return p.request.putBody(r)
}

func (p *probe) next(r *policy.Request) (*http.Response, error) {
	if n := r.Raw().ContentLength; p.max > 0 && n > p.max {
		return nil, &BodyError{int(n)}
	}
	resp, err := r.Next()
	return resp, Redact(err)
}

// Do implements policy.Policy.
func (ProbeRetry) Do(r *policy.Request) (*http.Response, error) {
	p := probeOf(r)
	if p == nil {
		return r.Next()
	}
	if p.ends != nil && p.ends.Left() <= 0 {
		return nil, ErrEnded
	}
	p.sent.Store(true)
	resp, err := r.Next()
	if err == nil && resp != nil && p.request != nil {
		err = download(resp)
	}
	return resp, err
}

// isCosmos reports whether the SDK takes a host for Cosmos DB. The name of an account of Azure
// Storage may contain cosmos.
func isCosmos(host string) bool {
	host = strings.ToLower(host)
	return strings.Contains(host, ".table.cosmos.") || strings.Contains(host, ".table.cosmosdb.") || strings.HasPrefix(host, "localhost:8902")
}

// Target is what a [Request] addresses.
type Target int

const (
	Row   Target = iota // the row of the request's keys
	Table               // the table, for an insert
	List                // the rows of the table
	Batch               // the address for transactions
)

// Request is a request to a table that the library writes itself. It takes the place of the request
// of a small call of the SDK, and so passes through the client's pipeline, which signs it, repeats
// it, and logs it, but not through the SDK's JSON, which decodes each entity to a map and encodes
// it again.
type Request struct {
	Method               string
	Target               Target
	PartitionKey, RowKey string     // of a Row
	Query                url.Values // of a List, besides the client's own
	Match                string     // the condition, "" for none
	NoEcho               bool       // an insert is answered without the entity
	Entity               []byte     // the body of an insert, update or upsert

	// Transaction returns the body of a Batch and its type. u is the URL of the request.
	Transaction func(u *url.URL) (body io.ReadSeeker, contentType string)
}

// The small call of the SDK deletes a row with an ETag that no row has. If it were sent, it would
// change nothing.
const (
	standInKey   = "-"
	standInMatch = `W/"none"`
	standInPath  = "(PartitionKey='" + standInKey + "',RowKey='" + standInKey + "')"
)

// ErrTap means that a request could not take the place of the SDK's.
var ErrTap = errors.New("the library could not put its request in the place of the SDK's, so it was not sent: a policy in front of those of ClientOptions changes the request or hides the call")

// put puts the request in the place of the SDK's, but for its body.
func (q *Request) put(r *policy.Request) error {
	raw := r.Raw()
	if raw.Method != http.MethodDelete || !q.address(raw.URL) {
		return ErrTap
	}
	raw.Method = q.Method
	if q.Method == http.MethodPut || q.Method == http.MethodPatch {
		raw.Header.Set("Accept", "application/json")
	}
	raw.Header.Set("If-Match", q.Match)
	if q.Match == "" {
		raw.Header.Del("If-Match")
	}
	if q.NoEcho {
		raw.Header.Set("Prefer", "return-no-content")
	}
	return nil
}

// putBody puts the body there.
func (q *Request) putBody(r *policy.Request) error {
	switch {
	case q.Transaction != nil:
		body, contentType := q.Transaction(r.Raw().URL)
		return r.SetBody(streaming.NopCloser(body), contentType)
	case q.Entity != nil:
		return r.SetBody(streaming.NopCloser(bytes.NewReader(q.Entity)), "application/json")
	}
	return nil
}

// address turns the address of the small call into the request's. It reports whether it was that of
// the small call.
func (q *Request) address(u *url.URL) bool {
	path, ok := strings.CutSuffix(u.Path, standInPath)
	escaped, ok2 := strings.CutSuffix(u.EscapedPath(), standInPath)
	if !ok || !ok2 {
		return false
	}
	switch q.Target {
	case Table:
		u.Path, u.RawPath = path, escaped
	case List:
		u.Path, u.RawPath = path+"()", escaped+"()"
		all := q.Query
		if u.RawQuery != "" {
			all = maps.Clone(q.Query)
			maps.Copy(all, u.Query())
		}
		u.RawQuery = all.Encode()
	case Batch:
		u.Path, u.RawPath = path[:strings.LastIndexByte(path, '/')+1]+"$batch", escaped[:strings.LastIndexByte(escaped, '/')+1]+"$batch"
	default:
		pk, rk := Doubled(q.PartitionKey), Doubled(q.RowKey)
		u.Path = path + rowPath(pk, rk)
		u.RawPath = u.Path
		if epk, erk := url.PathEscape(pk), url.PathEscape(rk); escaped != path || epk != pk || erk != rk {
			u.RawPath = escaped + rowPath(epk, erk)
		}
	}
	return true
}

func rowPath(partitionKey, rowKey string) string {
	return "(PartitionKey='" + partitionKey + "',RowKey='" + rowKey + "')"
}

// Doubled returns a key with its quotes doubled, as in an address.
func Doubled(key string) string { return strings.ReplaceAll(key, "'", "''") }

// succeeded reports whether a response is of a status that the SDK accepts as the request's
// success. A response to another request is not.
func (q *Request) succeeded(resp *http.Response) bool {
	if resp.Request != nil && resp.Request.Response != nil { // see Call.Check
		return false
	}
	return slices.Contains(q.success(), resp.StatusCode)
}

func (q *Request) success() []int {
	switch {
	case q.Target == Batch:
		return []int{http.StatusAccepted, http.StatusNoContent}
	case q.Target == Table:
		return []int{http.StatusCreated, http.StatusNoContent}
	case q.Method == http.MethodGet:
		return []int{http.StatusOK}
	}
	return []int{http.StatusNoContent}
}

// mostInOne is the length of the longest response body that is read into one allocation. The
// service's largest response has 4 MiB.
const mostInOne = 16 << 20

// download reads the body of a response, in place of azcore's bodyDownloadPolicy. azcore's own
// reading begins with 512 bytes, also for an empty body, and grows and copies: of a large body, it
// allocates five times the length.
func download(resp *http.Response) error {
	n := resp.ContentLength
	if resp.Body == nil || n < 0 || n > mostInOne || resp.StatusCode >= http.StatusBadRequest || newPayload == nil {
		_, err := runtime.Payload(resp)
		return err
	}
	body, err := readAll(resp.Body, n)
	resp.Body.Close()
	if err != nil {
		return err
	}
	p := newPayload()
	p.Set(body)
	resp.Body = p
	return nil
}

// payload is the type in which azcore keeps a body that was read. It uses another type for a body
// that was not read.
type payload interface {
	io.ReadCloser
	Set([]byte)
}

// newPayload makes a payload, nil if azcore keeps bodies in another way. Its type is found in a
// response that azcore has read.
var newPayload = func() func() payload {
	resp := &http.Response{Body: http.NoBody}
	if _, err := runtime.Payload(resp); err != nil {
		return nil
	}
	of := reflect.TypeOf(resp.Body)
	if _, ok := resp.Body.(payload); !ok || of.Kind() != reflect.Pointer {
		return nil
	}
	return func() payload { return reflect.New(of.Elem()).Interface().(payload) }
}()

// readAll is io.ReadAll for a body that probably has n bytes.
func readAll(r io.Reader, n int64) ([]byte, error) {
	b := make([]byte, 0, n+1) // with room to see the end
	for {
		got, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+got]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}
