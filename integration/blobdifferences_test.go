package integration

import (
	"fmt"
	"net/http"
	"strings"
)

// blobDifferences are the known differences of the Blob service. The number B stands for its documentation, and for recordings
// without an observation of their own.
var blobDifferences = []difference{
	{"L68", "the byte order mark before a list of blobs", func(p *rawClient) string {
		b := p.blob()
		_, body := b.send("GET", b.list(""), "")
		return fmt.Sprint(strings.HasPrefix(body, "\ufeff"))
	}, "true", "false"},
	{"L68", "a malformed If-Match of an append", func(p *rawClient) string { return p.blob().appendResult("a", "If-Match", "0x111111111111111") }, "400 OutOfRangeInput", "412 ConditionNotMet"},
	{"B", "a read of a missing blob with If-Match", func(p *rawClient) string {
		b := p.blob()
		return b.result("GET", b.path+"none", "", "If-Match", `"0x8D4BCC2E4835CD0"`)
	}, "404 BlobNotFound", "412 ConditionNotMet"},
	{"B", "a put with If-None-Match: * over a leased blob", func(p *rawClient) string {
		b := p.blob()
		b.leaseResult("acquire", "x-ms-lease-duration", "-1")
		return b.result("PUT", b.path, "", "x-ms-blob-type", "AppendBlob", "If-None-Match", "*")
	}, "412 LeaseIdMissing", "409 BlobAlreadyExists"},
	{"B", "a lease ID of a blob that does not exist", func(p *rawClient) string {
		b := p.blob()
		const id = "aaaaaaaa-0000-4000-8000-000000000001"
		return b.result("PUT", b.path+"new", "", "x-ms-blob-type", "AppendBlob", "x-ms-lease-id", id)
	}, "412 LeaseNotPresentWithBlobOperation", "done"},
	{"B", "a version that was never published", func(p *rawClient) string {
		b := p.blob()
		return b.result("GET", b.path, "", "x-ms-version", "2019-02-03")
	}, "400 InvalidHeaderValue", "done"},
	{"B", "If-None-Match: * of an append", func(p *rawClient) string { return p.blob().appendResult("a", "If-None-Match", "*") }, "412 ConditionNotMet", "done"},
	{"B", "a condition with an invalid time", func(p *rawClient) string { return p.blob().appendResult("a", "If-Modified-Since", "yesterday") }, "400 InvalidHeaderValue", "done"},
	{"B", "an append position below zero", func(p *rawClient) string { return p.blob().appendResult("a", "x-ms-blob-condition-appendpos", "-1") }, "400 InvalidHeaderValue", "412 AppendPositionConditionNotMet"},
	{"B", "a block over 4 MiB in a version before 2022-11-02", func(p *rawClient) string { return p.blob().appendResult(strings.Repeat("x", 4<<20+1)) }, "413 RequestBodyTooLarge", "done"},
	{"B", "the checksum in the response to an append in a version before 2019-02-02", func(p *rawClient) string { return checksums(p.blob().append("a")) }, "DMF1ucDxtqgxw5niaXcmYQ== ", " PPzLtEWEL4w="},
	{"B", "the checksum in the response to an append with Content-MD5", func(p *rawClient) string {
		return checksums(p.blob().append("a", "x-ms-version", "2020-10-02", "Content-MD5", "DMF1ucDxtqgxw5niaXcmYQ=="))
	}, "DMF1ucDxtqgxw5niaXcmYQ== ", "DMF1ucDxtqgxw5niaXcmYQ== PPzLtEWEL4w="},
	{"B", "a range that begins at the end of a blob", func(p *rawClient) string { return p.blob().rangeResult("bytes=3-") }, "416 InvalidRange", "done"},
	{"B", "a range of an empty blob", func(p *rawClient) string {
		b := p.blob()
		return b.result("GET", b.path, "", "x-ms-range", "bytes=0-")
	}, "416 InvalidRange", "done"},
	{"B", "the checksum of a range over 4 MiB", func(p *rawClient) string {
		b := p.blob()
		b.append(strings.Repeat("x", 4<<20))
		return b.rangeResult("bytes=0-4194304", "x-ms-range-get-content-md5", "true")
	}, "400 OutOfRangeInput", "done"},
	{"B", "the checksum of a range without a range", func(p *rawClient) string { return p.blob().rangeResult("", "x-ms-range-get-content-md5", "true") }, "400 InvalidHeaderValue", "done"},
	{"B", "Content-MD5 of an append blob", func(p *rawClient) string {
		b := p.blob()
		b.append("a")
		head, _ := b.send("GET", b.path, "")
		return head.Get("Content-MD5")
	}, "", "DMF1ucDxtqgxw5niaXcmYQ=="},
	{"B", "an append blob that is created with content", func(p *rawClient) string {
		b := p.blob()
		return b.result("PUT", b.path, "a", "x-ms-blob-type", "AppendBlob")
	}, "400 InvalidHeaderValue", "400 InvalidOperation"},
	{"B", "a blob without a type", func(p *rawClient) string {
		b := p.blob()
		return b.result("PUT", b.path, "")
	}, "400 MissingRequiredHeader", "400 "},
	{"B", "a blob name of 1,025 characters", func(p *rawClient) string { return p.blob().createResult(strings.Repeat("x", 1025)) }, "400 OutOfRangeInput", "done"},
	{"B", "a blob name of 255 segments", func(p *rawClient) string { return p.blob().createResult(strings.Repeat("a/", 254) + "a") }, "400 OutOfRangeInput", "done"},
	{"B", "metadata over 8 KiB", func(p *rawClient) string {
		b := p.blob()
		return b.result("PUT", b.path+"?comp=metadata", "", "x-ms-meta-a", strings.Repeat("a", 8192))
	}, "400 MetadataTooLarge", "done"},
	{"B", "upper case in a metadata name of a blob", func(p *rawClient) string {
		b := p.blob()
		b.send("PUT", b.path+"?comp=metadata", "", "x-ms-meta-Key", "1")
		_, body := b.send("GET", b.list("&include=metadata"), "")
		return xmlPart(body, "Metadata")
	}, "<key>1</key>", "<Key>1</Key>"},
	{"B", "a container name immediately after its deletion", func(p *rawClient) string {
		b := p.blob()
		b.send("DELETE", b.container+"?restype=container", "")
		return b.result("PUT", b.container+"?restype=container", "")
	}, "409 ContainerBeingDeleted", "done"},
	{"B", "a second deletion of a container", func(p *rawClient) string {
		b := p.blob()
		b.send("DELETE", b.container+"?restype=container", "")
		return b.result("DELETE", b.container+"?restype=container", "")
	}, "done", "404 ContainerNotFound"},
	{"B", "a container without a name", func(p *rawClient) string {
		return p.blob().result("PUT", "/?restype=container", "")
	}, "400 InvalidQueryParameterValue", "400 "},
	{"B", "a retention of 366 days", func(p *rawClient) string {
		body := "<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>366</Days></DeleteRetentionPolicy></StorageServiceProperties>"
		return p.blob().result("PUT", "/?restype=service&comp=properties", body)
	}, "400 InvalidXmlDocument", "done"},
	{"B", "the error text of an invalid container name", func(p *rawClient) string {
		_, body := p.blob().send("PUT", "/My-Logs?restype=container", "")
		text, _, _ := strings.Cut(xmlPart(body, "Message"), "\n")
		return text
	}, "The specifed resource name contains invalid characters.", "The specified resource name contains invalid characters."},
	{"B", "a container with public access", func(p *rawClient) string {
		return p.blob().result("PUT", "/"+freshName()+"?restype=container", "", "x-ms-blob-public-access", "blob")
	}, "409 PublicAccessNotPermitted", "done"},
	{"B", "a list of blobs without maxresults", func(p *rawClient) string {
		b := p.blob()
		_, body := b.send("GET", b.list(""), "")
		return xmlPart(body, "MaxResults")
	}, "", "5000"},
	{"B", "a page of 0 blobs", func(p *rawClient) string {
		b := p.blob()
		return b.result("GET", b.list("&maxresults=0"), "")
	}, "400 OutOfRangeQueryParameterValue", "400 "},
	{"B", "an invalid marker of blobs", func(p *rawClient) string {
		b := p.blob()
		return b.result("GET", b.list("&marker=x"), "")
	}, "400 OutOfRangeInput", "done"},
	{"B", "an invalid marker of containers", func(p *rawClient) string { return p.blob().result("GET", "/?comp=list&marker=x", "") }, "400 OutOfRangeInput", "done"},
	{"B", "a proposed lease ID that is no GUID", func(p *rawClient) string {
		return p.blob().leaseResult("acquire", "x-ms-lease-duration", "15", "x-ms-proposed-lease-id", "x")
	}, "400 InvalidHeaderValue", "done"},
	{"B", "a lease without a duration", func(p *rawClient) string { return p.blob().leaseResult("acquire") }, "400 MissingRequiredHeader", "done"},
	{"B", "the ID of a broken lease", func(p *rawClient) string {
		const id = "aaaaaaaa-0000-4000-8000-000000000001"
		b := p.blob()
		b.leaseResult("acquire", "x-ms-lease-duration", "60", "x-ms-proposed-lease-id", id)
		b.leaseResult("break", "x-ms-lease-break-period", "0")
		return b.appendResult("a", "x-ms-lease-id", id)
	}, "412 LeaseLost", "412 LeaseNotPresentWithBlobOperation"},
	{"B", "a renewal without a lease ID", func(p *rawClient) string { return p.blob().leaseResult("renew") }, "400 MissingRequiredHeader", "400 "},
	{"B", "an unknown lease action", func(p *rawClient) string { return p.blob().leaseResult("take") }, "400 InvalidHeaderValue", "400 "},
	{"B", "a method that blobs do not support", func(p *rawClient) string {
		b := p.blob()
		return b.result("PATCH", b.path, "")
	}, "405 UnsupportedHttpVerb", "400 "},
}

// checksums returns the checksums in the header of a response.
func checksums(head http.Header) string {
	return head.Get("Content-MD5") + " " + head.Get("x-ms-content-crc64")
}
