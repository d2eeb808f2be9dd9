package storagetest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// photo is the path of the block blob of these tests.
const photo = "/logs/photo.jpg"

// put creates a block blob by one request.
func (r *blobClient) put(text string, header ...string) response {
	r.Helper()
	return r.send("PUT", photo, text, append([]string{"x-ms-blob-type", "BlockBlob"}, header...)...)
}

// stage puts an uncommitted block.
func (r *blobClient) stage(id, text string, header ...string) response {
	r.Helper()
	return r.send("PUT", photo+"?comp=block&blockid="+id, text, header...)
}

// commit commits a list of blocks, such as "Latest AAAA,Committed BBBB".
func (r *blobClient) commit(list string, header ...string) response {
	r.Helper()
	return r.send("PUT", photo+"?comp=blocklist", blockList(list), header...)
}

// blockList returns the body of a request that commits blocks.
func blockList(list string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for entry := range strings.SplitSeq(list, ",") {
		if kind, id, ok := strings.Cut(entry, " "); ok {
			b.WriteString("<" + kind + ">" + id + "</" + kind + ">")
		}
	}
	return b.String() + "</BlockList>"
}

// blocks returns the blocks of the blob, such as "AAAA=3 BBBB=2 | CCCC=1", with the committed ones first, or the error code.
func (r *blobClient) blocks() string {
	r.Helper()
	a := r.send("GET", photo+"?comp=blocklist&blocklisttype=all", "")
	if a.status != 200 {
		return a.header.Get("x-ms-error-code")
	}
	list := strings.NewReplacer("<CommittedBlocks />", "", "<UncommittedBlocks />", "|", "<UncommittedBlocks>", "|", "<Block><Name>", " ", "</Name><Size>", "=",
		"</Size></Block>", " ", "<CommittedBlocks>", "", "</CommittedBlocks>", "", "</UncommittedBlocks>", "").Replace(part(a.body, "BlockList"))
	return strings.Join(strings.Fields(strings.ReplaceAll(list, "|", " | ")), " ")
}

// expectContent checks the content of the blob.
func (r *blobClient) expectContent(want string) {
	r.Helper()
	if a := r.send("GET", photo, ""); a.status != 200 || a.body != want {
		r.Errorf("got %d %q; want %q", a.status, a.body, want)
	}
}

