package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestBlobarchive: removes what an archive in blobs depends on, piece by piece.
func TestBlobarchive(t *testing.T) {
	t.Parallel()
	const dir = "archive/blobarchive/"
	mutants.Run(t, "./archive/blobarchive", []mutants.Mutant{
		{Name: "a row replaces any version", File: dir + "client.go",
			Old: "condition = blobs.IfMatch(azcore.ETag(version))", New: "condition = nil", Test: "TestVersions"},
		{Name: "a first row replaces another one", File: dir + "client.go",
			Old: "	condition := blobs.IfNew()\n	if version", New: "	condition := blobs.IfMatch(azcore.ETagAny)\n	condition = nil\n	if version", Test: "TestVersions"},
		{Name: "the version of any blob is accepted", File: dir + "destination.go",
			Old: `case version != "" && !isETag(version):`, New: `case version != "" && !isETag(version) && version != "*":`, Test: "TestVersions"},
		{Name: "a refused row is not read back", File: dir + "destination.go",
			Old: "			case !own: // and", New: "			case !own || !doubtful || true: // and", Test: "TestPutFaults"},
		{Name: "another Put is taken for this one", File: dir + "destination.go",
			Old: "s != nil && s.put == put, err", New: "s != nil && s.put != \"\" && put != \"\", err", Test: "TestPutOvertaken|TestVersions"},
		{Name: "an unknown outcome is reported as a refusal", File: dir + "destination.go",
			Old: "doubtful = doubtful || outcome == wire.Unknown", New: "doubtful = doubtful && outcome == wire.Unknown", Test: "TestPutFaults"},
		{Name: "a cut response is not read again", File: dir + "client.go",
			Old: "		return nil, true, refusal(&call, err)\n", New: "		return nil, false, refusal(&call, err)\n", Test: "TestCutOnce"},
		{Name: "the SDK repeats a write", File: "internal/blobs/blobs.go",
			Old: "call.Write(ctx, max(timeout, 0))", New: "call.Read(ctx)", Test: "TestPutFaults"},
		{Name: "a blob of another key is read", File: dir + "content.go",
			Old: "keys.Raw(c.PartitionKey, c.RowKey) != id.Key || c.Incarnation != id.Incarnation,", New: "keys.Raw(c.PartitionKey, c.RowKey) != id.Key && c.Incarnation != id.Incarnation,", Test: "TestForeign"},
		{Name: "a row of another key is read", File: dir + "content.go",
			Old: "c.Row != nil && c.Row.Key != id.Key:", New: "c.Row != nil && c.Row.Key != id.Key && false:", Test: "TestForeign"},
		{Name: "a sweep trusts the metadata", File: dir + "destination.go",
			Old: "s.row.Row != nil || s.row.Version", New: "s.row.Version", Test: "TestSweep"},
		{Name: "a sweep deletes new tombstones", File: dir + "destination.go",
			Old: "!b.Modified.Add(time.Second).Before(before)", New: "b.Modified.Add(time.Second).Before(before) && false", Test: "TestSweep|TestRequests"},
		{Name: "a list reads tombstones", File: dir + "destination.go",
			Old: "			if isTombstone(b.Metadata) {\n", New: "			if isTombstone(b.Metadata) && false {\n", Test: "TestRequests"},
		{Name: "a prefix is part of another partition", File: dir + "content.go",
			Old: "return blobs.Escape(partitionKey) + \"/\"", New: "return blobs.Escape(partitionKey)", Test: "TestLists"},
		{Name: "names may be of any length", File: dir + "content.go",
			Old: "n > blobs.MaxName {", New: "n > blobs.MaxName && false {", Test: "TestLimits"},
		{Name: "a large blob is read", File: dir + "client.go",
			Old: "*resp.ContentLength > maxContent", New: "*resp.ContentLength > maxContent && false", Test: "TestForeign"},
	})
}
