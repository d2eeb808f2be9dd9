package transfer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// exportedRecords returns an export with commit records: of two days in team a, of one in team b, and a row that looks like one.
func exportedRecords(t *testing.T) transfer.Place {
	t.Helper()
	ctx, at := t.Context(), &transfer.Memory{}
	b := openBank(storagetest.New(nil), 0)
	testkit.NoError(t, b.Ensure(ctx))
	insert := func(c counter) {
		_, err := b.counters.Exact().Insert(ctx, &c)
		testkit.NoError(t, err)
	}
	insert(counter{"a", 1, 0})
	insert(counter{"b", 1, 0})
	time.Sleep(24 * time.Hour)
	insert(counter{"a", 2, 0})
	insert(counter{"a", 3, 0})
	fill(t, b.service, "counters", jsonRow("b", "~i|no operation", ""))
	_, err := transfer.Export(ctx, b.counters, at, nil)
	testkit.NoError(t, err)
	return at
}

// recordsAndNotes counts the commit records of a bank, and the notes of its work.
func recordsAndNotes(b *bank) (records, notes int) {
	for _, r := range b.service.Rows("counters") {
		if strings.HasPrefix(r.RowKey, "~i|0") {
			records++
		}
	}
	for _, r := range b.service.Rows("bankwork") {
		if r.RowKey != "day" {
			notes++
		}
	}
	return records, notes
}

// TestImportedRecords: the work of a day deletes the commit records that an import has brought into a store in use, which has no other way to find them.
func TestImportedRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, at := t.Context(), exportedRecords(t)
		b := openBank(storagetest.New(nil), 0)
		testkit.NoError(t, b.Ensure(ctx))
		for range 2 { // the second time with the only look for records without notes
			testkit.NoError(t, b.RunDaily(ctx))
			time.Sleep(30 * 24 * time.Hour)
		}
		for range 2 { // the second one finds what the first one has stored
			b.service.Count()
			_, err := transfer.Import(ctx, transfer.Exported(at), b.counters, nil)
			testkit.NoError(t, err)
			if n := b.service.Count()[kinds.InsertOrReplace]; n > 2 {
				t.Errorf("got %d notes stored; want one for each partition", n)
			}
			records, notes := recordsAndNotes(b)
			testkit.Expect(t, "records and notes after the import", [2]int{records, notes}, [2]int{4, 2})
		}
		time.Sleep(3 * 24 * time.Hour)
		testkit.NoError(t, b.RunDaily(ctx))
		records, notes := recordsAndNotes(b)
		testkit.Expect(t, "records and notes after the work of a day", [2]int{records, notes}, [2]int{0, 0})
	})
}

// TestImportedRecordsInterrupted: no commit record is stored before its note, whichever request of an import is the last one.
func TestImportedRecordsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := exportedRecords(t)
		for last := 1; ; last++ {
			b := openBank(storagetest.New(nil), 0)
			testkit.NoError(t, b.Ensure(t.Context()))
			ctx, crash := context.WithCancel(t.Context())
			n := 0
			b.service.SetFaults(func(storagetest.Request) storagetest.Fault {
				if n++; n > last {
					crash()
					return storagetest.LostRequest()
				}
				return storagetest.Fault{}
			})
			_, err := transfer.Import(ctx, transfer.Exported(at), b.counters, &transfer.ImportOptions{Pass: table.Pass{Concurrency: 1}})
			crash()
			records, notes := recordsAndNotes(b)
			if records > 3 && notes < 2 || records > 0 && notes == 0 {
				t.Errorf("cut off after request %d (%v): got %d records and %d notes", last, err, records, notes)
			}
			if n <= last {
				testkit.NoError(t, err)
				break
			}
		}
	})
}

// TestImportedRecordsOfNewStore: a store that no program has used yet has no table for notes. It looks for records without notes on its third day.
func TestImportedRecordsOfNewStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := exportedRecords(t)
		b := openBank(storagetest.New(nil), 0)
		report, err := transfer.Import(t.Context(), transfer.Exported(at), b.counters, &transfer.ImportOptions{Pass: table.Pass{Concurrency: 1}})
		testkit.NoError(t, err)
		testkit.Expect(t, "requests for notes", b.service.Count()[kinds.InsertOrReplace], 1)
		records, notes := recordsAndNotes(b)
		if records != 4 || notes != 0 || report.Changed != report.Rows {
			t.Errorf("got %+v, %d records and %d notes; want all rows, and no notes", report, records, notes)
		}
	})
}
