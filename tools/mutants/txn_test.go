package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestTxn plants bugs in transactions over several partitions.
func TestTxn(t *testing.T) {
	mutants.Run(t, "./txn", []mutants.Mutant{
		{Name: "what is read and not written is not kept", File: "txn/run.go",
			Old: "case op == nil && r == nil:", New: "case op == nil:", Test: "TestHistories|TestEveryFault"},
		{Name: "what is absent is not kept absent", File: "txn/run.go",
			Old: "case op == nil && r == nil:", New: "case op == nil && (r == nil || r.etag == \"\"):", Test: "TestHistories|TestEveryFault"},
		{Name: "what is read in the home is not kept", File: "internal/engine/across.go",
			Old: "			if p == home && !op.Reserves {", New: "			if p == home && op.Pins && len(p.ops) > 1 {\n				continue\n			}\n			if p == home && !op.Reserves {", Test: "TestSchedules"},
		{Name: "what is absent in the home is not kept absent", File: "internal/engine/across.go",
			Old: "			if p == home && !op.Reserves {", New: "			if p == home && op.Reserves && len(p.ops) > 1 {\n				continue\n			}\n			if p == home && !op.Reserves {", Test: "TestHistories|TestReservedInHome"},
		{Name: "a reserved row stays", File: "internal/engine/finish.go",
			Old: "case stored.FateDelete, stored.FateReserve:", New: "case stored.FateDelete:", Test: "TestReservedInHome"},
		{Name: "a reserved row stays when another program ends it", File: "internal/engine/end_prepared.go",
			Old: ", r.Fate == stored.FateReserve:", New: ":", Test: "TestHistories|TestEveryFault"},
		{Name: "a reserved row is a row before the commit", File: "internal/stored/mark.go",
			Old: "return m.Fate != FateInsert && m.Fate != FateReserve", New: "return m.Fate != FateInsert", Test: "TestListsBeside"},
		{Name: "a reserved row is a row after the commit", File: "internal/stored/mark.go",
			Old: "return m.Fate != FateDelete && m.Fate != FateReserve", New: "return m.Fate != FateDelete", Test: "TestListsBeside"},
		{Name: "a row that was only read loses what it had", File: "internal/engine/finish.go",
			Old: "		kind, columns = aztables.TransactionTypeUpdateReplace, all\n", New: "		kind, columns = aztables.TransactionTypeUpdateReplace, all[:0]\n", Test: "TestStaysAsItWas"},
		{Name: "a merge that is prepared loses what it does not merge", File: "internal/engine/remote.go",
			Old: "		if err := s.replaceWhole(); err != nil {", New: "		if err := error(nil); err != nil {", Test: "TestKinds"},
		{Name: "a function that writes nothing does not look again", File: "txn/reads.go",
			Old: "			if err == nil && (etag != r.etag || etag == stored.Superseded) {", New: "			if err == nil && etag == stored.Superseded {", Test: "TestHistories|TestErrorOfOldReads"},
		{Name: "a row that is absent before others are read is not read again", File: "txn/reads.go",
			Old: "	case len(absent) == 1 && absent[0] != last:", New: "	case false:", Test: "TestReadsAlone|TestHistories"},
		{Name: "several absent rows are not reserved", File: "txn/reads.go",
			Old: "	case len(absent) > 1:", New: "	case false:", Test: "TestReadsAlone|TestHistories"},
		{Name: "an error is returned that goes by old reads", File: "txn/run.go",
			Old: "	case err != nil, len(tx.writes) == 0:\n		return tx.confirm(err)", New: "	case err != nil:\n		return nil, err\n	case len(tx.writes) == 0:\n		return tx.confirm(err)", Test: "TestErrorOfOldReads"},
		{Name: "an operation by another version is repeated", File: "txn/run.go",
			Old: "	if tx.stale() {", New: "	if false {", Test: "TestMistakes"},
		{Name: "an insert of what exists is repeated", File: "txn/run.go",
			Old: "tx.run.wary = tx.run.wary || ", New: "tx.run.wary = false && ", Test: "TestInsertOfWhatExists"},
		{Name: "a look-up that finds nothing lets the transaction write", File: "txn/run.go",
			Old: "	case tx.unprotected != nil:", New: "	case false:", Test: "TestFind"},
		{Name: "a message may not name the home", File: "internal/engine/remote.go",
			Old: "	for _, r := range all {\n		size += remoteLength(r)\n		if commit.", New: "	for _, r := range all {\n		size += remoteLength(r)\n		if r.Partition == \"a\" || commit.", Test: "TestEveryFault"},
		{Name: "tables of a store do not know each other", File: "internal/engine/table.go",
			Old: "slices.Concat([]string{t.Name}, t.homes, t.Kin.all())", New: "slices.Concat([]string{t.Name}, t.homes)", Test: "TestTransfer|TestEveryFault"},
		{Name: "a transaction of one partition has no commit record", File: "internal/engine/across.go",
			Old: "asTransaction: true, exact: true,", New: "asTransaction: true,", Test: "TestOutcome"},
		{Name: "a look-up takes the copy for the entity", File: "txn/tx.go",
			Old: "err == nil && !sameWrite(copied, found) {", New: "err == nil && !sameWrite(copied, found) && false {", Test: "TestOldCopy"},
		{Name: "an operation in another partition is taken for one in the home", File: "internal/engine/write.go",
			Old: "	if i < len(w.ops) {\n		return w.ops[i]", New: "	if i >= 0 {\n		return w.ops[i]", Test: "TestTakenInThird"},
		{Name: "of reads at the same time, one is taken for the last", File: "txn/reads.go",
			Old: "	if tx.overlapped && len(tx.reads) > 1 || tx.refused {", New: "	if tx.refused {", Test: "TestReadsAtOnce"},
		{Name: "a refusal by what was taken meanwhile is believed", File: "txn/run.go",
			Old: "		tx.refused = true\n", New: "", Test: "TestTakenMeanwhile"},
		{Name: "a pin of another version is left out", File: "txn/tx.go",
			Old: "	case op.Pins && was != nil && was.etag == op.Match:", New: "	case op.Pins:", Test: "TestOldPin"},
		{Name: "a function whose context has ended is believed", File: "txn/reads.go",
			Old: "	if len(tx.reads) > 1 && tx.run.ctx.Err() != nil {", New: "	if tx.run.ctx.Err() != nil {\n		return nil, err\n	}\n	if false {", Test: "TestContextEnds"},
	})
}
