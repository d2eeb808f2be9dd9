package queues

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// store holds the queues. Message IDs and receipts are numbered, so the same requests produce the
// same IDs and receipts.
type store struct {
	queues      map[string]*queue
	deleted     map[string]time.Time // when each queue was deleted
	lastMessage uint64
	lastReceipt uint64
}

// queue is a queue: its messages, oldest first.
type queue struct {
	name        string
	metadata    []xmlform.Metadata // by name
	policies    access.Policies
	messages    []*message
	receives    uint64    // the number of requests for messages
	firstExpiry time.Time // no message expires earlier; zero: not known
}

// message is a stored message.
type message struct {
	id, text                   string
	receipt                    string
	inserted, expires, visible time.Time
	dequeued                   int
}

// never is the expiry of a message that does not expire.
var never = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

func newStore() store {
	return store{queues: map[string]*queue{}, deleted: map[string]time.Time{}}
}

// queue returns a queue without its expired messages, or nil if no queue has the name.
func (s *store) queue(name string, now time.Time) *queue {
	q := s.queues[name]
	if q != nil {
		q.expire(now)
	}
	return q
}

// expire removes the expired messages permanently: they do not return if the clock is set back.
// Most calls return early, because firstExpiry is later than now.
func (q *queue) expire(now time.Time) {
	if now.Before(q.firstExpiry) {
		return
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return !now.Before(m.expires) })
	q.firstExpiry = never
	for _, m := range q.messages {
		if m.expires.Before(q.firstExpiry) {
			q.firstExpiry = m.expires
		}
	}
}

// put appends a message.
func (q *queue) put(m *message) {
	q.messages = append(q.messages, m)
	if m.expires.Before(q.firstExpiry) {
		q.firstExpiry = m.expires
	}
}

// index returns the index of a message, or a negative number.
func (q *queue) index(id string) int {
	return slices.IndexFunc(q.messages, func(m *message) bool { return m.id == id })
}

// next returns up to n visible messages: the oldest, or if seed is not 0, random messages in random
// order.
func (q *queue) next(n int, now time.Time, seed uint64) []*message {
	q.receives++
	var all []*message
	for _, m := range q.messages {
		if now.Before(m.visible) {
			continue
		}
		if all = append(all, m); seed == 0 && len(all) == n {
			break
		}
	}
	if seed != 0 {
		rng := rand.New(rand.NewPCG(seed, q.receives))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all[:min(n, len(all))]
}

// nextMessageID returns the ID of the next message.
func (s *store) nextMessageID() string {
	s.lastMessage++
	n := s.lastMessage
	return fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(n)*2654435761, uint16(n), n)
}

// The file times of Windows count 100 nanoseconds from 1601.
const fileTimeEpoch = 116444736000000000

// nextReceipt returns a new receipt for messages that become visible at a time. Like the receipts
// of the live service, it contains a file time, and that of an update is longer. The file time
// advances where necessary to make each receipt unique.
func (s *store) nextReceipt(visible time.Time, update bool) string {
	s.lastReceipt = max(s.lastReceipt+1, uint64(fileTimeEpoch+visible.UnixMilli()*10_000))
	b := make([]byte, 20, 24)
	b[0], b[4] = 2, 3
	binary.LittleEndian.PutUint64(b[12:], s.lastReceipt)
	if update {
		b[0] = 3
		b = append(b, 0, 0, 0, 0)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// isReceipt reports whether s has the form of a receipt.
func isReceipt(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && (len(b) == 20 || len(b) == 24) && (b[0] == 2 || b[0] == 3) && b[4] == 3
}
