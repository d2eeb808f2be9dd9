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

// Directory is a destination: a folder for each key, in it one for each life, in it a file for each version, of which the last counts.
// A version is written only if it is the next one, for a file of that name can be made only once; so older ones stay.
type Directory string

// file is what a version holds.
type file struct {
	archive.ArchivedRow  // but for its row
	PartitionKey, RowKey string
	Row                  *table.Row // null: it has gone
}

// folder is that of a key: of its hash, since file systems take not all names, and some for the same.
func (d Directory) folder(k keys.Key) string {
	sum := sha256.Sum256([]byte(k.PartitionKey() + "\x00" + k.RowKey()))
	return filepath.Join(string(d), hex.EncodeToString(sum[:]))
}

// incarnation is the folder of an incarnation. Its text comes from a row, and becomes a name here: so it must not be a path.
func (d Directory) incarnation(id archive.ID) (string, error) {
	if name := id.Incarnation; name == "." || filepath.Base(name) != name || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not the name of a folder", name)
	}
	return filepath.Join(d.folder(id.Key), id.Incarnation), nil
}

// Get reads the last version.
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
	last := 0
	for _, f := range files {
		n, _ := strconv.Atoi(f.Name()) // others are being written
		last = max(last, n)
	}
	if last == 0 {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(last)))
	if err != nil {
		return nil, unreachable(err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	if f.PartitionKey != id.Key.PartitionKey() || f.RowKey != id.Key.RowKey() || f.Incarnation != id.Incarnation {
		return nil, fmt.Errorf("%s is of another entity", folder)
	}
	f.ArchivedRow.ID, f.ArchivedRow.Row, f.Version = id, f.Row, strconv.Itoa(last)
	return &f.ArchivedRow, nil
}

// Put writes the next version, all of it or nothing, if it is the next, and for good: the row is deleted in its table then.
func (d Directory) Put(_ context.Context, k *archive.ArchivedRow, version string) error {
	f := file{ArchivedRow: *k, PartitionKey: k.Key.PartitionKey(), RowKey: k.Key.RowKey(), Row: k.Row}
	f.ArchivedRow.Row, f.ArchivedRow.Key = nil, keys.Key{}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	folder, err := d.incarnation(k.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unreachable(err)
	}
	t, err := os.CreateTemp(folder, "new")
	if err != nil {
		return unreachable(err)
	}
	defer os.Remove(t.Name())
	_, err = t.Write(b)
	if err = errors.Join(err, t.Sync(), t.Close()); err != nil {
		return unreachable(err)
	}
	last, _ := strconv.Atoi(version)
	err = os.Link(t.Name(), filepath.Join(folder, strconv.Itoa(last+1)))
	if errors.Is(err, os.ErrExist) {
		return table.ErrChanged
	}
	return unreachable(errors.Join(err, durable(folder), durable(filepath.Dir(folder)), durable(string(d))))
}

// unreachable says that a move whose file cannot be read or written now, as on a full disk, is to be tried again until it can.
func unreachable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", table.ErrUnreachable, err)
}

// durable waits until a folder's entries are stored.
func durable(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lives reads what is kept under a key.
func (d Directory) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		lives, err := os.ReadDir(d.folder(k))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			yield(nil, err)
			return
		}
		for _, life := range lives {
			id := archive.ID{Key: k, Incarnation: life.Name()}
			if !life.IsDir() {
				continue
			}
			kept, err := d.Get(ctx, id)
			if (err != nil || kept != nil && kept.Row != nil) && !yield(kept, err) {
				return
			}
		}
	}
}

var archiveDirectory = recipe{
	name:  "archive-directory",
	title: "Archive entities in files",
	guide: []string{"G22"},
	problem: `What is archived need not cost the price of a table. A destination is anything that can write a thing only if it is still as it
		was read: this one is a directory, in a hundred lines.`,
	run: func(ctx context.Context, r *Run) error {
		dir, err := os.MkdirTemp("", "archive")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		current, err := table.New(r.Tables(), r.Table("Current"), articles, nil)
		if err != nil {
			return err
		}
		out, err := eventual.NewOutbox(r.Queue("moves"), nil)
		if err != nil {
			return err
		}
		mover, err := archive.New("articles/files", current, Directory(dir), out)
		if err != nil {
			return err
		}
		w, err := eventual.NewWorker(r.Queue("moves"), r.Queue("poison"), []eventual.Handler{mover.Handler()}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(current.Ensure(ctx), w.Ensure(ctx)); err != nil {
			return err
		}
		e, err := current.Insert(ctx, &Article{"News", 1, "Queues for beginners"})
		if err != nil {
			return err
		}
		if err := r.Do("ask for the article to be archived, and let a worker do it", func() error {
			return errors.Join(mover.Archive(ctx, e), w.Drain(ctx))
		}); err != nil {
			return err
		}
		if err := r.Do("find it: the table is asked, and then the file", func() error {
			found, archived, err := mover.Find(ctx, e.Key)
			if err == nil {
				r.Answer("%s, archived: %v", found.Value.Title, archived)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("restore it, and let a worker forget the file", func() error {
			_, err := mover.Restore(ctx, e.Key)
			return errors.Join(err, w.Drain(ctx))
		}); err != nil {
			return err
		}
		return r.Do("where it is now", func() error {
			found, archived, err := mover.Find(ctx, e.Key)
			if err != nil {
				return err
			}
			var files []string
			err = filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
				if err == nil && !f.IsDir() {
					files = append(files, fmt.Sprint("version ", f.Name()))
				}
				return err
			})
			slices.Sort(files)
			r.Answer("%s, archived: %v; of its old life in the directory: %v, the last of which says that it has gone", found.Value.Title, archived, files)
			return err
		})
	},
}
