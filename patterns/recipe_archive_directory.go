package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Directory is a destination in the file system: a folder for each key, in it a folder for each incarnation, and in it a file for
// each version. The file with the highest number is the current version. A version is written by creating a file with the next
// number, which succeeds only once. Older versions are kept.
type Directory string

// file is the content of a version.
type file struct {
	archive.ArchivedRow  // without its row
	PartitionKey, RowKey string
	Row                  *table.Row // null: the row was removed
}

// folder returns the folder of a key. Its name is a hash, because file systems do not accept all names, and take some names for
// equal.
func (d Directory) folder(k keys.Key) string {
	sum := sha256.Sum256([]byte(k.PartitionKey() + "\x00" + k.RowKey()))
	return filepath.Join(string(d), hex.EncodeToString(sum[:]))
}

// incarnation returns the folder of an incarnation. The incarnation comes from a row and is not trusted: it must not be a path.
func (d Directory) incarnation(id archive.ID) (string, error) {
	if name := id.Incarnation; name == "." || filepath.Base(name) != name || !filepath.IsLocal(name) {
		return "", fmt.Errorf("incarnation %q cannot be the name of a folder", name)
	}
	return filepath.Join(d.folder(id.Key), id.Incarnation), nil
}

// Get returns the current version, or nil if there is none.
func (d Directory) Get(_ context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	folder, err := d.incarnation(id)
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, unreachable(err)
	}
	latest := 0
	for _, f := range files {
		n, _ := strconv.Atoi(f.Name()) // 0 for temporary files
		latest = max(latest, n)
	}
	if latest == 0 {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(latest)))
	if err != nil {
		return nil, unreachable(err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("version %d in %s: %w", latest, folder, err)
	}
	if f.PartitionKey != id.Key.PartitionKey() || f.RowKey != id.Key.RowKey() || f.Incarnation != id.Incarnation {
		return nil, fmt.Errorf("version %d in %s belongs to another entity", latest, folder)
	}
	f.ArchivedRow.ID, f.ArchivedRow.Row, f.Version = id, f.Row, strconv.Itoa(latest)
	return &f.ArchivedRow, nil
}

// Put writes the version after the given one, and fails with table.ErrChanged if there is one already. When Put returns without an
// error, the file is complete and on disk, because the mover then deletes the row from its table.
func (d Directory) Put(_ context.Context, row *archive.ArchivedRow, version string) error {
	f := file{ArchivedRow: *row, PartitionKey: row.Key.PartitionKey(), RowKey: row.Key.RowKey(), Row: row.Row}
	f.ArchivedRow.Row, f.ArchivedRow.Key = nil, keys.Key{}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	folder, err := d.incarnation(row.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unreachable(err)
	}
	temp, err := os.CreateTemp(folder, "new")
	if err != nil {
		return unreachable(err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(b)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return unreachable(err)
	}
	expected, _ := strconv.Atoi(version) // 0 if version is "": no file is expected
	err = os.Link(temp.Name(), filepath.Join(folder, strconv.Itoa(expected+1)))
	if errors.Is(err, os.ErrExist) {
		return table.ErrChanged
	}
	return unreachable(errors.Join(err, syncFolder(folder), syncFolder(filepath.Dir(folder)), syncFolder(string(d))))
}

// unreachable marks an error of the file system, such as a full disk, so that the worker retries the move until it succeeds.
func unreachable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", table.ErrUnreachable, err)
}

// syncFolder waits until the entries of a folder are on disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Incarnations returns the archived rows of all incarnations of a key.
func (d Directory) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		folders, err := os.ReadDir(d.folder(k))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			yield(nil, unreachable(err))
			return
		}
		for _, folder := range folders {
			if !folder.IsDir() {
				continue
			}
			row, err := d.Get(ctx, archive.ID{Key: k, Incarnation: folder.Name()})
			if err == nil && (row == nil || row.Row == nil) {
				continue // no version is complete, or the row was removed
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

var archiveDirectory = recipe{
	name:        "archive-directory",
	title:       "Archive entities in files",
	guide:       []string{"G22"},
	related:     []string{"archive", "search-index", "large-entity"},
	consistency: "eventual",
	measured:    []string{"request the move"},
	problem: `An archive need not have the price of a table. A destination can be anything that writes a row only if the stored
		version is the expected one. This destination is a directory, in a hundred lines.`,
	run: func(ctx context.Context, r *Run) error {
		dir, err := os.MkdirTemp("", "archive")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		type Report struct {
			Department string
			Number     int
			Title      string
		}
		current, err := table.New(r.Tables(), r.TableName("Current"), table.Schema[Report]{
			Partition: keys.Partition(keys.Text(), func(p *Report) *string { return &p.Department }),
			Row:       keys.Row(keys.Digits[int](6).Named("report"), func(p *Report) *int { return &p.Number }),
		}, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("moves"), nil)
		if err != nil {
			return err
		}
		mover, err := archive.New("reports", current, Directory(dir), outbox)
		if err != nil {
			return err
		}
		worker, err := eventual.NewWorker(r.Queue("moves"), r.Queue("poison"), []eventual.Handler{mover.Handler()}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(current.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}
		e, err := current.Insert(ctx, &Report{"Sales", 1, "Sales of last year"})
		if err != nil {
			return err
		}
		if err := r.Do("request the move of a report, and let a worker execute it", func() error {
			if err := mover.Archive(ctx, e); err != nil {
				return err
			}
			return worker.Drain(ctx)
		}); err != nil {
			return err
		}
		if err := r.Do("find the report: read the table, and then the file", func() error {
			found, archived, err := mover.Find(ctx, e.Key)
			if err == nil {
				r.Answer("%s, archived: %v", found.Value.Title, archived)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("restore the report, and let a worker remove it from the archive", func() error {
			if _, err := mover.Restore(ctx, e.Key); err != nil {
				return err
			}
			return worker.Drain(ctx)
		}); err != nil {
			return err
		}
		return r.Do("find the report again, and list the files", func() error {
			found, archived, err := mover.Find(ctx, e.Key)
			if err != nil {
				return err
			}
			var files []string
			err = filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
				if err == nil && !f.IsDir() {
					files = append(files, f.Name())
				}
				return err
			})
			slices.Sort(files)
			r.Answer("%s, archived: %v", found.Value.Title, archived)
			r.Answer("files of the old incarnation: %v; the last one says that the row was removed", files)
			return err
		})
	},
}
