package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestExportOnePartition: the export of one large partition takes many slices, and each goes on behind the one before.
func TestExportOnePartition(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 1, 3000, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.folder = t.TempDir()
		testkit.NoError(t, o.export.Start(ctx, o.staff, "1", struct{}{}, &jobs.Options{Pass: table.Pass{Rate: 100}, Slice: 20 * time.Second}))
		status := run(t, ctx, o.export, o.staff, "1", o)
		report, err := transfer.Export(ctx, o.staff, transfer.Folder(o.folder+"/1"), nil)
		testkit.NoError(t, err)
		if rows := len(s.Rows("staff")); status.State != jobs.Finished || report.Rows != rows || report.Changed != 0 || report.Counts["chunks"] < 5 {
			t.Errorf("got %+v and %+v; want %d rows in several chunks", status, report, rows)
		}
	})
}

// TestExportInParts: rows are counted once whose slice ends inside a partition.
func TestExportInParts(t *testing.T) {
	testkit.Long(t)
	inOffice(t, 1, 1100, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		o.folder = t.TempDir()
		testkit.NoError(t, o.store.Drain(ctx))
		testkit.NoError(t, o.export.Start(ctx, o.staff, "1", struct{}{}, &jobs.Options{Pass: table.Pass{Rate: 5}}))
		status := run(t, ctx, o.export, o.staff, "1", o)
		if rows := len(s.Rows("staff")); status.Rows < rows-1 || status.Rows > rows {
			t.Errorf("got %+v; want %d rows, that of the definitions perhaps not counted", status, rows)
		}
	})
}

// TestExport: workers share the export of a table, and all rows are in it.
func TestExport(t *testing.T) {
	inOffice(t, 40, 50, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
		all := []*office{o, newOffice(s, nil), newOffice(s, nil)}
		folder := t.TempDir()
		for _, o := range all {
			o.folder = folder
		}
		testkit.NoError(t, o.store.Drain(ctx))
		testkit.NoError(t, o.export.Start(ctx, o.staff, "2026-11-28", struct{}{}, &jobs.Options{Pass: table.Pass{Rate: 50}}))
		status := run(t, ctx, o.export, o.staff, "2026-11-28", all...)
		at := transfer.Folder(folder + "/2026-11-28")
		for d, err := range transfer.Compare(ctx, transfer.Exported(at), transfer.Of(o.staff), nil) {
			t.Fatalf("got %+v, %v; want no difference", d, err)
		}
		report, err := transfer.Export(ctx, o.staff, at, nil)
		testkit.NoError(t, err)
		if rows := len(s.Rows("staff")); status.State != jobs.Finished || status.Rows < rows-1 || status.Rows > rows || report.Rows != rows || report.Changed != 0 || status.Ranges < 3 {
			t.Errorf("got %+v and %+v; want %d rows in several ranges, that of the definitions perhaps not counted, and nothing left to export", status, report, rows)
		}
		// Another job to the same place has an export from before it, finished or not, which is no
		// backup of now. It stores nothing there.
		time.Sleep(2 * time.Hour)
		manifest := folder + "/2026-11-28/" + transfer.ManifestName
		for _, ends := range []string{"finished", "unfinished"} {
			testkit.NoError(t, o.export.Delete(ctx, o.staff, "2026-11-28"))
			if ends == "unfinished" {
				text, err := os.ReadFile(manifest)
				testkit.NoError(t, err)
				testkit.NoError(t, os.WriteFile(manifest, bytes.Join(bytes.SplitAfter(text, []byte("\n"))[:3], nil), 0o666))
			}
			was, err := os.ReadDir(folder + "/2026-11-28")
			testkit.NoError(t, err)
			testkit.NoError(t, o.export.Start(ctx, o.staff, "2026-11-28", struct{}{}, nil))
			testkit.Failed(t, o.store.Drain(ctx))
			status, err = o.export.Status(ctx, o.staff, "2026-11-28")
			testkit.NoError(t, err)
			if status.State != jobs.Running || len(status.Failures) != 1 || !strings.Contains(status.Failures[0].Error, "choose another name for the job") {
				t.Errorf("a second job to one place, %s: got %+v, want a failure that says so", ends, status)
			}
			now, err := os.ReadDir(folder + "/2026-11-28")
			testkit.NoError(t, err)
			testkit.Expect(t, ends+": files", len(now), len(was))
			testkit.NoError(t, o.export.Cancel(ctx, o.staff, "2026-11-28"))
		}
		var bad *table.ValueError
		if err := o.export.Start(ctx, o.staff, "part", struct{}{}, &jobs.Options{Pass: table.Pass{Partitions: keys.RawPartitions("a", "b")}}); !errors.As(err, &bad) {
			t.Errorf("a job of a range: got %v, want a ValueError", err)
		}
		t.Logf("%d ranges, %d chunks", status.Ranges, report.Counts["chunks"])
	})
}
