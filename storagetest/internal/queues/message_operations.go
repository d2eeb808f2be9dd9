package queues

import (
	"net/http"
	"slices"
	"time"
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
func (c *call) putMessage(q *queue, now time.Time) *response {
	text, present, f := parseMessage(c.Body)
	if f == nil && !present {
		f = errXML
	}
	if f != nil {
		return refuse(f)
	}
	hidden, f := c.number("visibilitytimeout", 0, 0, weekSeconds)
	if f != nil {
		return refuse(f)
	}
	lifetime, f := c.lifetime()
	switch {
	case f != nil:
		return refuse(f)
	case lifetime > 0 && hidden >= lifetime:
		return refuse(invalidParameter("visibilitytimeout", c.Query.Get("visibilitytimeout"), "messagettl must be greater than visibilitytimeout"))
	}
	m := &message{id: c.store.nextMessageID(), text: text, inserted: now, expires: never, visible: after(now, hidden)}
	if lifetime > 0 {
		m.expires = after(now, lifetime)
	}
	m.receipt = c.store.nextReceipt(m.visible, false)
	q.put(m)
	return &response{status: http.StatusCreated, body: messagesXML([]*message{m}, messageParts{receipt: true})}
}

// lifetime returns the lifetime of a message in seconds; -1: the message does not expire.
func (c *call) lifetime() (int64, *failure) {
	if c.Version < versionLongLived {
		return c.number("messagettl", weekSeconds, 1, weekSeconds)
	}
	const most = 1<<63 - 1
	n, f := c.number("messagettl", weekSeconds, -1, most)
	if value := c.Query.Get("messagettl"); n == 0 || f != nil && f.Code == codeOutOfRange {
		return 0, invalidParameter("messagettl", value, "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.")
	}
	return n, f
}

// getMessages returns messages and hides them for a time.
func (c *call) getMessages(q *queue, now time.Time, limit int) *response {
	n, f := c.number("numofmessages", 1, 1, maxReceive)
	if f != nil {
		return refuse(f)
	}
	hidden, f := c.number("visibilitytimeout", 30, 1, weekSeconds)
	if f != nil {
		return refuse(f)
	}
	received := q.next(min(int(n), limit), now, c.options.ShuffleSeed)
	visible := after(now, hidden)
	receipt := c.store.nextReceipt(visible, false) // the messages of a response share a receipt
	for _, m := range received {
		m.visible, m.receipt = visible, receipt
		m.dequeued++
	}
	return &response{status: http.StatusOK, body: messagesXML(received, messageParts{receipt: true, text: true})}
}

// peekMessages returns messages and does not hide them.
func (c *call) peekMessages(q *queue, now time.Time, limit int) *response {
	n, f := c.number("numofmessages", 1, 1, maxReceive)
	if f != nil {
		return refuse(f)
	}
	return &response{status: http.StatusOK, body: messagesXML(q.next(min(int(n), limit), now, c.options.ShuffleSeed), messageParts{text: true})}
}

// find returns the index of a message whose receipt the call has. A receipt is valid until there is a newer receipt, also after the
// message has become visible.
func (c *call) find(q *queue, id string) (int, *failure) {
	receipt := c.Query.Get("popreceipt")
	i := q.index(id)
	switch {
	case receipt == "":
		return 0, missingParameter("popreceipt")
	case i < 0:
		return 0, errMessageNotFound
	case !isReceipt(receipt):
		return 0, invalidParameter("popreceipt", receipt, "Invalid pop receipt format")
	case q.messages[i].receipt == receipt:
		return i, nil
	case c.options.ReceiptMismatch:
		return 0, errReceiptMismatch
	}
	return 0, errMessageNotFound
}

// updateMessage hides a message for a time, and replaces its text if the call has a body.
func (c *call) updateMessage(q *queue, id string, now time.Time) *response {
	if !c.Query.Has("visibilitytimeout") {
		return refuse(missingParameter("visibilitytimeout"))
	}
	hidden, f := c.number("visibilitytimeout", 0, 0, weekSeconds)
	if f != nil {
		return refuse(f)
	}
	text, present, f := parseMessage(c.Body)
	if f != nil {
		return refuse(f)
	}
	i, f := c.find(q, id)
	if f != nil {
		return refuse(f)
	}
	m := q.messages[i]
	m.visible = after(now, hidden)
	m.receipt = c.store.nextReceipt(m.visible, true)
	if present {
		m.text = text // which may be empty
	}
	header := http.Header{}
	header.Set("x-ms-popreceipt", m.receipt)
	header.Set("x-ms-time-next-visible", httpTime(m.visible))
	return &response{status: http.StatusNoContent, header: header}
}

// deleteMessage deletes a message.
func (c *call) deleteMessage(q *queue, id string) *response {
	i, f := c.find(q, id)
	if f != nil {
		return refuse(f)
	}
	q.messages = slices.Delete(q.messages, i, i+1)
	return &response{status: http.StatusNoContent}
}
