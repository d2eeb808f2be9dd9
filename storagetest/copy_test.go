package storagetest_test

import (
	"bytes"
	"fmt"
	"hash/crc64"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/aztablekit/aztablekit/storagetest"
)

// copier is a client of a new account with a block blob of two blocks called src.
type copier struct {
	*blobClient
	etag string // of src
}

func newCopier(t *testing.T) *copier {
	r := &copier{blobClient: newBlobClient(t, storagetest.Options{})}
	r.expectCode(r.send("PUT", "/logs/src?comp=block&blockid=AAAA", "hel"), 201, "")
	r.expectCode(r.send("PUT", "/logs/src?comp=block&blockid=BBBB", "lo"), 201, "")
	committed := r.send("PUT", "/logs/src?comp=blocklist", blockList("Latest AAAA,Latest BBBB"), "x-ms-blob-content-type", "text/plain",
		"x-ms-blob-cache-control", "no-store", "x-ms-meta-color", "red")
	r.expectCode(committed, 201, "")
	r.etag = etag(committed)
	return r
}

// source returns the address of a blob of the account.
func (r *copier) source(name string) string {
	return "http://" + r.Account() + ".blob.storagetest.test/logs/" + name
}

// signed returns the address of a blob with a signature for reads.
func (r *copier) signed(name string) string {
	r.Helper()
	return r.signedBy(name, sas.BlobPermissions{Read: true}, 20)
}

// signedBy returns the address of a blob with a signature that ends some years after the account's
// time.
func (r *copier) signedBy(name string, permissions sas.BlobPermissions, years int) string {
	r.Helper()
	start := recordedTime.AddDate(-9, 0, 0)
	u, err := r.Blobs().NewContainerClient("logs").NewBlobClient(name).GetSASURL(permissions, recordedTime.AddDate(years, 0, 0), &blob.GetSASURLOptions{StartTime: &start})
	if err != nil {
		r.Fatal(err)
	}
	return strings.Replace(u, "https:", "http:", 1)
}

// copy copies src to dst by Copy Blob.
func (r *copier) copy(header ...string) response {
	r.Helper()
	return r.send("PUT", "/logs/dst", "", append([]string{"x-ms-copy-source", r.source("src")}, header...)...)
}

