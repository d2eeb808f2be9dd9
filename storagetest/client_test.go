package storagetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// recordedTime is the time of the recordings, and of the clock in the tests.
var recordedTime = time.Date(2017, 10, 2, 20, 21, 54, 822800700, time.UTC)

// serviceClient sends requests to a new account without an SDK.
type serviceClient struct {
	*testing.T
	*storagetest.Service
	now time.Time
}

// newServiceClient returns a client of a new account called storagename, whose clock shows now.
func newServiceClient(t *testing.T, o storagetest.Options) *serviceClient {
	r := &serviceClient{T: t, now: recordedTime}
	o.Account, o.Now = "storagename", func() time.Time { return r.now }
	r.Service = storagetest.New(&o)
	return r
}

// response is a response whose IDs and addresses are replaced by names.
type response struct {
	status int
	header http.Header
	body   string
}

var requestIDs = regexp.MustCompile(`[0-9a-f]{8}-0002-[0-9a-f]{4}-7ebc-3bbd59000000`)

// signature returns the signature of text with the account's key.
func (r *serviceClient) signature(text string) string {
	r.Helper()
	key, err := base64.StdEncoding.DecodeString(r.Key())
	if err != nil {
		r.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// roundTrip sends a request.
func (r *serviceClient) roundTrip(req *http.Request) response {
	r.Helper()
	resp, err := r.Do(req)
	if err != nil {
		r.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	return response{resp.StatusCode, resp.Header, requestIDs.ReplaceAllString(string(b), "ID")}
}

// listen opens the ports of an account until the test ends, and returns the connection string.
func listen(t *testing.T, s *storagetest.Service) string {
	t.Helper()
	connection, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return connection
}

// expect checks the status and the body of a response.
func (r *serviceClient) expect(a response, status int, body string) {
	r.Helper()
	if a.status != status || a.body != body {
		r.Errorf("got  %d %s\nwant %d %s", a.status, a.body, status, body)
	}
}
