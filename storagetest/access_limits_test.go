package storagetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/storagetest"
)

// signed is an account whose requests bear shared access signatures that the test makes itself.
type signed struct {
	*testing.T
	*storagetest.Service
}

// sign returns a query with the signature of lines.
func (s *signed) sign(q url.Values, lines ...string) url.Values {
	key, _ := base64.StdEncoding.DecodeString(s.Key())
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join(lines, "\n")))
	q.Set("sig", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return q
}

// forTable returns the signature for the rows of a table.
func (s *signed) tableSAS(table, permissions, expiry string) url.Values {
	q := url.Values{"tn": {table}, "sp": {permissions}, "se": {expiry}, "sv": {"2019-02-02"}}
	return s.sign(q, permissions, "", expiry, "/table/storagetest/"+table, "", "", "", "2019-02-02", "", "", "", "")
}

// send sends a request to a service and returns its status and the body. header contains names and values.
func (s *signed) send(method, host, path string, q url.Values, body string, header ...string) (int, string) {
	s.Helper()
	r, err := http.NewRequest(method, host+path+"?"+q.Encode(), strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("x-ms-version") + string(text)
}

// TestSignatureLimits: what a signature does not permit.
func TestSignatureLimits(t *testing.T) {
	t.Parallel()
	s := &signed{t, storagetest.New(nil)}
	for _, name := range []string{"mine", "secret"} {
		staff := s.Tables().NewClient(name)
		_, created := staff.CreateTable(t.Context(), nil)
		_, added := staff.AddEntity(t.Context(), []byte(`{"PartitionKey":"p","RowKey":"r","word":"hidden"}`), nil)
		if created != nil || added != nil {
			t.Fatal(created, added)
		}
	}
	const later, table, queue, blob = "2040-01-01", "http://storagetest.table.storagetest.test", "http://storagetest.queue.storagetest.test", "http://storagetest.blob.storagetest.test"
	if _, err := s.Blobs().NewContainerClient("logs").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		return "--b\r\nContent-Type: application/http\r\n\r\nGET " + table + "/" + name + "(PartitionKey='p',RowKey='r') HTTP/1.1\r\n\r\n\r\n--b--\r\n"
	}
	version := []string{"x-ms-version", "2019-02-02"}
	batch := append([]string{"Content-Type", "multipart/mixed; boundary=b"}, version...)
	if _, body := s.send("POST", table, "/$batch", s.tableSAS("mine", "r", later), read("mine"), batch...); !strings.Contains(body, "hidden") {
		t.Errorf("a read of the table by $batch: got %s; want the entity", body)
	}
	if _, body := s.send("POST", table, "/$batch", s.tableSAS("mine", "r", later), read("secret"), batch...); !strings.Contains(body, "AuthorizationFailure") || strings.Contains(body, "hidden") {
		t.Errorf("a read of another table by $batch: got %s; want AuthorizationFailure", body)
	}
	if status, body := s.send("GET", table, "/mine()", s.tableSAS("mine", "r", later), ""); status != 200 || !strings.HasPrefix(body, "2019-02-02") {
		t.Errorf("without a version: got %d %s; want 200, by the version of the signature", status, body)
	}
	if status, body := s.send("GET", table, "/none()", s.tableSAS("none", "r", "2001-01-01"), "", version...); status != 403 {
		t.Errorf("expired, of a missing table: got %d %s; want 403", status, body)
	}
	// Values with new lines would move others to places that are not signed.
	lines := []string{"r", "", later, "/blob/storagetest/logs", "", "", "https", "2018-11-09", "c", "", "", "", "", "", ""}
	q := s.sign(url.Values{"sp": {"r"}, "se": {later}, "spr": {"https"}, "sv": {"2018-11-09"}, "sr": {"c"}}, lines...)
	if status, body := s.send("GET", blob, "/logs/a", q, "", version...); status != 403 || !strings.Contains(body, "AuthorizationProtocolMismatch") {
		t.Errorf("a signature for HTTPS: got %d %s; want 403 AuthorizationProtocolMismatch", status, body)
	}
	q.Set("spr", "https\n2018-11-09\nc")
	q.Set("sv", "")
	if status, body := s.send("GET", blob, "/logs/a", q, "", version...); status != 403 {
		t.Errorf("the same with moved lines: got %d %s; want 403", status, body)
	}
	for name, method := range map[string]string{"create": "PUT", "delete": "DELETE"} {
		q := s.sign(url.Values{"sp": {"raup"}, "se": {later}, "sv": {"2019-02-02"}}, "raup", "", later, "/queue/storagetest/jobs", "", "", "", "2019-02-02")
		if status, body := s.send(method, queue, "/jobs", q, "", version...); status != 403 || !strings.Contains(body, "AuthorizationFailure") {
			t.Errorf("%s by a signature for a queue: got %d %s; want 403 AuthorizationFailure", name, status, body)
		}
	}
	account := func() url.Values {
		q := url.Values{"sp": {"r"}, "ss": {"t"}, "srt": {"o"}, "se": {later}, "sv": {"2019-02-02"}}
		return s.sign(q, "storagetest", "r", "t", "o", "", later, "", "", "2019-02-02", "")
	}
	q = account()
	q.Set("si", "policy")
	if status, body := s.send("GET", table, "/mine()", q, "", version...); status != 200 {
		t.Errorf("the name of a policy, not signed: got %d %s; want 200", status, body)
	}
	if status, body := s.send("GET", queue, "/jobs/messages", account(), "", version...); status != 403 || !strings.Contains(body, "AuthorizationServiceMismatch") {
		t.Errorf("another service: got %d %s; want 403 AuthorizationServiceMismatch", status, body)
	}
}

