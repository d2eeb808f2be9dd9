package storagetest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestContainerLifecycle: a container is created, described and deleted, and its name is free after 40 seconds.
func TestContainerLifecycle(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	const path = "/logs?restype=container"
	r.expectError(r.send("PUT", path, ""), 409, "ContainerAlreadyExists", "The specified container already exists.", "")
	r.expect(r.send("PUT", path+"&comp=metadata", "", "x-ms-meta-Key", "val", "x-ms-meta-b", "2"), 200, "")
	for _, query := range []string{"", "&comp=metadata"} {
		for _, method := range []string{"GET", "HEAD"} {
			a := r.send(method, path+query, "")
			r.expect(a, 200, "")
			if a.header.Get("x-ms-meta-key") != "val" || a.header.Get("x-ms-meta-b") != "2" || etag(a) == "" {
				t.Errorf("%s %s: got header %v; want the metadata and an ETag", method, query, a.header)
			}
		}
	}
	if a := r.send("HEAD", "/none?restype=container", ""); a.status != 404 || a.body != "" || a.header.Get("x-ms-error-code") != "ContainerNotFound" {
		t.Errorf("HEAD of a missing container: got %v; want 404 ContainerNotFound without a body", a)
	}
	r.expect(r.send("DELETE", path, ""), 202, "")
	r.expect(r.send("DELETE", path, ""), 202, "")
	r.expectError(r.send("PUT", path, ""), 409, "ContainerBeingDeleted", "The specified container is being deleted. Try operation later.", "")
	r.expectError(r.append("a"), 404, "ContainerNotFound", "The specified container does not exist.", "")
	r.Advance(40 * time.Second)
	if a := r.send("DELETE", path, ""); a.status != 404 {
		t.Errorf("DELETE of a container that is gone: got %v; want 404", a)
	}
	r.expect(r.send("PUT", path, ""), 201, "")
	if all := r.StoredBlobs("logs"); all != nil || r.StoredBlobs("none") != nil {
		t.Errorf("a container created again: got blobs %v; want none", all)
	}
	r = newBlobClient(t, storagetest.Options{NameReuseDelay: -1})
	r.expect(r.send("DELETE", path, ""), 202, "")
	r.expect(r.send("PUT", path, ""), 201, "")
}

// TestContainerList: pages of containers are sorted by name.
func TestContainerList(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	list := func(query, want string) {
		t.Helper()
		r.expect(r.send("GET", "/?comp=list"+query, ""), 200, xmlHead+`<EnumerationResults ServiceEndpoint="http://storagename.blob.storagetest.test/">`+want+"</EnumerationResults>")
	}
	entry := func(name, etag, metadata string) string {
		return "<Container><Name>" + name + "</Name><Properties><Last-Modified>Mon, 02 Oct 2017 20:21:54 GMT</Last-Modified><Etag>\"" + etag + "\"</Etag><LeaseStatus>unlocked</LeaseStatus>" +
			"<LeaseState>available</LeaseState><DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope><DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>" +
			"<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold><ImmutableStorageWithVersioningEnabled>false</ImmutableStorageWithVersioningEnabled></Properties>" + metadata + "</Container>"
	}
	list("&prefix=x", "<Prefix>x</Prefix><Containers /><NextMarker />")
	for _, name := range []string{"photos2", "photos0", "photos1"} {
		r.expect(r.send("PUT", "/"+name+"?restype=container", "", "x-ms-meta-key", "val"), 201, "")
	}
	const val = "<Metadata><key>val</key></Metadata>"
	list("&prefix=photos&maxresults=2&include=metadata", "<Prefix>photos</Prefix><MaxResults>2</MaxResults><Containers>"+entry("photos0", "0x8D509D3396169AA", val)+entry("photos1", "0x8D509D3396169AB", val)+
		"</Containers><NextMarker>/storagename/photos2</NextMarker>")
	list("&prefix=photos&marker=/storagename/photos2", "<Prefix>photos</Prefix><Marker>/storagename/photos2</Marker><Containers>"+entry("photos2", "0x8D509D3396169A9", "")+"</Containers><NextMarker />")
	if got, want := strings.Join(r.ContainerNames(), " "), "logs photos0 photos1 photos2"; got != want {
		t.Errorf("got containers %s; want %s", got, want)
	}
}

