package table_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// reading is an entity with ten properties.
type reading struct {
	Site    string
	N       int
	Name    string
	Unit    string
	Note    string
	Low     int32
	Count   int64
	Value   float64
	Quality float64
	Valid   bool
	At      time.Time
	Raw     []byte
}

var (
	site     = keys.Partition(keys.Text(), func(e *reading) *string { return &e.Site })
	readingN = keys.Row(keys.Digits[int](6), func(e *reading) *int { return &e.N })
)

func newReading(n int) *reading {
	return &reading{
		Site: "north", N: n, Name: "sensor", Unit: "degrees", Note: "checked by hand", Low: 7, Count: 1 << 40, Value: 21.5, Quality: 0.75,
		Valid: true, At: time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC), Raw: []byte("0123456789abcdef"),
	}
}

func readingJSON(n int) string {
	return fmt.Sprintf(`{"odata.etag":"W/\"datetime'2026-11-21T01%%3A02%%3A03.1234567Z'\"","PartitionKey":"north","RowKey":"%06d","Timestamp":"2026-11-21T01:02:03.1234567Z",`+
		`"Name":"sensor","Unit":"degrees","Note":"checked by hand","Low":7,"Count@odata.type":"Edm.Int64","Count":"1099511627776","Value":21.5,"Quality":0.75,"Valid":true,`+
		`"At@odata.type":"Edm.DateTime","At":"2026-11-21T01:02:03Z","Raw@odata.type":"Edm.Binary","Raw":"MDEyMzQ1Njc4OWFiY2RlZg=="}`, n)
}

// canned is a transport that reads each request and answers at once.
type canned struct {
	status int
	header http.Header
	body   string
}

func (c *canned) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.body)), ContentLength: int64(len(c.body)), Request: r}, nil
}

// BenchmarkPaths measures the calls over a transport that answers at once, with the policies of ClientOptions and without them.
func BenchmarkPaths(b *testing.B) {
	ctx := context.Background()
	header := http.Header{
		"Content-Type": {"application/json;odata=minimalmetadata;streaming=true;charset=utf-8"}, "X-Ms-Version": {"2019-02-02"}, "X-Ms-Request-Id": {"00000000-0000-0000-0000-000000000000"},
		"Date": {"Sat, 21 Nov 2026 01:02:03 GMT"}, "Etag": {etag},
	}
	w := &canned{header: header}
	var page, batch strings.Builder
	page.WriteString(`{"odata.metadata":"x","value":[`)
	batch.WriteString("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n")
	for n := range 1000 {
		if n > 0 {
			page.WriteByte(',')
		}
		page.WriteString(readingJSON(n))
		if n < 100 {
			batch.WriteString("--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\n" +
				"X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 1.0;\r\nETag: " + etag + "\r\n\r\n\r\n")
		}
	}
	page.WriteString("]}")
	batch.WriteString("--changesetresponse_1--\r\n--batchresponse_1--\r\n")
	for _, path := range []string{"tap", "plain"} {
		options := azcore.ClientOptions{Transport: w}
		if path == "tap" {
			options = table.ClientOptions(options, nil)
		}
		cred, err := aztables.NewSharedKeyCredential("account", "bm90IGEgc2VjcmV0")
		noError(b, err)
		s, err := aztables.NewServiceClientWithSharedKey("http://127.0.0.1:1/account", cred, &aztables.ClientOptions{ClientOptions: options})
		noError(b, err)
		t, err := bare.NewTable(s, "readings", table.Schema[reading]{Partition: site, Row: readingN}, nil)
		noError(b, err)
		k := keys.At(site.Of("north"), readingN.Of(1))
		var all []table.Op
		for n := range 100 {
			all = append(all, t.InsertOp(newReading(n)))
		}
		w.status, w.body = 200, readingJSON(1)
		e, err := t.Get(ctx, k)
		noError(b, err)
		for _, op := range []struct {
			name   string
			status int
			body   string
			call   func() error
		}{
			{"Get", 200, readingJSON(1), func() error { _, err := t.Get(ctx, k); return err }},
			{"Page", 200, page.String(), func() error {
				n := 0
				for _, err := range t.List(ctx, table.Query[reading]{Partition: site.Of("north")}) {
					if err != nil {
						return err
					}
					n++
				}
				if n != 1000 {
					return fmt.Errorf("got %d entities; want 1000", n)
				}
				return nil
			}},
			{"Insert", 204, "", func() error { _, err := t.Insert(ctx, newReading(1)); return err }},
			{"Replace", 204, "", func() error { return t.Replace(ctx, e) }},
			{"Transact100", 202, batch.String(), func() error { _, err := table.Transact(ctx, all...); return err }},
		} {
			b.Run(op.name+"/"+path, func(b *testing.B) {
				w.status, w.body = op.status, op.body
				noError(b, op.call())
				b.ReportAllocs()
				for b.Loop() {
					noError(b, op.call())
				}
			})
		}
	}
}
