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

const (
	outOfRange = "One of the query parameters specified in the request URI is outside the permissible range."
	badValue   = "Value for one of the query parameters specified in the request URI is invalid."
)

// TestLimitsOfQueues: what is refused, and that it changes nothing.
func TestLimitsOfQueues(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	id, receipt := r.put("a", "")
	before := fmt.Sprint(r.Queues(), r.Messages("hints"))
	own := "/hints/messages/" + id + "?popreceipt=" + url.QueryEscape(receipt)
	about := func(name, value, more string) string {
		return "<QueryParameterName>" + name + "</QueryParameterName><QueryParameterValue>" + value + "</QueryParameterValue>" + more
	}
	between := func(name, value, least, most string) string {
		return about(name, value, "<MinimumAllowed>"+least+"</MinimumAllowed><MaximumAllowed>"+most+"</MaximumAllowed>")
	}
	const (
		badXML  = "XML specified is not syntactically valid."
		where   = "<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />"
		needs   = "A query parameter that's mandatory for this request is not specified."
		longer  = "<Reason>messagettl must be greater than visibilitytimeout</Reason>"
		ttl     = "<Reason>Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.</Reason>"
		tooBig  = "The request body is too large and exceeds the maximum permissible limit."
		badName = "The specifed resource name contains invalid characters."
		length  = "The specified resource name length is not within the permissible limits."
		noQueue = "The specified queue does not exist."
		noURI   = "The requested URI does not represent any resource on the server."
	)
	for _, c := range []struct {
		what, body   string
		status       int
		code, detail string
		text         string
	}{
		{"GET /hints/messages?numofmessages=0", "", 400, "OutOfRangeQueryParameterValue", between("numofmessages", "0", "1", "32"), outOfRange},
		{"GET /hints/messages?numofmessages=33", "", 400, "OutOfRangeQueryParameterValue", between("numofmessages", "33", "1", "32"), outOfRange},
		{"GET /hints/messages?peekonly=true&numofmessages=100", "", 400, "OutOfRangeQueryParameterValue", between("numofmessages", "100", "1", "32"), outOfRange},
		{"GET /hints/messages?numofmessages=x", "", 400, "InvalidQueryParameterValue", about("numofmessages", "x", "<Reason>Invalid value</Reason>"), badValue},
		{"GET /hints/messages?visibilitytimeout=0", "", 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "0", "1", "604800"), outOfRange},
		{"GET /hints/messages?visibilitytimeout=604801", "", 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "604801", "1", "604800"), outOfRange},
		{"POST /hints/messages?visibilitytimeout=604801", text("b"), 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "604801", "0", "604800"), outOfRange},
		{"POST /hints/messages?visibilitytimeout=-1", text("b"), 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "-1", "0", "604800"), outOfRange},
		{"POST /hints/messages?visibilitytimeout=30&messagettl=30", text("b"), 400, "InvalidQueryParameterValue", about("visibilitytimeout", "30", longer), badValue},
		{"POST /hints/messages?visibilitytimeout=604800", text("b"), 400, "InvalidQueryParameterValue", about("visibilitytimeout", "604800", longer), badValue},
		{"POST /hints/messages?messagettl=0", text("b"), 400, "InvalidQueryParameterValue", about("messagettl", "0", ttl), badValue},
		{"POST /hints/messages?messagettl=-2", text("b"), 400, "InvalidQueryParameterValue", about("messagettl", "-2", ttl), badValue},
		{"POST /hints/messages", text(strings.Repeat("é", 32769)), 413, "RequestBodyTooLarge", "<MaxLimit>65536</MaxLimit>", tooBig},
		{"POST /hints/messages", text("a\x01b"), 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", text("&#x1;"), 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", text("\xff"), 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", text("b") + text("c"), 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", text("b") + "c", 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", "plain", 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", "", 400, "InvalidXmlDocument", where, badXML},
		{"POST /hints/messages", "<QueueMessage/>", 400, "MissingRequiredXmlNode", "<XmlNodeName>MessageText</XmlNodeName>", "A required XML node was not specified in the request body."},
		{"PUT " + own, text("b"), 400, "MissingRequiredQueryParameter", "<QueryParameterName>visibilitytimeout</QueryParameterName>", needs},
		{"PUT " + own + "&visibilitytimeout=604801", text("b"), 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "604801", "0", "604800"), outOfRange},
		{"PUT " + own + "&visibilitytimeout=0", text(strings.Repeat("x", 65537)), 413, "RequestBodyTooLarge", "<MaxLimit>65536</MaxLimit>", tooBig},
		{"PUT /hints/messages/" + id + "?visibilitytimeout=0", text("b"), 400, "MissingRequiredQueryParameter", "<QueryParameterName>popreceipt</QueryParameterName>", needs},
		{"DELETE /hints/messages/" + id, "", 400, "MissingRequiredQueryParameter", "<QueryParameterName>popreceipt</QueryParameterName>", needs},
		{"DELETE /hints/messages/" + id + "?popreceipt=invalid", "", 400, "InvalidQueryParameterValue", about("popreceipt", "invalid", "<Reason>Invalid pop receipt format</Reason>"), badValue},
		{"DELETE /hints/messages/none?popreceipt=" + url.QueryEscape(receipt), "", 404, "MessageNotFound", "", "The specified message does not exist."},
		{"PUT /My-Queue", "", 400, "InvalidResourceName", "", badName},
		{"PUT /my--queue", "", 400, "InvalidResourceName", "", badName},
		{"PUT /-queue", "", 400, "InvalidResourceName", "", badName},
		{"PUT /my_queue", "", 400, "InvalidResourceName", "", badName},
		{"GET /My-Queue/messages", "", 400, "InvalidResourceName", "", badName},
		{"PUT /my", "", 400, "OutOfRangeInput", "", length},
		{"PUT /" + strings.Repeat("q", 64), "", 400, "OutOfRangeInput", "", length},
		{"GET /none/messages", "", 404, "QueueNotFound", "", noQueue},
		{"POST /none/messages", text("a"), 404, "QueueNotFound", "", noQueue},
		{"DELETE /none", "", 404, "QueueNotFound", "", noQueue},
		{"GET /none?comp=metadata", "", 404, "QueueNotFound", "", noQueue},
		{"GET /hints/other", "", 400, "InvalidUri", "", noURI},
		{"PATCH /hints/messages", "", 405, "UnsupportedHttpVerb", "", "The resource doesn't support specified Http Verb."},
		{"GET /hints?comp=acl", "", 501, "NotImplemented", "", "The requested operation is not implemented on the specified resource."},
		{"GET /?comp=properties&restype=service", "", 501, "NotImplemented", "", "The requested operation is not implemented on the specified resource."},
		{"GET /?comp=list&maxresults=0", "", 400, "OutOfRangeQueryParameterValue", between("maxresults", "0", "1", "2147483647"), outOfRange},
		{"GET /?comp=list&marker=x", "", 400, "InvalidMarker", "", "The specified marker is invalid."},
	} {
		method, path, _ := strings.Cut(c.what, " ")
		r.fails(r.send(method, path, c.body), c.status, c.code, c.text, c.detail)
		if after := fmt.Sprint(r.Queues(), r.Messages("hints")); after != before {
			t.Fatalf("%s: what was refused was done: %s", c.what, after)
		}
	}
	// Just inside.
	for _, query := range []string{"?visibilitytimeout=604799", "?visibilitytimeout=604800&messagettl=-1", "?messagettl=1", "?messagettl=100000000"} {
		r.put(strings.Repeat("é", 32768), query)
	}
	// Before messages could live longer than a week.
	r.fails(r.send("POST", "/hints/messages?messagettl=-1", text("a"), "x-ms-version", "2015-04-05"), 400, "OutOfRangeQueryParameterValue", outOfRange, between("messagettl", "-1", "1", "604800"))
}

