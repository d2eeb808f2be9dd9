package transfer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestChunkTime: a chunk is stored behind the page in which its time is over.
func TestChunkTime(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for limit, want := range map[time.Duration]int{0: 1, 2 * time.Second: 4, time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := filled(t, "staff", manyRows(4, 1000)...)
			s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Slow(5 * time.Second) })
			at, chunks := transfer.Folder(t.TempDir()), 0
			_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1, Progress: func(table.Progress) { chunks++ }}, ChunkTime: limit})
			testkit.NoError(t, err)
			testkit.Expect(t, "chunks with "+limit.String(), chunks, want)
			s.SetFaults(nil)
			for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, s, "staff")), nil) {
				testkit.NoError(t, err)
				t.Errorf("got %v; want all rows", d)
			}
		})
	}
}
