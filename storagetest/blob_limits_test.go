package storagetest_test

import (
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestBlobLimits: a request over a limit fails and changes nothing.
func TestBlobLimits(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.append("hello"), 201, "")
	const (
		appendTo  = "PUT /logs/app.log?comp=appendblock"
		create    = "PUT /logs/b.log"
		container = "?restype=container"
	)
	r.expectRefused([]refused{
		{"PUT /My-Logs" + container, "", "", 400, "InvalidResourceName"},
		{"PUT /my--logs" + container, "", "", 400, "InvalidResourceName"},
		{"PUT /-logs" + container, "", "", 400, "InvalidResourceName"},
		{"PUT /my_logs" + container, "", "", 400, "InvalidResourceName"},
		{"PUT /$logs2" + container, "", "", 400, "InvalidResourceName"},
		{"PUT /ab" + container, "", "", 400, "OutOfRangeInput"},
		{"PUT /" + strings.Repeat("q", 64) + container, "", "", 400, "OutOfRangeInput"},
		{"PUT /photos" + container, "", "x-ms-blob-public-access: blob", 409, "PublicAccessNotPermitted"},
		{"PUT /photos" + container, "", "x-ms-meta-1: a", 400, "InvalidMetadata"},
		{"PUT /photos" + container, "", "x-ms-meta-: a", 400, "EmptyMetadataKey"},
		{"PUT /photos" + container, "", "x-ms-meta-a: " + strings.Repeat("a", 8192), 400, "MetadataTooLarge"},
		{"GET /none/app.log", "", "", 404, "ContainerNotFound"},
		{"GET /none?restype=container&comp=list", "", "", 404, "ContainerNotFound"},
		{"GET /?comp=list&maxresults=0", "", "", 400, "OutOfRangeQueryParameterValue"},
		{"GET /?comp=list&maxresults=x", "", "", 400, "InvalidQueryParameterValue"},
		{"GET /?comp=list&marker=x", "", "", 400, "OutOfRangeInput"},
		{"GET /logs?restype=container&comp=list&maxresults=0", "", "", 400, "OutOfRangeQueryParameterValue"},
		{"GET /logs/none", "", "", 404, "BlobNotFound"},
		{"HEAD /logs/none", "", "", 404, "BlobNotFound"},
		{"DELETE /logs/none", "", "", 404, "BlobNotFound"},
		{"GET /logs/none", "", "If-Match: *", 404, "BlobNotFound"},
		{"GET /logs/none", "", "If-None-Match: *", 404, "BlobNotFound"},
		{"DELETE /logs/none", "", "If-Match: *", 404, "BlobNotFound"},
		{"PUT /logs/none?comp=appendblock", "a", "", 404, "BlobNotFound"},
		{"PUT /logs/none?comp=appendblock", "a", "If-Match: *", 404, "BlobNotFound"},
		{"PUT /logs/none?comp=metadata", "", "", 404, "BlobNotFound"},
		{"PUT /logs/" + strings.Repeat("x", 1025), "", "x-ms-blob-type: AppendBlob", 400, "OutOfRangeInput"},
		{"PUT /logs/" + strings.Repeat("a/", 254) + "a", "", "x-ms-blob-type: AppendBlob", 400, "OutOfRangeInput"},
		{create, "", "", 400, "MissingRequiredHeader"},
		{create, "", "x-ms-blob-type: Append", 400, "InvalidHeaderValue"},
		{create, "a", "x-ms-blob-type: AppendBlob", 400, "InvalidHeaderValue"},
		{create, "", "x-ms-blob-type: AppendBlob\nx-ms-meta-a-b: 1", 400, "InvalidMetadata"},
		{create, "", "x-ms-blob-type: AppendBlob\nIf-Match: *", 412, "ConditionNotMet"},
		{"PUT /logs/app.log", "", "x-ms-blob-type: AppendBlob\nIf-None-Match: *", 409, "BlobAlreadyExists"},
		{appendTo, "", "", 400, "InvalidHeaderValue"},
		{appendTo, strings.Repeat("x", 4<<20+1), "", 413, "RequestBodyTooLarge"},
		{appendTo, "a", "x-ms-blob-condition-appendpos: 4", 412, "AppendPositionConditionNotMet"},
		{appendTo, "a", "x-ms-blob-condition-appendpos: 6", 412, "AppendPositionConditionNotMet"},
		{appendTo, "a", "x-ms-blob-condition-appendpos: x", 400, "InvalidHeaderValue"},
		{appendTo, "a", "x-ms-blob-condition-appendpos: -1", 400, "InvalidHeaderValue"},
		{appendTo, "a", "x-ms-blob-condition-maxsize: 5", 412, "MaxBlobSizeConditionNotMet"},
		{appendTo, "a", "x-ms-blob-condition-maxsize: 5\nx-ms-blob-condition-appendpos: 4", 412, "AppendPositionConditionNotMet"},
		{appendTo, "a", "Content-MD5: bm90IGE=", 400, "InvalidMd5"},
		{appendTo, "a", "Content-MD5: XrY7u+Ae7tCTyyK7j1rNww==", 400, "Md5Mismatch"},
		{appendTo, "a", "x-ms-content-crc64: AAAAAAAAAAA=", 400, "Crc64Mismatch"},
		{appendTo, "a", "x-ms-content-crc64: AAAAAAAAAAA=\nContent-MD5: XrY7u+Ae7tCTyyK7j1rNww==", 400, "BothCrc64AndMd5HeaderPresent"},
		{appendTo, "a", "If-Match: 0x111111111111111", 400, "OutOfRangeInput"},
		{"PUT /logs/app.log?comp=metadata", "", "x-ms-meta-a: " + strings.Repeat("a", 8192), 400, "MetadataTooLarge"},
		{"PUT /logs/app.log?comp=lease", "", "", 400, "MissingRequiredHeader"},
		{"PUT /logs/app.log?comp=lease", "", "x-ms-lease-action: take", 400, "InvalidHeaderValue"},
		{"PATCH /logs/app.log", "", "", 405, "UnsupportedHttpVerb"},
		{"GET /logs/app.log?restype=container", "", "", 400, "InvalidUri"},
		{create, "a", "x-ms-blob-type: BlockBlob\nx-ms-tags: a=b", 501, "NotImplemented"},
		{create, "a", "x-ms-blob-type: BlockBlob\nx-ms-access-tier: Cool", 501, "NotImplemented"},
		{create, "", "x-ms-blob-type: PageBlob", 501, "NotImplemented"},
		{create, "", "x-ms-blob-type: BlockBlob\nx-ms-copy-source: http://x", 401, "CannotVerifyCopySource"},
		{create + "?comp=block&blockid=AAAA", "", "x-ms-copy-source: http://x", 401, "CannotVerifyCopySource"},
		{"PUT /logs/app.log?comp=snapshot", "", "", 501, "NotImplemented"},
		{"GET /logs/app.log?snapshot=2017-10-02T20:21:54.8228007Z", "", "", 501, "NotImplemented"},
		{"GET /logs/app.log?versionid=2017-10-02T20:21:54.8228007Z", "", "", 501, "NotImplemented"},
		{"GET /logs/app.log?comp=tags", "", "", 501, "NotImplemented"},
		{"GET /logs/app.log", "", "x-ms-if-tags: a = 'b'", 501, "NotImplemented"},
		{"PUT /logs/app.log?comp=tier", "", "", 501, "NotImplemented"},
		{"PUT /logs/app.log?comp=seal", "", "", 501, "NotImplemented"},
		{"PUT /logs?restype=container&comp=acl", "", "x-ms-blob-public-access: blob", 409, "PublicAccessNotPermitted"},
		{"PUT /logs?restype=container&comp=acl", "<a", "", 400, "InvalidXmlDocument"},
		{"GET /none?restype=container&comp=acl", "", "", 404, "ContainerNotFound"},
		{"GET /?comp=userdelegationkey&restype=service", "", "", 501, "NotImplemented"},
	}, r.state)
	// These requests are just within the limits.
	r.create("/logs/" + strings.Repeat("x", 1024))
	r.create("/logs/" + strings.Repeat("a/", 253) + "a")
	r.expect(r.append(strings.Repeat("x", 4<<20)), 201, "")
	r.expect(r.append(strings.Repeat("x", 4<<20+1), "x-ms-version", "2022-11-02"), 201, "")
}

