package storagetest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// xmlHead is how every XML of the Queue service begins, a byte order mark first.
const xmlHead = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`

// escapeXML writes a text as the service does: quotes stay, and a carriage return would be lost.
var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")

// element writes an element with a text.
func element(b *bytes.Buffer, name, text string) {
	if text == "" {
		b.WriteString("<" + name + " />")
		return
	}
	b.WriteString("<" + name + ">")
	escapeXML.WriteString(b, text)
	b.WriteString("</" + name + ">")
}

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// messageParts says what is told of messages.
type messageParts struct{ receipt, text bool }

func messageList(status int, all []*queueMessage, parts messageParts) *reply {
	var b bytes.Buffer
	b.WriteString(xmlHead)
	for i, m := range all {
		if i == 0 {
			b.WriteString("<QueueMessagesList>")
		}
		b.WriteString("<QueueMessage>")
		element(&b, "MessageId", m.id)
		element(&b, "InsertionTime", httpTime(m.inserted))
		element(&b, "ExpirationTime", httpTime(m.expires))
		if parts.receipt {
			element(&b, "PopReceipt", m.receipt)
			element(&b, "TimeNextVisible", httpTime(m.visible))
		}
		if parts.text {
			element(&b, "DequeueCount", strconv.Itoa(m.dequeued))
			element(&b, "MessageText", m.text)
		}
		b.WriteString("</QueueMessage>")
	}
	if len(all) == 0 {
		b.WriteString("<QueueMessagesList />")
	} else {
		b.WriteString("</QueueMessagesList>")
	}
	return &reply{status: status, body: b.Bytes(), mime: "application/xml"}
}

// messageText reads the body of a put or an update. given tells whether there is one.
func (c *call) messageText() (text string, given bool, bad *failure) {
	if len(c.body) == 0 {
		return "", false, nil
	}
	body := bytes.TrimPrefix(c.body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return "", false, errXML
	}
	var root struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Text    []string `xml:"MessageText"`
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&root); err != nil {
		return "", false, errXML
	}
	for { // nothing but comments and space may follow
		switch t, err := d.Token(); t := t.(type) {
		case nil:
			if err != io.EOF {
				return "", false, errXML
			}
			switch {
			case len(root.Text) != 1:
				return "", false, errXMLNode
			case len(root.Text[0]) > maxMessage:
				return "", false, errMessage
			}
			return root.Text[0], true, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return "", false, errXML
			}
		case xml.StartElement, xml.EndElement:
			return "", false, errXML
		}
	}
}

func (q *queueData) properties() *reply {
	r := &reply{status: http.StatusOK, extra: []field{{"x-ms-approximate-messages-count", strconv.Itoa(len(q.messages))}}}
	for _, m := range q.meta {
		r.extra = append(r.extra, field{"x-ms-meta-" + m.name, m.value})
	}
	return r
}

func (q *queueData) setMetadata(c *call) *reply {
	meta, bad := c.metadata()
	if bad != nil {
		return refuse(bad)
	}
	q.meta = meta
	return &reply{status: http.StatusNoContent}
}

// listQueues lists queues by name. A marker is the account's name and that of the queue that comes next.
func (s *state) listQueues(c *call) *reply {
	const most = 5000
	n, bad := c.number("maxresults", most, 1, 1<<31-1)
	if bad != nil {
		return refuse(bad)
	}
	prefix, marker := c.query.Get("prefix"), c.query.Get("marker")
	from, ok := strings.CutPrefix(marker, "/"+c.account+"/")
	if !ok && marker != "" {
		return refuse(errMarker)
	}
	var all []*queueData
	for name, q := range s.queues {
		if strings.HasPrefix(name, prefix) && name >= from {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *queueData) int { return strings.Compare(a.name, b.name) })
	next := ""
	if n = min(n, most); int64(len(all)) > n {
		next, all = "/"+c.account+"/"+all[n].name, all[:n]
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s<EnumerationResults ServiceEndpoint="%s/">`, xmlHead, c.base)
	for _, name := range []string{"prefix", "marker", "maxresults"} {
		if value := c.query.Get(name); value != "" {
			element(&b, map[string]string{"prefix": "Prefix", "marker": "Marker", "maxresults": "MaxResults"}[name], value)
		}
	}
	if all == nil {
		b.WriteString("<Queues />")
	} else {
		b.WriteString("<Queues>")
	}
	for i, q := range all {
		b.WriteString("<Queue>")
		element(&b, "Name", q.name)
		if slices.Contains(strings.Split(c.query.Get("include"), ","), "metadata") {
			writeMetadata(&b, q.meta)
		}
		if b.WriteString("</Queue>"); i == len(all)-1 {
			b.WriteString("</Queues>")
		}
	}
	element(&b, "NextMarker", next)
	b.WriteString("</EnumerationResults>")
	return &reply{status: http.StatusOK, body: b.Bytes(), mime: "application/xml"}
}

func writeMetadata(b *bytes.Buffer, meta []field) {
	if meta == nil {
		b.WriteString("<Metadata />")
		return
	}
	b.WriteString("<Metadata>")
	for _, m := range meta {
		element(b, m.name, m.value)
	}
	b.WriteString("</Metadata>")
}