// TestBlockBlobResponses: the responses to a block blob's requests have the recorded headers and bodies.
func TestBlockBlobResponses(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	const (
		length   = "content-length: 0"
		date     = "date: " + inserted
		server   = "server: Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0"
		modified = "last-modified: " + inserted
		version  = "x-ms-version: 2018-03-28"
		newer    = "x-ms-version: 2021-12-02"
		secret   = "x-ms-request-server-encrypted: true"
		xml      = "content-type: application/xml"
	)
	all := func(method, query string) response {
		return r.send(method, photo+"?comp=blocklist&blocklisttype="+query, "")
	}
	a := r.put("")
	r.expect(a, 201, "")
	r.expectHeader(a, length, "content-md5: 1B2M2Y8AsgTpgAmY7PhCfg==", date, "etag: "+etag(a), modified, server, secret, version)
	a = all("GET", "all")
	r.expect(a, 200, xmlHead+"<BlockList><CommittedBlocks /><UncommittedBlocks /></BlockList>")
	r.expectHeader(a, xml, date, `etag: "0x8D509D3396169A9"`, modified, server, "x-ms-blob-content-length: 0", version)
	r.expect(r.send("DELETE", photo, ""), 202, "")

	// Uncommitted blocks: the blob has no ETag yet.
	for i, md5 := range []string{"4fr/s+YU5sL7p0KWliOGtw==", "K7Il8LqaWJMHV6ho7VfZow==", "3vuZ5pqfH24G8VAGsfFmrg=="} {
		a := r.stage([]string{"MQ==", "Mg==", "Mw=="}[i], strings.Repeat(string(rune('A'+i)), 3))
		r.expect(a, 201, "")
		r.expectHeader(a, length, "content-md5: "+md5, date, server, secret, version)
	}
	a = r.stage("MQ==", "HelloWorld", "x-ms-version", "2021-12-02")
	r.expectHeader(a, length, date, server, "x-ms-content-crc64: 8R2aIe9T07E=", secret, newer)
	r.expect(r.stage("MQ==", "AAA"), 201, "")
	a = all("GET", "uncommitted")
	const three = "<Block><Name>MQ==</Name><Size>3</Size></Block><Block><Name>Mg==</Name><Size>3</Size></Block><Block><Name>Mw==</Name><Size>3</Size></Block>"
	r.expect(a, 200, xmlHead+"<BlockList><UncommittedBlocks>"+three+"</UncommittedBlocks></BlockList>")
	r.expectHeader(a, xml, date, server, version)
	a = r.send("PUT", photo+"?comp=blocklist", "<?xml version='1.0' encoding='utf-8'?>\n<BlockList><Latest>MQ==</Latest><Latest>Mg==</Latest><Latest>Mw==</Latest></BlockList>",
		"x-ms-blob-content-type", "image/jpeg", "x-ms-blob-content-md5", "bm90IGNoZWNrZWQgaGVyZQ==")
	r.expect(a, 201, "")
	r.expectHeader(a, length, "content-md5: GD5pABqdSyI51XhMKrkBRA==", date, "etag: "+etag(a), modified, server, secret, version)
	tag := etag(a)
	a = all("GET", "committed")
	r.expect(a, 200, xmlHead+"<BlockList><CommittedBlocks>"+three+"</CommittedBlocks></BlockList>")
	r.expectHeader(a, xml, date, "etag: "+tag, modified, server, "x-ms-blob-content-length: 9", version)
	if got := r.send("GET", photo+"?comp=blocklist", "").body; got != a.body {
		t.Errorf("the blocks without a type: got %s; want the committed ones", got)
	}
	for method, body := range map[string]string{"GET": "AAABBBCCC", "HEAD": ""} {
		a := r.send(method, photo, "")
		r.expect(a, 200, body)
		r.expectHeader(a, "accept-ranges: bytes", "content-length: 9", "content-md5: bm90IGNoZWNrZWQgaGVyZQ==", "content-type: image/jpeg", date, "etag: "+tag, modified, server,
			"x-ms-blob-type: BlockBlob", "x-ms-creation-time: "+inserted, "x-ms-lease-state: available", "x-ms-lease-status: unlocked", "x-ms-server-encrypted: true", version)
	}
	a = r.put("HelloWorld", "x-ms-version", "2021-12-02")
	r.expectHeader(a, length, "content-md5: aOEJ8PQMpyoV4FzCJ4b45g==", date, "etag: "+etag(a), modified, server, "x-ms-content-crc64: 8R2aIe9T07E=", secret, newer)
}

// TestBlocks: a block list chooses among the committed and the uncommitted blocks, and all other blocks are discarded.
func TestBlocks(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	if got := r.blocks(); got != "BlobNotFound" {
		t.Errorf("got blocks %s; want BlobNotFound", got)
	}
	steps := []struct {
		step          func() response
		blocks, after string // the content afterwards, "-" for BlobNotFound
	}{
		{func() response { return r.stage("BBBB", "b") }, "| BBBB=1", "-"},
		{func() response { return r.stage("AAAA", "aa") }, "| AAAA=2 BBBB=1", "-"},
		{func() response { return r.stage("AAAA", "aaa") }, "| AAAA=3 BBBB=1", "-"},
		{func() response { return r.commit("Latest BBBB,Uncommitted AAAA") }, "BBBB=1 AAAA=3 |", "baaa"},
		{func() response { return r.stage("BBBB", "B") }, "BBBB=1 AAAA=3 | BBBB=1", "baaa"},
		{func() response { return r.commit("Committed BBBB,Uncommitted BBBB,Latest BBBB,Latest AAAA") }, "BBBB=1 BBBB=1 BBBB=1 AAAA=3 |", "bBBaaa"},
		{func() response { return r.stage("CCCC", "ccc") }, "BBBB=1 BBBB=1 BBBB=1 AAAA=3 | CCCC=3", "bBBaaa"},
		{func() response { return r.commit("Committed AAAA") }, "AAAA=3 |", "aaa"},
		{func() response { return r.stage("DDDD", "d") }, "AAAA=3 | DDDD=1", "aaa"},
		{func() response { return r.put("one") }, "|", "one"},
		{func() response { return r.stage("EEEE", "e") }, "| EEEE=1", "one"},
		{func() response { return r.commit("") }, "|", ""},
		{func() response { return r.stage("AAB", "f") }, "BlobNotFound", ""}, // no base64
		{func() response { return r.stage("GGGGGGGG", "g") }, "| GGGGGGGG=1", ""},
	}
	for i, s := range steps {
		a := s.step()
		if strings.Contains(s.blocks, "NotFound") {
			r.expectCode(a, 400, "InvalidQueryParameterValue")
			continue
		}
		r.expect(a, 201, "")
		if got := r.blocks(); got != s.blocks {
			t.Errorf("step %d: got blocks %s; want %s", i, got, s.blocks)
		}
		if s.after == "-" {
			r.expectCode(r.send("GET", photo, ""), 404, "BlobNotFound")
			continue
		}
		r.expectContent(s.after)
	}
	r.expect(r.send("DELETE", photo, ""), 202, "")
	if got := r.blocks(); got != "BlobNotFound" {
		t.Errorf("after the deletion: got blocks %s; want BlobNotFound", got)
	}
}

