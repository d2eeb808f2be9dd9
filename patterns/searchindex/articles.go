// Package searchindex keeps a search index of articles: the file of their titles follows the table, whichever program crashes.
package searchindex

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Article is stored by section.
type Article struct {
	Section string
	ID      int
	Title   string
}

var (
	section = keys.Partition(keys.Text(), func(a *Article) *string { return &a.Section })
	number  = keys.Row(keys.Digits[int](6).Named("article"), func(a *Article) *int { return &a.ID })
)

// Site is the articles, and the file of their titles. Each write of Articles that changes a title takes 2 requests more, for a message.
//
// One process may run the worker, because a mutex protects the file. For several processes, or for a search service, write on condition of
// the version that was read before the article; if the machine may fail, wait until the file is on disk.
type Site struct {
	*aztablekit.Store
	Articles *table.Table[Article]

	mu   sync.Mutex
	path string
}

// Open declares the table of the articles. Call Ensure of the result when the program starts, and Run in one program, which keeps the file.
func Open(acc aztablekit.Account, path string, o *aztablekit.Options) *Site {
	s := &Site{Store: aztablekit.Open(acc, "site", o), path: path}
	s.Articles = aztablekit.Table(s.Store, "articles", section, number, eventual.On("search", titleChanged, s.update))
	return s
}

// Titles returns the titles in the file, by the keys of their articles. It sends nothing.
func (s *Site) Titles() (map[string]string, error) {
	titles := map[string]string{}
	b, err := os.ReadFile(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return titles, nil
	}
	if err != nil {
		return nil, err
	}
	return titles, json.Unmarshal(b, &titles)
}

// titleChanged reports whether a write needs an update of the file. The effect contains no data of the article, because the article may have
// changed again before the worker executes the effect.
func titleChanged(c *eventual.Change[Article]) (struct{}, bool) {
	return struct{}{}, c.Old == nil || c.New == nil || c.Old.Title != c.New.Title
}

// update derives the entry of an article from the current article. It may be called twice for a write, and for two writes in any order.
func (s *Site) update(ctx context.Context, j eventual.Job, _ struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := j.Key
	titles, err := s.Titles()
	if err != nil {
		return err
	}
	switch a, err := s.Articles.Get(ctx, k); {
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
	if err := os.WriteFile(s.path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path) // readers see the old file or the new one
}
