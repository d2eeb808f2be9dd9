package eventual

// receivedMessage is a delivery with its decoded message. It derives attempts and crashes from the number of deliveries and the
// history.
type receivedMessage struct {
	delivery
	message message
	err     error   // why the text cannot be decoded
	history history // the plausible part of the message's history

	maxAttempts int64 // WorkerOptions.Attempts
	historyFull bool  // the message has no room for a longer history
}

func newReceivedMessage(d delivery, maxAttempts int) receivedMessage {
	r := receivedMessage{delivery: d, maxAttempts: int64(maxAttempts)}
	r.message, r.err = parse(d.text)
	r.history = r.message.history.plausible(d.count)
	r.historyFull = r.mayBeDeadly() && r.isolatedText() == d.text
	return r
}

// attempt returns the number of times that a worker has begun to execute the message, including this time.
func (r *receivedMessage) attempt() int { return int(max(r.count-r.history.Uncounted, 1)) }

// unfinished returns the number of earlier deliveries that did not end: the worker crashed or lost the message.
func (r *receivedMessage) unfinished() int64 {
	return r.count - 1 - r.history.Uncounted - r.history.Failed
}

// failures returns the number of failed attempts before this attempt. If the message has no room for a history, unfinished
// deliveries count, too.
func (r *receivedMessage) failures() int {
	if r.historyFull {
		return int(r.history.Failed + r.unfinished())
	}
	return int(r.history.Failed)
}

// mayBeDeadly reports whether the message may have crashed its workers.
func (r *receivedMessage) mayBeDeadly() bool { return r.err == nil && r.unfinished() >= r.maxAttempts }

// isDeadly reports whether a message that may be deadly has crashed its workers while it was isolated.
func (r *receivedMessage) isDeadly() bool {
	if r.historyFull {
		return r.unfinished() >= 2*r.maxAttempts
	}
	return r.history.Isolated >= r.maxAttempts
}

// isolatedText returns the text of the message with one more execution in isolation.
func (r *receivedMessage) isolatedText() string {
	h := r.history
	h.Isolated++
	return withHistory(r.text, h)
}
