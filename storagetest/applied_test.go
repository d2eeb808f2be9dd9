package storagetest_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/aztablekit/aztablekit/storagetest"
)

var updateApplied = flag.Bool("update", false, "write the lists of headers and parameters into docs/storagetest.md")

// TestApplied: each header and parameter that the SDK's generated clients can send is applied,
// refused, or answered with 501, in each operation that is offered. Applied means that each value
// of its probes changes the response, or what is stored. An operation that is not offered is
// answered with 501. docs/storagetest.md says which are which.
func TestApplied(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs the go command")
	}
	t.Parallel()
	var text strings.Builder
	for _, service := range []string{"table", "queue", "blob"} {
		found := map[string][]string{} // names by verdict
		operations := operationsOf(t, service)
		offered := 0
		for _, o := range operations {
			s, ok := samples[service][o.name]
			if !ok {
				if got := outcomeOf(t, service, refusedSamples[service][o.name], "", "", false); !strings.HasPrefix(got, "501") {
					t.Errorf("%s %s: got %s; want 501, or a sample that succeeds", service, o.name, got)
				}
				continue
			}
			offered++
			for _, name := range slices.Concat(o.headers, o.params) {
				verdict := judged(t, service, s, name, slices.Contains(o.params, name))
				if verdict == "ignored" {
					t.Errorf("%s %s: %s has no effect; want it applied, or 501", service, o.name, name)
				}
				found[verdict] = append(found[verdict], name)
			}
		}
		if want := len(samples[service]); offered != want {
			t.Errorf("%s: got %d operations with a sample; want %d, all samples", service, offered, want)
		}
		fmt.Fprintf(&text, "**%s**: %d of %d operations are offered. Their headers and parameters, counted in each operation:\n\n", titles[service], offered, len(operations))
		for _, verdict := range []string{"applied", "none", "refused", "501"} {
			if names := found[verdict]; len(names) > 0 {
				fmt.Fprintf(&text, "- %d %s: `%s`.\n", len(names), titles[verdict], strings.Join(unique(names), "`, `"))
			}
		}
		text.WriteString("\n")
	}
	compareDocument(t, text.String())
}

// titles are the words of docs/storagetest.md for services and verdicts.
var titles = map[string]string{
	"table": "Tables", "queue": "Queues", "blob": "Blobs",
	"applied": "applied", "none": "without an effect in memory", "refused": "refused with 409", "501": "answered with 501",
}

// judged returns the verdict on a header or a parameter of an operation: "applied", "none",
// "refused", "501" or "ignored".
func judged(t *testing.T, service string, s sample, name string, isParam bool) string {
	ofTables, isXML := service == "table", strings.Contains(s.path, "comp=")
	values, known := probes[name]
	none, hasNone := withoutEffect[name]
	switch {
	case name == "x-ms-meta-":
		name, values = "x-ms-meta-probe", []string{"x"}
	case name == "Accept" && ofTables && !isXML:
		values, hasNone = []string{"application/json;odata=nometadata", "application/atom+xml"}, false
		if s.method == http.MethodPut || s.method == "MERGE" || s.method == http.MethodDelete {
			values = values[1:] // there is no JSON in the response
		}
	case name == "If-Match" && ofTables:
		values = []string{`W/"datetime'2001-01-01T00%3A00%3A00Z'"`}
	case name == "Content-Type" && slices.Contains(s.header, "x-ms-blob-type"):
		values, hasNone = []string{"a/b"}, false
	case name == "$format" && (s.method == http.MethodPut || s.method == "MERGE" || s.method == http.MethodDelete):
		values = values[1:]
	case name == "x-ms-structured-content-length":
		s.header = slices.Concat(s.header, []string{"x-ms-structured-body", "XSM/1.0; properties=crc64", name, fmt.Sprint(len(s.body))})
		s.body, values = structuredMessage(s.body, 4), []string{"9"}
	case name == "$select" && s.path == "/Tables":
		values = values[:1]
	case !known:
		values = []string{"probe"}
	}
	before := outcomeOf(t, service, s, "", "", false)
	switch {
	case hasNone && none != "" && outcomeOf(t, service, s, name, none, isParam) != before:
		return "ignored"
	case hasNone:
		return "none"
	case alwaysRefused[name] != "":
		if got := outcomeOf(t, service, s, name, alwaysRefused[name], isParam); strings.HasPrefix(got, "409") {
			return "refused"
		}
		return "ignored"
	}
	refused := 0
	for _, value := range values {
		after := outcomeOf(t, service, s, name, value, isParam)
		if after == before {
			t.Logf("%s: %s %s: %q changes nothing", service, s.path, name, value)
			return "ignored"
		}
		if strings.HasPrefix(after, "501") {
			refused++
		}
	}
	if refused == len(values) {
		return "501"
	}
	return "applied"
}

