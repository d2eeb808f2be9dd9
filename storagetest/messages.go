package storagetest

import (
	"net/http"
	"slices"
	"time"
)

const (
	maxMessage = 64 << 10 // bytes of text
	week       = 7 * 24 * 60 * 60

	// unlimited is the version from which on messages may live longer than a week.
	unlimited = "2017-07-29"
)

// in is a time some seconds from now.
func in(now time.Time, seconds int64) time.Time {
	if seconds > int64(never.Sub(now)/time.Second) { // also what Sub cannot tell
		return never
	}
	return now.Add(time.Duration(seconds) * time.Second)
}

func (s *state) putMessage(c *call, q *queueData, now time.Time) *reply {
	text, given, bad := c.messageText()
	if bad == nil && !given {
		bad = errXML
	}
	if bad != nil {
		return refuse(bad)
	}
	hidden, bad := c.number("visibilitytimeout", 0, 0, week)
	if bad != nil {
		return refuse(bad)
	}
	lives, bad := c.lives()
	switch {
	case bad != nil:
		return refuse(bad)
	case lives > 0 && hidden >= lives:
		return refuse(invalidParameter("visibilitytimeout", c.query.Get("visibilitytimeout"), "messagettl must be greater than visibilitytimeout"))
	}
	m := &queueMessage{id: s.messageID(), text: text, inserted: now, expires: never, visible: in(now, hidden)}
	if lives > 0 {
		m.expires = in(now, lives)
	}
	m.receipt = s.receipt(m.visible, false)
	q.messages = append(q.messages, m)
	if m.expires.Before(q.ends) {
		q.ends = m.expires
	}
	return messageList(http.StatusCreated, []*queueMessage{m}, messageParts{receipt: true})
}

// lives is for how many seconds a message lives, or -1: for ever.
func (c *call) lives() (int64, *failure) {
	if c.version < unlimited {
		return c.number("messagettl", week, 1, week)
	}
	const most = 1<<63 - 1
	n, bad := c.number("messagettl", week, -1, most)
	if value := c.query.Get("messagettl"); n == 0 || bad != nil && bad.code == "OutOfRangeQueryParameterValue" {
		return 0, invalidParameter("messagettl", value, "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.")
	}
	return n, bad
}

func (s *state) getMessages(c *call, q *queueData, now time.Time, most int, seed uint64) *reply {
	n, bad := c.number("numofmessages", 1, 1, 32)
	if bad != nil {
		return refuse(bad)
	}
	hidden, bad := c.number("visibilitytimeout", 30, 1, week)
	if bad != nil {
		return refuse(bad)
	}
	got := q.next(min(int(n), most), now, seed)
	visible := in(now, hidden)
	receipt := s.receipt(visible, false) // one for all of a call
	for _, m := range got {
		m.visible, m.receipt = visible, receipt
		m.dequeued++
	}
	return messageList(http.StatusOK, got, messageParts{receipt: true, text: true})
}

func (q *queueData) peek(c *call, now time.Time, most int, seed uint64) *reply {
	n, bad := c.number("numofmessages", 1, 1, 32)
	if bad != nil {
		return refuse(bad)
	}
	return messageList(http.StatusOK, q.next(min(int(n), most), now, seed), messageParts{text: true})
}

// held finds the message that a call has the receipt of. A receipt holds until there is a newer one, also when the message can
// be seen again.
func (q *queueData) held(c *call, id string, documented bool) (int, *failure) {
	receipt := c.query.Get("popreceipt")
	i := q.index(id)
	switch {
	case receipt == "":
		return 0, missingParameter("popreceipt")
	case i < 0:
		return 0, errNoMessage
	case !isReceipt(receipt):
		return 0, invalidParameter("popreceipt", receipt, "Invalid pop receipt format")
	case q.messages[i].receipt == receipt:
		return i, nil
	case documented:
		return 0, errReceipt
	}
	return 0, errNoMessage
}

func (s *state) updateMessage(c *call, q *queueData, id string, now time.Time, documented bool) *reply {
	if !c.query.Has("visibilitytimeout") {
		return refuse(missingParameter("visibilitytimeout"))
	}
	hidden, bad := c.number("visibilitytimeout", 0, 0, week)
	if bad != nil {
		return refuse(bad)
	}
	text, given, bad := c.messageText()
	if bad != nil {
		return refuse(bad)
	}
	i, bad := q.held(c, id, documented)
	if bad != nil {
		return refuse(bad)
	}
	m := q.messages[i]
	m.visible = in(now, hidden)
	m.receipt = s.receipt(m.visible, true)
	if given {
		m.text = text // also an empty one
	}
	return &reply{status: http.StatusNoContent, extra: []field{{"x-ms-popreceipt", m.receipt}, {"x-ms-time-next-visible", httpTime(m.visible)}}}
}

func (q *queueData) deleteMessage(c *call, id string, documented bool) *reply {
	i, bad := q.held(c, id, documented)
	if bad != nil {
		return refuse(bad)
	}
	q.messages = slices.Delete(q.messages, i, i+1)
	return &reply{status: http.StatusNoContent}
}
