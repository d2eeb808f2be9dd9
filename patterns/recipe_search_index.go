package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/aztablekit/aztablekit/eventual"
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
	Partition: keys.Bind1(keys.Tuple1(keys.Text()), func(a *Article) *string { return &a.Section }),
	Row:       keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("article"), func(a *Article) *int { return &a.ID }),
}

// SearchIndex is a search index in a file: titles by the keys of their articles. From here on it is what a user would write, forty
// lines: what must hold is that the file follows the table, whichever process dies. It is one process's: what keeps it right is that one
// at a time reads the article and writes the file. For several processes, or a service, write by the version of what was read before
// the article, and where a machine may fail, wait until it is stored, both as recipe archive-directory does.
type SearchIndex struct {
	mu   sync.Mutex
	path string
	from *table.Table[Article]
}

// Titles are what is indexed, for whoever searches.
func (x *SearchIndex) Titles() (map[string]string, error) {
	titles := map[string]string{}
	b, err := os.ReadFile(x.path)
	if errors.Is(err, os.ErrNotExist) {
		return titles, nil
	} else if err != nil {
		return nil, err
	}
	return titles, json.Unmarshal(b, &titles)
}

// Due is what has to be done after a write: to look at one article again. It says nothing of what the article holds, for that may be
// old when somebody looks.
func Due(c *table.Change[Article]) (struct{}, bool) {
	return struct{}{}, c.Old == nil || c.New == nil || c.Old.Title != c.New.Title
}

// Update makes the file follow from the article as it is now. It can be called any number of times, in any order.
func (x *SearchIndex) Update(ctx context.Context, j eventual.Job, _ struct{}) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := keys.Stored(j.Partition.String(), j.Effect.RowKey)
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
	if err == nil {
		err = os.WriteFile(x.path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(x.path+".new", x.path) // all of it or nothing
	}
	return err
}

var searchIndex = recipe{
	name:  "search-index",
	title: "Keep something outside storage consistent with a table",
	guide: []string{"G22"},
	problem: `Articles are in a table, and a search index of their titles is in a file, or a search service. Whoever writes both, one after the
		other, will die in between one day. Here a write says in its own transaction that the index is due, and a worker makes the index
		follow from the article as it is then: as often as it takes.`,
	run: func(ctx context.Context, r *Run) error {
		dir, err := os.MkdirTemp("", "search-index")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		plain, err := table.New(r.Tables(), r.Table("articles"), articles, nil)
		if err != nil {
			return err
		}
		out, err := eventual.NewOutbox(r.Queue("search"), nil)
		if err != nil {
			return err
		}
		all, err := plain.With(out, eventual.OnChange("search", Due))
		if err != nil {
			return err
		}
		x := &SearchIndex{path: filepath.Join(dir, "titles.json"), from: plain}
		w, err := eventual.NewWorker(r.Queue("search"), r.Queue("poison"), []eventual.Handler{eventual.NewHandler("search", plain, x.Update)}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(plain.Ensure(ctx), w.Ensure(ctx)); err != nil {
			return err
		}
		var e *table.Entity[Article]
		if err := r.Do("an article: the message, hidden; the article with its intent; the message, visible", func() (err error) {
			e, err = all.Insert(ctx, &Article{"News", 1, "Queues for beginners"})
			return err
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "articles"), r.Library(ctx, "articles", "News")); err != nil {
			return err
		}
		work := func(what string) error {
			return r.Do(what, func() error {
				if err := w.Drain(ctx); err != nil {
					return err
				}
				titles, err := x.Titles()
				r.Answer("titles.json: %v", titles)
				return err
			})
		}
		if err := work("a worker: message, intent, article, intent, message; and a look for more"); err != nil {
			return err
		}
		if err := r.Do("a writer whose queue is down is refused before it writes anything", func() error {
			down, err := eventual.NewOutbox(r.Queue("nowhere"), nil)
			if err != nil {
				return err
			}
			refused, err := plain.With(down, eventual.OnChange("search", Due))
			if err != nil {
				return err
			}
			_, err = refused.Insert(ctx, &Article{"News", 2, "Lost"})
			r.Answer("refused: %v; %v", errors.Is(err, table.ErrOutbox), err)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("the title changes, and then the article is deleted, before any worker has looked", func() error {
			e.Value.Title = "Queues for everybody"
			return errors.Join(all.Replace(ctx, e), all.Delete(ctx, e))
		}); err != nil {
			return err
		}
		if err := work("two messages, and the index follows from how things are"); err != nil {
			return err
		}
		return r.Naive("to write the table and then the file: whoever dies in between leaves them apart", func() error {
			return insert(ctx, plain, &Article{"News", 3, "Torn"})
		})
	},
}
