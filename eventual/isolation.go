package eventual

import (
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// A message that crashes its worker leaves no trace but the queue's count of deliveries, and all messages that the worker held have
// that count, too. So a message with WorkerOptions.Attempts unfinished deliveries is executed in isolation: while the worker
// executes nothing else. Before the handler runs, the isolation is stored in the message. After WorkerOptions.Attempts unfinished
// executions in isolation, the message is poison. Any execution that ends clears the message.

var errDeadly = errors.New("workers crashed while they executed the message in isolation")

// isolate prepares the execution of a message, and stores an execution in isolation in the message. If the handler must not run,
// ready is false and the outcome applies. If the queue refuses the longer text, the count of deliveries alone decides.
func (x *lease) isolate() (out outcome, ready bool) {
	switch {
	case !x.needsIsolation && x.mayBeDeadly():
		return outcome{kind: poisoned, class: ClassCrashes, reason: errDeadly}, false
	case !x.needsIsolation, x.historyFull:
		return out, true
	}
	x.pauseRenewal()
	err := x.renew(x.isolatedText())
	x.resumeRenewal()
	var re *azcore.ResponseError
	switch {
	case err == nil:
		return out, true
	case isMessageGone(err):
		x.cancel(ErrLost)
		return out, false
	case errors.As(err, &re) && !isTransient(err):
		if x.historyFull = true; !x.isDeadly() {
			return out, true
		}
		return outcome{kind: poisoned, class: ClassCrashes, reason: errDeadly}, false
	}
	x.cancel(ErrLost) // the request may have changed the receipt
	return outcome{kind: deferred, outage: true, reason: err}, false
}