// outcomeOf returns the response to a sample, with a further header or parameter, and what is
// stored afterwards, as text. Each request has an account of its own.
func outcomeOf(t *testing.T, service string, s sample, name, value string, isParam bool) string {
	t.Helper()
	now := recordedTime
	account := storagetest.New(&storagetest.Options{GeoRedundant: true, Now: func() time.Time { return now }})
	texts := seeded(t, account, s.path)
	u, err := url.Parse(texts.Replace(s.path))
	if err != nil {
		t.Fatal(err)
	}
	host := "storagetest"
	if u.Path == "secondary/" {
		host, u.Path = "storagetest-secondary", "/"
	}
	u.Scheme, u.Host = "https", host+"."+service+".storagetest.test"
	r := &http.Request{Method: s.method, URL: u, Header: http.Header{}}
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set("x-ms-version", map[string]string{"table": "2019-02-02", "queue": "2026-04-06", "blob": "2026-12-06"}[service])
	for i := 0; i < len(s.header); i += 2 {
		r.Header.Set(s.header[i], texts.Replace(s.header[i+1]))
	}
	switch {
	case isParam:
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
	case name != "":
		r.Header.Set(name, texts.Replace(value))
	}
	if s.body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(s.body)), int64(len(s.body))
	}
	c := &serviceClient{T: t, Service: account}
	got := c.roundTrip(r)
	if name == "" && got.status >= 300 && got.status != 501 && !strings.Contains(got.body, "NoPendingCopyOperation") {
		t.Fatalf("%s %s: got %d %s; want a success", s.method, u, got.status, got.body)
	}
	got.header.Del("Date")
	return fmt.Sprint(got.status, got.header, got.body, everything(account))
}

