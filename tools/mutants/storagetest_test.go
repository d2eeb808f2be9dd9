package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestStoragetest: removes what the Blob service in memory depends on, piece by piece.
func TestStoragetest(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./storagetest", []mutants.Mutant{
		{Name: "an append ignores its position", File: "storagetest/internal/blobs/blobs.go",
			Old: "	case offset != position:\n", New: "	case offset < position:\n", Test: "TestBlobLimits|TestAppendRepeated"},
		{Name: "a size limit excludes the new block", File: "storagetest/internal/blobs/blobs.go",
			Old: "offset+int64(len(c.Body)) > maxSize", New: "offset > maxSize", Test: "TestBlobLimits"},
		{Name: "an append blob has one block more", File: "storagetest/internal/blobs/blobs.go",
			Old: "len(b.content.blocks) >= maxBlocks", New: "len(b.content.blocks) > maxBlocks", Test: "TestBlockCount"},
		{Name: "a block keeps the buffer of its request", File: "storagetest/internal/blobs/blobs.go",
			Old: "offset := b.content.size()\n\tb.content.append(c.ownBody())", New: "offset := b.content.size()\n\tb.content.append(append(make([]byte, 0, len(c.Body)+512), c.Body...))", Test: "TestBlockMemory"},
		{Name: "a range begins one block late", File: "storagetest/internal/blobs/store.go",
			Old: "slices.BinarySearch(c.ends, s.from+1)", New: "slices.BinarySearch(c.ends, s.from+2)", Test: "TestBlobRanges"},
		{Name: "a range may begin at the end", File: "storagetest/internal/blobs/blobs.go",
			Old: "case partial && s.from >= size:", New: "case partial && s.from > size:", Test: "TestBlobRanges"},
		{Name: "an ETag occurs twice", File: "storagetest/internal/blobs/store.go",
			Old: "max(s.lastETag+1, ticks(now))", New: "max(s.lastETag, ticks(now))", Test: "TestBlobConditions"},
		{Name: "a held lease does not protect a blob", File: "storagetest/internal/blobs/lease.go",
			Old: `if id == "" && l.locked(now) {`, New: `if id == "" && l.locked(now) && false {`, Test: "TestLeaseProtects|TestContainerLease"},
		{Name: "an expired lease is renewed after a write", File: "storagetest/internal/blobs/lease.go",
			Old: "	if !l.locked(now) {\n		*l = lease{}\n", New: "	if l.broken && !l.locked(now) {\n		*l = lease{}\n", Test: "TestLeaseProtects"},
		{Name: "a lease is extended when it is broken", File: "storagetest/internal/blobs/lease.go",
			Old: "at.Before(end) || l.seconds == infinite && !l.broken", New: "true", Test: "TestLeaseStates"},
		{Name: "a prefix is listed again on the next page", File: "storagetest/internal/blobs/list.go",
			Old: "if len(page) > 0 && page[len(page)-1].name == e.name {", New: "if len(page) > 1 && page[len(page)-1].name == e.name {", Test: "TestBlobHierarchy"},
		{Name: "a page ends one blob late", File: "storagetest/internal/blobs/list.go",
			Old: "			next = newMarker(name)\n", New: "			next = newMarker(name + \"0\")\n", Test: "TestBlobPages"},
		{Name: "If-None-Match is not checked on reads", File: "storagetest/internal/blobs/conditions.go",
			Old: "	case same && !newer, older && !other:\n", New: "	case older && !other:\n", Test: "TestBlobConditions|TestNotModified"},
		{Name: "the length of a cut body is lost", File: "storagetest/transport.go",
			Old: "	} else {\n		o.response.Header.Del(\"Content-Length\")\n", New: "	}\n	if true {\n		o.response.Header.Del(\"Content-Length\")\n", Test: "TestDownloadResumed"},
		{Name: "a signature sorts headers by bytes", File: "storagetest/internal/xmlform/signature.go",
			Old: "if c := strings.Compare(withoutHyphens.Replace(a), withoutHyphens.Replace(b)); c != 0 {", New: "if c := strings.Compare(a, b); c != 0 {", Test: "TestNotModified"},
	})
}
