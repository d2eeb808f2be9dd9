package blobs

import "time"

const (
	maxStaged = 100_000            // uncommitted blocks of a blob
	stagedFor = 7 * 24 * time.Hour // the service discards uncommitted blocks that long after the last one was put
)

// staging contains the uncommitted blocks of a block blob.
type staging struct {
	blocks map[string][]byte // by ID
	last   time.Time         // when the last block was put
}

// put adds a block, or replaces the block with the ID.
func (s *staging) put(id string, block []byte, now time.Time) {
	if s.blocks == nil {
		s.blocks = map[string][]byte{}
	}
	s.blocks[id], s.last = block, now
}

// fits reports whether an ID has the length of the IDs of the other blocks.
func (s *staging) fits(id string) bool {
	for other := range s.blocks {
		return len(other) == len(id)
	}
	return true
}

// dropOld discards blocks that were not committed in time, and reports whether there are none.
func (s *staging) dropOld(now time.Time) (none bool) {
	if len(s.blocks) > 0 && now.Sub(s.last) >= stagedFor {
		s.blocks = nil
	}
	return len(s.blocks) == 0
}