// seeded stores what the samples address. It returns the texts of an account in samples: the ETags
// are those of the blob in the path, and of the source.
func seeded(t *testing.T, account *storagetest.Service, path string) *strings.Replacer {
	t.Helper()
	for _, r := range []struct{ service, method, path, body string }{
		{"table", "POST", "/Tables", `{"TableName":"staff"}`},
		{"table", "POST", "/staff", `{"PartitionKey":"p","RowKey":"r","A":1}`},
		{"table", "POST", "/staff", `{"PartitionKey":"p","RowKey":"s","A":2}`},
		{"table", "POST", "/Tables", `{"TableName":"zebra"}`},
		{"queue", "PUT", toJobs, ""},
		{"queue", "POST", toJobs + "/messages", message},
		{"queue", "POST", toJobs + "/messages", message},
		{"queue", "POST", toJobs + "/messages", message},
		{"blob", "PUT", toLogs, ""},
		{"blob", "PUT", "/leased?restype=container", ""},
		{"blob", "PUT", toBlock, "hello"},
		{"blob", "PUT", "/logs/leased", "hello"},
		{"blob", "PUT", "/logs/src.txt", "hello"},
		{"blob", "PUT", "/logs/b.txt?comp=block&blockid=CCCC", "staged"},
		{"blob", "PUT", toAppend, ""},
		{"blob", "PUT", toAppend + "?comp=appendblock", "hello"},
		{"blob", "PUT", "/logs/leased?comp=lease", ""},
		{"blob", "PUT", "/leased?restype=container&comp=lease", ""},
	} {
		header := []string{"Content-Type", "application/json", "X-Ms-Lease-Action", "acquire", "X-Ms-Lease-Duration", "15",
			"X-Ms-Proposed-Lease-Id", leaseA, "X-Ms-Blob-Type", "BlockBlob", "X-Ms-Meta-A", "1", "X-Ms-Blob-Cache-Control", "no-store"}
		if r.path == toAppend {
			header[9] = "AppendBlob"
		}
		if got := sendToken(t, account, r.service, r.method, r.path, r.body, header...); got.status >= 300 {
			t.Fatalf("%s %s: got %d %s; want a success", r.method, r.path, got.status, got.body)
		}
	}
	received := sendToken(t, account, "queue", "GET", toJobs+"/messages", "").body
	signed, err := account.Blobs().NewContainerClient("logs").NewBlobClient("src.txt").GetSASURL(sas.BlobPermissions{Read: true}, recordedTime.AddDate(20, 0, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	etags := map[string]string{}
	for _, b := range account.StoredBlobs("logs") {
		etags["/logs/"+b.Name] = b.ETag
	}
	path, _, _ = strings.Cut(path, "?")
	return strings.NewReplacer(ofCopySource, signed, etagOfBlob, etags[path], etagOfSource, etags["/logs/src.txt"],
		"{id}", element(received, "MessageId"), popReceipt, url.QueryEscape(element(received, "PopReceipt")))
}

// element returns the text of the first element with a name.
func element(document, name string) string {
	_, rest, _ := strings.Cut(document, "<"+name+">")
	text, _, _ := strings.Cut(rest, "</")
	return text
}

// everything returns what an account stores, as text.
func everything(account *storagetest.Service) string {
	var all strings.Builder
	for _, name := range account.TableNames() {
		fmt.Fprintln(&all, name, account.Rows(name))
	}
	for _, name := range account.QueueNames() {
		fmt.Fprintln(&all, name, account.Messages(name))
	}
	for _, path := range []string{"/logs?restype=container", "/new?restype=container", toBlock, toAppend} {
		fmt.Fprintln(&all, send(account, http.MethodHead, "blob", path).Header)
	}
	for _, path := range []string{toJobs, "/new"} {
		fmt.Fprintln(&all, send(account, http.MethodHead, "queue", path+"?comp=metadata").Header)
	}
	blocks := send(account, http.MethodGet, "blob", toBlock+"?comp=blocklist&blocklisttype=all")
	text, _ := io.ReadAll(blocks.Body)
	fmt.Fprintf(&all, "%s", requestIDs.ReplaceAll(text, nil))
	for _, name := range account.ContainerNames() {
		fmt.Fprintln(&all, name, account.StoredBlobs(name))
	}
	return all.String()
}

// send sends a request without a body, and returns the response without the ID of the request.
func send(account *storagetest.Service, method, service, path string) *http.Response {
	r, err := http.NewRequest(method, "https://storagetest."+service+".storagetest.test"+path, nil)
	if err != nil {
		panic(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer token"}, "X-Ms-Version": {"2020-10-02"}}
	response, err := account.Do(r)
	if err != nil {
		panic(err)
	}
	delete(response.Header, "X-Ms-Request-Id")
	return response
}

// appliedList matches the lists in docs/storagetest.md.
var appliedList = regexp.MustCompile(`(?s)(<!-- applied -->\n\n)(.*?)(<!-- end of applied -->)`)

// compareDocument compares the lists in docs/storagetest.md with text.
func compareDocument(t *testing.T, text string) {
	t.Helper()
	const page = "../docs/storagetest.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := appliedList.FindSubmatch(b)
	switch {
	case found == nil:
		t.Errorf("%s: got no lists; want them after <!-- applied -->", page)
	case string(found[2]) == text:
	case *updateApplied:
		b = appliedList.ReplaceAllLiteral(b, []byte(string(found[1])+text+string(found[3])))
		if err := os.WriteFile(page, b, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: got the lists\n%s\nwant\n%s", page, found[2], text)
	}
}
