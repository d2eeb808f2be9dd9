package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestBlockBlobs: removes what block blobs in memory depend on, piece by piece.
func TestBlockBlobs(t *testing.T) {
	t.Parallel()
	const dir = "storagetest/internal/blobs/"
	mutants.Run(t, "./storagetest", []mutants.Mutant{
		{Name: "block IDs have any length", File: dir + "store.go",
			Old: "		return len(other) == len(id)\n", New: "		return len(other) == len(id) || true\n", Test: "TestBlockBlobLimits"},
		{Name: "uncommitted blocks stay for ever", File: dir + "store.go",
			Old: "now.Sub(s.last) >= stagedFor", New: "now.Sub(s.last) >= stagedFor && false", Test: "TestUncommittedBlob"},
		{Name: "the latest block is the committed one", File: dir + "blocks.go",
			Old: `if l.from == "Committed" || !ok && l.from == "Latest" {`, New: `if l.from == "Committed" || committed[l.id] != nil && l.from == "Latest" {`, Test: "TestBlocks"},
		{Name: "an unknown block is skipped", File: dir + "blocks.go",
			Old: "		if !ok {\n			return errBlockList\n", New: "		if !ok {\n			continue\n", Test: "TestBlockBlobLimits"},
		{Name: "an append blob has uncommitted blocks", File: dir + "blocks.go",
			Old: "	case b.kind != blockBlob:\n		return errWrongBlobType\n	case f != nil:", New: "	case b.kind != blockBlob && false:\n		return errWrongBlobType\n	case f != nil:", Test: "TestBlockBlobReplacesTypes"},
		{Name: "a blob has one uncommitted block more", File: dir + "blocks.go",
			Old: "len(b.staged.blocks) >= maxStaged", New: "len(b.staged.blocks) > maxStaged", Test: "TestBlockCounts", Args: []string{"-uncommitted=100000"}},
		{Name: "a block list has one block less", File: dir + "blocks.go",
			Old: "len(root.Blocks) > maxBlocks", New: "len(root.Blocks) >= maxBlocks", Test: "TestBlockCounts"},
		{Name: "a replaced blob keeps its uncommitted blocks", File: dir + "blobs.go",
			Old: "		b.lease = old.lease\n", New: "		b.lease, b.staged = old.lease, old.staged\n", Test: "TestBlocks"},
		{Name: "the MD5 of the body counts more than that of the blob", File: dir + "blobs.go",
			Old: `cmp.Or(c.Header.Get("x-ms-blob-content-md5"), c.Header.Get("Content-MD5"))`, New: `cmp.Or(c.Header.Get("Content-MD5"), c.Header.Get("x-ms-blob-content-md5"))`, Test: "TestBlockBlobLimits"},
		{Name: "If-None-Match: * replaces a blob", File: dir + "blobs.go",
			Old: `case b.exists() && x.noneMatch == "*":`, New: `case b.exists() && x.noneMatch == "*" && false:`, Test: "TestBlockBlobLimits"},
		{Name: "a blob with uncommitted blocks only is read", File: dir + "service.go",
			Old: "!b.exists() && kind != kinds.BlobBlocks && kind != kinds.BlobLease", New: "!b.exists() && kind == kinds.BlobAppend", Test: "TestUncommittedBlob"},
		{Name: "a blob with uncommitted blocks only is listed", File: dir + "list.go",
			Old: `(e.blob == nil || !xmlform.Includes(c.Query, "uncommittedblobs"))`, New: "e.blob == nil", Test: "TestUncommittedBlob"},
		{Name: "a block is copied for each range", File: dir + "store.go",
			Old: "i < len(c.ends) && s.to <= c.ends[i]", New: "i < len(c.ends) && s.to <= c.ends[i] && false", Test: "TestLargeBlob"},
		{Name: "a large body is copied", File: "storagetest/transport.go",
			Old: "length <= 0 || length > maxBody", New: "length <= 1<<20 || length > maxBody || true", Test: "TestLargeBlob"},
	})
}
