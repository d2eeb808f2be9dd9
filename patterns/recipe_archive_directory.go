package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Directory is a destination: a folder for each key, in it one for each life, in it a file for each version, of which the last counts.
// A version is written only if it is the next one, for a file of that name can be made only once.
type Directory string

// file is what a version holds. Property values are of the types that [table.Row.Get] returns.
type file struct {
	PartitionKey, RowKey, Life string
	Moves                      []string
	Gone                       bool
	Names                      []string
	Values                     []any
}

func (d Directory) folder(id archive.ID) string {
	return filepath.Join(d.key(id.Key), id.Life)
}

func (d Directory) key(k keys.Key) string {
	return filepath.Join(string(d), "p"+url.PathEscape(k.PartitionKey()), "r"+url.PathEscape(k.RowKey()))
}

// Get reads the last version.
func (d Directory) Get(_ context.Context, id archive.ID) (*archive.Kept, error) {
	files, err := os.ReadDir(d.folder(id))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(files) == 0 {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	last := 0
	for _, f := range files {
		n, _ := strconv.Atoi(f.Name()) // others are being written
		last = max(last, n)
	}
	if last == 0 {
		return nil, nil
	}
	path := filepath.Join(d.folder(id), strconv.Itoa(last))
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f file
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&f); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	kept := &archive.Kept{ID: id, Moves: f.Moves, Version: strconv.Itoa(last), Time: info.ModTime()}
	if !f.Gone {
		kept.Row = &table.Row{Key: id.Key}
		for i, name := range f.Names {
			if err := kept.Row.Set(name, f.Values[i]); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

// Put writes the next version, all of it or nothing, if it is the next.
func (d Directory) Put(_ context.Context, k *archive.Kept, version string) error {
	f := file{PartitionKey: k.Key.PartitionKey(), RowKey: k.Key.RowKey(), Life: k.Life, Moves: k.Moves, Gone: k.Row == nil}
	if k.Row != nil {
		for name, value := range k.Row.All() {
			if name != "_op" {
				f.Names, f.Values = append(f.Names, name), append(f.Values, value)
			}
		}
	}
	last, _ := strconv.Atoi(version)
	folder := d.folder(k.ID)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(folder, "new")
	if err != nil {
		return err
	}
	defer os.Remove(t.Name())
	if err := errors.Join(gob.NewEncoder(t).Encode(f), t.Sync(), t.Close()); err != nil {
		return err
	}
	err = os.Link(t.Name(), filepath.Join(folder, strconv.Itoa(last+1)))
	if errors.Is(err, os.ErrExist) {
		return table.ErrChanged
	}
	return err // older versions may be deleted by now; here they stay
}

// Lives reads what is kept under a key.
func (d Directory) Lives(ctx context.Context, k keys.Key) iter.Seq2[*archive.Kept, error] {
	return func(yield func(*archive.Kept, error) bool) {
		lives, err := os.ReadDir(d.key(k))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			yield(nil, err)
		}
		for _, life := range lives {
			kept, err := d.Get(ctx, archive.ID{Key: k, Life: life.Name()})
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
		gob.Register(time.Time{})
		gob.Register([16]byte{})
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
