package blobs

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// copySource is the header with the address of the blob that an operation copies from.
const copySource = "x-ms-copy-source"

// maxSource is the maximum length of a copySource.
const maxSource = 2 << 10

// versionCondition is the first version in which a condition on the target of a copy fails with the
// code of all conditions.
const versionCondition = "2024-08-04"

// copied says from where a blob was copied, and when. A copy ends before its response.
type copied struct {
	id, source string
	size       int64
	at         time.Time
}

// properties returns the names and values of a copy: with the prefix Copy, elements of a list, and
// with x-ms-copy-, headers.
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

// use is what an operation does with its source.
type use int

const (
	noSource    use = iota
	plainCopy       // Copy Blob: its own signature with the key permits the read, which the protocol allows to end later
	copyFromURL     // Copy Blob From URL
	putContent      // Put Blob From URL
	putBlock        // Put Block From URL, Append Block From URL
)

// use returns what the request does with its source.
func (c *call) use() use {
	switch {
	case c.Header.Get(copySource) == "":
		return noSource
	case c.Query.Has("comp"):
		return putBlock
	case c.Header.Get("x-ms-blob-type") != "":
		return putContent
	case c.Header.Get("x-ms-requires-sync") != "":
		return copyFromURL
	}
	return plainCopy
}

// source returns the blob that the request copies from, which its conditions accept. Only blobs of
// the account can be copied.
func (c *call) source(now time.Time) (*blob, *xmlform.Failure) {
	value := c.Header.Get(copySource)
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || len(value) > maxSource:
		return nil, xmlform.InvalidHeader(copySource, value)
	case len(c.Body) > 0:
		return nil, xmlform.InvalidHeader("Content-Length", strconv.Itoa(len(c.Body)))
	case c.Header.Get("Content-MD5") != "", c.Header.Get(structuredBody) != "":
		return nil, xmlform.ErrNotImplemented // of a body that must be empty
	}
	read, f := c.readOf(u)
	if f != nil {
		return nil, f
	}
	a, f := parseAddress(read.Path, read.Query)
	switch {
	case f != nil || a.blob == "":
		return nil, xmlform.InvalidHeader(copySource, value)
	case read.kind(a, nil) != kinds.BlobGet:
		return nil, xmlform.ErrNotImplemented // a snapshot or a version
	}
	b, f := read.readable(a, c.use() == plainCopy && c.rights == nil, now)
	switch {
	case f != nil && c.use() == plainCopy && f.Status == http.StatusNotFound:
		return nil, f
	case f != nil:
		return nil, unverified(f.Failure)
	}
	return b, c.checkSource(b)
}

// readOf returns a read of the blob at an address of the account: ACCOUNT.blob in any domain, or at
// a port a path that begins with the account.
func (c *call) readOf(u *url.URL) (*call, *xmlform.Failure) {
	path := u.EscapedPath()
	labels := strings.SplitN(strings.ToLower(u.Hostname()), ".", 3)
	if len(labels) < 3 || labels[0] != c.Account.Name || labels[1] != "blob" {
		var own bool
		path, own = strings.CutPrefix(path, "/"+c.Account.Name+"/")
		if !own || !strings.HasPrefix(c.Base, "http://"+u.Host+"/") && !isLocal(u.Hostname()) {
			return nil, errForeignSource
		}
	}
	query, err := protocol.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, xmlform.ErrQuerySyntax
	}
	return &call{store: c.store, options: c.options, Request: &protocol.Request{
		Method: http.MethodGet, URL: u, Path: path, Query: query, Header: http.Header{}, Account: c.Account, Version: c.Version,
		Secure: u.Scheme == "https", Lenient: c.Lenient,
	}}, nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// readable returns the blob at an address, or the failure of a read of it. A trusted read needs no
