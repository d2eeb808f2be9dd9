package storagetest_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestBlobRanges: a range has its part of the content, whatever blocks it spans.
func TestBlobRanges(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	get := func(value string) response {
		t.Helper()
		a, b := r.send("GET", "/logs/app.log", "", "x-ms-range", value), r.send("GET", "/logs/app.log", "", "Range", value)
		if a.status != b.status || a.body != b.body {
			t.Errorf("%s: got %v as x-ms-range and %v as Range; want the same", value, a, b)
		}
		return a
	}
	for _, value := range []string{"bytes=0-", "bytes=0-0", "bytes=1-2"} {
		a := get(value)
		r.expectError(a, 416, "InvalidRange", "The range specified is invalid for the current size of the resource.", "")
		if got := a.header.Get("Content-Range"); got != "bytes */0" {
			t.Errorf("an empty blob: got Content-Range %s; want bytes */0", got)
		}
	}
	content := ""
	for _, block := range []string{"abc", "d", "efgh", "ij"} {
		content += block
		r.expect(r.append(block), 201, "")
	}
	for from := range len(content) {
		for to := from; to < len(content)+2; to++ {
			a := get("bytes=" + strconv.Itoa(from) + "-" + strconv.Itoa(to))
			last := min(to, len(content)-1)
			r.expect(a, 206, content[from:last+1])
			if got, want := a.header.Get("Content-Range"), "bytes "+strconv.Itoa(from)+"-"+strconv.Itoa(last)+"/10"; got != want || a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) {
				t.Errorf("got Content-Range %s and header %v; want %s and the length", got, a.header, want)
			}
		}
	}
	r.expect(get("bytes=8-"), 206, "ij")
	r.expect(get("bytes=8-99999999999999999999"), 206, "ij")
	for _, value := range []string{"bytes=10-", "bytes=10-20", "bytes=99999999999999999999-"} {
		r.expectCode(get(value), 416, "InvalidRange")
	}
	for _, malformed := range []string{"bytes=5-2", "bytes=-3", "bytes=a-b", "3-4", "bytes=1-2,4-5"} {
		r.expect(get(malformed), 200, content)
	}
	r.expect(r.send("GET", "/logs/app.log", "", "x-ms-range", "bytes=1-2", "Range", "bytes=3-4"), 206, "bc")
}

// TestBlobChecksums: a range has a checksum of its own if the request asks for one.
func TestBlobChecksums(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.append(strings.Repeat("x", 4<<20)), 201, "")
	r.expect(r.append("one\n"), 201, "")
	const whole, part = "XrY7u+Ae7tCTyyK7j1rNww==", "W79aUjKOdDmubnGd/nEiAA=="
	r.expect(r.send("PUT", "/logs/app.log?comp=properties", "", "x-ms-blob-content-md5", whole), 200, "")
	if a := r.send("GET", "/logs/app.log", ""); a.header.Get("Content-MD5") != whole {
		t.Errorf("whole blob: got header %v; want Content-MD5 %s", a.header, whole)
	}
	a := r.send("GET", "/logs/app.log", "", "x-ms-range", "bytes=4194304-", "x-ms-range-get-content-md5", "true")
	if a.header.Get("Content-MD5") != part || a.header.Get("x-ms-blob-content-md5") != whole {
		t.Errorf("range: got header %v; want Content-MD5 %s and x-ms-blob-content-md5 %s", a.header, part, whole)
	}
	a = r.send("GET", "/logs/app.log", "", "x-ms-range", "bytes=4194304-", "x-ms-range-get-content-crc64", "true")
	if a.header.Get("x-ms-content-crc64") != "KULuiMCXVB8=" || a.header.Get("Content-MD5") != "" {
		t.Errorf("range: got header %v; want the CRC64 alone", a.header)
	}
	r.expectCode(r.send("GET", "/logs/app.log", "", "x-ms-range-get-content-md5", "true"), 400, "InvalidHeaderValue")
	r.expectCode(r.send("GET", "/logs/app.log", "", "x-ms-range", "bytes=0-4194304", "x-ms-range-get-content-md5", "true"), 400, "OutOfRangeInput")
}

