package storagetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestQueueLifecycle: a queue is created, described and deleted, and its name is free after 40 seconds.
func TestQueueLifecycle(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	r.expect(r.send("PUT", "/hints", ""), 204, "")
	r.expectError(r.send("PUT", "/hints", "", "x-ms-meta-a", "1"), 409, "QueueAlreadyExists", "The specified queue already exists.", "")
	r.expect(r.send("PUT", "/hints?comp=metadata", "", "x-ms-meta-Key", "val", "x-ms-meta-b", "2"), 204, "")
	r.expect(r.send("PUT", "/hints", "", "x-ms-meta-b", "2", "x-ms-meta-key", "val"), 204, "")
	r.expectError(r.send("PUT", "/hints?comp=metadata", "", "x-ms-meta-1", "val"), 400, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted.", "")
	r.put("a", "?visibilitytimeout=100")
	r.put("b", "")
	for _, method := range []string{"GET", "HEAD"} {
		a := r.send(method, "/hints?comp=metadata", "")
		r.expect(a, 200, "")
		if a.header.Get("x-ms-meta-key") != "val" || a.header.Get("x-ms-meta-b") != "2" || a.header.Get("x-ms-approximate-messages-count") != "2" {
			t.Errorf("%s: got header %v; want the metadata and 2 messages", method, a.header)
		}
	}
	if a := r.send("HEAD", "/none?comp=metadata", ""); a.status != 404 || a.body != "" || a.header.Get("x-ms-error-code") != "QueueNotFound" {
		t.Errorf("HEAD of a missing queue: got %v; want 404 QueueNotFound without a body", a)
	}
	r.expect(r.send("DELETE", "/hints", ""), 204, "")
	r.expectError(r.send("DELETE", "/hints", ""), 404, "QueueNotFound", "The specified queue does not exist.", "")
	r.expectError(r.send("PUT", "/hints", ""), 409, "QueueBeingDeleted", "The specified queue is being deleted.", "")
	r.Advance(40 * time.Second)
	r.expect(r.send("PUT", "/hints", ""), 201, "")
	if m := r.Messages("hints"); m != nil || r.Messages("none") != nil {
		t.Errorf("a queue created again: got messages %v; want none", m)
	}
	r = newQueueClient(t, storagetest.Options{NameReuseDelay: -1})
	r.expect(r.send("DELETE", "/hints", ""), 204, "")
	r.expect(r.send("PUT", "/hints", ""), 201, "")
}

// TestQueueList: pages of queues are sorted by name and equal the recorded responses.
func TestQueueList(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	list := func(query, want string) {
		t.Helper()
		r.expect(r.send("GET", "/?comp=list"+query, ""), 200, xmlHead+`<EnumerationResults ServiceEndpoint="http://storagename.queue.storagetest.test/">`+want+"</EnumerationResults>")
	}
	list("", "<Queues><Queue><Name>hints</Name></Queue></Queues><NextMarker />")
	list("&prefix=x", "<Prefix>x</Prefix><Queues /><NextMarker />")
	for i := range 3 {
		r.expect(r.send("PUT", fmt.Sprintf("/queue%d", i), "", "x-ms-meta-key", "val"), 201, "")
	}
	list("&prefix=queue&maxresults=2&include=metadata", "<Prefix>queue</Prefix><MaxResults>2</MaxResults><Queues><Queue><Name>queue0</Name><Metadata><key>val</key></Metadata></Queue>"+
		"<Queue><Name>queue1</Name><Metadata><key>val</key></Metadata></Queue></Queues><NextMarker>/storagename/queue2</NextMarker>")
	list("&prefix=queue&marker=/storagename/queue2&maxresults=2", "<Prefix>queue</Prefix><Marker>/storagename/queue2</Marker><MaxResults>2</MaxResults><Queues><Queue><Name>queue2</Name></Queue></Queues><NextMarker />")
	list("&prefix=hints&include=metadata", "<Prefix>hints</Prefix><Queues><Queue><Name>hints</Name><Metadata /></Queue></Queues><NextMarker />")
	if got, want := strings.Join(r.QueueNames(), " "), "hints queue0 queue1 queue2"; got != want {
		t.Errorf("got queues %s; want %s", got, want)
	}
}

// TestLongQueueList: a page has at most 5,000 queues, even if the request asks for more.
func TestLongQueueList(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	for i := range 5000 {
		if a := r.send("PUT", fmt.Sprintf("/a%05d", i), ""); a.status != 201 {
			t.Fatalf("got %v; want 201", a)
		}
	}
	for _, query := range []string{"", "&maxresults=5000", "&maxresults=6000"} {
		if a := r.send("GET", "/?comp=list"+query, ""); strings.Count(a.body, "<Name>") != 5000 || part(a.body, "NextMarker") != "/storagename/hints" {
			t.Errorf("%s: got %d queues, next %q; want 5000, hints", query, strings.Count(a.body, "<Name>"), part(a.body, "NextMarker"))
		}
	}
}

// TestQueueSignatures: the service accepts signatures with the account's key, and refuses other authorization.
func TestQueueSignatures(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	const text = "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature."
	for _, authorization := range []string{"SharedKey storagename:bm90IHRoaXM=", "SharedKey other:bm90IHRoaXM=", "SharedKeyLite storagename:bm90IHRoaXM=", "Bearer token", "Basic x"} {
		r.expectError(r.send("GET", "/hints/messages", "", "Authorization", authorization), 403, "AuthenticationFailed", text, "")
	}
	r.expectError(r.send("GET", "/hints/messages?sig=x", "", "Authorization", " "), 403, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.", "")
	if a := r.send("GET", "/hints/messages", "", "x-ms-client-request-id", "me", "x-ms-version", "2019-02-02"); a.status != 200 || a.header.Get("x-ms-client-request-id") != "me" {
		t.Errorf("got %v; want 200 with the client's request ID", a)
	}
}
