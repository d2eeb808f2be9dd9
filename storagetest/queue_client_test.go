package storagetest_test

import (
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// queueClient sends requests to the Queue service without an SDK.
type queueClient struct{ *xmlClient }

// The dates of the recordings.
const (
	inserted = "Mon, 02 Oct 2017 20:21:54 GMT"
	expires  = "Mon, 09 Oct 2017 20:21:54 GMT"
)

// newQueueClient returns a client of a new account with a queue called hints.
func newQueueClient(t *testing.T, o storagetest.Options) *queueClient {
	r := &queueClient{newXMLClient(t, "queue", o)}
	r.expect(r.send("PUT", "/hints", ""), 201, "")
	return r
}

// text returns a message with the text s as XML.
func text(s string) string {
	return "<QueueMessage><MessageText>" + s + "</MessageText></QueueMessage>"
}

// put sends a message and returns its ID and receipt.
func (r *queueClient) put(s, query string) (id, receipt string) {
	r.Helper()
	a := r.send("POST", "/hints/messages"+query, text(s))
	if a.status != 201 {
		r.Fatalf("put %.40s: got %d %s; want 201", s, a.status, a.body)
	}
	return part(a.body, "MessageId"), part(a.body, "PopReceipt")
}

// texts returns the texts of the messages in a response.
func texts(a response) string {
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
