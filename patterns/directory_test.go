package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestDirectory: the recipe's destination keeps rows whole, refuses what is stale, and tells keys apart that file systems do not.
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
		id := archive.ID{Key: keys.Stored("P/\\", rk), Incarnation: "LIFE"}
		mine := *row
		mine.Key = id.Key
		k := &archive.ArchivedRow{ID: id, Kind: "k", Row: &mine, Moves: []string{"1"}, Time: time.Now()}
		if err := d.Put(ctx, k, ""); err != nil {
			t.Fatal(rk, err)
		}
		if err := d.Put(ctx, k, ""); !errors.Is(err, table.ErrChanged) {
			t.Error(rk, err)
		}
		is, err := d.Get(ctx, id)
		if err != nil || is.Kind != "k" || !is.Time.Equal(k.Time) || len(is.Moves) != 1 || is.Row.Key != id.Key || is.Row.Len() != row.Len() {
			t.Fatal(rk, is, err)
		}
		for name := range row.All() {
			got, _ := is.Row.Get(name)
			want, _ := row.Get(name)
			if fmt.Sprint(got) != fmt.Sprint(want) || is.Row.Type(name) != row.Type(name) {
				t.Errorf("%s is %v, not %v", name, got, want)
			}
		}
		if err := os.WriteFile(filepath.Join(d.folder(id.Key), ".DS_Store"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		for kept, err := range d.Incarnations(ctx, id.Key) {
			if n++; err != nil || kept.ID != id {
				t.Error(kept, err)
			}
		}
		if err := d.Put(ctx, &archive.ArchivedRow{ID: id}, is.Version); err != nil || n != 1 {
			t.Error(n, err)
		}
		if err := d.Put(ctx, k, is.Version); !errors.Is(err, table.ErrChanged) {
			t.Error("what has gone comes back:", err)
		}
		if is, err := d.Get(ctx, id); err != nil || is.Row != nil {
			t.Error(is, err)
		}
	}
	if is, err := d.Get(ctx, archive.ID{Key: keys.Stored("p", "r"), Incarnation: "x"}); is != nil || err != nil {
		t.Error(is, err)
	}
}

// TestDirectoryIsAway: a folder that cannot be made or read is no reason to give a move up.
func TestDirectoryIsAway(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := Directory(filepath.Join(file, "below"))
	id := archive.ID{Key: keys.Stored("p", "r"), Incarnation: "LIFE"}
	if err := d.Put(ctx, &archive.ArchivedRow{ID: id, Row: &table.Row{Key: id.Key}}, ""); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("Put: got %v, want ErrUnreachable", err)
	}
	if _, err := d.Get(ctx, id); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("Get: got %v, want ErrUnreachable", err)
	}
}

// TestDirectoryContains: a text that is a path is not the name of a folder, and nothing is read or written outside.
func TestDirectoryContains(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	outside := t.TempDir()
	d := Directory(filepath.Join(outside, "inside"))
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		t.Fatal(err)
	}
	k := keys.Stored("P", "R")
	for _, life := range []string{"", ".", "..", "../x", "../../x", "../../../etc/cron.d", "/etc/cron.d", outside, "a/b", "a/../../../b", "../" + filepath.Base(d.folder(k)), "a/", "./a"} {
		id := archive.ID{Key: k, Incarnation: life}
		if err := d.Put(ctx, &archive.ArchivedRow{ID: id, Kind: "k", Row: &table.Row{Key: k}}, ""); err == nil {
			t.Errorf("Put %q: got no error", life)
		}
		if got, err := d.Get(ctx, id); err == nil || got != nil {
			t.Errorf("Get %q: got %v, %v; want an error", life, got, err)
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
