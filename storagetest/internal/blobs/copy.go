package blobs

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// copySource is the header with the address of the blob that an operation copies from.
const copySource = "x-ms-copy-source"

// maxSource is the maximum length of a copySource.
const maxSource = 2 << 10

// versionCondition is the first version in which a condition on the target of a copy fails with the code of all conditions.
const versionCondition = "2024-08-04"

// copied says from where a blob was copied, and when. A copy ends before its response.
type copied struct {
	id, source string
	size       int64
	at         time.Time
}

// properties returns the names and values of a copy: with the prefix Copy, elements of a list, and with x-ms-copy-, headers.
func (x *copied) properties() [][2]string {
	return [][2]string{{"Id", x.id}, {"Source", x.source}, {"Status", "success"},
		{"Progress", fmt.Sprintf("%d/%d", x.size, x.size)}, {"CompletionTime", xmlform.HTTPTime(x.at)}}
}

// setHeader adds the copy to the header of a response that describes the blob.
func (x *copied) setHeader(h http.Header) {
	for _, p := range x.properties() {
		h.Set("x-ms-copy-"+strings.Replace(strings.ToLower(p[0]), "completiontime", "completion-time", 1), p[1])
	}
}

// hasSource reports whether the request takes its content from another blob.
func (c *call) hasSource() bool { return c.Header.Get(copySource) != "" }

// source returns the blob that the request copies from, which its conditions accept. Only blobs of the account can be copied. trusts
// is true for Copy Blob, whose own signature with the key is enough for a source without a signature.
func (c *call) source(trusts bool, now time.Time) (*blob, *xmlform.Failure) {
	value := c.Header.Get(copySource)
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || len(value) > maxSource {
		return nil, xmlform.InvalidHeader(copySource, value)
	}
	read, f := c.readOf(u)
	if f != nil {
		return nil, f
	}
	a, f := parseAddress(read.Path, read.Query)
	switch {
	case f != nil || a.blob == "":
		return nil, xmlform.InvalidHeader(copySource, value)
	case len(c.Body) > 0:
		return nil, xmlform.InvalidHeader("Content-Length", strconv.Itoa(len(c.Body)))
	case read.kind(a, nil) != requests.BlobGet:
		return nil, xmlform.ErrNotImplemented // a snapshot or a version
	}
	b, f := read.readable(a, trusts && c.rights == nil, now)
	if f != nil && !(trusts && f.Status == http.StatusNotFound) {
		f = unverified(f.Failure)
	}
	if f == nil {
		f = c.checkSource(b, trusts)
	}
	return b, f
}

// readOf returns a read of the blob at an address of the account: by the first label of the host, or at a port by the path.
func (c *call) readOf(u *url.URL) (*call, *xmlform.Failure) {
	path := u.EscapedPath()
	if name, _, _ := strings.Cut(u.Host, "."); name != c.Account.Name {
		var own bool
		if path, own = strings.CutPrefix(path, "/"+c.Account.Name+"/"); !own {
			return nil, errForeignSource
		}
	}
	query, err := protocol.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, xmlform.ErrQuerySyntax
	}
	return &call{store: c.store, options: c.options, Request: &protocol.Request{
		Method: http.MethodGet, URL: u, Path: path, Query: query, Header: http.Header{}, Account: c.Account, Version: c.Version,
		Remote: c.Remote, Secure: u.Scheme == "https", Lenient: c.Lenient,
	}}, nil
}

// readable returns the blob at an address, or the failure of a read of it. A trusted read needs no signature.
func (c *call) readable(a address, trusted bool, now time.Time) (*blob, *xmlform.Failure) {
	var f *protocol.Failure
	switch {
	case access.HasSignature(c.Request):
		c.rights, f = verify(c.Request)
	case !trusted:
		return nil, errPublicAccess
	}
	parent := c.store.containers[a.container]
	denied := c.permits(a, requests.BlobGet, now)
	switch {
	case f != nil:
		return nil, xmlform.FailureOf(f)
	case denied != nil:
		return nil, denied
	case parent == nil:
		return nil, errContainerNotFound
	}
	b := parent.lookup(a.blob, now)
	if !b.exists() {
		return nil, errBlobNotFound
	}
	return b, nil
}

// unverified returns the failure of an operation whose source cannot be read.
func unverified(f protocol.Failure) *xmlform.Failure {
	return xmlform.NewFailure(f.Status, "CannotVerifyCopySource", f.Text)
}

// checkSource checks the conditions on the source. Operations other than Copy Blob read the source by conditions, and report how that
// fails.
func (c *call) checkSource(b *blob, isCopy bool) *xmlform.Failure {
	x, f := c.conditionsOf("x-ms-source-")
	if f == nil {
		f = x.checkRead(b.etag, b.modified)
	}
	switch {
	case f == nil, f.Status == http.StatusBadRequest:
		return f
	case isCopy, f.Status == http.StatusPreconditionFailed && !c.Query.Has("comp"):
		return errSourceCondition
	}
	return unverified(f.Failure)
}

