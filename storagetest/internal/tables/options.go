package tables

import "time"

// Options of a service.
type Options struct {
	NameReuseDelay time.Duration // the time before the name of a deleted table can be used again
	Lenient        bool          // requests are executed that only the documentation forbids
}
