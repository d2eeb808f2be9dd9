package blobs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// Write returns the context for a request that changes something. The request is sent once, because
// the SDK would repeat it after a lost response. A negative timeout is no bound but the context's.
func Write(ctx context.Context, call *wire.Call, timeout time.Duration) context.Context {
	return call.Write(ctx, max(timeout, 0))
}

// IfMatch is the condition that the blob has an ETag.
func IfMatch(etag azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}}
}

// IfNew is the condition that no blob has the name.
func IfNew() *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
}

// CheckLength returns err, or an error for a response without a length, which would count as an
// empty blob.
func CheckLength(call *wire.Call, length *int64, err error) error {
	if err == nil && length == nil {
		return &wire.NotServiceError{Status: call.Status(), Reason: "the response has no Content-Length; a proxy or the transport has removed it"}
	}
	return err
}

// EndIfIdle ends a request by its cancel if nothing comes within a time, unless stop is called
// before. A negative time is no bound.
func EndIfIdle(cancel context.CancelCauseFunc, after time.Duration) (stop func()) {
	if after < 0 {
		return func() {}
	}
	t := time.AfterFunc(after, func() { cancel(wire.ErrRequestTimeout) })
	return func() { t.Stop() }
}

// Deref returns what p points to, or a zero value.
func Deref[V any](p *V) (v V) {
	if p != nil {
		v = *p
	}
	return v
}

// Ensure creates a container unless it exists, within the bounds of the options. refusal makes the
// error of a failed request.
func Ensure(ctx context.Context, c *container.Client, o *engine.Options, refusal func(*wire.Call, error) error) error {
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	return engine.Retry(o.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		var call wire.Call
		_, err = c.Create(Write(ctx, &call, o.Retry.AttemptTimeout), nil)
		if err = call.Check(err); err == nil || bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			return false, nil
		}
		return call.Outcome(err) != wire.Refused, refusal(&call, err)
	})
}

// Listed is a blob of a list.
type Listed struct {
	Name     string
	Metadata map[string]*string
	ETag     azcore.ETag // with quotes, as headers have it
	Length   int64
	Modified time.Time // in whole seconds, rounded down
}

// PageSize is the most blobs of a response, which bounds the memory of a list. The service allows
// 5,000.
const PageSize = 1000