// TestUncommittedBlob: a blob with uncommitted blocks only is missing for all requests but those for blocks and leases, and the
// service discards the blocks a week after the last one.
func TestUncommittedBlob(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.stage("AAAA", "a"), 201, "")
	before := r.state()
	for _, request := range []string{"GET", "HEAD", "DELETE", "PUT ?comp=metadata", "PUT ?comp=properties", "GET ?comp=metadata", "PUT ?comp=appendblock"} {
		method, query, _ := strings.Cut(request, " ")
		body := ""
		if strings.Contains(query, "append") {
			body = "a"
		}
		r.expectCode(r.send(method, photo+query, body), 404, "BlobNotFound")
	}
	if after := r.state(); after != before || len(r.StoredBlobs("logs")) != 1 {
		t.Errorf("got %s; want %s", after, before)
	}
	list := func(include string) string {
		return r.send("GET", "/logs?restype=container&comp=list&prefix=p"+include, "").body
	}
	if got := part(list(""), "Blobs"); got != "" {
		t.Errorf("a list without uncommitted blobs: got %s; want none", got)
	}
	if got, want := part(list("&include=metadata,uncommittedblobs"), "Properties"), "<Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><ServerEncrypted>false</ServerEncrypted>"; got != want {
		t.Errorf("a list with uncommitted blobs: got %s; want %s", got, want)
	}
	r.now = r.now.Add(7*24*time.Hour - time.Second)
	r.expect(r.stage("BBBB", "b"), 201, "")
	r.now = r.now.Add(time.Second)
	if got := r.blocks(); got != "| AAAA=1 BBBB=1" {
		t.Errorf("a week after the first block: got blocks %s; want both", got)
	}
	r.now = r.now.Add(7 * 24 * time.Hour)
	if got := part(list("&include=uncommittedblobs"), "Blobs"); got != "" {
		t.Errorf("a week after the last block: got %s; want none", got)
	}
	if got := r.blocks(); got != "BlobNotFound" {
		t.Errorf("a week after the last block: got blocks %s; want BlobNotFound", got)
	}
	r.expect(r.stage("CCCCCCCC", "c"), 201, "") // no other ID determines the length
	r.expect(r.put("one", "If-None-Match", "*"), 201, "")
	r.expect(r.stage("AAAA", "a"), 201, "")
	r.now = r.now.Add(7 * 24 * time.Hour)
	r.expectContent("one")
	if got := r.blocks(); got != "|" {
		t.Errorf("a week after the last block of a committed blob: got blocks %s; want none", got)
	}
}

// TestBlockBlobReplacesTypes: a request that creates a blob replaces a blob of another type, and a request for blocks does not.
func TestBlockBlobReplacesTypes(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.create(photo)
	r.expectCode(r.stage("AAAA", "a"), 409, "InvalidBlobType")
	r.expectCode(r.commit(""), 409, "InvalidBlobType")
	r.expectError(r.send("GET", photo+"?comp=blocklist", ""), 409, "InvalidBlobType", "The blob type is invalid for this operation.", "")
	r.expect(r.put("one"), 201, "")
	r.expectCode(r.send("PUT", photo+"?comp=appendblock", "a"), 409, "InvalidBlobType")
	r.expectContent("one")
	r.expect(r.stage("AAAA", "a"), 201, "")
	r.create(photo)
	r.expectContent("")
	if got := r.blocks(); got != "InvalidBlobType" {
		t.Errorf("got blocks %s; want InvalidBlobType", got)
	}
	if b := r.StoredBlobs("logs")[1]; b.Type != "AppendBlob" || len(b.Blocks) != 0 {
		t.Errorf("got %+v; want an empty append blob", b)
	}
}

