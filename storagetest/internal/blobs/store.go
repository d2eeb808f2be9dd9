package blobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// store holds the containers. ETags are numbered by the clock, so the same requests at the same times produce the same ETags.
type store struct {
	containers map[string]*container
	deleted    map[string]time.Time // when each container was deleted
	lastETag   int64
	lastLease  uint64
}

// container is a container with its blobs.
type container struct {
	name     string
	metadata []xmlform.Metadata // by name
	policies access.Policies
	blobs    map[string]*blob
	etag     string
	modified time.Time
	lease    lease
}

// blob is a stored blob.
type blob struct {
	name     string
	kind     string // as in x-ms-blob-type
	content  content
	ids      []string // the IDs of the blocks of content that a block list has committed; none after a single put
	staged   staging
	headers  map[string]string // the blob's own HTTP headers by name; see contentHeaders
	metadata []xmlform.Metadata
	etag     string // "" if the blob has uncommitted blocks only
	created  time.Time
	modified time.Time
	lease    lease
}

// exists reports whether the blob has been written. A blob with uncommitted blocks only exists for writes of blocks and for leases.
func (b *blob) exists() bool { return b != nil && b.etag != "" }

// lookup returns the blob with a name, which may have uncommitted blocks only, or nil.
func (target *container) lookup(name string, now time.Time) *blob {
	b := target.blobs[name]
	if b != nil && b.staged.dropOld(now) && !b.exists() {
		delete(target.blobs, name)
		return nil
	}
	return b
}

func newStore() store {
	return store{containers: map[string]*container{}, deleted: map[string]time.Time{}}
}

// ticks returns the number of 100 nanoseconds since the beginning of year 1.
func ticks(t time.Time) int64 {
	const epoch = 62135596800 // seconds from year 1 to 1970
	return (t.Unix()+epoch)*10_000_000 + int64(t.Nanosecond())/100
}

// nextETag returns a new ETag. Like the ETags of the live service, it is a time. The time advances where necessary to make each
// ETag unique.
func (s *store) nextETag(now time.Time) string {
	s.lastETag = max(s.lastETag+1, ticks(now))
	return fmt.Sprintf(`"0x%X"`, s.lastETag)
}

// nextLeaseID returns the ID of a lease for which the client proposes no ID.
func (s *store) nextLeaseID() string {
	s.lastLease++
	n := s.lastLease
	return fmt.Sprintf("%08x-%04x-4000-9000-%012x", uint32(n)*2654435761, uint16(n), n)
}

// touch records a change of a container.
func (s *store) touch(c *container, now time.Time) {
	c.etag, c.modified = s.nextETag(now), now
}

// touchBlob records a change of a blob. A lease that has ended cannot be renewed afterwards.
func (s *store) touchBlob(b *blob, now time.Time) {
	b.etag, b.modified = s.nextETag(now), now
	b.lease.dropEnded(now)
}

// names returns the names with a prefix from a name on, in order.
func names[V any](all map[string]V, prefix, from string) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(all) {
			if strings.HasPrefix(name, prefix) && name >= from && !yield(name) {
				return
			}
		}
	})
}
