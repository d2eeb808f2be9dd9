package storagetest

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// queueData is a queue: its messages, oldest first.
type queueData struct {
	name     string
	meta     []field // by name
	messages []*queueMessage
	looks    uint64    // how often it was asked for messages
	ends     time.Time // no message expires before, if this is set
}

type queueMessage struct {
	id, text                   string
	receipt                    string
	inserted, expires, visible time.Time
	dequeued                   int
}

// never is when a message expires that does not.
var never = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// expire removes what has expired, for good: also where the clock goes back. A queue is looked through only when something may have.
func (q *queueData) expire(now time.Time) {
	if now.Before(q.ends) {
		return
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *queueMessage) bool { return !now.Before(m.expires) })
	q.ends = never
	for _, m := range q.messages {
		if m.expires.Before(q.ends) {
			q.ends = m.expires
		}
	}
}

// index is the place of a message, or below 0.
func (q *queueData) index(id string) int {
	return slices.IndexFunc(q.messages, func(m *queueMessage) bool { return m.id == id })
}

// next chooses up to n of the messages that can be seen: the oldest, or with a seed any, in any order.
func (q *queueData) next(n int, now time.Time, seed uint64) []*queueMessage {
	q.looks++
	var all []*queueMessage
	for _, m := range q.messages {
		if now.Before(m.visible) {
			continue
		}
		if all = append(all, m); seed == 0 && len(all) == n {
			break
		}
	}
	if seed != 0 {
		rng := rand.New(rand.NewPCG(seed, q.looks))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all[:min(n, len(all))]
}

// queue is one that is there, without what has expired.
func (s *state) queue(name string, now time.Time) *queueData {
	q := s.queues[name]
	if q != nil {
		q.expire(now)
	}
	return q
}

// messageID names the next message. Ids come from a counter, so what happens again brings the same ids again.
func (s *state) messageID() string {
	s.messages++
	n := s.messages
	return fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(n)*2654435761, uint16(n), n)
}

// The file times of Windows count 100 nanoseconds from 1601.
const fileTimeEpoch = 116444736000000000

// receipt is the next receipt, for messages that can be seen again at a time. It looks as the service's do: a file time, here
// moved on where one was made for that time before, and longer from an update than from elsewhere. None comes twice.
func (s *state) receipt(visible time.Time, update bool) string {
	s.receipts = max(s.receipts+1, uint64(fileTimeEpoch+visible.UnixMilli()*10_000))
	b := make([]byte, 20, 24)
	b[0], b[4] = 2, 3
	binary.LittleEndian.PutUint64(b[12:], s.receipts)
	if update {
		b[0] = 3
		b = append(b, 0, 0, 0, 0)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// isReceipt tells whether a text has the form of a receipt.
func isReceipt(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && (len(b) == 20 || len(b) == 24) && (b[0] == 2 || b[0] == 3) && b[4] == 3
}

// Message is a message of a queue as the service holds it.
type Message struct {
	ID, Text string
	Inserted time.Time
	Expires  time.Time // the end of the year 9999 if never
	Visible  time.Time // from when on it can be got
	Dequeued int       // how often it was got
}

// Messages returns the messages of a queue, hidden ones too, oldest first, without a request: for checks.
func (s *Service) Messages(queue string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.state.queues[queue], s.now()
	if q == nil {
		return nil
	}
	var all []Message
	for _, m := range q.messages {
		if !now.Before(m.expires) {
			continue // it stays until a request comes: to look changes nothing
		}
		all = append(all, Message{m.id, m.text, m.inserted, m.expires, m.visible, m.dequeued})
	}
	return all
}

// Queues returns the names of the queues in order, without a request.
func (s *Service) Queues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.state.queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func sortFields(f []field) {
	slices.SortFunc(f, func(a, b field) int { return cmp.Compare(a.name, b.name) })
}