// List yields the blobs of a container whose names begin with a prefix, in the order of their
// names. The options bound each request, and refusal makes the error of a failed request.
func List(ctx context.Context, c *container.Client, prefix string, o *engine.Options, refusal func(*wire.Call, error) error) iter.Seq2[*Listed, error] {
	return func(yield func(*Listed, error) bool) {
		next := container.ListBlobsFlatOptions{
			Prefix: &prefix, MaxResults: to.Ptr(int32(PageSize)), Include: container.ListBlobsInclude{Metadata: true},
		}
		for more := true; more; {
			var page []*Listed
			var marker *string
			err := engine.Retry(o.Retry).Endure(ctx, engine.Log{}, func() (err error) {
				pager := c.NewListBlobsFlatPager(&next) // one that has failed sends nothing any more
				page, marker, err = readPage(ctx, pager.NextPage, o.ReadTimeout, refusal)
				return err
			})
			next.Marker, more = marker, Deref(marker) != ""
			if err != nil {
				yield(nil, err)
				return
			}
			for _, b := range page {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

func readPage(ctx context.Context, next func(context.Context) (container.ListBlobsFlatResponse, error), timeout time.Duration, refusal func(*wire.Call, error) error) (all []*Listed, marker *string, err error) {
	ctx, cancel := engine.Bound(ctx, timeout)
	defer cancel()
	var call wire.Call
	resp, err := next(call.Read(ctx))
	if err = call.Check(err); err != nil {
		return nil, nil, refusal(&call, err)
	}
	if resp.Segment == nil {
		return nil, resp.NextMarker, nil
	}
	for _, b := range resp.Segment.BlobItems {
		if b != nil && b.Properties != nil {
			all = append(all, &Listed{Deref(b.Name), b.Metadata, quoted(Deref(b.Properties.ETag)), Deref(b.Properties.ContentLength), Deref(b.Properties.LastModified)})
		}
	}
	return all, resp.NextMarker, nil
}

// quoted returns an ETag as headers have it: lists leave its quotes out.
func quoted(etag azcore.ETag) azcore.ETag {
	if etag == "" || strings.HasSuffix(string(etag), `"`) {
		return etag
	}
	return `"` + etag + `"`
}

// MaxName is the most characters of a blob's name, in UTF-16 code units ('Naming and referencing
// containers, blobs, and metadata').
const MaxName = 1024

// NameLength returns the number of UTF-16 code units of a name.
func NameLength(name string) int { return len(utf16.Encode([]rune(name))) }

// mark begins an escaped byte of a segment.
const mark = '~'

// plain reports whether a character of a key, with the next width bytes at i, stays as it is in the
// name of a blob. Slashes, percent signs and the like have a meaning in addresses, control
// characters have none in XML, and a dot or a space at an end of a segment is lost by some
// programs.
func plain(key string, i, width int, c rune) bool {
	switch {
	case c < ' ', c >= 0x7f && c <= 0x9f, c == utf8.RuneError && width < 3, c == 0xfffe, c == 0xffff, strings.ContainsRune(`~/\%?#"<>|*:&`, c):
		return false
	case c == '.' || c == ' ':
		return i > 0 && i+width < len(key)
	}
	return true
}

// Escape returns a key as a segment of a blob's name. Different keys have different segments, and a
// segment contains no slash. Most characters are unchanged; each byte of the others becomes ~ and
// two digits. The empty key becomes ~.
func Escape(key string) string {
	if key == "" {
		return string(mark)
	}
	var b strings.Builder
	for i := 0; i < len(key); {
		c, width := utf8.DecodeRuneInString(key[i:])
		if plain(key, i, width, c) {
			b.WriteString(key[i : i+width])
		} else {
			for j := range width {
				fmt.Fprintf(&b, "%c%02x", mark, key[i+j])
			}
		}
		i += width
	}
	return b.String()
}

// Unescape returns the key of a segment. ok is false for a segment that [Escape] does not return.
func Unescape(segment string) (key string, ok bool) {
	if segment == string(mark) {
		return "", true
	}
	parts := strings.Split(segment, string(mark))
	for i, part := range parts[1:] {
		if len(part) < 2 {
			return "", false
		}
		c, err := hex.DecodeString(part[:2])
		if err != nil {
			return "", false
		}
		parts[i+1] = string(c) + part[2:]
	}
	key = strings.Join(parts, "")
	return key, Escape(key) == segment
}

// Join returns the name of the blob of a large value: staff/Sales/01KAJ5ZVW0ABCDEFGHJKMNPQRS. It
// consists of the table, the PartitionKey of the entity, and an ID, which begins with the time of
// the upload.
func Join(table, partition, id string) string { return table + "/" + Escape(partition) + "/" + id }

// Split returns what a name consists of. ok reports whether it is a name that Join returns.
func Split(name string) (table, partition, id string, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || NameLength(name) > MaxName {
		return "", "", "", false
	}
	table, id = parts[0], parts[2]
	partition, ok = Unescape(parts[1])
	if !ok || table != strings.ToLower(table) || edm.CheckTableName(table) != nil || Join(table, partition, id) != name {
		return "", "", "", false
	}
	_, err := commit.TimeOf(id)
	return table, partition, id, err == nil
}

// responseError shortens the text of an error response to one line: the SDK's text is the whole
// response.
type responseError struct{ *azcore.ResponseError }

func (e responseError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the service answered %d %s", e.StatusCode, e.ErrorCode))
}
func (e responseError) Unwrap() error { return e.ResponseError }

// Refusal returns the error for a request that the service refused, or that did not reach the
// service. Nothing was changed. noContainer is the error for a container that does not exist, and
// made the call that creates it.
func Refusal(call *wire.Call, err, noContainer error, made string) error {
	switch {
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return &errs.Missing{Is: noContainer, Name: containerOf(call.URL()), Made: made, Err: err}
	case bloberror.HasCode(err, bloberror.ContainerBeingDeleted), call.Unreached(err):
		return errs.With(errs.ErrUnreachable, wire.Redact(err))
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		return responseError{re}
	}
	return wire.Redact(err)
}

// containerOf returns the name of the container in the URL of a request.
func containerOf(url string) string {
	parts, err := blob.ParseURL(url)
	if err != nil {
		return ""
	}
	return parts.ContainerName
}

// IsGone reports whether a blob does not exist.
func IsGone(err error) bool {
	return bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ResourceNotFound)
}