// TestBlockBlobLease: a lease protects a block blob, also one with uncommitted blocks only, and outlasts its content.
func TestBlockBlobLease(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	l := &leaseClient{r, photo + "?"}
	with := []string{"x-ms-lease-id", leaseA}
	if got := l.change("acquire", "", leaseA, "-1"); got != "404 BlobNotFound" {
		t.Errorf("a lease of a missing blob: got %s; want 404", got)
	}
	r.expect(r.stage("AAAA", "a"), 201, "")
	if got := l.change("acquire", "", leaseA, "-1"); got != "201 "+leaseA {
		t.Errorf("a lease of an uncommitted blob: got %s; want 201", got)
	}
	for range 2 { // uncommitted, then committed
		r.expectCode(r.stage("BBBB", "b"), 412, "LeaseIdMissing")
		r.expectCode(r.stage("BBBB", "b", "x-ms-lease-id", leaseB), 412, "LeaseIdMismatchWithBlobOperation")
		r.expectCode(r.commit("Latest AAAA"), 412, "LeaseIdMissing")
		r.expectCode(r.put("one"), 412, "LeaseIdMissing")
		r.expect(r.stage("BBBB", "b", with...), 201, "")
		r.expectCode(r.send("GET", photo+"?comp=blocklist&blocklisttype=all", "", "x-ms-lease-id", leaseB), 412, "LeaseIdMismatchWithBlobOperation")
		r.expect(r.commit("Latest BBBB", with...), 201, "")
	}
	r.expectContent("b")
	r.expect(r.put("one", with...), 201, "")
	if got := l.leaseState(); got != "locked leased infinite" {
		t.Errorf("got lease %s; want locked leased infinite", got)
	}
}

