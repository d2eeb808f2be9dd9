package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Article is an entity that can be searched for.
type Article struct {
	Section string
	ID      int
	Title   string
}

var articles = table.Schema[Article]{
	Partition: keys.Partition(keys.Text(), func(a *Article) *string { return &a.Section }),
	Row:       keys.Row(keys.Digits[int](6).Named("article"), func(a *Article) *int { return &a.ID }),
}

// SearchIndex is a search index in a file: titles by the keys of their articles. The file follows the table, whichever process
// crashes. From here to the recipe, the code is what a user writes. The mutex makes it safe within one process. For several
// processes, or for a search service, write on condition of the version that was read before the article; where a machine may
// fail, wait until the file is on disk. Recipe archive-directory does both.
type SearchIndex struct {
	mu   sync.Mutex
	path string
	from *table.Table[Article]
}

// Titles returns the titles in the index.
func (x *SearchIndex) Titles() (map[string]string, error) {
	titles := map[string]string{}
	b, err := os.ReadFile(x.path)
	if errors.Is(err, os.ErrNotExist) {
		return titles, nil
	}
	if err != nil {
		return nil, err
	}
	return titles, json.Unmarshal(b, &titles)
}

// TitleChanged reports whether a write needs an update of the index. The effect contains no data of the article, because the
// article may have changed again before the worker executes the effect.
func TitleChanged(c *extend.Change[Article]) (struct{}, bool) {
	return struct{}{}, c.Old == nil || c.New == nil || c.Old.Title != c.New.Title
}

// Update derives the entry of an article from the current article. It is idempotent, and calls may come in any order.
func (x *SearchIndex) Update(ctx context.Context, job eventual.Job, _ struct{}) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := keys.Stored(job.Partition.String(), job.Effect.RowKey)
	titles, err := x.Titles()
	if err != nil {
		return err
	}
	switch a, err := x.from.Get(ctx, k); {
	case errors.Is(err, table.ErrNotFound):
		delete(titles, k.String())
	case err != nil:
		return err
	default:
		titles[k.String()] = a.Value.Title
	}
	b, err := json.Marshal(titles)
	if err != nil {
		return err
	}
	if err := os.WriteFile(x.path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(x.path+".new", x.path) // readers see the old file or the new one
}

var searchIndex = recipe{
	name:        "search-index",
	title:       "Keep a search index consistent with a table",
	guide:       []string{"G22"},
	related:     []string{"archive", "materialized-view", "lost-notifications", "workers"},
	consistency: "eventual",
	measured:    []string{"insert an article", "a worker updates the index"},
	problem: `Articles are in a table, and a search index of their titles is in a file or a search service. A program that
		writes one after the other will crash in between one day. Here the transaction of the write also stores that the index
		is to be updated. A worker then derives the index from the current article, and repeats this until it succeeds.`,
	run: func(ctx context.Context, r *Run) error {
		dir, err := os.MkdirTemp("", "search-index")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		base, err := table.New(r.Tables(), r.TableName("articles"), articles, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("search"), nil)
		if err != nil {
			return err
		}
		indexed, err := eventual.WithOutbox(base, outbox, eventual.OnChange("search", TitleChanged))
		if err != nil {
			return err
		}
		x := &SearchIndex{path: filepath.Join(dir, "titles.json"), from: base}
		worker, err := eventual.NewWorker(r.Queue("search"), r.Queue("poison"), []eventual.Handler{eventual.NewHandler("search", base, x.Update)},
			&eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(base.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}
		var e *table.Entity[Article]
		if err := r.Do("insert an article: put a hidden notification, write the article and a commit record, make the notification visible", func() (err error) {
			e, err = indexed.Insert(ctx, &Article{"News", 1, "Queues for beginners"})
			return err
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "articles"), r.Library(ctx, "articles", "News")); err != nil {
			return err
		}
		work := func(what string) error {
			return r.Do(what, func() error {
				if err := worker.Drain(ctx); err != nil {
					return err
				}
				text, err := os.ReadFile(x.path)
				if err != nil {
					return err
				}
				r.Answer("titles.json contains %s", text)
				return nil
			})
		}
		if err := work("a worker updates the index: read the commit record and the article; write the file; mark the commit record as done"); err != nil {
			return err
		}
		if err := r.Do("a write whose queue is down fails before anything is written", func() error {
			down, err := eventual.NewOutbox(r.Queue("nowhere"), nil)
			if err != nil {
				return err
			}
			unnotified, err := eventual.WithOutbox(base, down, eventual.OnChange("search", TitleChanged))
			if err != nil {
				return err
			}
			_, err = unnotified.Insert(ctx, &Article{"News", 2, "Lost"})
			if !errors.Is(err, table.ErrOutbox) {
				return fmt.Errorf("got error %v, want: %w", err, table.ErrOutbox)
			}
			r.Answer("refused: %v", err)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("change the title and then delete the article, before a worker runs", func() error {
			e.Value.Title = "Queues for everybody"
			if err := indexed.Replace(ctx, e); err != nil {
				return err
			}
			return indexed.Delete(ctx, e)
		}); err != nil {
			return err
		}
		if err := work("a worker handles both notifications, and derives the index from the current rows"); err != nil {
			return err
		}
		return r.Naive("write the table and then the file: after a crash in between, the file lacks the article", func() error {
			_, err := base.Insert(ctx, &Article{"News", 3, "Not in the index"})
			return err
		})
	},
}
