package storagetest

import "time"

// Message is a stored message of a queue.
type Message struct {
	ID, Text string
	Inserted time.Time
	Expires  time.Time // the end of the year 9999 if the message does not expire
	Visible  time.Time // when the message becomes visible
	Dequeued int       // how often the message was received
}

// Messages returns the messages of a queue, including hidden messages, oldest first. Messages makes no request.
func (s *Service) Messages(queue string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.queues.Messages(queue, s.now()) {
		all = append(all, Message(m))
	}
	return all
}

// QueueNames returns the names of the queues in order. QueueNames makes no request.
func (s *Service) QueueNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues.Queues()
}