// fromSource returns the call with the content of its source as its body, or the part that x-ms-source-range names.
func (c *call) fromSource(now time.Time) (*call, *blob, *xmlform.Failure) {
	b, f := c.source(false, now)
	if f != nil {
		return c, nil, f
	}
	s, partial := parseRange(c.Header.Get("x-ms-source-range"))
	switch size := b.content.size(); {
	case !partial:
		s = span{0, size}
	case s.from >= size:
		return c, nil, unverified(errRange.Failure)
	default:
		s.to = min(s.to, size)
	}
	body := b.content.read(s)
	return c.withBody(body), b, c.checkSums(c.Header.Get("x-ms-source-content-md5"), "x-ms-source-content-crc64", body)
}

// putFromURL creates a block blob with the content of another blob. The block list of the source is not copied.
func (c *call) putFromURL(parent *container, name string, old *blob, now time.Time) *xmlform.Response {
	kind, own := c.Header.Get("x-ms-blob-type"), c.Header.Get("x-ms-copy-source-blob-properties")
	switch {
	case kind == "PageBlob":
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind != blockBlob:
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-blob-type", kind))
	case own != "" && own != "true" && own != "false":
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-copy-source-blob-properties", own))
	}
	filled, source, f := c.fromSource(now)
	if f != nil {
		return xmlform.Refuse(f)
	}
	if own == "false" {
		source = nil
	}
	return filled.createBlob(parent, name, old, source, now)
}

// copyBlob makes a blob a copy of another blob of its type, with its blocks, properties and metadata. old is nil if there is no blob.
// The copy has ended when the response is sent.
func (c *call) copyBlob(parent *container, name string, old *blob, now time.Time) *xmlform.Response {
	inResponse := c.Header.Get("x-ms-requires-sync") == "true" // Copy Blob From URL
	source, f := c.source(!inResponse, now)
	if f != nil {
		return xmlform.Refuse(f)
	}
	metadata, f := c.metadata()
	if f == nil {
		f = c.checkTarget(source, old, inResponse, now)
	}
	var content []byte
	sum := c.Header.Get("x-ms-source-content-md5")
	if f == nil && inResponse {
		content = source.content.read(span{0, source.content.size()})
		f = c.checkSums(sum, "", content)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	if metadata == nil {
		metadata = source.metadata
	}
	b := &blob{name: name, kind: source.kind, content: source.content.clone(), ids: source.ids, headers: maps.Clone(source.headers),
		metadata: metadata}
	b.copied = &copied{c.store.nextID(), c.Header.Get(copySource), b.content.size(), now}
	c.storeBlob(parent, b, now)
	header := b.header()
	header.Set("x-ms-copy-id", b.copied.id)
	header.Set("x-ms-copy-status", "success")
	if inResponse && (sum != "" || c.Version < versionCRC64) {
		header.Set("Content-MD5", md5Text(content))
	}
	return &xmlform.Response{Status: http.StatusAccepted, Header: header}
}

// checkTarget checks the conditions, the type and the lease ID of the blob that a copy replaces. old is nil if there is none.
func (c *call) checkTarget(source, old *blob, inResponse bool, now time.Time) *xmlform.Failure {
	f := c.checkCreateConditions(old, now)
	switch {
	case f == errCondition && c.Version < versionCondition:
		return errTargetCondition
	case f != nil:
		return f
	case old.exists() && old.kind != source.kind:
		return errWrongBlobType
	case inResponse && source.kind != blockBlob:
		return errSourceType
	}
	f = c.checkCreateLease(old, now)
	if f == nil && old != nil && old.lease.locked(now) && old.lease.seconds != infinite {
		f = errFiniteLease
	}
	return f
}

// abortCopy refuses to abort a copy: all copies have ended.
func (c *call) abortCopy(b *blob, now time.Time) *xmlform.Response {
	const parameter = "copyid"
	id := c.Query.Get(parameter)
	_, ok := protocol.ParseGUID(id)
	action := c.Header.Get("x-ms-copy-action")
	switch {
	case action != "abort":
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-copy-action", action))
	case id == "":
		return xmlform.Refuse(xmlform.MissingParameter(parameter))
	case !ok:
		return xmlform.Refuse(xmlform.InvalidParameter(parameter, id, "copyid needs to be valid Guid."))
	case !b.exists():
		return xmlform.Refuse(errBlobNotFound)
	}
	if f := b.lease.checkRequired(c.Header.Get("x-ms-lease-id"), now, blobLease); f != nil {
		return xmlform.Refuse(f)
	}
	return xmlform.Refuse(errNoCopy)
}

// inherit gives a new blob the properties of the blob that its content comes from, where the request names none.
func (b *blob) inherit(from *blob, own map[string]string, metadata []xmlform.Metadata) {
	b.headers = maps.Clone(from.headers)
	maps.Copy(b.headers, own)
	b.headers["Content-Type"] = cmp.Or(b.headers["Content-Type"], defaultContentType)
	if metadata == nil {
		b.metadata = from.metadata
	}
}

// clone returns a content with the same blocks.
func (c *content) clone() content { return content{slices.Clone(c.blocks), slices.Clone(c.ends)} }
