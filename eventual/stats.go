package eventual

// Stats counts what a worker has done since it was made.
type Stats struct {
	Received int // messages received
	Done     int // messages completed: their effects were executed, or nothing was due
	Retried  int // messages returned to the queue for another attempt
	Deferred int // messages returned without counting an attempt: unknown kinds, busy partitions, storage that was down, RetryAfter, a stop
	Poisoned int // messages moved to the poison queue
	Lost     int // messages whose visibility ended before they were completed
	Renewed  int // renewals of messages
	Effects  int // handlers that succeeded
	CleanUps int // hours of partitions that were cleaned up
	QueueFailures int // requests to queues that failed
}

// Stats returns the counters.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

func (w *Worker) count(f func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.stats)
}
