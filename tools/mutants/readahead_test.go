package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestReadAhead: what writes that read rows together rest on.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a row with a mark counts as read", File: "internal/engine/pages.go",
			Old: "if _, marked := stored.MarkIn(columns); !marked {", New: "if _, marked := stored.MarkIn(columns); !marked || marked {", Test: "TestReadTogetherMarks"},
		{Name: "previews go on behind scans", File: "internal/engine/planner.go",
			Old: "k.alone >= mostAlone || end", New: "k.alone < 0 || end", Test: "TestReadTogetherAfterScans"},
		{Name: "a maintainer's row with a mark counts as read", File: "internal/engine/pages.go",
			Old: "unread = row.Columns() == nil", New: "unread = len(row.Key.RowKey()) == 0", Test: "TestReadTogetherShared"},
		{Name: "a row that a limited signature may hide counts as absent", File: "internal/engine/pages.go",
			Old: "unread = t.RangedRows() // it may be hidden by the client's signature", New: "unread = false", Test: "TestReadTogetherGranted"},
		{Name: "rows are queried through a limited signature", File: "internal/engine/pages.go",
			Old: "&& !a.sparse && !first.table.RangedRows() {", New: "&& !a.sparse {", Test: "TestReadTogetherGranted"},
		{Name: "rows behind the end of the page count as absent", File: "internal/engine/pages.go",
			Old: "case p.more() && (n == 0 || keys.Compare(r.key.RowKey(), end) > 0):", New: "case p.more() && (n == 0 || keys.Compare(r.key.RowKey(), end) > 1):", Test: "TestReadTogetherShortPages"},
		{Name: "rows behind an empty page count as absent", File: "internal/engine/pages.go",
			Old: "(n == 0 || keys.Compare(r.key.RowKey(), end) > 0)", New: "n > 0 && keys.Compare(r.key.RowKey(), end) > 0", Test: "TestReadTogetherShortPages"},
		{Name: "sparse rows are queried again and again", File: "internal/engine/pages.go",
			Old: "a.sparse = p.more() && n >= 2*covered", New: "a.sparse = n < 0", Test: "TestReadTogetherSparse"},
		{Name: "no rows are queried together", File: "internal/engine/pages.go",
			Old: "for len(wanted) > FanOut && !a.sparse", New: "for len(wanted) < 0 && !a.sparse", Test: "TestReadTogetherSparse"},
		{Name: "an unreadable page ends the write", File: "internal/engine/pages.go",
			Old: "a.sparse = true\n		return wanted, nil", New: "return wanted, err", Test: "TestReadTogetherUnreadable"},
		{Name: "an unreadable row counts as absent", File: "internal/engine/pages.go",
			Old: "		if columns, err := r.Columns(); err == nil {", New: "		columns, err := r.Columns()\n		if err != nil {\n			return true\n		}\n		{", Test: "TestReadTogetherUnreadable"},
		{Name: "a row read ahead is used although it was changed", File: "internal/engine/plan_reads.go",
			Old: "	delete(a.rows, rowKey)", New: "	delete(a.rows, rowKey+\" \")", Test: "TestReadTogetherChanged"},
		{Name: "a row that the transaction before has written counts as known", File: "internal/engine/planner.go",
			Old: "p.ahead.use(k.steps[i].Key.RowKey())", New: "_ = i", Test: "TestReadTogetherNext"},
		{Name: "an inserted row counts as absent", File: "internal/engine/planner.go",
			Old: "s.Kind = aztables.TransactionTypeAdd\n		return nil", New: "return nil", Test: "TestReadTogetherChanged"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "nothing is read while a transaction travels", File: "internal/engine/bulk_send.go",
			Old: "	if s.more {\n		s.reading", New: "	if s.more && later == nil {\n		s.reading", Test: "TestWaits"},
		{Name: "rows that were read while a transaction travelled are dropped", File: "internal/engine/plan_reads.go",
			Old: "if !a.used[rk] {", New: "if a.used[rk] {", Test: "TestWaits"},
		{Name: "the rows of maintainers are read one by one", File: "internal/engine/plan_reads.go",
			Old: "if len(c.preview.rows) < 2 {", New: "if len(c.preview.rows) < 2000 {", Test: "TestWaits"},
	})
}

