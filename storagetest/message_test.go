package storagetest_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestRecordedResponses: the responses to the requests for one message equal the recorded responses of the live service.
func TestRecordedResponses(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	expectHeader := func(a response, want ...string) {
		t.Helper()
		var got []string
		for name := range a.header {
			got = append(got, name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got headers %q; want %q", got, want)
		}
		if a.header.Get("Server") != "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0" || a.header.Get("X-Ms-Version") != "2018-03-28" {
			t.Errorf("got header %v; want the server and the version", a.header)
		}
	}

	a := r.send("POST", "/hints/messages", "<?xml version='1.0' encoding='utf-8'?>\n"+text("message1"))
	id, receipt := part(a.body, "MessageId"), part(a.body, "PopReceipt")
	r.expect(a, 201, xmlHead+"<QueueMessagesList><QueueMessage><MessageId>"+id+"</MessageId><InsertionTime>"+inserted+"</InsertionTime><ExpirationTime>"+expires+"</ExpirationTime><PopReceipt>"+receipt+"</PopReceipt><TimeNextVisible>"+inserted+"</TimeNextVisible></QueueMessage></QueueMessagesList>")
	expectHeader(a, "Content-Type", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")
	if !strings.HasPrefix(receipt, "AgAAAAMAAAAAAAAA") || len(receipt) != len("AgAAAAMAAAAAAAAAEtmJTAUG1QE=") || len(id) != len("541ecaeb-7d33-4a83-9f86-1071f22a795a") {
		t.Errorf("got ID %s, receipt %s; want the form of the live service", id, receipt)
	}

	a = r.send("GET", "/hints/messages?peekonly=true", "")
	r.expect(a, 200, xmlHead+"<QueueMessagesList><QueueMessage><MessageId>"+id+"</MessageId><InsertionTime>"+inserted+"</InsertionTime><ExpirationTime>"+expires+"</ExpirationTime><DequeueCount>0</DequeueCount><MessageText>message1</MessageText></QueueMessage></QueueMessagesList>")
	expectHeader(a, "Cache-Control", "Content-Type", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")

	a = r.send("GET", "/hints/messages", "")
	receipt = part(a.body, "PopReceipt")
	r.expect(a, 200, xmlHead+"<QueueMessagesList><QueueMessage><MessageId>"+id+"</MessageId><InsertionTime>"+inserted+"</InsertionTime><ExpirationTime>"+expires+"</ExpirationTime><PopReceipt>"+receipt+"</PopReceipt><TimeNextVisible>Mon, 02 Oct 2017 20:22:24 GMT</TimeNextVisible><DequeueCount>1</DequeueCount><MessageText>message1</MessageText></QueueMessage></QueueMessagesList>")
	expectHeader(a, "Cache-Control", "Content-Type", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")
	r.expect(r.send("GET", "/hints/messages", ""), 200, xmlHead+"<QueueMessagesList />")

	a = r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=10&popreceipt="+url.QueryEscape(receipt), text("message2"))
	r.expect(a, 204, "")
	expectHeader(a, "Content-Length", "Date", "Server", "X-Ms-Popreceipt", "X-Ms-Request-Id", "X-Ms-Time-Next-Visible", "X-Ms-Version")
	receipt = a.header.Get("X-Ms-Popreceipt")
	if a.header.Get("X-Ms-Time-Next-Visible") != "Mon, 02 Oct 2017 20:22:04 GMT" || !strings.HasPrefix(receipt, "AwAAAAMAAAAAAAAA") || len(receipt) != len("AwAAAAMAAAAAAAAAX8HaUMpC1QEAAAAA") {
		t.Errorf("got header %v; want the time and a receipt of an update", a.header)
	}

	a = r.send("GET", "/hints?comp=metadata", "")
	r.expect(a, 200, "")
	expectHeader(a, "Cache-Control", "Content-Length", "Date", "Server", "X-Ms-Approximate-Messages-Count", "X-Ms-Request-Id", "X-Ms-Version")
	if n := a.header.Get("X-Ms-Approximate-Messages-Count"); n != "1" {
		t.Errorf("got %s messages; want 1", n)
	}

	a = r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(receipt), "")
	r.expect(a, 204, "")
	expectHeader(a, "Content-Length", "Date", "Server", "X-Ms-Request-Id", "X-Ms-Version")

	a = r.send("PUT", "/hints/messages/test-message-db7fa4dc?popreceipt=mesbvexorrjhouuwibaj&visibilitytimeout=0", text(""))
	r.expectError(a, 404, "MessageNotFound", "The specified message does not exist.", "")
	expectHeader(a, "Content-Length", "Content-Type", "Date", "Server", "X-Ms-Error-Code", "X-Ms-Request-Id", "X-Ms-Version")

	r.expectError(r.send("POST", "/hints/messages", text(strings.Repeat("x", 65537))), 413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.", "<MaxLimit>65536</MaxLimit>")
}

// TestUpdateText: an update with an empty text empties the message, and an update without a body keeps the text.
func TestUpdateText(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	id, receipt := r.put("a", "")
	for _, c := range []struct{ body, want string }{{"", "a"}, {text("b"), "b"}, {"", "b"}, {"<?xml version=\"1.0\"?><QueueMessage><MessageText/></QueueMessage>", ""}} {
		a := r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=0&popreceipt="+url.QueryEscape(receipt), c.body)
		r.expect(a, 204, "")
		receipt = a.header.Get("X-Ms-Popreceipt")
		if got := r.Messages("hints")[0].Text; got != c.want {
			t.Errorf("update with %q: got text %q; want %q", c.body, got, c.want)
		}
	}
	if a := r.send("GET", "/hints/messages?peekonly=true", ""); !strings.Contains(a.body, "<MessageText />") {
		t.Errorf("got %s; want an empty MessageText", a.body)
	}
}

// TestVisibility: a message is hidden until its time by the account's clock, and a receipt is valid until there is a newer receipt.
func TestVisibility(t *testing.T) {
	t.Parallel()
	for _, documented := range []bool{false, true} {
		r := newQueueClient(t, storagetest.Options{ReceiptMismatch: documented})
		expectOutdated := func(a response) {
			t.Helper()
			if documented {
				r.expectError(a, 400, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message.", "")
			} else {
				r.expectError(a, 404, "MessageNotFound", "The specified message does not exist.", "")
			}
		}
		id, old := r.put("a", "?visibilitytimeout=10")
		receiveAfter := func(d time.Duration) string {
			t.Helper()
			r.now = r.now.Add(d - time.Nanosecond)
			if a := r.send("GET", "/hints/messages?peekonly=true", ""); texts(a) != "" {
				t.Errorf("just before its time: got %s; want no message", a.body)
			}
			r.now = r.now.Add(time.Nanosecond)
			a := r.send("GET", "/hints/messages", "")
			if texts(a) != "a" {
				t.Errorf("at its time: got %s; want the message", a.body)
			}
			return part(a.body, "PopReceipt")
		}
		first := receiveAfter(10 * time.Second)
		second := receiveAfter(30 * time.Second)
		if m := r.Messages("hints"); m[0].Dequeued != 2 || first == second || old == first {
			t.Errorf("got %v, receipts %s and %s; want two receives and a new receipt each", m, first, second)
		}
		expectOutdated(r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=5&popreceipt="+url.QueryEscape(first), text("b")))
		expectOutdated(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(old), ""))
		a := r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=60&popreceipt="+url.QueryEscape(second), "")
		expectOutdated(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(second), ""))
		r.Advance(time.Hour) // the message is visible, and no request has received it since
		r.expect(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(a.header.Get("X-Ms-Popreceipt")), ""), 204, "")
	}
}

// TestTimeToLive: an expired message is gone, whether it is hidden or visible.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	id, receipt := r.put("short", "?messagettl=60")
	r.put("week", "")
	r.put("for-ever", "?messagettl=-1")
	a := r.send("GET", "/hints/messages?numofmessages=32&peekonly=true", "")
	if texts(a) != "short week for-ever" || !strings.Contains(a.body, "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>") {
		t.Errorf("got %s; want three messages, the last without an expiry", a.body)
	}
	r.now = r.now.Add(time.Minute)
	r.expectError(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(receipt), ""), 404, "MessageNotFound", "The specified message does not exist.", "")
	if m := r.Messages("hints"); len(m) != 2 || m[0].Text != "week" || m[0].Expires.Sub(m[0].Inserted) != 7*24*time.Hour || m[1].Expires.Year() != 9999 {
		t.Errorf("after a minute: got %v; want week and for-ever", m)
	}
	r.Advance(7 * 24 * time.Hour)
	if m := r.Messages("hints"); len(m) != 1 || m[0].Text != "for-ever" {
		t.Errorf("after a week: got %v; want for-ever", m)
	}
}

// TestSharedReceipt: the messages of one get share a receipt, as recorded.
func TestSharedReceipt(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	for _, s := range []string{"a", "b", "c"} {
		r.put(s, "")
	}
	a := r.send("GET", "/hints/messages?numofmessages=2&visibilitytimeout=1", "")
	receipt := part(a.body, "PopReceipt")
	if texts(a) != "a b" || strings.Count(a.body, "<PopReceipt>"+receipt+"</PopReceipt>") != 2 {
		t.Errorf("got %s; want a and b with one receipt", a.body)
	}
	for _, m := range r.Messages("hints")[:2] {
		r.expect(r.send("DELETE", "/hints/messages/"+m.ID+"?popreceipt="+url.QueryEscape(receipt), ""), 204, "")
	}
	r.expect(r.send("DELETE", "/hints/messages", ""), 204, "")
	if m := r.Messages("hints"); m != nil {
		t.Errorf("after clear: got %v; want no messages", m)
	}
}

// TestReceiptsDiffer: each receipt is unique, although the clock does not advance.
func TestReceiptsDiffer(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	id, receipt := r.put("a", "")
	receipts := map[string]bool{receipt: true}
	for range 3 {
		a := r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=0&popreceipt="+url.QueryEscape(receipt), "")
		r.expect(a, 204, "")
		receipt = a.header.Get("X-Ms-Popreceipt")
		receipts[receipt] = true
	}
	if len(receipts) != 4 {
		t.Errorf("got receipts %v; want four", receipts)
	}
}

// TestShuffle: a seed determines a random order of messages.
func TestShuffle(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) string {
		r := newQueueClient(t, storagetest.Options{ShuffleSeed: seed})
		for i := range 10 {
			r.put(fmt.Sprint(i), "")
		}
		peeked := texts(r.send("GET", "/hints/messages?numofmessages=10&peekonly=true", ""))
		if again := texts(r.send("GET", "/hints/messages?numofmessages=10&peekonly=true", "")); (again == peeked) != (seed == 0) {
			t.Errorf("seed %d: peeked %s, and then %s", seed, peeked, again)
		}
		got := texts(r.send("GET", "/hints/messages?numofmessages=7", "")) + " " + texts(r.send("GET", "/hints/messages?numofmessages=7", ""))
		all := strings.Fields(got)
		if slices.Sort(all); strings.Join(all, " ") != "0 1 2 3 4 5 6 7 8 9" {
			t.Errorf("seed %d: got %s; want each message once", seed, got)
		}
		return peeked + " / " + got
	}
	const sorted = "0 1 2 3 4 5 6 7 8 9"
	if got, want := order(0), sorted+" / "+sorted; got != want {
		t.Errorf("no seed: got %s; want %s", got, want)
	}
	if a, b := order(1), order(2); a == b || a != order(1) || strings.Contains(a, sorted) {
		t.Errorf("seeds 1 and 2: got %s and %s; want two random orders, each reproducible", a, b)
	}
}

// TestSpecialCharacters: a get returns special characters as they were sent.
func TestSpecialCharacters(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	for sent, want := range map[string]string{
		"é日😀": "é日😀", "&lt;a&gt;&amp;&quot;&apos;": "&lt;a&gt;&amp;\"'", "a&#xD;&#xA;b\r\nc": "a&#xD;\nb\nc", " a ": " a ", "<![CDATA[<x>]]>": "&lt;x&gt;",
	} {
		r.put(sent, "")
		a := r.send("GET", "/hints/messages", "")
		if got := part(a.body, "MessageText"); got != want {
			t.Errorf("put %q: got %q; want %q", sent, got, want)
		}
	}
}