// TestBlobConditions: conditional headers decide on reads and writes as the service does.
func TestBlobConditions(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	tag := etag(r.send("HEAD", "/logs/app.log", ""))
	const other, before, same, after = `"0x8D6D41706E2489F"`, "Mon, 02 Oct 2017 20:21:53 GMT", inserted, "Mon, 02 Oct 2017 20:21:55 GMT"
	for _, c := range []struct {
		header      []string
		read, write string
	}{
		{[]string{"If-Match", tag}, "200", "200"},
		{[]string{"If-Match", "*"}, "200", "200"},
		{[]string{"If-Match", other}, "412 ConditionNotMet", "412 ConditionNotMet"},
		{[]string{"If-Match", "0x111111111111111"}, "412 ConditionNotMet", "412 ConditionNotMet"},
		{[]string{"If-Match", other + ", " + tag}, "200", "400 MultipleConditionHeadersNotSupported"},
		{[]string{"If-None-Match", tag}, "304 ConditionNotMet", "412 ConditionNotMet"},
		{[]string{"If-None-Match", other}, "200", "200"},
		{[]string{"If-None-Match", "*"}, "400 UnsatisfiableCondition", "412 ConditionNotMet"},
		{[]string{"If-Modified-Since", before}, "200", "200"},
		{[]string{"If-Modified-Since", same}, "304 ConditionNotMet", "412 ConditionNotMet"},
		{[]string{"If-Modified-Since", after}, "304 ConditionNotMet", "412 ConditionNotMet"},
		{[]string{"If-Unmodified-Since", before}, "412 ConditionNotMet", "412 ConditionNotMet"},
		{[]string{"If-Unmodified-Since", same}, "200", "200"},
		{[]string{"If-Unmodified-Since", after}, "200", "200"},
		{[]string{"If-Modified-Since", "yesterday"}, "400 InvalidHeaderValue", "400 InvalidHeaderValue"},
		{[]string{"If-None-Match", tag, "If-Modified-Since", before}, "200", "412 ConditionNotMet"},
		{[]string{"If-None-Match", other, "If-Modified-Since", after}, "200", "200"},
		{[]string{"If-Match", tag, "If-Unmodified-Since", before}, "412 ConditionNotMet", "200"},
		{[]string{"If-Match", tag, "If-None-Match", other}, "200", "400 MultipleConditionHeadersNotSupported"},
		{[]string{"If-Modified-Since", before, "If-Unmodified-Since", after}, "200", "400 MultipleConditionHeadersNotSupported"},
	} {
		result := func(a response) string {
			return strings.TrimSpace(strconv.Itoa(a.status) + " " + a.header.Get("x-ms-error-code"))
		}
		for _, method := range []string{"GET", "HEAD"} {
			if a := r.send(method, "/logs/app.log", "", c.header...); result(a) != c.read || a.status == 304 && a.body != "" {
				t.Errorf("%s with %v: got %s; want %s", method, c.header, result(a), c.read)
			}
		}
		// A lease is not changed by its release with a wrong ID, which only fails if the condition is met.
		want := c.write
		if want == "200" {
			want = "409 LeaseIdMismatchWithLeaseOperation"
		}
		release := append([]string{"x-ms-lease-action", "release", "x-ms-lease-id", "00000000-0000-4000-8000-000000000001"}, c.header...)
		if a := r.send("PUT", "/logs/app.log?comp=lease", "", release...); result(a) != want {
			t.Errorf("write with %v: got %s; want %s", c.header, result(a), want)
		}
	}
	// The ETag changes with each write, and the conditions hold for each kind of write.
	tags := map[string]bool{tag: true}
	for _, request := range []string{"PUT /logs/app.log?comp=appendblock", "PUT /logs/app.log?comp=metadata", "PUT /logs/app.log?comp=properties", "PUT /logs/app.log", "DELETE /logs/app.log"} {
		method, path, _ := strings.Cut(request, " ")
		body := ""
		if strings.HasSuffix(path, "appendblock") {
			body = "a"
		}
		r.expectCode(r.send(method, path, body, "If-Match", other, "x-ms-blob-type", "AppendBlob"), 412, "ConditionNotMet")
		a := r.send(method, path, body, "If-Match", tag, "x-ms-blob-type", "AppendBlob")
		if a.status > 202 {
			t.Fatalf("%s: got %v; want success", request, a)
		}
		if method == "DELETE" {
			break
		}
		if tag = etag(a); tags[tag] {
			t.Errorf("%s: got ETag %s again; want a new one", request, tag)
		}
		tags[tag] = true
	}
}
