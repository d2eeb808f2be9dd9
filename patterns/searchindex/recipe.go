package searchindex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// queuesDown is a policy of an account whose queues do not exist.
type queuesDown struct{}

func (queuesDown) Do(r *policy.Request) (*http.Response, error) {
	u := r.Raw().URL
	u.Path = strings.Replace(u.Path, "/messages", "-nowhere/messages", 1)
	return r.Next()
}

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "search-index",
	Title:       "Keep a search index consistent with a table",
	Guide:       []string{"G22"},
	Related:     []string{"archive", "materialized-view", "lost-notifications", "workers"},
	Consistency: "eventual",
	Measured:    []string{"insert an article", "a worker updates the index"},
	Problem: `Articles are in a table, and a search index of their titles is in a file or a search service. A program that
		writes one after the other will crash in between one day. Here the transaction of the write also stores that the index
		is to be updated. A worker then derives the index from the current article, and repeats this until it succeeds.`,
	Kept: "searchindex",
	Run: func(ctx context.Context, r *recipe.Run) error {
		dir, err := os.MkdirTemp("", "search-index")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "titles.json")
		o := r.StoreOptions("site", "articles")
		site := Open(r.Account(), path, o)
		if err := r.Ensure(ctx, site); err != nil {
			return err
		}
		var e *table.Entity[Article]
		if err := r.Do("insert an article: put a hidden notification, write the article and a commit record, make the notification visible", func() (err error) {
			e, err = site.Articles.Insert(ctx, &Article{Section: "News", ID: 1, Title: "Queues for beginners"})
			return err
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "articles"), r.Library(ctx, "articles", "News")); err != nil {
			return err
		}
		work := func() error {
			if err := site.Drain(ctx); err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			r.Answer("titles.json contains %s", text)
			return nil
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"a worker updates the index: read the commit record and the article; write the file; mark the commit record as done", work},
			{"a write whose queue is down fails before anything is written", func() error {
				acc, err := r.Open(queuesDown{})
				if err != nil {
					return err
				}
				down := Open(acc, path, o)
				_, err = down.Articles.Insert(ctx, &Article{Section: "News", ID: 2, Title: "Lost"})
				if !errors.Is(err, table.ErrOutbox) {
					return fmt.Errorf("got error %v, want: %w", err, table.ErrOutbox)
				}
				r.Answer("refused: %v", err)
				return nil
			}},
			{"change the title and then delete the article, before a worker runs", func() error {
				e.Value.Title = "Queues for everybody"
				if err := site.Articles.Replace(ctx, e); err != nil {
					return err
				}
				return site.Articles.Delete(ctx, e)
			}},
			{"a worker handles both notifications, and derives the index from the current rows", work},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("write the table and then the file: after a crash in between, the file lacks the article", func() error {
			_, err := r.Table("articles").AddEntity(ctx, []byte(`{"PartitionKey":"News","RowKey":"article_000003","Title":"Not in the index"}`), nil)
			return err
		})
	},
}