// TestBlockCount: an append blob has at most 50,000 blocks.
func TestBlockCount(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{RequestLogSize: -1})
	for range 50_000 {
		if a := r.append("x"); a.status != 201 {
			t.Fatalf("got %v; want 201", a)
		}
	}
	r.expectCode(r.append("x", "x-ms-blob-condition-appendpos", "49999"), 409, "BlockCountExceedsLimit")
	r.expectError(r.append("x"), 409, "BlockCountExceedsLimit", "The committed block count cannot exceed the maximum limit of 50,000 blocks.", "")
	if a := r.send("HEAD", "/logs/app.log", ""); a.header.Get("x-ms-blob-committed-block-count") != "50000" || a.header.Get("Content-Length") != "50000" {
		t.Errorf("got header %v; want 50000 blocks and bytes", a.header)
	}
	if a := r.send("GET", "/logs/app.log", "", "x-ms-range", "bytes=49999-"); a.body != "x" {
		t.Errorf("got %q; want the last block", a.body)
	}
}

// TestBlobSignatures: the service accepts signatures with the account's key, and refuses other authorization.
func TestBlobSignatures(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	const text = "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature."
	for _, authorization := range []string{"SharedKey storagename:bm90IHRoaXM=", "SharedKey other:bm90IHRoaXM=", "SharedKeyLite storagename:bm90IHRoaXM=", "Bearer token", "Basic x"} {
		r.expectError(r.send("GET", "/logs/app.log", "", "Authorization", authorization), 403, "AuthenticationFailed", text, "")
	}
	r.expectError(r.send("GET", "/logs/app.log?sig=x", "", "Authorization", " "), 501, "NotImplemented", "The requested operation is not implemented on the specified resource.", "")
	r.expectError(r.send("GET", "/logs/app.log", "", "x-ms-version", ""), 501, "NotImplemented", "The requested operation is not implemented on the specified resource.", "")
	if a := r.send("GET", "/logs/app.log", "", "x-ms-client-request-id", "me", "x-ms-version", "2019-02-02"); a.status != 200 || a.header.Get("x-ms-client-request-id") != "me" {
		t.Errorf("got %v; want 200 with the client's request ID", a)
	}
}
