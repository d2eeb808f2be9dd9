package wire

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// Target is what a [Request] addresses.
type Target int

const (
	Row   Target = iota // the row of the request's keys
	Table               // the table, for an insert
	List                // the rows of the table
	Batch               // the address for transactions
)

// Request is a request to a table that the library writes itself. It takes the place of the request of a small call of the SDK, and
// so passes through the client's pipeline, which signs it, repeats it, and logs it, but not through the SDK's JSON, which decodes each
// entity to a map and encodes it again.
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

// The small call of the SDK deletes a row with an ETag that no row has. If it were sent, it would change nothing.
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
	if raw.Header.Set("If-Match", q.Match); q.Match == "" {
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

// address turns the address of the small call into the request's. It reports whether it was that of the small call.
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

// succeeded reports whether a response is of a status that the SDK accepts as the request's success. A response to another request is
// not.
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
