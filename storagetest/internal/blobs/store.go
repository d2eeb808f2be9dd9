package blobs

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// store holds the containers. ETags are numbered by the clock, so the same requests at the same
// times produce the same ETags.
type store struct {
	containers map[string]*container
	deleted    map[string]time.Time // when each container was deleted
	lastETag   int64
	lastID     uint64
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
	copied   *copied // from where the blob was copied; nil: it was not, or has been changed since
}

// exists reports whether the blob has been written. A blob with uncommitted blocks only exists for
// writes of blocks and for leases.
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

// nextETag returns a new ETag. Like the ETags of the live service, it is a time. The time advances
// where necessary to make each ETag unique.
func (s *store) nextETag(now time.Time) string {
	s.lastETag = max(s.lastETag+1, ticks(now))
	return fmt.Sprintf(`"0x%X"`, s.lastETag)
}

// nextID returns the ID of a copy, or of a lease for which the client proposes no ID.
func (s *store) nextID() string {
	s.lastID++
	n := s.lastID
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

// span is a span of a blob: from, and before to.
type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

// content is the content of a blob, in blocks that never change.
type content struct {
	blocks [][]byte
	ends   []int64 // where each block ends in the blob
}

// size returns the number of bytes.
func (c *content) size() int64 {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// append appends a block.
func (c *content) append(block []byte) {
	c.ends = append(c.ends, c.size()+int64(len(block)))
	c.blocks = append(c.blocks, block)
}

// read returns the bytes of a span. They are a copy, unless one block contains them all.
func (c *content) read(s span) []byte {
	i, _ := slices.BinarySearch(c.ends, s.from+1) // the first block that ends after from
	if i < len(c.ends) && s.to <= c.ends[i] {
		block := c.blocks[i]
		start := c.ends[i] - int64(len(block))
		return slices.Clip(block[s.from-start : s.to-start])
	}
	out := make([]byte, 0, s.size())
	for ; int64(len(out)) < s.size(); i++ {
		block := c.blocks[i]
		start := c.ends[i] - int64(len(block))
		out = append(out, block[max(0, s.from-start):min(int64(len(block)), s.to-start)]...)
	}
	return out
}

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

// maxBlockID is the maximum length of a block's ID before its encoding.
const maxBlockID = 64

// decodeBlockID decodes the ID of a block.
func decodeBlockID(id string) ([]byte, bool) {
	decoded, ok := protocol.DecodeBase64(id)
	return decoded, ok && len(decoded) > 0
}

// blockID returns the ID of the block in the query.
func (c *call) blockID() (string, *xmlform.Failure) {
	id := c.Query.Get("blockid")
	decoded, ok := decodeBlockID(id)
	switch {
	case id == "":
		return "", xmlform.MissingParameter("blockid")
	case !ok:
		return "", xmlform.InvalidParameter("blockid", id, "Not a valid base64 string.")
	case len(decoded) > maxBlockID:
		return "", errOutOfRange
	}
	return id, nil
}

// contentHeaders are the HTTP headers that a blob has of its own, in the order of a list.
var contentHeaders = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-MD5", "Cache-Control", "Content-Disposition"}

// defaultContentType is the Content-Type of a blob without one.
const defaultContentType = "application/octet-stream"

// ownHeaders returns the headers for a blob that the request contains as x-ms-blob-content-type and
// so on.
func (c *call) ownHeaders() map[string]string {
	own := map[string]string{}
	for _, name := range contentHeaders {
		if value := c.Header.Get("x-ms-blob-" + name); value != "" {
			own[name] = value
		}
	}
	return own
}

// contentType returns the Content-Type of a blob. Set Blob Properties can remove it.
func (b *blob) contentType() string { return b.headers["Content-Type"] }

// setContentHeaders adds the blob's own headers to the header of a response.
func (b *blob) setContentHeaders(h http.Header) {
	for _, name := range contentHeaders {
		if value := b.headers[name]; value != "" {
			h.Set(name, value)
		}
	}
	if b.contentType() == "" {
		h["Content-Type"] = nil // so that nothing guesses it
	}
}