// TestVisibility: a message is hidden until its time by the service's clock, and a receipt holds until there is a newer one.
func TestVisibility(t *testing.T) {
	t.Parallel()
	for _, documented := range []bool{false, true} {
		r := newRawQueue(t, storagetest.Options{ReceiptMismatch: documented})
		stale := func(a answer) {
			t.Helper()
			if documented {
				r.fails(a, 400, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message.", "")
			} else {
				r.fails(a, 404, "MessageNotFound", "The specified message does not exist.", "")
			}
		}
		id, old := r.put("a", "?visibilitytimeout=10")
		hidden := func(d time.Duration) string {
			t.Helper()
			r.now = r.now.Add(d - time.Nanosecond)
			if a := r.send("GET", "/hints/messages?peekonly=true", ""); texts(a) != "" {
				t.Errorf("seen too early: %s", a.body)
			}
			r.now = r.now.Add(time.Nanosecond)
			a := r.send("GET", "/hints/messages", "")
			if texts(a) != "a" {
				t.Errorf("not seen: %s", a.body)
			}
			return part(a.body, "PopReceipt")
		}
		first := hidden(10 * time.Second)
		second := hidden(30 * time.Second)
		if m := r.Messages("hints"); m[0].Dequeued != 2 || first == second || old == first {
			t.Errorf("%v %s %s", m, first, second)
		}
		stale(r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=5&popreceipt="+url.QueryEscape(first), text("b")))
		stale(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(old), ""))
		a := r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=60&popreceipt="+url.QueryEscape(second), "")
		stale(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(second), ""))
		r.Advance(time.Hour) // it can be seen again, and nobody has got it since
		r.want(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(a.head.Get("X-Ms-Popreceipt")), ""), 204, "")
	}
}

