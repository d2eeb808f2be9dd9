package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestLogtail: removes what a log depends on, piece by piece.
func TestLogtail(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compiles the package anew")
	}
	mutants.Run(t, "./logtail", []mutants.Mutant{
		{Name: "records of one tick have one time", File: "logtail/append.go",
			Old: "		at = w.last.Add(tick)\n", New: "		at = w.last\n", Test: "TestTail"},
		{Name: "a writer keeps the time of a clock that has stepped far back", File: "logtail/append.go",
			Old: "w.id == \"\" || behind > w.overlap || ", New: "w.id == \"\" || ", Test: "TestClockStepsFarBack"},
		{Name: "a refusal counts as success", File: "logtail/append.go",
			Old: "	if err == nil && !is {\n", New: "	if err == nil && !is && false {\n", Test: "TestAppendEveryFault|TestFalseRefusal"},
		{Name: "a record that is sent again is refused", File: "logtail/append.go",
			Old: "	if errors.Is(err, table.ErrExists) {\n		err = l.confirm(", New: "	if false {\n		err = l.confirm(", Test: "TestLostResponses"},
		{Name: "rows of other types are records", File: "logtail/log.go",
			Old: "	return p, err == nil\n", New: "	return p, true\n", Test: "TestForeignRows"},
		{Name: "a record is yielded again", File: "logtail/follow.go",
			Old: "				if !c.seen.has(r.Key, r.position()) {\n", New: "				if true {\n", Test: "TestFollow"},
		{Name: "late records are missed", File: "logtail/follow.go",
			Old: "now.Add(-l.opt.Overlap) //", New: "now.Add(-l.opt.Overlap / 100) //", Test: "TestFollow"},
		{Name: "one partition is read twice", File: "logtail/follow.go",
			Old: "if len(in)*len(l.partitions) > 1 && gaps(", New: "if gaps(", Test: "TestFollowFromNow"},
		{Name: "a range without tables is read", File: "logtail/periods.go",
			Old: "		if !from.Before(to) {\n			return", New: "		if false && !from.Before(to) {\n			return", Test: "TestBoundsInsideTicks"},
		{Name: "partitions are read once, at different instants", File: "logtail/follow.go",
			Old: "	if len(in)*len(l.partitions) > 1 && gaps(&c.seen, all) {\n", New: "	if false {\n", Test: "TestFollowOrder"},
		{Name: "a token lacks what was yielded", File: "logtail/read.go",
			Old: "c.log, c.from, c.seen = true, log, from, t.seen\n", New: "c.log, c.from = true, log, from\n", Test: "TestFollow"},
		{Name: "numbers between two spans are seen", File: "logtail/follow.go",
			Old: "	case joinsBefore && joinsAfter:\n", New: "	case at > 0 && at < len(spans):\n", Test: "TestSeen|TestFollow"},
		{Name: "a full page counts as all", File: "logtail/follow.go",
			Old: "	case limit > 0 && most == limit: // perhaps there are more\n", New: "	case false:\n", Test: "TestCatchUp"},
		{Name: "records are dated long before they are sent", File: "logtail/append.go",
			Old: "slices.Chunk(values, maxBatch) {\n", New: "slices.Chunk(values, 50*maxBatch) {\n", Test: "TestSlowAppends"},
		{Name: "a record is stored that followers miss", File: "logtail/append.go",
			Old: "		if !r.Time.Before(late) {\n", New: "		if !r.Time.Before(late) || true {\n", Test: "TestLateResend"},
		{Name: "the sources of a writer share its numbers", File: "logtail/append.go",
			Old: "w.next[source] += int64(n)\n", New: "w.next[source] = w.next[\"\"] + int64(n)\n	w.next[\"\"] = w.next[source]\n", Test: "TestTokenSize"},
		{Name: "the merged list begins with the oldest", File: "logtail/log.go",
			Old: "h.record.Key.RowKey() < newest", New: "h.record.Key.RowKey() > newest", Test: "TestSpread"},
		{Name: "a period is dropped that is kept", File: "logtail/periods.go",
			Old: "-p.opt.Keep); h.Year()", New: "1-p.opt.Keep); h.Year()", Test: "TestDrop"},
		{Name: "a dry run drops", File: "logtail/delete.go",
			Old: "		if !o.DryRun {\n", New: "		if true {\n", Test: "TestDrop"},
		{Name: "the state says dropped before the table is", File: "logtail/delete.go",
			Old: "		e.Value.State = StateDropping\n", New: "		e.Value.State = StateDropped\n", Test: "TestDropEveryFault"},
		{Name: "a table that does not exist is not dropped", File: "internal/engine/table.go",
			Old: "}, errs.ErrNotFound, errs.ErrTableNotFound)", New: "})", Test: "TestDropEveryFault"},
		{Name: "the name of a dropped table is used again", File: "logtail/periods.go",
			Old: "	if known != \"\" && known != StateOpen {\n", New: "	if false {\n", Test: "TestCreate"},
		{Name: "a table is made before its state", File: "logtail/periods.go",
			Old: "	if known == \"\" {\n", New: "	if t, err := p.table(row.From); err == nil && known == \"\" {\n		if err := t.Ensure(ctx); err != nil {\n			return err\n		}\n", Test: "TestCreateEveryFault"},
		{Name: "the horizon steps back with the clock", File: "logtail/periods.go",
			Old: "	if p.latest.Before(now) {\n", New: "	if true {\n", Test: "TestPastRetention"},
		{Name: "records of one transaction are in two periods", File: "logtail/append.go",
			Old: "w.unit != nil && w.unit.start(at)", New: "false && w.unit.start(at)", Test: "TestAppendAtMidnight"},
		{Name: "the next day is not read before midnight", File: "logtail/periods.go",
			Old: "	if to.IsZero() || soon.Before(to) {\n			to = soon\n", New: "	if to.IsZero() || soon.Before(to) {\n			to = now\n", Test: "TestReadNearMidnight"},
		{Name: "a follower skips the period after one without a table", File: "logtail/log.go",
			Old: "		known.open = known.open[1:]\n	}\n", New: "		known.open = known.open[min(2, len(known.open)):]\n	}\n", Test: "TestFollowByPeriod"},
		{Name: "a follower past the retention is not told", File: "logtail/follow.go",
			Old: "	if err == nil {\n		err = l.tables.keeps(c.from)", New: "	if err == nil && false {\n		err = l.tables.keeps(c.from)", Test: "TestFollowPastRetention"},
		{Name: "rows of other types are deleted", File: "logtail/delete.go",
			Old: "err == nil && !is {\n", New: "false && !is {\n", Test: "TestDelete"},
		{Name: "the end of a range inside a tick is before it", File: "logtail/periods.go",
			Old: "to = nextTick(to)", New: "to = to.Truncate(tick)", Test: "TestBoundsInsideTicks"},
		{Name: "a follower believes a clock that was wrong", File: "logtail/log.go",
			Old: "end = earlier(known.upTo, final)", New: "end = earlier(known.upTo, known.upTo)", Test: "TestFollowByPeriodClockStepsBack"},
		{Name: "a follower skips what others have dropped", File: "logtail/log.go",
			Old: "if dropped && !beginning {", New: "if dropped && !beginning && false {", Test: "TestFollowDroppedByOthers"},
		{Name: "a record with an ID that is stored already is an error", File: "logtail/append.go",
			Old: "err != nil && !errors.Is(err, table.ErrExists)", New: "err != nil && !errors.Is(err, table.ErrChanged)", Test: "TestAppendOnce"},
		{Name: "a drop is reported in the state before", File: "logtail/delete.go",
			Old: "*e = *fresh", New: "e = fresh", Test: "TestDropAfterConflict"},
	})
}
