package eventual

import (
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
)

// environment is what the receivers, leases and handlers of one worker share.
type environment struct {
	opt      settings
	tracer   tracing.Tracer
	stats    counters
	handlers registry

	notifications, poison, cleanUps queueClient // cleanUps has no client without WorkerOptions.CleanUp
}

// untilRenewal returns the time between two renewals of a message.
func (e *environment) untilRenewal() time.Duration { return e.opt.Visibility / 3 }