// TestTimeToLive: what has expired is gone, hidden or not.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	id, receipt := r.put("short", "?messagettl=60")
	r.put("week", "")
	r.put("for-ever", "?messagettl=-1")
	a := r.send("GET", "/hints/messages?numofmessages=32&peekonly=true", "")
	if texts(a) != "short week for-ever" || !strings.Contains(a.body, "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>") {
		t.Error(a.body)
	}
	r.now = r.now.Add(time.Minute)
	r.fails(r.send("DELETE", "/hints/messages/"+id+"?popreceipt="+url.QueryEscape(receipt), ""), 404, "MessageNotFound", "The specified message does not exist.", "")
	if m := r.Messages("hints"); len(m) != 2 || m[0].Text != "week" || m[0].Expires.Sub(m[0].Inserted) != 7*24*time.Hour || m[1].Expires.Year() != 9999 {
		t.Error(m)
	}
	r.Advance(7 * 24 * time.Hour)
	if m := r.Messages("hints"); len(m) != 1 || m[0].Text != "for-ever" {
		t.Error(m)
	}
}

// TestOneReceiptForACall: all messages of one get have the same, as recorded.
func TestOneReceiptForACall(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	for _, s := range []string{"a", "b", "c"} {
		r.put(s, "")
	}
	a := r.send("GET", "/hints/messages?numofmessages=2&visibilitytimeout=1", "")
	receipt := part(a.body, "PopReceipt")
	if texts(a) != "a b" || strings.Count(a.body, "<PopReceipt>"+receipt+"</PopReceipt>") != 2 {
		t.Error(a.body)
	}
	for _, m := range r.Messages("hints")[:2] {
		r.want(r.send("DELETE", "/hints/messages/"+m.ID+"?popreceipt="+url.QueryEscape(receipt), ""), 204, "")
	}
	r.want(r.send("DELETE", "/hints/messages", ""), 204, "")
	if m := r.Messages("hints"); m != nil {
		t.Error(m)
	}
}

// TestReceiptsDiffer: also those of one moment.
func TestReceiptsDiffer(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	id, receipt := r.put("a", "")
	seen := map[string]bool{receipt: true}
	for range 3 {
		a := r.send("PUT", "/hints/messages/"+id+"?visibilitytimeout=0&popreceipt="+url.QueryEscape(receipt), "")
		r.want(a, 204, "")
		receipt = a.head.Get("X-Ms-Popreceipt")
		seen[receipt] = true
	}
	if len(seen) != 4 {
		t.Errorf("%v", seen)
	}
}

// TestShuffle: any order, the same for the same seed.
func TestShuffle(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) string {
		r := newRawQueue(t, storagetest.Options{ShuffleSeed: seed})
		for i := range 10 {
			r.put(fmt.Sprint(i), "")
		}
		peeked := texts(r.send("GET", "/hints/messages?numofmessages=10&peekonly=true", ""))
		if again := texts(r.send("GET", "/hints/messages?numofmessages=10&peekonly=true", "")); (again == peeked) != (seed == 0) {
			t.Errorf("peeked %s, and then %s", peeked, again)
		}
		got := texts(r.send("GET", "/hints/messages?numofmessages=7", "")) + " " + texts(r.send("GET", "/hints/messages?numofmessages=7", ""))
		all := strings.Fields(got)
		if slices.Sort(all); strings.Join(all, " ") != "0 1 2 3 4 5 6 7 8 9" {
			t.Errorf("got %s", got)
		}
		return peeked + " / " + got
	}
	const sorted = "0 1 2 3 4 5 6 7 8 9"
	if got := order(0); got != sorted+" / "+sorted {
		t.Error(got)
	}
	if a, b := order(1), order(2); a == b || a != order(1) || strings.Contains(a, sorted) {
		t.Error(a, b)
	}
}

// TestSpecialCharacters: texts come back as they were sent.
func TestSpecialCharacters(t *testing.T) {
	t.Parallel()
	r := newRawQueue(t, storagetest.Options{})
	for sent, want := range map[string]string{
		"é日😀": "é日😀", "&lt;a&gt;&amp;&quot;&apos;": "&lt;a&gt;&amp;\"'", "a&#xD;&#xA;b\r\nc": "a&#xD;\nb\nc", " a ": " a ", "<![CDATA[<x>]]>": "&lt;x&gt;",
	} {
		r.put(sent, "")
		a := r.send("GET", "/hints/messages", "")
		if got := part(a.body, "MessageText"); got != want {
			t.Errorf("%q came as %q, want %q", sent, got, want)
		}
	}
}
