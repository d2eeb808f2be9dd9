package integration

import (
	"net/http"
	"net/url"
)

// rawQueue is a client of one fresh queue that uses the protocol alone.
type rawQueue struct {
	*rawClient
	name string
}

// queue creates a fresh queue.
func (p *rawClient) queue() *rawQueue {
	p.Helper()
	q := &rawQueue{p, freshName()}
	if got := q.result("PUT", "/"+q.name, ""); got != "done" {
		p.Fatalf("creating a queue: got %s; want done", got)
	}
	return q
}

// send sends a request. It returns the response's header, with the status, and the body.
func (q *rawQueue) send(method, path, body string, header ...string) (http.Header, string) {
	q.Helper()
	return q.sendXML(q.queues, method, path, body, header...)
}

// result sends a request and returns its status and error code, or "done".
func (q *rawQueue) result(method, path, body string, header ...string) string {
	q.Helper()
	return resultXML(q.send(method, path, body, header...))
}

func messageXML(text string) string {
	return "<QueueMessage><MessageText>" + text + "</MessageText></QueueMessage>"
}

// messages returns the path of the queue's messages.
func (q *rawQueue) messages() string { return "/" + q.name + "/messages" }

// put enqueues a message and returns its path, with the receipt.
func (q *rawQueue) put(text string) string {
	q.Helper()
	_, body := q.send("POST", q.messages(), messageXML(text))
	return q.messagePath(body)
}

// messagePath returns the path of the first message of a list, with its receipt.
func (q *rawQueue) messagePath(body string) string {
	return q.messages() + "/" + xmlPart(body, "MessageId") + "?popreceipt=" + url.QueryEscape(xmlPart(body, "PopReceipt"))
}

// get gets a message and returns its path, with the new receipt.
func (q *rawQueue) get() string {
	q.Helper()
	_, body := q.send("GET", q.messages(), "")
	return q.messagePath(body)
}

// putResult sends a put with a body, and returns its status and error code, or "done".
func (q *rawQueue) putResult(query, body string) string {
	q.Helper()
	return q.result("POST", q.messages()+query, body)
}
