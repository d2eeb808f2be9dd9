package storagetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// rawQueue talks to the Queue service in its own protocol, without an SDK.
type rawQueue struct {
	*testing.T
	*storagetest.Service
	now time.Time
}

// The recordings' time, and the head of XML as it came.
const (
	inserted = "Mon, 02 Oct 2017 20:21:54 GMT"
	expires  = "Mon, 09 Oct 2017 20:21:54 GMT"
	xmlHead  = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`
)

func newRawQueue(t *testing.T, o storagetest.Options) *rawQueue {
	r := &rawQueue{T: t, now: moment}
	o.Account, o.Now = "storagename", func() time.Time { return r.now }
	r.Service = storagetest.New(&o)
	r.want(r.send("PUT", "/hints", ""), 201, "")
	return r
}

// send signs and sends a request. Headers are given as names and values.
func (r *rawQueue) send(method, path, body string, header ...string) answer {
	r.Helper()
	u, err := url.Parse("http://storagename.queue.storagetest.test" + path)
	if err != nil {
		r.Fatal(err)
	}
	const date = "Mon, 02 Oct 2017 20:21:54 GMT"
	req := &http.Request{Method: method, URL: u, Header: http.Header{"X-Ms-Version": {"2018-03-28"}, "X-Ms-Date": {date}}}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	length, mime := "", ""
	if body != "" {
		mime = "application/xml"
		req.Header.Set("Content-Type", mime)
		length = strconv.Itoa(len(body))
		req.Body = io.NopCloser(strings.NewReader(body))
	}
	// By the documentation: the verb, eleven headers, the headers of the service, the resource.
	lines := []string{method, "", "", length, "", mime, "", "", "", "", "", ""}
	var own []string
	for name := range req.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+req.Header.Get(name))
		}
	}
	slices.Sort(own)
	lines = append(append(lines, own...), "/storagename"+u.EscapedPath())
	var query []string
	for name, values := range u.Query() {
		query = append(query, name+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	key, _ := base64.StdEncoding.DecodeString(r.Key())
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join(append(lines, query...), "\n")))
	if req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "SharedKey storagename:"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	resp, err := r.Do(req)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, requestIDs.ReplaceAllString(string(b), "ID")}
}

// want checks an answer's status and body.
func (r *rawQueue) want(a answer, status int, body string) {
	r.Helper()
	if a.status != status || a.body != body {
		r.Errorf("answered %d %s\n want %d %s", a.status, a.body, status, body)
	}
}

// fails checks that an answer is an error, as the service writes it.
func (r *rawQueue) fails(a answer, status int, code, text, detail string) {
	r.Helper()
	r.want(a, status, xmlHead+"<Error><Code>"+code+"</Code><Message>"+text+"\nRequestId:ID\nTime:"+r.now.Format("2006-01-02T15:04:05.0000000Z")+"</Message>"+detail+"</Error>")
	if a.head.Get("x-ms-error-code") != code || a.head.Get("Content-Type") != "application/xml" {
		r.Errorf("head %v", a.head)
	}
}

func text(s string) string {
	return "<QueueMessage><MessageText>" + s + "</MessageText></QueueMessage>"
}

// put enqueues a message and returns its id and receipt.
func (r *rawQueue) put(s, query string) (id, receipt string) {
	r.Helper()
	a := r.send("POST", "/hints/messages"+query, text(s))
	if a.status != 201 {
		r.Fatalf("%d %s", a.status, a.body)
	}
	return part(a.body, "MessageId"), part(a.body, "PopReceipt")
}

// part is the text of the first element with a name.
func part(body, name string) string {
	_, rest, _ := strings.Cut(body, "<"+name+">")
	s, _, _ := strings.Cut(rest, "</"+name+">")
	return s
}

// texts are those of the messages in an answer.
func texts(a answer) string {
	var all []string
	for rest := a.body; ; {
		_, after, ok := strings.Cut(rest, "<MessageText>")
		if !ok {
			return strings.Join(all, " ")
		}
		s, r, _ := strings.Cut(after, "</MessageText>")
		all, rest = append(all, s), r
	}
}

// TestAnswersOfQueuesAsRecorded: a message's life, in the bytes that the live service answered, but for ids and dates.
func TestAnswersOfQueuesAsRecorded(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	head := func(a answer, want ...string) {
		t.Helper()
		var got []string
		for name := range a.head {
			got = append(got, name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("head %q\nwant %q", got, want)
		}
		if a.head.Get("Server") != "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0" || a.head.Get("X-Ms-Version") != "2018-03-28" {
			t.Errorf("head %v", a.head)
		}
	}

	a := r.send("POST", "/hints/messages", "<?xml version='1.0' encoding='utf-8'?>\n"+text("message1"))
	id, receipt := part(a.body, "MessageId"), part(a.body, "PopReceipt")
	r.want(a, 201, xmlHead+"<QueueMessagesList><QueueMessage><MessageId>"+id+"</MessageId><InsertionTime>"+inserted+"</InsertionTime><ExpirationTime>"+expires+"</ExpirationTime><PopReceipt>"+receipt+"</PopReceipt><TimeNextVisible>"+inserted+"</TimeNextVisible></QueueMessage></QueueMessagesList>")
	head(a, "Content-Type", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")
	if !strings.HasPrefix(receipt, "AgAAAAMAAAAAAAAA") || len(receipt) != len("AgAAAAMAAAAAAAAAEtmJTAUG1QE=") || len(id) != len("541ecaeb-7d33-4a83-9f86-1071f22a795a") {
		t.Errorf("id %s, receipt %s", id, receipt)
	}

	a = r.send("GET", "/hints/messages?peekonly=true", "")
	r.want(a, 200, xmlHead+"<QueueMessagesList><QueueMessage><MessageId>"+id+"</MessageId><InsertionTime>"+inserted+"</InsertionTime><ExpirationTime>"+expires+"</ExpirationTime><DequeueCount>0</DequeueCount><MessageText>message1</MessageText></QueueMessage></QueueMessagesList>")
	head(a, "Cache-Control", "Content-Type", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")

	a = r.send("GET", "/hints/messages", "")
	receipt = part(a.body, "PopReceipt")
	r.want(a, 200, xmlHead+"<QueueMessagesList><QueueMessage><MessageId>"+id+"</MessageId><InsertionTime>"+inserted+"</InsertionTime><ExpirationTime>"+expires+"</ExpirationTime><PopReceipt>"+receipt+"</PopReceipt><TimeNextVisible>Mon, 02 Oct 2017 20:22:24 GMT</TimeNextVisible><DequeueCount>1</DequeueCount><MessageText>message1</MessageText></QueueMessage></QueueMessagesList>")
	head(a, "Cache-Control", "Content-Type", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")
	r.want(r.send("GET", "/hints/messages", ""), 200, xmlHead+"<QueueMessagesList />")

	a = r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=10&popreceipt="+url.QueryEscape(receipt), text("message2"))
	r.want(a, 204, "")
	head(a, "Content-Length", "Date", "Server", "X-Ms-Popreceipt", "X-Ms-Request-Id", "X-Ms-Time-Next-Visible", "X-Ms-Version")
	receipt = a.head.Get("X-Ms-Popreceipt")
	if a.head.Get("X-Ms-Time-Next-Visible") != "Mon, 02 Oct 2017 20:22:04 GMT" || !strings.HasPrefix(receipt, "AwAAAAMAAAAAAAAA") || len(receipt) != len("AwAAAAMAAAAAAAAAX8HaUMpC1QEAAAAA") {
		t.Errorf("head %v", a.head)
	}

	a = r.send("GET", "/hints?comp=metadata", "")
	r.want(a, 200, "")
	head(a, "Cache-Control", "Content-Length", "Date", "Server", "X-Ms-Approximate-Messages-Count", "X-Ms-Request-Id", "X-Ms-Version")
	if n := a.head.Get("X-Ms-Approximate-Messages-Count"); n != "1" {
		t.Errorf("%s messages", n)
	}

	a = r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(receipt), "")
	r.want(a, 204, "")
	head(a, "Content-Length", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")

	a = r.send("PUT", "/hints/messages/test-message-db7fa4dc?popreceipt=mesbvexorrjhouuwibaj&visibilitytimeout=0", text(""))
	r.fails(a, 404, "MessageNotFound", "The specified message does not exist.", "")
	head(a, "Content-Length", "Content-Type", "Date", "Server", "X-Ms-Error-Code", "X-Ms-Request-Id", "X-Ms-Version")

	r.fails(r.send("POST", "/hints/messages", text(strings.Repeat("x", 65537))), 413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.", "<MaxLimit>65536</MaxLimit>")
}

// TestUpdateWithAndWithoutText: an empty text wipes the message, as recorded; no body at all leaves it as it is.
func TestUpdateWithAndWithoutText(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	id, receipt := r.put("a", "")
	for _, c := range []struct{ body, want string }{{"", "a"}, {text("b"), "b"}, {"", "b"}, {"<?xml version=\"1.0\"?><QueueMessage><MessageText/></QueueMessage>", ""}} {
		a := r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=0&popreceipt="+url.QueryEscape(receipt), c.body)
		r.want(a, 204, "")
		receipt = a.head.Get("X-Ms-Popreceipt")
		if got := r.Messages("hints")[0].Text; got != c.want {
			t.Errorf("after %q: %q, want %q", c.body, got, c.want)
		}
	}
	if a := r.send("GET", "/hints/messages?peekonly=true", ""); !strings.Contains(a.body, "<MessageText />") {
		t.Error(a.body)
	}
}
