package queues

import (
	"maps"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// Service is the Queue service of an account. It implements protocol.Service.
type Service struct {
	store    store
	settings settings.Settings
	options  Options
}

// New returns a service without queues.
func New(o Options) *Service { return &Service{store: newStore(), options: o} }

// Receive implements protocol.Service.
func (s *Service) Receive(r *protocol.Request, now time.Time) protocol.Call {
	c := &call{Request: r, store: &s.store, settings: &s.settings, options: &s.options}
	c.rights, c.refusal = xmlform.Check(r, now, func() (*access.Rights, *protocol.Failure) {
		a, _ := parseAddress(r.Path)
		return access.Verify(r, "queue", "/"+a.queue)
	})
	return c
}

// Message is a stored message.
type Message struct {
	ID, Text                   string
	Inserted, Expires, Visible time.Time
	Dequeued                   int
}

// Messages returns the messages of a queue, including hidden messages, oldest first. Messages changes nothing: an expired message
// is left out, and stays until the next request. The caller holds the account's lock.
func (s *Service) Messages(name string, now time.Time) []Message {
	q := s.store.queues[name]
	if q == nil {
		return nil
	}
	var all []Message
	for _, m := range q.messages {
		if now.Before(m.expires) {
			all = append(all, Message{m.id, m.text, m.inserted, m.expires, m.visible, m.dequeued})
		}
	}
	return all
}

// Queues returns the names of the queues in order. The caller holds the account's lock.
func (s *Service) Queues() []string { return slices.Sorted(maps.Keys(s.store.queues)) }
