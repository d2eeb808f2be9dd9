//go:build unix

package transfer_test

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// diskFullEnv makes the test binary a process that exports to a disk on which files have few bytes.
const diskFullEnv = "AZTABLEKIT_DISK_FULL"

// TestDiskFull: an export to a full disk fails, and leaves nothing that is taken for a chunk. With space, another call finishes it.
func TestDiskFull(t *testing.T) {
	if cs := os.Getenv(diskFullEnv); cs != "" {
		t.Fatal(exportToFullDisk(t, cs))
	}
	t.Parallel()
	s := filled(t, "source", manyRows(20, 200)...)
	cs, err := s.Listen()
	testkit.NoError(t, err)
	defer s.Close()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
	cmd.Env = append(os.Environ(), diskFullEnv+"="+cs, diskFullEnv+"_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), syscall.EFBIG.Error()) {
		t.Fatalf("got %v and\n%s\nwant an export that fails with %q", err, out, syscall.EFBIG)
	}
	at := transfer.Folder(dir)
	report, err := transfer.Export(t.Context(), tableOf(t, s, "source"), at, &transfer.ExportOptions{ChunkBytes: 100 << 10})
	testkit.NoError(t, err)
	testkit.Expect(t, "rows", report.Rows, 4000)
	for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, s, "source")), nil) {
		t.Fatalf("got %+v, %v; want no difference", d, err)
	}
}

// exportToFullDisk exports where a file has 8 KiB at most, which a chunk does not fit.
func exportToFullDisk(t *testing.T, cs string) error {
	signal.Ignore(syscall.SIGXFSZ) // so that a write fails
	limit := syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	acc, err := account.FromConnectionString(cs, nil)
	if err != nil {
		return err
	}
	from, err := bare.NewTable(acc.Tables(), "source", table.Schema[table.Row]{}, nil)
	if err != nil {
		return err
	}
	_, err = transfer.Export(t.Context(), from, transfer.Folder(os.Getenv(diskFullEnv+"_DIR")), &transfer.ExportOptions{ChunkBytes: 300 << 10})
	return err
}
