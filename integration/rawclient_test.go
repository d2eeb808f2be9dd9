package integration

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// rawClient is a client of the Table service that uses the protocol alone.
type rawClient struct {
	testing.TB
	endpoint, queues, blobs, account, key, table string
}

func newRawClient(t testing.TB, b backend) *rawClient {
	p := &rawClient{TB: t}
	for field := range strings.SplitSeq(b.ConnectionString(), ";") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "TableEndpoint":
			p.endpoint = strings.TrimSuffix(value, "/")
		case "QueueEndpoint":
			p.queues = strings.TrimSuffix(value, "/")
		case "BlobEndpoint":
			p.blobs = strings.TrimSuffix(value, "/")
		case "AccountName":
			p.account = value
		case "AccountKey":
			p.key = value
		}
	}
	p.table = freshName()
	if got := p.result("POST", "/Tables", `{"TableName":"`+p.table+`"}`); got != "done" {
		t.Fatalf("creating a table: got %s; want done", got)
	}
	return p
}

// sign returns the signature of a text with the account's key.
func (p *rawClient) sign(text string) string {
	key, _ := base64.StdEncoding.DecodeString(p.key)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// send sends a request. It returns the response's header, with the status, and the body.
func (p *rawClient) send(method, path, body string, header ...string) (http.Header, string) {
	p.Helper()
	req, err := http.NewRequest(method, p.endpoint+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	for name, value := range map[string]string{"Accept": "application/json;odata=minimalmetadata", "Content-Type": "application/json", "DataServiceVersion": "3.0", "x-ms-version": "2019-02-02", "x-ms-date": date} {
		req.Header.Set(name, value)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if !req.URL.Query().Has("sig") {
		req.Header.Set("Authorization", "SharedKeyLite "+p.account+":"+p.sign(date+"\n/"+p.account+req.URL.EscapedPath()))
	}
	return p.do(req)
}

// do sends a signed request. It returns the response's header, with the status, and the body.
func (p *rawClient) do(req *http.Request) (http.Header, string) {
	p.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	resp.Header.Set("Status", fmt.Sprint(resp.StatusCode))
	return resp.Header, string(b)
}

var errorCode = regexp.MustCompile(`"code":"([A-Za-z]*)"`)

// result sends a request and returns its status and error code, or "done".
func (p *rawClient) result(method, path, body string) string {
	p.Helper()
	head, body := p.send(method, path, body)
	return result(head, body)
}

func result(head http.Header, body string) string {
	if head.Get("Status") < "400" {
		return "done"
	}
	code := errorCode.FindStringSubmatch(body)
	if code == nil {
		code = []string{"", ""}
	}
	return head.Get("Status") + " " + code[1]
}

func (p *rawClient) row(row string) string {
	return "/" + p.table + "(PartitionKey='p',RowKey='" + row + "')"
}

func (p *rawClient) insertResult(properties string) string {
	p.Helper()
	return p.result("POST", "/"+p.table, `{"PartitionKey":"p","RowKey":"r",`+properties+`}`)
}

func (p *rawClient) insert(row, properties string) {
	p.Helper()
	if properties != "" {
		properties = "," + properties
	}
	if got := p.result("POST", "/"+p.table, `{"PartitionKey":"p","RowKey":"`+row+`"`+properties+`}`); got != "done" {
		p.Fatalf("insert: got %s; want done", got)
	}
}

// storedAfterInsert inserts properties and returns how the service stores them.
func (p *rawClient) storedAfterInsert(properties string) string {
	p.Helper()
	p.insert("r", properties)
	return p.storedProperties("r")
}

var timestampProperty = regexp.MustCompile(`,?"Timestamp(@odata.type)?":"[^"]*"`)

// storedProperties returns a row's properties without keys and Timestamp.
func (p *rawClient) storedProperties(row string) string {
	p.Helper()
	_, body := p.send("GET", p.row(row), "")
	return strings.TrimPrefix(textBetween(timestampProperty.ReplaceAllString(body, ""), `"RowKey":"r"`, "}"), ",")
}

func textBetween(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	return strings.TrimSuffix(s, to)
}

func manyProperties(n int, value string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%03d":%s`, i, value))
	}
	return strings.Join(all, ",")
}

// post returns an insert operation of a transaction.
func (p *rawClient) post(partition, row string) string {
	return "POST " + p.endpoint + "/" + p.table + " HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\r\n" + `{"PartitionKey":"` + partition + `","RowKey":"` + row + `"}`
}

func (p *rawClient) transact(ops ...string) (http.Header, string) {
	p.Helper()
	body := "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n"
	for _, op := range ops {
		body += "--changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + op + "\r\n"
	}
	return p.send("POST", "/$batch", body+"--changeset_2--\r\n--batch_1--\r\n", "Content-Type", "multipart/mixed; boundary=batch_1")
}

var refusal = regexp.MustCompile(`"code":"([A-Za-z]+)","message":\{"lang":"en-US","value":"(.*?)\\n`)

// transactResult sends a transaction and returns its error code and message, or "done".
func (p *rawClient) transactResult(ops ...string) string {
	p.Helper()
	head, body := p.transact(ops...)
	if got := result(head, body); got != "done" {
		return got
	}
	switch failed := refusal.FindStringSubmatch(body); {
	case failed != nil:
		return failed[1] + " " + failed[2]
	case strings.Count(body, "HTTP/1.1 204") != len(ops):
		return "malformed"
	}
	return "done"
}

// signedResult sends a request with a signature for the rows of partition p between two RowKeys, and returns its result.
func (p *rawClient) signedResult(method, path, permissions, from, to string) string {
	p.Helper()
	q := url.Values{"sp": {permissions}, "se": {"2099-01-01T00:00:00Z"}, "sv": {"2019-02-02"}, "tn": {p.table}, "spk": {"p"}, "epk": {"p"}, "srk": {from}, "erk": {to}}
	said := []string{q.Get("sp"), "", q.Get("se"), "/table/" + p.account + "/" + p.table, "", "", "", q.Get("sv"), "p", from, "p", to}
	q.Set("sig", p.sign(strings.Join(said, "\n")))
	head, body := p.send(method, path+"?"+q.Encode(), "")
	return result(head, body)
}
