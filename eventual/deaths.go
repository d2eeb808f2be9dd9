package eventual

import (
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// A worker that dies says nothing of the message that it died of: no handler returns, and nothing is noted. What is left is the
// queue's count of deliveries, which all messages share that the worker had in hand, and most of them are innocent. So a message of
// which as many deliveries as WorkerOptions.Attempts have come to no end is worked on alone, which is noted in it before the
// handler runs. It is poison when that has come to no end as often again; any end of it clears the message.

// attempt is how often somebody has begun with the message, this time included.
func (x *lease) attempt() int { return int(max(x.d.gets-x.notes.Uncounted, 1)) }

// unended is how many of its deliveries have come to no end.
func (x *lease) unended() int64 { return x.d.gets - 1 - x.notes.Uncounted - x.notes.Tried }

// failures is how many attempts have failed before this one, as far as it could be noted.
func (x *lease) failures() int {
	if x.unnoted {
		return int(x.notes.Tried + x.unended())
	}
	return int(x.notes.Tried)
}

// suspicious reports whether workers may have died of the message.
func (x *lease) suspicious() bool { return x.err == nil && x.unended() >= int64(x.w.opt.Attempts) }

// deadly reports whether workers have died of the message.
func (x *lease) deadly() bool {
	if x.unnoted = x.begun(1) == x.d.text; x.unnoted {
		return x.unended() >= 2*int64(x.w.opt.Attempts)
	}
	return x.notes.Alone >= int64(x.w.opt.Attempts)
}

// begun is the text of the message when a worker has begun with it alone once more.
func (x *lease) begun(more int64) string {
	n := x.notes
	n.Alone += more
	return noted(x.d.text, n)
}

var errDeadly = errors.New("workers have died of it while they worked on nothing else")

// prepare makes ready for the handlers, or says what becomes of a message that they must not see. A queue that refuses to note
// anything leaves the deliveries alone to go by.
func (x *lease) prepare() (v verdict, ready bool) {
	switch {
	case !x.lone && x.suspicious():
		return verdict{kind: never, class: ClassCrashes, why: errDeadly, m: x.m}, false
	case !x.lone:
		return v, true
	case x.unnoted:
		return v, true
	}
	x.hold()
	err := x.renew(x.begun(1))
	x.begin()
	var re *azcore.ResponseError
	switch {
	case err == nil:
		return v, true
	case gone(err):
		x.cancel(ErrLost)
		return v, false
	case errors.As(err, &re) && !transient(err):
		if x.unnoted = true; x.unended() < 2*int64(x.w.opt.Attempts) {
			return v, true
		}
		return verdict{kind: never, class: ClassCrashes, why: errDeadly, m: x.m}, false
	}
	x.cancel(ErrLost) // its receipt may be another by now
	return verdict{kind: later, own: true, why: err, m: x.m}, false
}