// TestBlobResponses: the responses to an append blob's requests have the recorded headers.
func TestBlobResponses(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	const (
		length   = "content-length: 0"
		created  = "date: " + inserted
		server   = "server: Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0"
		modified = "last-modified: " + inserted
		version  = "x-ms-version: 2018-03-28"
		secret   = "x-ms-request-server-encrypted: true"
	)
	a := r.send("PUT", "/logs/b.log", "", "x-ms-blob-type", "AppendBlob", "x-ms-meta-Key", "val", "x-ms-blob-content-type", "text/plain", "x-ms-blob-cache-control", "no-store")
	r.expect(a, 201, "")
	r.expectHeader(a, length, created, "etag: "+etag(a), modified, server, secret, version)
	md5s := []string{"W79aUjKOdDmubnGd/nEiAA==", "wZNJehoGssciMOYUb/RwgA=="}
	for i, block := range []string{"one\n", "two\n"} {
		a = r.send("PUT", "/logs/b.log?comp=appendblock", block)
		r.expect(a, 201, "")
		r.expectHeader(a, length, "content-md5: "+md5s[i], created, "etag: "+etag(a), modified, server, "x-ms-blob-append-offset: "+strconv.Itoa(4*i),
			"x-ms-blob-committed-block-count: "+strconv.Itoa(i+1), secret, version)
	}
	tag := etag(a)
	properties := []string{"accept-ranges: bytes", "cache-control: no-store", "content-length: 8", "content-type: text/plain", created, "etag: " + tag, modified, server,
		"x-ms-blob-committed-block-count: 2", "x-ms-blob-type: AppendBlob", "x-ms-creation-time: " + inserted, "x-ms-lease-state: available", "x-ms-lease-status: unlocked",
		"x-ms-meta-key: val", "x-ms-server-encrypted: true", version}
	for method, body := range map[string]string{"GET": "one\ntwo\n", "HEAD": ""} {
		a := r.send(method, "/logs/b.log", "")
		r.expect(a, 200, body)
		r.expectHeader(a, properties...)
	}
	a = r.send("GET", "/logs/b.log?comp=metadata", "")
	r.expect(a, 200, "")
	r.expectHeader(a, length, created, "etag: "+tag, modified, server, "x-ms-meta-key: val", version)
	r.expectHeader(r.send("PUT", "/logs/b.log?comp=properties", ""), length, created, `etag: "0x8D509D3396169AC"`, modified, server, version)
	if a = r.send("GET", "/logs/b.log", ""); a.header.Get("Content-Type") != "" {
		t.Errorf("after headers are removed: got Content-Type %q; want none", a.header.Get("Content-Type"))
	}
	a = r.send("HEAD", "/logs/b.log", "")
	if a.header.Get("Content-Type") != "" || a.header.Get("Cache-Control") != "" {
		t.Errorf("after headers are removed: got header %v; want neither Content-Type nor Cache-Control", a.header)
	}
	a = r.send("DELETE", "/logs/b.log", "")
	r.expect(a, 202, "")
	r.expectHeader(a, length, created, server, "x-ms-delete-type-permanent: true", version)
	r.expectError(r.send("GET", "/logs/b.log", ""), 404, "BlobNotFound", "The specified blob does not exist.", "")
}

// TestBlobReplaced: a blob that is created again is empty, and keeps its lease.
func TestBlobReplaced(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.append("a"), 201, "")
	const id = "00000000-0000-4000-8000-000000000001"
	r.expectCode(r.send("PUT", "/logs/app.log?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "-1", "x-ms-proposed-lease-id", id), 201, "")
	r.expectCode(r.send("PUT", "/logs/app.log", "", "x-ms-blob-type", "AppendBlob"), 412, "LeaseIdMissing")
	r.create("/logs/app.log", "x-ms-lease-id", id)
	if all := r.StoredBlobs("logs"); len(all[0].Blocks) != 0 {
		t.Errorf("got blocks %q; want none", all[0].Blocks)
	}
	r.expectCode(r.append("b"), 412, "LeaseIdMissing")
}

// TestRootContainer: a blob without a container in its address is in the container $root.
func TestRootContainer(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expectCode(r.send("PUT", "/robots.txt", "", "x-ms-blob-type", "AppendBlob"), 404, "ContainerNotFound")
	r.expect(r.send("PUT", "/$root?restype=container", ""), 201, "")
	r.create("/robots.txt")
	for _, path := range []string{"/robots.txt", "/$root/robots.txt"} {
		r.expect(r.send("GET", path, ""), 200, "")
	}
	if all := r.StoredBlobs("$root"); len(all) != 1 || all[0].Name != "robots.txt" {
		t.Errorf("got blobs %v; want robots.txt", all)
	}
}
