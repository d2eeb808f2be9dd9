package blobs

import "time"

// Options of a Blob service.
type Options struct {
	NameReuseDelay time.Duration // before the name of a deleted container can be used again
}
