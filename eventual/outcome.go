package eventual

import "time"

// outcomeKind is what happens to a message after its execution.
type outcomeKind int

// The kinds of outcomes. Of a message with several effects, the last kind in this order applies: a message is poison only if no
// other effect is still due.
const (
	completed outcomeKind = iota // deleted
	poisoned                     // moved to the poison queue
	deferred                     // returned to the queue without counting an attempt
	retried                      // returned to the queue after a failed attempt
)

// outcome is what happens to a message after its execution, and why.
type outcome struct {
	kind   outcomeKind
	class  string        // of poison
	effect string        // kind of the effect that failed
	reason any           // text or error
	delay  time.Duration // at least, before the next delivery

	unknown   bool // a worker of another release may know the table, kind or version, or the write may still commit
	requested bool // a handler requested the delay by RetryAfter
	outage    bool // storage was down
	busy      bool // the partition was busy
	expected  bool // nothing failed
}

// merge returns the outcome of a message for the outcomes of two effects.
func (out outcome) merge(other outcome) outcome {
	if out.kind == deferred && other.kind == deferred {
		out.unknown, out.requested, out.delay = out.unknown || other.unknown, out.requested || other.requested, max(out.delay, other.delay)
		return out
	}
	if other.kind > out.kind {
		out, other = other, out
	}
	out.unknown, out.requested = out.unknown || other.unknown, out.requested || other.requested
	if other.kind == deferred {
		out.delay = max(out.delay, other.delay)
	}
	return out
}

// count counts the outcome of a handler that failed.
func (out outcome) count(s *KindStats) {
	switch out.kind {
	case poisoned:
		s.Poisoned++
	case retried:
		s.Failed++
	default:
		s.Deferred++
	}
}
