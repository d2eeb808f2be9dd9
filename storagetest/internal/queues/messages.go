package queues

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

const (
	weekSeconds = 7 * 24 * 60 * 60
	maxReceive  = 32 // messages in a response

	// versionLongLived is the first version in which messages may live longer than a week.
	versionLongLived = "2017-07-29"
)

// after returns the time some seconds after now.
func after(now time.Time, seconds int64) time.Time {
	if seconds > int64(never.Sub(now)/time.Second) { // also if the result is beyond a time.Duration
		return never
	}
	return now.Add(time.Duration(seconds) * time.Second)
}

// putMessage appends a message.
func (c *call) putMessage(q *queue, now time.Time) *xmlform.Response {
	text, present, f := parseMessage(c.Body)
	if f == nil && !present {
		f = xmlform.ErrDocument
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	hidden, f := xmlform.Number(c.Query, "visibilitytimeout", 0, 0, weekSeconds)
	if f != nil {
		return xmlform.Refuse(f)
	}
	lifetime, f := c.lifetime()
	switch {
	case f != nil:
		return xmlform.Refuse(f)
	case lifetime > 0 && hidden >= lifetime:
		return xmlform.Refuse(xmlform.InvalidParameter("visibilitytimeout", c.Query.Get("visibilitytimeout"), "messagettl must be greater than visibilitytimeout"))
	}
	m := &message{id: c.store.nextMessageID(), text: text, inserted: now, expires: never, visible: after(now, hidden)}
	if lifetime > 0 {
		m.expires = after(now, lifetime)
	}
	m.receipt = c.store.nextReceipt(m.visible, false)
	q.put(m)
	return &xmlform.Response{Status: http.StatusCreated, Body: messagesXML([]*message{m}, messageParts{receipt: true})}
}

// lifetime returns the lifetime of a message in seconds; -1: the message does not expire.
func (c *call) lifetime() (int64, *xmlform.Failure) {
	if c.Version < versionLongLived {
		return xmlform.Number(c.Query, "messagettl", weekSeconds, 1, weekSeconds)
	}
	const most = 1<<63 - 1
	n, f := xmlform.Number(c.Query, "messagettl", weekSeconds, -1, most)
	if value := c.Query.Get("messagettl"); n == 0 || f != nil && f.Code == xmlform.CodeOutOfRange {
		return 0, xmlform.InvalidParameter("messagettl", value, "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.")
	}
	return n, f
}

// getMessages returns messages and hides them for a time.
func (c *call) getMessages(q *queue, now time.Time, limit int) *xmlform.Response {
	n, f := xmlform.Number(c.Query, "numofmessages", 1, 1, maxReceive)
	if f != nil {
		return xmlform.Refuse(f)
	}
	hidden, f := xmlform.Number(c.Query, "visibilitytimeout", 30, 1, weekSeconds)
	if f != nil {
		return xmlform.Refuse(f)
	}
	received := q.next(min(int(n), limit), now, c.options.ShuffleSeed)
	visible := after(now, hidden)
	receipt := c.store.nextReceipt(visible, false) // the messages of a response share a receipt
	for _, m := range received {
		m.visible, m.receipt = visible, receipt
		m.dequeued++
	}
	return &xmlform.Response{Status: http.StatusOK, Body: messagesXML(received, messageParts{receipt: true, text: true})}
}

// peekMessages returns messages and does not hide them.
func (c *call) peekMessages(q *queue, now time.Time, limit int) *xmlform.Response {
	n, f := xmlform.Number(c.Query, "numofmessages", 1, 1, maxReceive)
	if f != nil {
		return xmlform.Refuse(f)
	}
	return &xmlform.Response{Status: http.StatusOK, Body: messagesXML(q.next(min(int(n), limit), now, c.options.ShuffleSeed), messageParts{text: true})}
}

// find returns the index of a message whose receipt the call has. A receipt is valid until there is
// a newer receipt, also after the message has become visible.
func (c *call) find(q *queue, id string) (int, *xmlform.Failure) {
	receipt := c.Query.Get("popreceipt")
	i := q.index(id)
	switch {
	case receipt == "":
		return 0, xmlform.MissingParameter("popreceipt")
	case i < 0:
		return 0, errMessageNotFound
	case !isReceipt(receipt):
		return 0, xmlform.InvalidParameter("popreceipt", receipt, "Invalid pop receipt format")
	case q.messages[i].receipt == receipt:
		return i, nil
	case c.options.ReceiptMismatch:
		return 0, errReceiptMismatch
	}
	return 0, errMessageNotFound
}

// updateMessage hides a message for a time, and replaces its text if the call has a body.
func (c *call) updateMessage(q *queue, id string, now time.Time) *xmlform.Response {
	if !c.Query.Has("visibilitytimeout") {
		return xmlform.Refuse(xmlform.MissingParameter("visibilitytimeout"))
	}
	hidden, f := xmlform.Number(c.Query, "visibilitytimeout", 0, 0, weekSeconds)
	if f != nil {
		return xmlform.Refuse(f)
	}
	text, present, f := parseMessage(c.Body)
	if f != nil {
		return xmlform.Refuse(f)
	}
	i, f := c.find(q, id)
	if f != nil {
		return xmlform.Refuse(f)
	}
	m := q.messages[i]
	m.visible = after(now, hidden)
	m.receipt = c.store.nextReceipt(m.visible, true)
	if present {
		m.text = text // which may be empty
	}
	header := http.Header{}
	header.Set("x-ms-popreceipt", m.receipt)
	header.Set("x-ms-time-next-visible", xmlform.HTTPTime(m.visible))
	return &xmlform.Response{Status: http.StatusNoContent, Header: header}
}

// deleteMessage deletes a message.
func (c *call) deleteMessage(q *queue, id string) *xmlform.Response {
	i, f := c.find(q, id)
	if f != nil {
		return xmlform.Refuse(f)
	}
	q.messages = slices.Delete(q.messages, i, i+1)
	return &xmlform.Response{Status: http.StatusNoContent}
}

// messageParts are the elements of a message that a response contains.
type messageParts struct{ receipt, text bool }

// messagesXML returns a list of messages as the body of a response.
func messagesXML(all []*message, parts messageParts) []byte {
	var b bytes.Buffer
	b.WriteString(xmlform.Head)
	if len(all) == 0 {
		b.WriteString("<QueueMessagesList />")
		return b.Bytes()
	}
	b.WriteString("<QueueMessagesList>")
	for _, m := range all {
		b.WriteString("<QueueMessage>")
		xmlform.WriteElement(&b, "MessageId", m.id)
		xmlform.WriteElement(&b, "InsertionTime", xmlform.HTTPTime(m.inserted))
		xmlform.WriteElement(&b, "ExpirationTime", xmlform.HTTPTime(m.expires))
		if parts.receipt {
			xmlform.WriteElement(&b, "PopReceipt", m.receipt)
			xmlform.WriteElement(&b, "TimeNextVisible", xmlform.HTTPTime(m.visible))
		}
		if parts.text {
			xmlform.WriteElement(&b, "DequeueCount", strconv.Itoa(m.dequeued))
			xmlform.WriteElement(&b, "MessageText", m.text)
		}
		b.WriteString("</QueueMessage>")
	}
	b.WriteString("</QueueMessagesList>")
	return b.Bytes()
}

// parseMessage parses the body of a put or an update. present is false if there is no body.
func parseMessage(body []byte) (text string, present bool, f *xmlform.Failure) {
	if len(body) == 0 {
		return "", false, nil
	}
	var root struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Text    []string `xml:"MessageText"`
	}
	f = xmlform.ParseDocument(body, &root)
	switch {
	case f != nil:
		return "", false, f
	case len(root.Text) != 1:
		return "", false, errMissingText
	case len(root.Text[0]) > maxMessage:
		return "", false, errMessageTooLarge
	}
	return root.Text[0], true, nil
}