// TestCopy: a copy has the content, the blocks, the properties and the metadata of its source, and
// says where it comes from until it is replaced or its properties are. Its content is its own.
func TestCopy(t *testing.T) {
	t.Parallel()
	r := newCopier(t)
	got := r.copy()
	r.expectCode(got, 202, "")
	id := got.header.Get("x-ms-copy-id")
	if got.header.Get("x-ms-copy-status") != "success" || id == "" || etag(got) == "" || etag(got) == r.etag {
		t.Errorf("got %v; want a copy with an ETag of its own", got.header)
	}
	read := r.send("GET", "/logs/dst", "")
	for name, want := range map[string]string{
		"Content-Type": "text/plain", "Cache-Control": "no-store", "x-ms-meta-color": "red", "x-ms-blob-type": "BlockBlob", "ETag": etag(got),
		"x-ms-copy-id": id, "x-ms-copy-source": r.source("src"), "x-ms-copy-status": "success", "x-ms-copy-progress": "5/5",
		"x-ms-copy-completion-time": "Mon, 02 Oct 2017 20:21:54 GMT",
	} {
		if got := read.header.Get(name); got != want {
			t.Errorf("%s: got %q; want %q", name, got, want)
		}
	}
	if read.body != "hello" {
		t.Errorf("got content %q; want hello", read.body)
	}
	if got := r.send("GET", "/logs/dst?comp=blocklist", "").body; !strings.Contains(got, "<Name>AAAA</Name><Size>3</Size>") || !strings.Contains(got, "<Name>BBBB</Name>") {
		t.Errorf("got blocks %s; want those of the source", got)
	}
	const list = "/logs?restype=container&comp=list&prefix=dst"
	want := "<CopyId>" + id + "</CopyId><CopySource>" + r.source("src") + "</CopySource><CopyStatus>success</CopyStatus><CopyProgress>5/5</CopyProgress>" +
		"<CopyCompletionTime>Mon, 02 Oct 2017 20:21:54 GMT</CopyCompletionTime><ServerEncrypted>"
	if got := r.send("GET", list+"&include=copy", "").body; !strings.Contains(got, want) {
		t.Errorf("got list %s; want %s", got, want)
	}
	if got := r.send("GET", list, "").body; strings.Contains(got, "Copy") {
		t.Errorf("got list %s; want no copy without include=copy", got)
	}
	r.expectCode(r.send("PUT", "/logs/dst?comp=metadata", ""), 200, "")
	if r.send("HEAD", "/logs/dst", "").header.Get("x-ms-copy-id") != id {
		t.Error("after a change of the metadata: got no copy; want it")
	}
	r.expectCode(r.send("PUT", "/logs/dst?comp=properties", ""), 200, "")
	if got := r.send("HEAD", "/logs/dst", "").header.Get("x-ms-copy-id"); got != "" {
		t.Errorf("after a change of the properties: got copy %s; want none", got)
	}
	r.expectCode(r.copy("x-ms-meta-size", "9"), 202, "")
	if h := r.send("HEAD", "/logs/dst", "").header; h.Get("x-ms-meta-size") != "9" || h.Get("x-ms-meta-color") != "" {
		t.Errorf("got metadata of %v; want those of the request alone", h)
	}
	if again := r.copy().header.Get("x-ms-copy-id"); again == id {
		t.Errorf("got copy %s again; want another", id)
	}
	for range 3 { // then a slice of blocks has room for more
		r.expectCode(r.append("-"), 201, "")
	}
	r.expectCode(r.send("PUT", "/logs/log", "", "x-ms-copy-source", r.source("app.log")), 202, "")
	r.expectCode(r.send("PUT", "/logs/log?comp=appendblock", "two"), 201, "")
	r.expectCode(r.append("seven"), 201, "")
	if a, b := r.send("GET", "/logs/app.log", "").body, r.send("GET", "/logs/log", "").body; a != "---seven" || b != "---two" {
		t.Errorf("got %q and its copy %q; want ---seven and ---two", a, b)
	}
	r.expectCode(r.send("PUT", "/logs/dst?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "-1", "x-ms-proposed-lease-id", leaseA), 201, "")
	r.expectCode(r.copy("x-ms-lease-id", leaseA), 202, "")
	if got := r.send("HEAD", "/logs/dst", "").header.Get("x-ms-lease-state"); got != "leased" {
		t.Errorf("got lease state %q; want leased, as before the copy", got)
	}
	r.expectCode(r.send("PUT", "/logs/upper", "", "x-ms-copy-source", strings.Replace(r.source("src"), r.Account(), strings.ToUpper(r.Account()), 1)), 202, "")
	r.expectCode(r.send("PUT", "/logs/src", "", "x-ms-copy-source", r.source("src")), 202, "") // onto itself
	if got := r.send("GET", "/logs/src", "").body; got != "hello" {
		t.Errorf("onto itself: got %q; want hello", got)
	}
}

// TestCopyRefused: a copy that fails, with the codes of recordings, and changes nothing.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	r := newCopier(t)
	r.expectCode(r.copy(), 202, "")
	r.expectCode(r.send("PUT", "/logs/leased", "a", "x-ms-blob-type", "BlockBlob"), 201, "")
	r.expectCode(r.send("PUT", "/logs/leased?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "60", "x-ms-proposed-lease-id", leaseA), 201, "")
	r.expectCode(r.send("PUT", "/logs/staged?comp=block&blockid=AAAA", "a"), 201, "")
	own := etag(r.send("HEAD", "/logs/dst", ""))
	const (
		dst   = "PUT /logs/dst"
		other = `"0x8D4BCC2E4835CD0"`
		early = "Mon, 02 Jan 2006 15:04:05 GMT"
		late  = "Mon, 02 Jan 2040 15:04:05 GMT"
		newer = "x-ms-version: 2024-08-04\n"
	)
	from := "x-ms-copy-source: " + r.source("src") + "\n"
	put := "x-ms-blob-type: BlockBlob\nx-ms-version: 2020-10-02\nx-ms-copy-source: "
	r.expectRefused([]refused{
		{dst, "", from + "If-Match: " + other, 412, "TargetConditionNotMet"},
		{dst, "", newer + from + "If-Match: " + other, 412, "ConditionNotMet"},
		{dst, "", from + "If-None-Match: " + own, 412, "TargetConditionNotMet"},
		{dst, "", from + "If-None-Match: *", 409, "BlobAlreadyExists"},
		{dst, "", from + "If-Modified-Since: " + late, 412, "TargetConditionNotMet"},
		{dst, "", from + "If-Unmodified-Since: " + early, 412, "TargetConditionNotMet"},
		{dst, "", from + "x-ms-source-if-match: a", 412, "SourceConditionNotMet"},
		{dst, "", from + "x-ms-source-if-none-match: " + r.etag, 412, "SourceConditionNotMet"},
		{dst, "", from + "x-ms-source-if-modified-since: " + late, 412, "SourceConditionNotMet"},
		{dst, "", from + "x-ms-source-if-unmodified-since: " + early, 412, "SourceConditionNotMet"},
		{dst, "", "x-ms-copy-source: " + r.source("none"), 404, "BlobNotFound"},
		{dst, "", "x-ms-copy-source: " + r.source("staged"), 404, "BlobNotFound"},
		{dst, "", "x-ms-copy-source: http://" + r.Account() + ".blob.storagetest.test/none/a", 404, "ContainerNotFound"},
		{dst, "", "x-ms-copy-source: http://other.blob.storagetest.test/logs/src", 401, "CannotVerifyCopySource"},
		{dst, "", "x-ms-copy-source: http://" + r.Account() + ".file.storagetest.test/logs/src", 401, "CannotVerifyCopySource"},
		{dst, "", "x-ms-copy-source: http://example.test/" + r.Account() + "/logs/src", 401, "CannotVerifyCopySource"},
		{dst, "", "x-ms-copy-source: src", 400, "InvalidHeaderValue"},
		{dst, "", "x-ms-copy-source: " + r.source("src") + "?a=" + strings.Repeat("a", 2048), 400, "InvalidHeaderValue"},
		{dst, "", from + "x-ms-source-if-modified-since: yesterday", 400, "InvalidHeaderValue"},
		{dst, "", from + "x-ms-requires-sync: maybe", 400, "InvalidHeaderValue"},
		{dst, "", from + "x-ms-source-lease-id: " + leaseA, 501, "NotImplemented"},
		{dst, "", "x-ms-copy-source: " + r.source("src") + "?snapshot=2017-10-02T20:21:54.8228007Z", 501, "NotImplemented"},
		{dst, "a", from, 400, "InvalidHeaderValue"},
		{dst, "", from + "x-ms-access-tier: Cool", 501, "NotImplemented"},
		{"PUT /none/dst", "", from, 404, "ContainerNotFound"},
		{"PUT /logs/app.log", "", from, 409, "InvalidBlobType"},
		{"PUT /logs/leased", "", from + "If-None-Match: *", 412, "LeaseIdMissing"},
		{"PUT /logs/leased", "", from + "x-ms-lease-id: " + leaseB, 412, "LeaseIdMismatchWithBlobOperation"},
		{"PUT /logs/leased", "", from + "x-ms-lease-id: " + leaseA, 412, "InfiniteLeaseDurationRequired"},
		{dst + "?comp=copy&copyid=" + leaseA, "", "", 400, "MissingRequiredHeader"},
		{"PUT /logs/staged?comp=copy&copyid=" + leaseA, "", "x-ms-copy-action: abort", 404, "BlobNotFound"},
		{dst + "?comp=copy", "", "x-ms-copy-action: abort", 400, "MissingRequiredQueryParameter"},
		{dst + "?comp=copy&copyid=copynotstarted", "", "x-ms-copy-action: abort", 400, "InvalidQueryParameterValue"},
		{dst + "?comp=copy&copyid=" + leaseA, "", "x-ms-copy-action: abort", 409, "NoPendingCopyOperation"},
		// The copies that read their source need a signature for it, and pass its failure on.
		{dst, "", from + "x-ms-requires-sync: true", 409, "CannotVerifyCopySource"},
		{dst, "", put + r.source("src"), 409, "CannotVerifyCopySource"},
		{dst, "", put + r.signed("src") + "x", 403, "CannotVerifyCopySource"},
		{dst, "", put + strings.Replace(r.signed("src"), "/src?", "/dst?", 1), 403, "CannotVerifyCopySource"},
		{dst, "", put + r.signed("none"), 404, "CannotVerifyCopySource"},
		{dst, "", put + r.signed("src") + "\nx-ms-source-if-match: a", 412, "SourceConditionNotMet"},
		{dst, "", put + r.signed("src") + "\nx-ms-source-if-none-match: " + r.etag, 304, "CannotVerifyCopySource"},
		{dst, "", put + r.signed("src") + "\nIf-Match: " + other, 412, "ConditionNotMet"},
		{dst, "", put + r.signed("src") + "\nIf-None-Match: *", 409, "BlobAlreadyExists"},
		{dst, "", put + r.signed("src") + "\nx-ms-source-content-md5: AAAAAAAAAAAAAAAAAAAAAA==", 400, "Md5Mismatch"},
		{dst, "", put + r.signed("src") + "\nx-ms-copy-source-blob-properties: x", 400, "InvalidHeaderValue"},
		{dst, "", strings.Replace(put, "BlockBlob", "AppendBlob", 1) + r.signed("src"), 400, "InvalidHeaderValue"},
		{dst, "a", put + r.signed("src"), 400, "InvalidHeaderValue"},
		{dst, "", put + r.signed("src") + "\nx-ms-source-range: bytes=1-2", 501, "NotImplemented"},
		{dst, "", put + r.signed("src") + "\nContent-MD5: XUFAKrxLKna5cZ2REBfFkg==", 501, "NotImplemented"},
		{dst, "", put + r.signed("src") + "\nx-ms-structured-body: XSM/1.0; properties=crc64", 501, "NotImplemented"},
		{dst + "?comp=blocklist", blockList(""), "x-ms-structured-body: XSM/1.0; properties=crc64", 501, "NotImplemented"},
		{dst, "", put + r.signedBy("src", sas.BlobPermissions{Write: true}, 20), 403, "CannotVerifyCopySource"},
		{dst, "", put + r.signedBy("src", sas.BlobPermissions{Read: true}, -1), 403, "CannotVerifyCopySource"},
		{dst, "", put + strings.Replace(r.signed("src"), "http:", "https:", 1) + "&spr=http", 403, "CannotVerifyCopySource"},
		{dst + "?comp=block&blockid=AAAA", "", "x-ms-copy-source: " + r.signed("src") + "\nx-ms-source-range: x", 400, "InvalidHeaderValue"},
		{dst, "", "x-ms-requires-sync: true\nx-ms-copy-source: " + r.signed("src") + "\nx-ms-source-if-match: a", 412, "CannotVerifyCopySource"},
		{dst, "", "x-ms-requires-sync: true\nx-ms-copy-source: " + r.signed("src") + "\nx-ms-source-content-md5: AAAAAAAAAAAAAAAAAAAAAA==", 400, "Md5Mismatch"},
		{dst + "?comp=block&blockid=AAAA", "", "x-ms-copy-source: " + r.signed("src") + "\nx-ms-source-if-match: a", 412, "CannotVerifyCopySource"},
		{dst + "?comp=block&blockid=AAAA", "", "x-ms-copy-source: " + r.signed("src") + "\nx-ms-source-range: bytes=9-10", 416, "CannotVerifyCopySource"},
		{dst, "", "x-ms-requires-sync: true\nx-ms-copy-source: " + r.signed("app.log"), 409, "InvalidBlobType"},
		{"PUT /logs/new", "", "x-ms-requires-sync: true\nx-ms-copy-source: " + r.signed("app.log"), 409, "CannotVerifyCopySource"},
	}, r.state)
}

// TestFromURL: blobs and blocks whose content comes from another blob.
func TestFromURL(t *testing.T) {
	t.Parallel()
	r := newCopier(t)
	src := r.signed("src")
	got := r.send("PUT", "/logs/put", "", "x-ms-blob-type", "BlockBlob", "x-ms-copy-source", src, "x-ms-blob-content-type", "text/html",
		"x-ms-source-content-md5", "XUFAKrxLKna5cZ2REBfFkg==")
	r.expectCode(got, 201, "")
	if got.header.Get("Content-MD5") != "XUFAKrxLKna5cZ2REBfFkg==" || got.header.Get("x-ms-copy-id") != "" {
		t.Errorf("got %v; want the MD5 of the content and no copy", got.header)
	}
	read := r.send("GET", "/logs/put", "")
	if h := read.header; read.body != "hello" || h.Get("Content-Type") != "text/html" || h.Get("Cache-Control") != "no-store" || h.Get("x-ms-meta-color") != "red" {
		t.Errorf("got %q, %v; want the content and the properties of the source, but the type of the request", read.body, h)
	}
	if got := r.send("GET", "/logs/put?comp=blocklist", "").body; strings.Contains(got, "AAAA") {
		t.Errorf("got blocks %s; want none", got)
	}
	r.expectCode(r.send("PUT", "/logs/bare", "", "x-ms-blob-type", "BlockBlob", "x-ms-copy-source", src, "x-ms-copy-source-blob-properties", "false"), 201, "")
	if h := r.send("HEAD", "/logs/bare", "").header; h.Get("Content-Type") != "application/octet-stream" || h.Get("Cache-Control")+h.Get("x-ms-meta-color") != "" {
		t.Errorf("got %v; want no properties of the source", h)
	}
	for i, c := range []struct{ request, span, want string }{
		{"?comp=block&blockid=AAAA", "bytes=1-2", "el"}, {"?comp=block&blockid=BBBB", "bytes=3-99", "lo"}, {"?comp=block&blockid=CCCC", "", "hello"},
	} {
		r.expectCode(r.send("PUT", "/logs/parts"+c.request, "", "x-ms-copy-source", src, "x-ms-source-range", c.span), 201, "")
		id := strings.TrimPrefix(c.request, "?comp=block&blockid=")
		if got := r.send("GET", "/logs/parts?comp=blocklist&blocklisttype=uncommitted", "").body; !strings.Contains(got, fmt.Sprintf("<Name>%s</Name><Size>%d</Size>", id, len(c.want))) {
			t.Errorf("block %d: got %s; want a block of %q", i, got, c.want)
		}
	}
	r.expectCode(r.send("PUT", "/logs/parts?comp=blocklist", blockList("Latest CCCC,Latest AAAA")), 201, "")
	got = r.send("PUT", "/logs/app.log?comp=appendblock", "", "x-ms-copy-source", src, "x-ms-source-range", "bytes=0-0",
		"x-ms-source-content-md5", "JRCTYQVYfaGgqpqg+T5jxQ==")
	r.expectCode(got, 400, "Md5Mismatch")
	got = r.send("PUT", "/logs/app.log?comp=appendblock", "", "x-ms-copy-source", src, "x-ms-source-range", "bytes=0-0",
		"x-ms-source-content-md5", "JRDDkBHFvnBBgkI+OmlekQ==", "x-ms-version", "2026-12-06")
	r.expectCode(got, 201, "")
	if h := got.header; h.Get("Content-MD5") != "JRDDkBHFvnBBgkI+OmlekQ==" || h.Get("x-ms-content-crc64") == "" {
		t.Errorf("got %v; want both checksums, since version 2026-10-06", h)
	}
	if a, b := r.send("GET", "/logs/parts", "").body, r.send("GET", "/logs/app.log", "").body; a != "helloel" || b != "h" {
		t.Errorf("got %q and %q; want helloel and h", a, b)
	}
	got = r.send("PUT", "/logs/synced", "", "x-ms-copy-source", src, "x-ms-requires-sync", "True", "x-ms-version", "2020-10-02")
	r.expectCode(got, 202, "")
	if got.header.Get("Content-MD5") != "" {
		t.Errorf("got %v; want no MD5 that the request did not send", got.header)
	}
	if got.header.Get("x-ms-copy-status") != "success" || !strings.Contains(r.send("GET", "/logs/synced?comp=blocklist", "").body, "BBBB") {
		t.Errorf("got %v; want a copy with the blocks of the source", got.header)
	}
}

// TestCopySignature: a signature on the request is for the target alone. The source then needs one
// of its own.
func TestCopySignature(t *testing.T) {
	t.Parallel()
	r := newCopier(t)
	u, err := r.Blobs().NewContainerClient("logs").GetSASURL(sas.ContainerPermissions{Read: true, Create: true, Write: true}, recordedTime.AddDate(20, 0, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.NewClientWithNoCredential(u, &container.ClientOptions{ClientOptions: overHTTPS(r.Service)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.NewBlobClient("dst").StartCopyFromURL(t.Context(), r.source("src"), nil)
	if code(err) != "CannotVerifyCopySource" {
		t.Errorf("a source without a signature: got %v; want CannotVerifyCopySource", err)
	}
	got, err := c.NewBlobClient("dst").StartCopyFromURL(t.Context(), r.signed("src"), &blob.StartCopyFromURLOptions{Metadata: map[string]*string{"a": to.Ptr("1")}})
	if err != nil || got.CopyStatus == nil || *got.CopyStatus != blob.CopyStatusTypeSuccess {
		t.Errorf("got %v, %v; want success", got.CopyStatus, err)
	}
}

// TestCopySecure: a signature of the source that is for HTTPS is not for an address with HTTP.
func TestCopySecure(t *testing.T) {
	t.Parallel()
	r := newCopier(t)
	key, err := blob.NewSharedKeyCredential(r.Account(), r.Key())
	if err != nil {
		t.Fatal(err)
	}
	q, err := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPS, ExpiryTime: recordedTime.AddDate(20, 0, 0), Permissions: "r", ContainerName: "logs", BlobName: "src",
	}.SignWithSharedKey(key)
	if err != nil {
		t.Fatal(err)
	}
	source := r.source("src") + "?" + q.Encode()
	r.expectCode(r.copy("x-ms-copy-source", source, "x-ms-requires-sync", "true"), 403, "CannotVerifyCopySource")
	r.expectCode(r.copy("x-ms-copy-source", strings.Replace(source, "http:", "https:", 1), "x-ms-requires-sync", "true"), 202, "")
}

// TestCopyAtPort: at a port, the source is a path that begins with the account, by any name of this
// machine.
func TestCopyAtPort(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	connection := listen(t, s)
	c, err := container.NewClientFromConnectionString(connection, "logs", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, created := c.Create(t.Context(), nil)
	_, put := c.NewBlockBlobClient("src").UploadBuffer(t.Context(), []byte("hello"), nil)
	source := c.NewBlobClient("src").URL()
	_, copied := c.NewBlobClient("one").StartCopyFromURL(t.Context(), source, nil)
	_, byName := c.NewBlobClient("two").StartCopyFromURL(t.Context(), strings.Replace(source, "127.0.0.1", "localhost", 1), nil)
	if created != nil || put != nil || copied != nil || byName != nil || len(s.StoredBlobs("logs")) != 3 {
		t.Errorf("got %v, %v, %v, %v and %d blobs; want no errors and 3", created, put, copied, byName, len(s.StoredBlobs("logs")))
	}
}

// TestCopyLag: the second location makes the same copy, with the same ID.
func TestCopyLag(t *testing.T) {
	t.Parallel()
	s := storagetest.New(&storagetest.Options{GeoRedundant: true})
	s.SetLag(time.Minute)
	sendToken(t, s, "blob", "PUT", "/logs?restype=container", "")
	sendToken(t, s, "blob", "PUT", "/logs/src", "hello", "x-ms-blob-type", "BlockBlob")
	source := "https://storagetest.blob.storagetest.test/logs/src"
	id := sendToken(t, s, "blob", "PUT", "/logs/dst", "", "x-ms-copy-source", source).header.Get("x-ms-copy-id")
	s.Advance(time.Hour)
	c, err := container.NewClientFromConnectionString(s.SecondaryConnectionString(), "logs", &container.ClientOptions{ClientOptions: overHTTPS(s)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.NewBlobClient("dst").GetProperties(t.Context(), nil)
	if err != nil || got.CopyID == nil || *got.CopyID != id || id == "" {
		t.Errorf("got copy %v, %v; want %s", got.CopyID, err, id)
	}
}

// TestStructured: a structured message is decoded when it is written and made when it is read, and
// one that is damaged is refused.
func TestStructured(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	const form = "XSM/1.0; properties=crc64"
	content := strings.Repeat("0123456789", 5)
	message := structuredMessage(content, 30)
	length := fmt.Sprint(len(content))
	put := func(path, body, length string, header ...string) response {
		return r.send("PUT", path, body, append([]string{"x-ms-blob-type", "BlockBlob", "x-ms-structured-body", form, "x-ms-structured-content-length", length}, header...)...)
	}
	for _, path := range []string{"/logs/b", "/logs/c?comp=block&blockid=AAAA", "/logs/app.log?comp=appendblock"} {
		got := put(path, message, length, "x-ms-version", "2026-12-06")
		r.expectCode(got, 201, "")
		if got.header.Get("x-ms-structured-body") != form {
			t.Errorf("%s: got %v; want the form of the body", path, got.header)
		}
	}
	r.expectCode(r.send("PUT", "/logs/c?comp=blocklist", blockList("Latest AAAA")), 201, "")
	for _, name := range []string{"b", "c", "app.log"} {
		if got := r.send("GET", "/logs/"+name, "").body; got != content {
			t.Errorf("%s: got %d bytes; want the content", name, len(got))
		}
	}
	large := strings.Repeat("0123456789abcdef", 4<<20/16) + "rest" // two segments in a response
	r.expectCode(r.send("PUT", "/logs/large", large, "x-ms-blob-type", "BlockBlob"), 201, "")
	for request, want := range map[[2]string]string{{"b", ""}: content, {"b", "bytes=5-9"}: "56789", {"large", ""}: large} {
		name, span := request[0], request[1]
		got := r.send("GET", "/logs/"+name, "", "x-ms-structured-body", form, "Range", span)
		if got.header.Get("x-ms-structured-content-length") != fmt.Sprint(len(want)) || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) || got.body != structuredMessage(want, 4<<20) {
			t.Errorf("%s, range %q: got %d bytes, %v; want a structured message of %d bytes", name, span, len(got.body), got.header, len(want))
		}
	}
	changed := func(at int) string {
		b := []byte(message)
		b[at] ^= 0x10
		return string(b)
	}
	longer := []byte(message + "x")
	longer[1]++ // the length of the message
	for name, c := range map[string]struct {
		body, length string
		code         string
	}{
		"a damaged content": {changed(30), length, "Crc64Mismatch"}, "a short message": {message[:len(message)-1], length, "InvalidInput"},
		"another version": {changed(0), length, "InvalidInput"}, "another length of the message": {changed(1), length, "InvalidInput"},
		"another flag": {changed(9), length, "InvalidInput"}, "more segments": {changed(11), length, "InvalidInput"},
		"another number": {changed(13), length, "InvalidInput"}, "a longer segment": {changed(22), length, "InvalidInput"},
		"bytes after the message": {string(longer), length, "InvalidInput"}, "a damaged checksum": {changed(len(message) - 1), length, "Crc64Mismatch"},
		"no message": {"hello", "5", "InvalidInput"}, "another length": {message, "5", "InvalidHeaderValue"}, "an empty message": {"", "0", "InvalidInput"},
	} {
		if got := put("/logs/d", c.body, c.length); got.status != 400 || got.header.Get("x-ms-error-code") != c.code {
			t.Errorf("%s: got %d %v; want 400 %s", name, got.status, got.header, c.code)
		}
	}
	r.expectCode(r.send("PUT", "/logs/d", message, "x-ms-blob-type", "BlockBlob", "x-ms-structured-body", form), 400, "MissingRequiredHeader")
	r.expectCode(r.send("PUT", "/logs/d", message, "x-ms-blob-type", "BlockBlob", "x-ms-structured-body", "XSM/9.0"), 400, "InvalidHeaderValue")
}

// structuredMessage returns content as the SDK's clients send it, in segments of a size.
func structuredMessage(content string, size int) string {
	var b bytes.Buffer
	little := func(n uint64, width int) {
		for range width {
			b.WriteByte(byte(n))
			n >>= 8
		}
	}
	segments := max(1, (len(content)+size-1)/size)
	little(1, 1)
	little(uint64(13+segments*18+len(content)+8), 8)
	little(1, 2)
	little(uint64(segments), 2)
	for i := range segments {
		part := content[i*size : min(len(content), (i+1)*size)]
		little(uint64(i+1), 2)
		little(uint64(len(part)), 8)
		b.WriteString(part)
		little(crcOf(part), 8)
	}
	little(crcOf(content), 8)
	return b.String()
}

// crcOf returns the CRC64 of the service.
func crcOf(content string) uint64 {
	return crc64.Checksum([]byte(content), crc64.MakeTable(0x9A6C9329AC4BC9B5))
}
