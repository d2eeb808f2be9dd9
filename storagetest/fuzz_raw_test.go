package storagetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// FuzzRequest: no request to any of the services crashes it, is answered by 500, or gets no answer. header contains lines with a
// name and a value.
func FuzzRequest(f *testing.F) {
	for _, c := range []struct{ service, method, path, header, body string }{
		{"table", "POST", "/Tables", "Content-Type: application/json", `{"TableName":"more"}`},
		{"table", "PUT", "/staff(PartitionKey='p',RowKey='r')", "Content-Type: application/json\nPrefer: return-content\nIf-Match: *", `{"a@odata.type":"Edm.Int64","a":"5"}`},
		{"table", "GET", "/staff()?$filter=a%20eq%205L%20or%20not%20b&$select=a,b&$top=3&NextPartitionKey=1!4!cA--", "Accept: application/json;odata=fullmetadata", ""},
		{"table", "POST", "/$batch", "Content-Type: multipart/mixed; boundary=batch_1", changeSet(op("POST", "/staff", `{"PartitionKey":"p","RowKey":"n"}`), op("DELETE", "/staff(PartitionKey='p',RowKey='r')", "", "If-Match", "*"))},
		{"table", "PUT", "/staff?comp=acl", "", `<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Expiry>2030-01-01</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`},
		{"table", "PUT", "/?restype=service&comp=properties", "", `<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods></CorsRule></Cors></StorageServiceProperties>`},
		{"table", "OPTIONS", "/staff", "Origin: https://app.test\nAccess-Control-Request-Method: GET", ""},
		{"table", "GET", "/staff?sv=2019-02-02&ss=t&srt=o&sp=r&se=2040-01-01&sig=x", "Authorization: ", ""},
		{"queue", "PUT", "/jobs", "x-ms-meta-a: b", ""},
		{"queue", "POST", "/jobs/messages?visibilitytimeout=5&messagettl=-1", "", `<QueueMessage><MessageText>text</MessageText></QueueMessage>`},
		{"queue", "GET", "/jobs/messages?numofmessages=32&peekonly=true", "", ""},
		{"queue", "PUT", "/jobs/messages/id?popreceipt=AgAAAAMAAAAAAAAAtB30WQUG1QE%3D&visibilitytimeout=0", "", `<QueueMessage><MessageText /></QueueMessage>`},
		{"queue", "GET", "/?comp=list&prefix=j&maxresults=2&include=metadata", "", ""},
		{"blob", "PUT", "/logs?restype=container", "", ""},
		{"blob", "PUT", "/logs/app.log", "x-ms-blob-type: AppendBlob\nIf-None-Match: *", ""},
		{"blob", "PUT", "/logs/app.log?comp=appendblock", "x-ms-blob-condition-appendpos: 0\nContent-MD5: x", "text"},
		{"blob", "PUT", "/logs/photo?comp=block&blockid=YQ%3D%3D", "", "text"},
		{"blob", "PUT", "/logs/photo?comp=blocklist", "x-ms-blob-content-type: a/b", `<BlockList><Latest>YQ==</Latest></BlockList>`},
		{"blob", "GET", "/logs/photo", "x-ms-range: bytes=1-2\nx-ms-range-get-content-md5: true\nIf-Modified-Since: Mon, 02 Oct 2017 20:21:54 GMT", ""},
		{"blob", "PUT", "/logs/photo?comp=lease", "x-ms-lease-action: acquire\nx-ms-lease-duration: 15", ""},
		{"blob", "GET", "/logs?restype=container&comp=list&delimiter=/&prefix=a&maxresults=1&include=metadata,uncommittedblobs", "", ""},
		{"blob", "PUT", "/logs/copy", "x-ms-copy-source: https://storagetest.blob.storagetest.test/logs/src\nx-ms-source-if-match: *", ""},
		{"blob", "PUT", "/logs/copy", "x-ms-blob-type: BlockBlob\nx-ms-copy-source: http://127.0.0.1/storagetest/logs/src?sr=b&sp=r&se=2040-01-01&sv=2020-10-02&sig=x", ""},
		{"blob", "PUT", "/logs/src?comp=block&blockid=YQ%3D%3D", "x-ms-copy-source: https://storagetest/logs/src\nx-ms-source-range: bytes=1-2", ""},
		{"blob", "PUT", "/logs/src?comp=copy&copyid={0x1,0x2,0x3,{0x4,0x5,0x6,0x7,0x8,0x9,0xa,0xb}}", "x-ms-copy-action: abort", ""},
		{"blob", "PUT", "/logs/photo", "x-ms-blob-type: BlockBlob\nx-ms-structured-body: XSM/1.0; properties=crc64\nx-ms-structured-content-length: 5", structuredMessage("hello", 2)},
		{"blob", "GET", "/logs/src", "x-ms-structured-body: XSM/1.0; properties=crc64\nx-ms-range: bytes=1-2", ""},
	} {
		f.Add(c.service, c.method, c.path, c.header, []byte(c.body))
	}
	f.Fuzz(func(t *testing.T, service, method, path, header string, body []byte) {
		u, err := url.Parse("https://storagetest." + service + ".storagetest.test" + path)
		if err != nil {
			return
		}
		s := filled(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r := (&http.Request{Method: method, URL: u, Header: http.Header{"Authorization": {"Bearer token"}, "X-Ms-Version": {"2023-11-03"}}, Body: io.NopCloser(bytes.NewReader(body))}).WithContext(ctx)
		for line := range strings.Lines(header) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				r.Header.Set(name, strings.TrimSpace(value))
			}
		}
		began := time.Now()
		resp, err := s.Do(r)
		if err != nil || resp.StatusCode == http.StatusInternalServerError || resp.StatusCode < 200 || resp.StatusCode > 599 {
			t.Fatalf("%s %s: got %v, %v; want an answer that is no 500", method, u, resp, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%s %s: took %v", method, u, took)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = fmt.Sprint(s.Requests(), s.Count())
	})
}

// filled returns an account with a table, a queue, and a container with a blob.
func filled(t *testing.T) *storagetest.Service {
	t.Helper()
	s := storagetest.New(nil)
	staff := s.Tables().NewClient("staff")
	_, table := staff.CreateTable(t.Context(), nil)
	_, added := staff.AddEntity(t.Context(), []byte(`{"PartitionKey":"p","RowKey":"r","a":1}`), nil)
	_, queue := s.Queues().NewQueueClient("jobs").Create(t.Context(), nil)
	_, message := s.Queues().NewQueueClient("jobs").EnqueueMessage(t.Context(), "text", nil)
	_, container := s.Blobs().NewContainerClient("logs").Create(t.Context(), nil)
	_, blob := s.Blobs().NewContainerClient("logs").NewBlockBlobClient("src").UploadBuffer(t.Context(), []byte("hello"), nil)
	for _, err := range []error{table, added, queue, message, container, blob} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}
