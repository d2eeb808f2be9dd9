package archivedirectory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestDirectory: the destination returns rows with all values and types, refuses stale versions, and distinguishes keys that some
// file systems take for equal.
func TestDirectory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := Directory(t.TempDir())
	row := &table.Row{}
	for name, v := range map[string]any{"Int64": int64(1) << 60, "Whole": 3.0, "Empty": []byte{}, "Text": "é\n", "Time": time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), "Guid": [16]byte{7}} {
		if err := row.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	for _, rk := range []string{"a", "A", "..", "con", strings.Repeat("中", 200)} {
		id := archive.ID{Key: keys.Raw("P:é", rk), Incarnation: "LIFE000000000001"}
		stored := *row
		stored.Key = id.Key
		put := &archive.ArchivedRow{ID: id, Kind: "k", Row: &stored, Moves: []string{"1"}, Time: time.Now()}
		if err := d.Put(ctx, put, ""); err != nil {
			t.Fatalf("RowKey %q: first Put: got %v, want no error", rk, err)
		}
		if err := d.Put(ctx, put, ""); !errors.Is(err, table.ErrChanged) {
			t.Errorf("RowKey %q: Put of a stale version: got %v, want %v", rk, err, table.ErrChanged)
		}
		got, err := d.Get(ctx, id)
		if err != nil || got.Kind != "k" || !got.Time.Equal(put.Time) || len(got.Moves) != 1 || got.Row.Key != id.Key || len(maps.Collect(got.Row.All())) != len(maps.Collect(row.All())) {
			t.Fatalf("RowKey %q: Get: got %+v, %v; want %+v", rk, got, err, put)
		}
		for name := range row.All() {
			value, _ := got.Row.Get(name)
			want, _ := row.Get(name)
			if fmt.Sprint(value) != fmt.Sprint(want) || got.Row.Type(name) != row.Type(name) {
				t.Errorf("RowKey %q: property %s: got %v %v, want %v %v", rk, name, got.Row.Type(name), value, row.Type(name), want)
			}
		}
		if err := os.WriteFile(filepath.Join(d.folder(id.Key), ".DS_Store"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		for listed, err := range d.Incarnations(ctx, id.Key) {
			if n++; err != nil || listed.ID != id {
				t.Errorf("RowKey %q: Incarnations: got %+v, %v; want %v", rk, listed, err, id)
			}
		}
		if n != 1 {
			t.Errorf("RowKey %q: got %d incarnations, want 1", rk, n)
		}
		if err := d.Put(ctx, &archive.ArchivedRow{ID: id}, got.Version); err != nil {
			t.Errorf("RowKey %q: Put without a row: got %v, want no error", rk, err)
		}
		if err := d.Put(ctx, put, got.Version); !errors.Is(err, table.ErrChanged) {
			t.Errorf("RowKey %q: Put after the row was removed: got %v, want %v", rk, err, table.ErrChanged)
		}
		if got, err := d.Get(ctx, id); err != nil || got.Row != nil {
			t.Errorf("RowKey %q: Get after the row was removed: got %+v, %v; want a version without a row", rk, got, err)
		}
	}
	if got, err := d.Get(ctx, archive.ID{Key: keys.Raw("p", "r"), Incarnation: "LIFE000000000002"}); got != nil || err != nil {
		t.Errorf("Get of an unknown key: got %+v, %v; want neither", got, err)
	}
}

// TestDirectoryUnreachable: if a folder cannot be created or read, the error lets the worker retry the move.
func TestDirectoryUnreachable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := Directory(filepath.Join(file, "below"))
	id := archive.ID{Key: keys.Raw("p", "r"), Incarnation: "LIFE000000000001"}
	if err := d.Put(ctx, &archive.ArchivedRow{ID: id, Row: &table.Row{Key: id.Key}}, ""); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("Put: got %v, want ErrUnreachable", err)
	}
	if _, err := d.Get(ctx, id); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("Get: got %v, want ErrUnreachable", err)
	}
}

// TestDirectoryContains: an incarnation that is a path fails, and no file outside the directory is read or written.
func TestDirectoryContains(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	outside := t.TempDir()
	d := Directory(filepath.Join(outside, "inside"))
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		t.Fatal(err)
	}
	k := keys.Raw("P", "R")
	for _, incarnation := range []string{"", ".", "..", "../x", "../../x", "../../../etc/cron.d", "/etc/cron.d", outside, "a/b", "a/../../../b", "../" + filepath.Base(d.folder(k)), "a/", "./a"} {
		id := archive.ID{Key: k, Incarnation: incarnation}
		if err := d.Put(ctx, &archive.ArchivedRow{ID: id, Kind: "k", Row: &table.Row{Key: k}}, ""); err == nil {
			t.Errorf("Put %q: got no error", incarnation)
		}
		if got, err := d.Get(ctx, id); err == nil || got != nil {
			t.Errorf("Get %q: got %v, %v; want an error", incarnation, got, err)
		}
	}
	var files []string
	err := filepath.WalkDir(outside, func(path string, f os.DirEntry, err error) error {
		files = append(files, path)
		return err
	})
	if err != nil || len(files) != 2 {
		t.Errorf("got %v, %v; want two empty folders", files, err)
	}
}