// TestBlockBlobLimits: a refused request changes nothing, and a request just within the limits succeeds.
func TestBlockBlobLimits(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.put("one"), 201, "")
	r.expect(r.stage("AAAA", "a"), 201, "")
	const stage, commit = "PUT " + photo + "?comp=block", "PUT " + photo + "?comp=blocklist"
	longID := strings.Repeat("A", 88)
	r.expectRefused([]refused{
		{stage, "a", "", 400, "MissingRequiredQueryParameter"},
		{stage + "&blockid=A", "a", "", 400, "InvalidQueryParameterValue"},
		{stage + "&blockid=AAA", "a", "", 400, "InvalidQueryParameterValue"},
		{stage + "&blockid=_-AA", "a", "", 400, "InvalidQueryParameterValue"},
		{stage + "&blockid=" + longID, "a", "", 400, "OutOfRangeInput"},
		{stage + "&blockid=AAAAAAAA", "a", "", 400, "InvalidBlobOrBlock"},
		{stage + "&blockid=BBBB", "", "", 400, "InvalidHeaderValue"},
		{stage + "&blockid=BBBB", "a", "Content-MD5: XrY7u+Ae7tCTyyK7j1rNww==", 400, "Md5Mismatch"},
		{stage + "&blockid=BBBB", "a", "x-ms-content-crc64: AAAAAAAAAAA=", 400, "Crc64Mismatch"},
		{stage + "&blockid=BBBB", "a", "x-ms-content-crc64: AAAA", 400, "InvalidHeaderValue"},
		{stage + "&blockid=BBBB", "a", "x-ms-content-crc64: ?", 400, "InvalidHeaderValue"},
		{stage + "&blockid=BBBB", strings.Repeat("x", 4<<20+1), "x-ms-version: 2015-12-11", 413, "RequestBodyTooLarge"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nContent-MD5: XrY7u+Ae7tCTyyK7j1rNww==", 400, "Md5Mismatch"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nx-ms-blob-content-md5: XrY7u+Ae7tCTyyK7j1rNww==", 400, "Md5Mismatch"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nx-ms-blob-content-md5: XrY7u+Ae7tCTyyK7j1rNww==\nContent-MD5: DMF1ucDxtqgxw5niaXcmYQ==", 400, "Md5Mismatch"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nx-ms-content-crc64: AAAAAAAAAAA=", 400, "Crc64Mismatch"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nIf-None-Match: *", 409, "BlobAlreadyExists"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nIf-Match: \"0x8D6D41706E2489F\"", 412, "ConditionNotMet"},
		{"PUT " + photo, "a", "x-ms-blob-type: BlockBlob\nx-ms-meta-a: " + strings.Repeat("a", 8192), 400, "MetadataTooLarge"},
		{"PUT " + photo, "", "", 400, "MissingRequiredHeader"},
		{commit, blockList("Latest BBBB"), "", 400, "InvalidBlockList"},
		{commit, blockList("Committed AAAA"), "", 400, "InvalidBlockList"},
		{commit, blockList("Latest AAAA,Latest BBBB"), "", 400, "InvalidBlockList"},
		{commit, blockList("Latest ?"), "", 400, "InvalidBlockId"},
		{commit, blockList("Latest " + longID), "", 400, "InvalidBlockId"},
		{commit, "<BlockList><Latest /></BlockList>", "", 400, "InvalidBlockId"},
		{commit, blockList("Newest AAAA"), "", 400, "InvalidXmlDocument"},
		{commit, "", "", 400, "InvalidXmlDocument"},
		{commit, "<BlockList>", "", 400, "InvalidXmlDocument"},
		{commit, "<Blocks />", "", 400, "InvalidXmlDocument"},
		{commit, blockList("") + blockList(""), "", 400, "InvalidXmlDocument"},
		{commit, blockList(""), "Content-MD5: XrY7u+Ae7tCTyyK7j1rNww==", 400, "Md5Mismatch"},
		{commit, blockList(""), "If-None-Match: *", 409, "BlobAlreadyExists"},
		{commit, blockList(""), "If-Match: \"0x8D6D41706E2489F\"", 412, "ConditionNotMet"},
		{commit, blockList(""), "x-ms-access-tier: Cool", 501, "NotImplemented"},
		{"GET " + photo + "?comp=blocklist&blocklisttype=some", "", "", 400, "InvalidQueryParameterValue"},
		{"GET " + photo + "?comp=blocklist", "", "If-Match: \"0x8D6D41706E2489F\"", 412, "ConditionNotMet"},
		{"GET /logs/none?comp=blocklist", "", "", 404, "BlobNotFound"},
		{"PUT /none/photo.jpg?comp=block&blockid=AAAA", "a", "", 404, "ContainerNotFound"},
		{"PUT /logs/none?comp=blocklist", blockList("Latest AAAA"), "", 400, "InvalidBlockList"},
		{"PUT /logs/none?comp=blocklist", blockList(""), "If-Match: *", 412, "ConditionNotMet"},
	}, func() string { return r.state() + r.blocks() })
	r.expect(r.put("a", "Content-MD5", "XrY7u+Ae7tCTyyK7j1rNww==", "x-ms-blob-content-md5", "DMF1ucDxtqgxw5niaXcmYQ=="), 201, "")
	r.expect(r.stage(longID[:86]+"==", "a"), 201, "") // 64 bytes
	r.expect(r.put(""), 201, "")
	r.expect(r.stage("AAAA", strings.Repeat("x", 4<<20+1)), 201, "")
	r.expect(r.send("PUT", "/logs/none?comp=blocklist", blockList(""), "If-None-Match", "*"), 201, "")
}

var uncommitted = testkit.Count("uncommitted", 1_000, "blocks that TestBlockCounts uploads, of the 100,000 that a blob may have")

// TestBlockCounts: a blob has at most 100,000 uncommitted and 50,000 committed blocks.
func TestBlockCounts(t *testing.T) {
	t.Parallel()
	n := *uncommitted
	r := newBlobClient(t, storagetest.Options{RequestLogSize: -1})
	id := func(i int) string { return strconv.Itoa(10_000_000 + i) }
	for i := range n {
		if a := r.stage(id(i), "x"); a.status != 201 {
			t.Fatalf("got %v; want 201", a)
		}
	}
	if n == 100_000 {
		r.expectError(r.stage(id(n), "x"), 409, "BlockCountExceedsLimit", "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.", "")
	}
	r.expect(r.stage(id(n-1), "y"), 201, "")
	var list strings.Builder
	for i := range 50_000 {
		list.WriteString(",Latest " + id(n-1-i%n))
	}
	r.expectError(r.commit(list.String()+",Latest "+id(0)), 400, "BlockListTooLong", "The block list may not contain more than 50,000 blocks.", "")
	r.expect(r.commit(list.String()), 201, "")
	if a := r.send("GET", photo, "", "x-ms-range", "bytes=0-1"); a.body != "yx" || a.header.Get("Content-Range") != "bytes 0-1/50000" {
		t.Errorf("got %q of %s; want yx of 50000", a.body, a.header.Get("Content-Range"))
	}
}
