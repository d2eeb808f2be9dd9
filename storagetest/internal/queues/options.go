package queues

import "time"

// Options of a Queue service.
type Options struct {
	NameReuseDelay  time.Duration // before the name of a deleted queue can be used again
	ShuffleSeed     uint64        // the seed of a random order of messages; 0: oldest first
	ReceiptMismatch bool          // an outdated receipt fails with 400 PopReceiptMismatch, and otherwise with 404 MessageNotFound
}
