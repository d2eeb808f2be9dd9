package storagetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// moment is the time of the clock in these tests.
var moment = time.Date(2017, 10, 2, 20, 21, 54, 822800700, time.UTC)

const (
	jsonMinimal = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
	stamp       = "2017-10-02T20:21:54.8228007Z"
	stampETag   = `W/"datetime'2017-10-02T20%3A21%3A54.8228007Z'"`
)

// raw talks to a service in its own protocol, without an SDK.
type raw struct {
	*testing.T
	*storagetest.Service
	now time.Time
}

func newRaw(t *testing.T) *raw {
	r := &raw{T: t, now: moment}
	r.Service = storagetest.New(&storagetest.Options{Account: "storagename", Now: func() time.Time { return r.now }})
	return r
}

// withTable is newRaw with a table called staff.
func withTable(t *testing.T) *raw {
	r := newRaw(t)
	r.want(r.send("POST", "/Tables", `{"TableName":"staff"}`, "Prefer", "return-no-content"), 204, "")
	return r
}

// answer is what came back.
type answer struct {
	status int
	head   http.Header
	body   string
}

var requestIDs = regexp.MustCompile(`[0-9a-f]{8}-0002-[0-9a-f]{4}-7ebc-3bbd59000000`)
var boundaries = regexp.MustCompile(`[0-9a-f]{8}-0002-4[0-9a-f]{3}-7ebc-3bbd5900000([12])`)

// send signs and sends a request with the headers that every client sends, but for those that are named: with a value they
// are replaced, with "-" left out.
func (r *raw) send(method, path, body string, header ...string) answer {
	r.Helper()
	u, err := url.Parse("https://storagename.table.storagetest.test" + path)
	if err != nil {
		r.Fatal(err)
	}
	req := &http.Request{Method: method, URL: u, Header: http.Header{
		"Accept": {"application/json;odata=minimalmetadata"}, "Dataserviceversion": {"3.0"}, "X-Ms-Version": {"2019-02-02"}, "X-Ms-Date": {"Mon, 02 Oct 2017 20:21:54 GMT"},
	}}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Body = io.NopCloser(strings.NewReader(body))
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i+1] == "-" {
			req.Header.Del(header[i])
		}
	}
	key, _ := base64.StdEncoding.DecodeString(r.Key())
	mac := hmac.New(sha256.New, key)
	resource := "/storagename" + u.EscapedPath()
	if comp := u.Query().Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	mac.Write([]byte("Mon, 02 Oct 2017 20:21:54 GMT\n" + resource))
	req.Header.Set("Authorization", "SharedKeyLite storagename:"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	resp, err := r.Do(req)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	text := requestIDs.ReplaceAllString(boundaries.ReplaceAllString(string(b), "GUID$1"), "ID")
	text = strings.ReplaceAll(text, "https://storagename.table.storagetest.test", "BASE")
	return answer{resp.StatusCode, resp.Header, text}
}

// want checks an answer's status and body.
func (r *raw) want(a answer, status int, body string) {
	r.Helper()
	if a.status != status || a.body != body {
		r.Errorf("answered %d %s\n want %d %s", a.status, a.body, status, body)
	}
}

// fails checks that an answer is an error.
func (r *raw) fails(a answer, status int, code, text string) {
	r.Helper()
	want := `{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"` + text + `\nRequestId:ID\nTime:` + r.now.Format("2006-01-02T15:04:05.0000000Z") + `"}}}`
	r.want(a, status, want)
	if a.head.Get("x-ms-error-code") != "" {
		r.Error("x-ms-error-code on JSON")
	}
}

// insert stores an entity, given as JSON without its braces, under ('p', row).
func (r *raw) insert(row, properties string) {
	r.Helper()
	if properties != "" {
		properties = "," + properties
	}
	if a := r.send("POST", "/staff", `{"PartitionKey":"p","RowKey":"`+row+`"`+properties+`}`, "Prefer", "return-no-content"); a.status != 204 {
		r.Fatalf("%d %s", a.status, a.body)
	}
}

// stored is the entity ('p', row) as it is returned, without what every entity begins with.
func (r *raw) stored(row string) string {
	r.Helper()
	a := r.send("GET", "/staff(PartitionKey='p',RowKey='"+row+"')", "", "Accept", "application/json;odata=minimalmetadata")
	if a.status != 200 {
		r.Fatalf("%d %s", a.status, a.body)
	}
	_, rest, _ := strings.Cut(a.body, `"Timestamp":"`)
	_, rest, _ = strings.Cut(rest, `Z"`)
	return strings.TrimSuffix(strings.TrimPrefix(rest, ","), "}")
}
