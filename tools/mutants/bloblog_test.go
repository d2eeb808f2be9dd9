package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestBloblog: removes what a log in blobs depends on, piece by piece.
func TestBloblog(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./logtail/bloblog", []mutants.Mutant{
		{Name: "a block is appended wherever the blob ends", File: "logtail/bloblog/client.go",
			Old: "		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position},\n		AccessConditions:               blobs.IfMatch(etag),\n",
			New: "		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{},\n", Test: "TestFlushEveryFault"},
		{Name: "a block does not name its position", File: "logtail/bloblog/client.go",
			Old: "{AppendPosition: &position}", New: "{}", Test: "TestForeignAfterLostResponse"},
		{Name: "a blob that was created again takes late blocks", File: "logtail/bloblog/client.go",
			Old: "		AccessConditions:               blobs.IfMatch(etag),\n", New: "", Test: "TestForeignEveryFault", Args: []string{"-faultsample=1"}},
		{Name: "a blob replaces another one", File: "logtail/bloblog/client.go",
			Old: "blobs.IfNew()", New: "nil", Test: "TestWriters"},
		{Name: "what is stored is not compared", File: "logtail/bloblog/append.go",
			Old: "	if same {\n", New: "	if same || p.length >= a.blob.length+int64(len(b.data)) {\n", Test: "TestForeignChanges"},
		{Name: "a lost response leads to another blob", File: "logtail/bloblog/append.go",
			Old: "		a.late = a.late || r.outcome == wire.Unknown\n", New: "		a.abandon()\n", Test: "TestFlushEveryFault"},
		{Name: "a leased blob is left while its block is on its way", File: "logtail/bloblog/append.go",
			Old: "bloberror.ConditionNotMet) && !a.late:\n", New: "bloberror.ConditionNotMet):\n", Test: "TestLeasedInDoubt"},
		{Name: "a full blob does not contain its last block", File: "logtail/bloblog/append.go",
			Old: "		a.failed, a.state = r, stateDoubtful\n", New: "		a.failed, a.state = r, stateDoubtful\n		if bloberror.HasCode(r.err, bloberror.BlockCountExceedsLimit) {\n			a.leave(ctx)\n			return false, nil\n		}\n", Test: "TestFull"},
		{Name: "the blob of another writer is the writer's own", File: "logtail/bloblog/append.go",
			Old: "		if found.metadata.writer == a.blob.id {\n", New: "		if found.name.number == a.blob.name.number {\n", Test: "TestWriters"},
		{Name: "the blobs of a writer have one ID", File: "logtail/bloblog/send.go",
			Old: "	s.blobs++\n", New: "", Test: "TestLateRecords"},
		{Name: "a replaced blob is the writer's own", File: "logtail/bloblog/append.go",
			Old: "p.writer != \"\" && p.writer != a.blob.id, ", New: "", Test: "TestForeignChanges"},
		{Name: "an error of the outcome is not told", File: "logtail/bloblog/append.go",
			Old: "(a.state == stateDoubtful || a.late) {\n", New: "false {\n", Test: "TestUnknownOutcome"},
		{Name: "a flush that failed loses its block", File: "logtail/bloblog/send.go",
			Old: "				err = errors.Join(err, failed)\n", New: "				err = errors.Join(err, failed)\n				a.pending, a.state = nil, stateNone\n", Test: "TestUnknownOutcome|TestFlushEveryFault"},
		{Name: "the buffer has no bound", File: "logtail/bloblog/send.go",
			Old: "	return held == 0 || held+n <= s.limits.buffer\n", New: "	return held >= 0 || n > 0\n", Test: "TestFullBuffer"},
		{Name: "an open blob hides late records", File: "logtail/bloblog/append.go",
			Old: "first: a.hour}", New: "first: a.pending[0].first}", Test: "TestLateRecords"},
		{Name: "a clock that steps back delays a flush", File: "logtail/bloblog/send.go",
			Old: "return s.client.opt.Now()", New: "return s.client.opt.Now().UTC()", Test: "TestFlushAfterStep"},
		{Name: "a torn line is a record", File: "logtail/bloblog/read.go",
			Old: "			return nil, err\n", New: "			if size > 0 && errors.Is(err, io.EOF) {\n				return append(l.long, part...), nil\n			}\n			return nil, err\n", Test: "TestForeignLines"},
		{Name: "a response that breaks off is all of the blob", File: "logtail/bloblog/send.go",
			Old: "		return s.ctx.Err() == nil, err\n", New: "		return false, io.EOF\n", Test: "TestBrokenResponses"},
		{Name: "a response that ends early is all of the blob", File: "logtail/bloblog/send.go",
			Old: "			err = io.ErrUnexpectedEOF\n", New: "			return false, io.EOF\n", Test: "TestBrokenResponses"},
		{Name: "a source has the blobs of the sources below it", File: "logtail/bloblog/client.go",
			Old: "b.name.source != source, ", New: "", Test: "TestForeignBlobs"},
		{Name: "names are parsed loosely", File: "logtail/bloblog/log.go",
			Old: "	return n, n.String() == text && checkSource(n.source) == nil\n", New: "	return n, true\n", Test: "TestNames"},
	})
}