// signature.
func (c *call) readable(a address, trusted bool, now time.Time) (*blob, *xmlform.Failure) {
	var f *protocol.Failure
	switch {
	case access.HasSignature(c.Request):
		c.rights, f = verify(c.Request)
	case !trusted:
		return nil, errPublicAccess
	}
	parent := c.store.containers[a.container]
	denied := c.permits(a, kinds.BlobGet, now)
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

// checkSource checks the conditions on the source. Operations other than Copy Blob read the source
// by conditions, and report how that fails.
func (c *call) checkSource(b *blob) *xmlform.Failure {
	x, f := c.conditionsOf("x-ms-source-")
	if f != nil {
		return f
	}
	f = x.checkRead(b.etag, b.modified)
	switch how := c.use(); {
	case f == nil:
		return nil
	case how == plainCopy, how == putContent && f.Status == http.StatusPreconditionFailed:
		return errSourceCondition
	}
	return unverified(f.Failure)
}

// fromSource returns the call with the content of its source as its body. A block can be a part of
// it.
func (c *call) fromSource(now time.Time) (*call, *blob, *xmlform.Failure) {
	const header = "x-ms-source-range"
	b, f := c.source(now)
	if f != nil {
		return c, nil, f
	}
	value := c.Header.Get(header)
	s, partial := parseRange(value)
	switch size := b.content.size(); {
	case value == "":
		s = span{0, size}
	case c.use() == putContent:
		return c, nil, xmlform.ErrNotImplemented
	case !partial:
		return c, nil, xmlform.InvalidHeader(header, value)
	case s.from >= size:
		return c, nil, unverified(errRange.Failure)
	default:
		s.to = min(s.to, size)
	}
	body := b.content.read(s)
	return c.withBody(body), b, c.checkSums(c.Header.Get("x-ms-source-content-md5"), "x-ms-source-content-crc64", body)
}

// putFromURL creates a block blob with the content of another blob. The block list of the source is
// not copied.
func (c *call) putFromURL(parent *container, name string, old *blob, now time.Time) *xmlform.Response {
	const header = "x-ms-copy-source-blob-properties"
	kind, own := c.Header.Get("x-ms-blob-type"), strings.ToLower(c.Header.Get(header))
	switch {
	case kind == "PageBlob":
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind != blockBlob:
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-blob-type", kind))
	case own != "" && own != "true" && own != "false":
		return xmlform.Refuse(xmlform.InvalidHeader(header, own))
	}
	filled, source, f := c.fromSource(now)
	if f != nil {
		return xmlform.Refuse(f)
	}
	if own == "false" {
		source = &blob{}
	}
	return filled.createBlob(parent, name, old, source, now)
}

// copyBlob makes a blob a copy of another blob of its type, with its blocks, properties and
// metadata. old is nil if there is no blob. The copy has ended when the response is sent.
func (c *call) copyBlob(parent *container, name string, old *blob, now time.Time) *xmlform.Response {
	if wait := c.Header.Get("x-ms-requires-sync"); wait != "" && !strings.EqualFold(wait, "true") {
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-requires-sync", wait))
	}
	source, f := c.source(now)
	if f != nil {
		return xmlform.Refuse(f)
	}
	metadata, f := c.metadata()
	if f == nil {
		f = c.checkTarget(source, old, now)
	}
	sum := ""
	if f == nil && c.use() == copyFromURL {
		sum, f = c.checkCopied(source)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	if metadata == nil {
		metadata = source.metadata
	}
	b := &blob{
		name: name, kind: source.kind, content: source.content.clone(), ids: source.ids, headers: source.headers, metadata: metadata,
		copied: &copied{c.store.nextID(), c.Header.Get(copySource), source.content.size(), now},
	}
	c.storeBlob(parent, b, now)
	header := b.header()
	header.Set("x-ms-copy-id", b.copied.id)
	header.Set("x-ms-copy-status", "success")
	if sum != "" {
		header.Set("Content-MD5", sum)
	}
	return &xmlform.Response{Status: http.StatusAccepted, Header: header}
}

// checkTarget checks the lease ID, the conditions and the type of the blob that a copy replaces.
// old is nil if there is none.
func (c *call) checkTarget(source, old *blob, now time.Time) *xmlform.Failure {
	f := c.checkCreate(old, now)
	switch {
	case f == errCondition && c.Version < versionCondition:
		return errTargetCondition
	case f != nil:
		return f
	case old != nil && old.lease.locked(now) && old.lease.seconds != infinite:
		return errFiniteLease
	case old.exists() && old.kind != source.kind:
		return errWrongBlobType
	case c.use() == copyFromURL && source.kind != blockBlob:
		return errSourceType
	}
	return nil
}

// checkCopied checks the MD5 of the content that Copy Blob From URL copies, and returns it if the
// response has it.
func (c *call) checkCopied(source *blob) (sum string, f *xmlform.Failure) {
	content, given := source.content.read(span{0, source.content.size()}), c.Header.Get("x-ms-source-content-md5")
	if given != "" || c.Version < versionCRC64 {
		sum = md5Text(content)
	}
	return sum, c.checkSums(given, "", content)
}

// abortCopy refuses to abort a copy: all copies have ended.
func (c *call) abortCopy(b *blob, now time.Time) *xmlform.Response {
	const parameter, header = "copyid", "x-ms-copy-action"
	id, action := c.Query.Get(parameter), c.Header.Get(header)
	_, ok := protocol.ParseGUID(id)
	switch {
	case action == "":
		return xmlform.Refuse(xmlform.MissingHeader(header))
	case action != "abort":
		return xmlform.Refuse(xmlform.InvalidHeader(header, action))
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

// clone returns a content with the same blocks.
func (c *content) clone() content { return content{slices.Clone(c.blocks), slices.Clone(c.ends)} }
