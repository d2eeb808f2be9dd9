package eventual

// Stats are what a worker has done since it was made.
type Stats struct {
	Received int // messages that it has got
	Done     int // messages that are settled: their effects are carried out, or nothing was to be done
	Retried  int // given back for another attempt
	Later    int // given back without counting: unknown kinds, partitions that were busy, storage that was down, RetryAfter, a stop
	Poisoned int // moved to the poison queue
	Lost     int // whose time was over before they were settled
	Renewed  int // times that a message was renewed
	Effects  int // handlers that have succeeded
	CleanUps int // hours of partitions that were cleaned up
	Failures int // requests to queues that have failed
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
