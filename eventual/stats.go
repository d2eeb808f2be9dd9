package eventual

import "sync"

// Stats counts what a worker has done since NewWorker.
type Stats struct {
	Received      int // messages received
	Done          int // messages completed: their effects were executed, or nothing was due
	Retried       int // messages returned to the queue for another attempt
	Deferred      int // messages returned without counting an attempt: unknown kind, busy partition or handlers, outage, RetryAfter, stop
	Poisoned      int // messages moved to the poison queue
	Lost          int // messages whose visibility ended before they were completed
	Renewed       int // renewals of messages
	Effects       int // handler calls that succeeded
	CleanUps      int // clean-ups of a partition for an hour
	QueueFailures int // requests to queues that failed
}

// counters are the Stats of a running worker.
type counters struct {
	mu    sync.Mutex
	stats Stats
}

func (c *counters) add(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
