package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestJobs plants bugs in jobs over ranges.
func TestJobs(t *testing.T) {
	const faults = "TestEveryFault|TestSchedules"
	mutants.Run(t, "./jobs", []mutants.Mutant{
		{Name: "the second half is never started", File: "jobs/ledger.go",
			Old: "		if r.Version > 0 {\n			return errNothing", New: "		if true {\n			return errNothing", Test: "TestThreeWorkers|" + faults},
		{Name: "the end of a slice is stored over that of another", File: "jobs/execute.go",
			Old: "now.Value.Version != version || now.Value.Done", New: "version < 0", Test: faults},
		{Name: "a finished range is nothing to do", File: "jobs/execute.go",
			Old: "			return j.ledger.finish(ctx, h.Value.Name)\n", New: "			return nil\n", Test: faults},
		{Name: "a canceled job goes on", File: "jobs/execute.go",
			Old: "case h == nil || h.Value.State != Running || r == nil", New: "case h == nil || r == nil", Test: "TestCanceledStays"},
		{Name: "a slice does not see that its job is canceled", File: "jobs/slice.go",
			Old: "	if err == nil && (h == nil || h.Value.State != Running) {", New: "	if err == nil && h == nil {", Test: "TestCancelInSlice"},
		{Name: "a range of an earlier start is worked on", File: "jobs/execute.go",
			Old: "		case r.Value.Start != h.Value.Starts: // the start stores another version\n			return nil\n", New: "", Test: "TestCancel$"},
		{Name: "a job is deleted without a state", File: "jobs/job.go",
			Old: "	h.Value.State = deleting //", New: "	_ = deleting //", Test: "TestDeleteInterrupted|TestStartedAnew"},
		{Name: "what a deletion has left is started", File: "jobs/job.go",
			Old: "			return errDeleting\n", New: "			return nil\n", Test: "TestStartedAnew"},
		{Name: "a job has another range under its name", File: "jobs/job.go",
			Old: "case stored.In != h.In:", New: "case false:", Test: "TestSameName"},
		{Name: "a slice passes any partition", File: "jobs/slice.go",
			Old: "case s.byRows || !s.Partitions.Contains(text) ||", New: "case s.byRows ||", Test: "TestPassed"},
		{Name: "a slice passes an earlier partition", File: "jobs/slice.go",
			Old: "|| s.passed != nowhere && keys.Compare(text, s.at.PartitionKey()) < 0:", New: ":", Test: "TestPassed"},
		{Name: "a piece is larger than the rate", File: "jobs/slice.go",
			Old: "	return min(n, s.rate)\n", New: "	return n\n", Test: "TestLowRate"},
		{Name: "a start does not finish a job without open ranges", File: "jobs/ledger.go",
			Old: "		if len(all) == 0 {\n			return l.finish(ctx, name)\n		}\n", New: "", Test: "TestCanceledAtTheEnd"},
		{Name: "a job is finished while ranges are open", File: "jobs/ledger.go",
			Old: "	if err != nil || n > 0 {\n", New: "	if err != nil || n < 0 {\n", Test: faults},
		{Name: "what a slice has not passed is counted", File: "jobs/slice.go",
			Old: "	s.counted.rows += rows\n", New: "	s.part.Rows += rows\n", Test: "TestFailure|TestCancel|" + faults},
		{Name: "the row that was passed is worked on again", File: "jobs/execute.go",
			Old: "HeadFrom: split.Behind(s.at.RowKey()), From", New: "HeadFrom: s.at.RowKey(), From", Test: "TestThreeWorkers"},
		{Name: "the rest of a partition is left out", File: "jobs/execute.go",
			Old: "		return split.Span{Head: &pk, HeadFrom: split.Behind(s.at.RowKey()), From: split.Behind(pk), To: of.To}\n", New: "		return split.Span{From: split.Behind(pk), To: of.To}\n", Test: "TestThreeWorkers"},
		{Name: "the rest of a partition is in both halves", File: "internal/split/split.go",
			Old: "upper.From, s.To, upper.Head, upper.HeadFrom = k, k, nil, \"\"", New: "upper.From, s.To = k, k", Test: "TestThreeWorkers"},
		{Name: "the last key of a closed range is left out", File: "jobs/job.go",
			Old: "		to = split.Behind(to)\n", New: "", Test: "TestRange"},
		{Name: "the job goes through all partitions", File: "jobs/job.go",
			Old: "	return split.Span{From: from, To: to}, nil", New: "	return split.Span{}, nil", Test: "TestRange"},
		{Name: "a partition that is not passed is not divided", File: "jobs/execute.go",
			Old: "	if n < most || stuck {\n", New: "	if n < most && !stuck {\n", Test: "TestStuck"},
		{Name: "each slice looks for writes that were left under way", File: "jobs/kinds.go",
			Old: ", LeavePrepared: true}", New: "}", Test: "TestVerify"},
		{Name: "workers have the rate each", File: "jobs/ledger.go",
			Old: "		from = p.Until\n", New: "		from = time.Now().UTC()\n", Test: "TestRate"},
		{Name: "a slice begins though the rate is used up", File: "jobs/execute.go",
			Old: "pause > time.Second {", New: "false {", Test: "TestRate"},
		{Name: "a failure is not shown", File: "jobs/execute.go",
			Old: "	r.Value.Attempts++\n", New: "", Test: "TestFailure"},
		{Name: "a failure repeats what the slice has done", File: "jobs/execute.go",
			Old: "	stored, failed := s.store(ended, r, []split.Span{s.left()}, false)", New: "	stored, failed := s.store(ended, r, []split.Span{s.part.span()}, false)", Test: "TestFailure"},
		{Name: "a message of an earlier version is executed", File: "jobs/execute.go",
			Old: " || r == nil || r.Value.Version != d.Version:", New: " || r == nil:", Test: "TestLateMessage"},
		{Name: "a late end opens a range again", File: "jobs/execute.go",
			Old: "now.Value.Version != version || now.Value.Done {", New: "now.Value.Version != version {", Test: "TestLateEnd"},
		{Name: "a range that another worker has noted a failure of is worked on again", File: "jobs/execute.go",
			Old: "	return l.replace(ctx, now, next, more...)\n", New: "	return false, nil\n", Test: "TestFailsBeside"},
		{Name: "the second half is lost beside a failure", File: "jobs/execute.go",
			Old: "	return l.replace(ctx, now, next, more...)\n", New: "	return l.replace(ctx, now, next)\n", Test: "TestFailsBeside"},
		{Name: "ranges are halved beyond the most", File: "jobs/execute.go",
			Old: "	if n < most || stuck {\n", New: "	if n >= 0 {\n", Test: "TestOpen"},
		{Name: "a spoiled argument is tried again", File: "jobs/execute.go",
			Old: "eventual.Poison(fmt.Errorf(\"the argument", New: "(fmt.Errorf(\"the argument", Test: "TestSpoiledArg"},
		{Name: "the row of the rate stays", File: "jobs/job.go",
			Old: "table.Query[paid]{Partition: j.ledger.job(name)}", New: "table.Query[paid]{Partition: j.ledger.job(name + \"x\")}", Test: "TestOpen"},
		{Name: "a worker that stops stores nothing", File: "jobs/execute.go",
			Old: "context.WithTimeout(context.WithoutCancel(ctx), endTimeout)", New: "context.WithTimeout(ctx, endTimeout)", Test: "TestWorkerStops"},
	})
	mutants.Run(t, ".", []mutants.Mutant{
		{Name: "faults of workers are no error", File: "fill_workers.go",
			Old: "	if status.Faults > 0 {", New: "	if false {", Test: "TestFillByWorkersDuplicate"},
	})
}

// TestSplit plants bugs in the search for the middle of a span.
func TestSplit(t *testing.T) {
	mutants.Run(t, "./internal/split", []mutants.Mutant{
		{Name: "the second half begins behind its first key", File: "internal/split/split.go",
			Old: "upper.From, s.To, upper.Head, upper.HeadFrom = k, k, nil, \"\"", New: "upper.From, s.To, upper.Head, upper.HeadFrom = Behind(k), k, nil, \"\"", Test: "TestHalves"},
		{Name: "the end of a span is not looked for", File: "internal/split/split.go",
			Old: "		s.To = m\n", New: "		break\n", Test: "TestHalves"},
	})
}
