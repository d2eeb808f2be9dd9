package eventual

import (
	"cmp"
	"slices"
	"sync"
)

// Stats counts what a worker has done since NewWorker. [KindStats] counts the calls of each handler.
type Stats struct {
	Received      int // messages received
	Completed     int // messages completed: their effects were executed, or nothing was due
	Retried       int // messages returned to the queue for another attempt
	Deferred      int // messages returned without counting an attempt: unknown kind, busy partition or handlers, outage, RetryAfter, stop
	Poisoned      int // messages moved to the poison queue
	Lost          int // messages whose visibility ended before they were completed
	Renewed       int // renewals of messages
	Effects       int // handler calls that succeeded
	CleanUps      int // clean-ups of a partition for an hour
	QueueFailures int // requests to queues that failed
}

// KindStats counts the calls of one handler since NewWorker.
type KindStats struct {
	Table, Kind string // of the handler

	Executed int // calls that succeeded
	Failed   int // calls that count as a failed attempt
	Deferred int // calls that do not count: RetryAfter, outage of storage, newer version, stop of the worker, conflict
	Poisoned int // calls that returned Poison
}

// counters are the Stats and KindStats of a worker.
type counters struct {
	mu     sync.Mutex
	stats  Stats
	byKind []*KindStats // sorted by table and kind
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

// addKind changes the counters of a handler. The handlers bound the number of counters: other kinds, which only commit records name,
// have none.
func (c *counters) addKind(table, kind string, f func(*KindStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, found := slices.BinarySearchFunc(c.byKind, KindStats{Table: table, Kind: kind}, func(s *KindStats, other KindStats) int {
		return cmp.Or(cmp.Compare(s.Table, other.Table), cmp.Compare(s.Kind, other.Kind))
	})
	if !found {
		c.byKind = slices.Insert(c.byKind, i, &KindStats{Table: table, Kind: kind})
	}
	f(c.byKind[i])
}

// readKinds returns a copy of the counters of the handlers.
func (c *counters) readKinds() []KindStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]KindStats, len(c.byKind))
	for i, s := range c.byKind {
		all[i] = *s
	}
	return all
}