// TestPageAhead: what lists that read the next page ahead rest on.
func TestPageAhead(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a page ahead ignores the limit", File: "internal/engine/list.go",
			Old: "case p.q.Limit > 0 && (left-rows)*(1+p.parts()) < n, ", New: "case p.q.Limit < 0, ", Test: "TestReadAheadRequests"},
		{Name: "a page ahead is smaller than the limit would let it be", File: "internal/engine/list.go",
			Old: "(left-rows)*(1+p.parts()) < n,", New: "left-rows <= 0,", Test: "TestReadAheadRequests"},
		{Name: "a page ahead ignores the budget of rows", File: "internal/engine/list.go",
			Old: "b.Rows > 0 && b.Rows-p.stats.Rows-rows < n:", New: "b.Rows < 0:", Test: "TestReadAheadRequests"},
		{Name: "a page ahead ignores the budget of requests", File: "internal/engine/list.go",
			Old: "case b.Requests > 0 && (p.stats.Requests >= b.Requests || p.table.Mode.Parts > 0):", New: "case b.Requests < 0:", Test: "TestReadAheadRequests"},
		{Name: "a page ahead counts against the budget of requests twice", File: "internal/engine/list.go",
			Old: "p.stats.Requests >= b.Requests && p.ahead == nil:", New: "p.stats.Requests >= b.Requests:", Test: "TestReadAheadSame", Args: []string{"-rapid.nofailfile"}},
		{Name: "the parts of a page are not counted", File: "internal/engine/list.go",
			Old: " || p.table.Mode.Parts > 0):", New: "):", Test: "TestReadAheadWide"},
		{Name: "a page ahead is not counted", File: "internal/engine/list.go",
			Old: "p.stats.Requests++\n	p.ahead =", New: "p.ahead =", Test: "TestReadAheadSame", Args: []string{"-rapid.nofailfile"}},
		{Name: "a page ahead outlives the time of the budget", File: "internal/engine/list.go",
			Old: "	r.deadline = p.deadline\n	p.stats.Requests++\n	p.ahead", New: "	p.stats.Requests++\n	p.ahead", Test: "TestReadAheadEnds"},
		{Name: "a page that has come counts after the time of the budget", File: "internal/engine/list.go",
			Old: "	case p.late():\n", New: "	case p.late() && p.ahead == nil:\n", Test: "TestReadAheadEnds"},
		{Name: "a page ahead is not cancelled", File: "internal/engine/list.go",
			Old: "		a.cancel()\n		<-a.done", New: "		<-a.done\n		a.cancel()", Test: "TestReadAheadEnds"},
		{Name: "a page ahead outlives the loop", File: "internal/engine/list.go",
			Old: "		a.cancel()\n		<-a.done", New: "		a.cancel()", Test: "TestReadAheadEnds"},
		{Name: "the page ahead is the current one", File: "internal/engine/list.go",
			Old: "p.request(p.nextPK, p.nextRK, int32(n))", New: "p.request(p.at.PK, p.at.RK, int32(n))", Test: "TestReadAheadSame", Args: []string{"-rapid.nofailfile"}},
		{Name: "pages are requested one after the other", File: "internal/engine/list.go",
			Old: "case !p.q.ReadAhead, ", New: "case p.q.ReadAhead, ", Test: "TestReadAheadTime"},
		{Name: "a page reads the next one ahead", File: "internal/engine/list.go",
			Old: "p.q.OnePage && p.q.Limit == 0, ", New: "p.q.OnePage && p.q.Limit < 0, ", Test: "TestReadAheadSame", Args: []string{"-rapid.nofailfile"}},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a query of an index reads behind its limit", File: "index/query.go",
			Old: "q.ReadAhead = q.ReadAhead && q.Limit <= 0 &&", New: "q.ReadAhead = q.ReadAhead &&", Test: "TestReadAhead"},
		{Name: "entities that pointers name are not counted", File: "index/query.go",
			Old: "(q.Budget.Requests == 0 || !ix.readsEntity())\n", New: "(q.Budget.Requests == 0 || ix.readsEntity())\n", Test: "TestReadAhead"},
	})
}

// TestUpdateAgain: what the second attempt of Update rests on.
func TestUpdateAgain(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "the row that was read is not used", File: "internal/engine/outcome.go",
			Old: "	if s.Current != nil {", New: "	if s.Current != nil && f.row == nil {", Test: "TestUpdateConflicts"},
		{Name: "an old row is used after a pause", File: "table/methods.go",
			Old: "current = nil // it would", New: "_ = current // it would", Test: "TestUpdateConflicts"},
		{Name: "the second attempt pauses", File: "internal/engine/attempts.go",
			Old: "return c.wait(ctx, log, lost, 0)", New: "return c.wait(ctx, log, lost, c.retry.ConflictWait)", Test: "TestUpdateConflicts"},
	})
}
