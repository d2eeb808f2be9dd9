package integration

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
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
	req, err := http.NewRequest(method, q.queues+path, strings.NewReader(body))
	if err != nil {
		q.Fatal(err)
	}
	req.Header.Set("x-ms-version", "2018-03-28")
	req.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	length, mime := "", ""
	if body != "" {
		length, mime = fmt.Sprint(len(body)), "application/xml"
		req.Header.Set("Content-Type", mime)
	}
	lines := []string{method, "", "", length, "", mime, "", "", "", "", "", ""}
	var own, query []string
	for name := range req.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+req.Header.Get(name))
		}
	}
	for name, values := range req.URL.Query() {
		query = append(query, name+":"+strings.Join(values, ","))
	}
	slices.Sort(own)
	slices.Sort(query)
	lines = append(append(append(lines, own...), "/"+q.account+req.URL.EscapedPath()), query...)
	req.Header.Set("Authorization", "SharedKey "+q.account+":"+q.sign(strings.Join(lines, "\n")))
	return q.do(req)
}

var errorElement = regexp.MustCompile(`<Code>([A-Za-z]*)</Code>`)

// result sends a request and returns its status and error code, or "done".
func (q *rawQueue) result(method, path, body string, header ...string) string {
	q.Helper()
	head, text := q.send(method, path, body, header...)
	if head.Get("Status") < "400" {
		return "done"
	}
	code := errorElement.FindStringSubmatch(text)
	if code == nil {
		code = []string{"", ""}
	}
	return head.Get("Status") + " " + code[1]
}

func messageXML(text string) string {
	return "<QueueMessage><MessageText>" + text + "</MessageText></QueueMessage>"
}

func xmlPart(body, name string) string {
	_, rest, _ := strings.Cut(body, "<"+name+">")
	s, _, _ := strings.Cut(rest, "</"+name+">")
	return s
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