// TestSpoofedScheme: a request at a port without TLS cannot say that it came over HTTPS.
func TestSpoofedScheme(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	connection := listen(t, s)
	_, address, _ := strings.Cut(connection, "TableEndpoint=http://")
	address, _, _ = strings.Cut(address, "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	const body = `{"TableName":"more"}`
	fmt.Fprintf(c, "POST https://storagetest.table.storagetest.test/storagetest/Tables HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nx-ms-version: 2019-02-02\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 403") || len(s.TableNames()) != 0 {
		t.Errorf("got %q, %v, tables %v; want 403 and no table", text, err, s.TableNames())
	}
}

// TestRefusedBesideProperties: refused requests and settings of properties race for nothing. The race detector looks on.
func TestRefusedBesideProperties(t *testing.T) {
	t.Parallel()
	s := storagetest.New(&storagetest.Options{Faults: storagetest.OfKind(kinds.TableQuery, storagetest.Refuse(400, "InvalidInput"))})
	const rules = `<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>`
	var both sync.WaitGroup
	for range 20 {
		both.Go(func() { _, _ = s.Tables().NewListTablesPager(nil).NextPage(t.Context()) })
		both.Go(func() {
			if err := setProperties(s, "table", rules); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for name, document := range map[string]string{
		"an empty rule":     `<Cors><CorsRule></CorsRule></Cors>`,
		"no number":         strings.Replace(rules[26:len(rules)-27], ">5<", ">soon<", 1),
		"an unknown method": strings.Replace(rules[26:len(rules)-27], "GET", "GOT", 1),
		"of blobs":          `<DefaultServiceVersion>2021-12-02</DefaultServiceVersion>`,
		"twice":             `<Logging></Logging><Logging></Logging>`,
		"unknown":           `<Other></Other>`,
	} {
		if err := setProperties(s, "table", "<StorageServiceProperties>"+document+"</StorageServiceProperties>"); err == nil || !strings.Contains(err.Error(), "InvalidXmlDocument") {
			t.Errorf("%s: got %v; want InvalidXmlDocument", name, err)
		}
	}
	if err := setProperties(s, "table", rules+"x"); err == nil {
		t.Error("text after the document: got no error")
	}
}
