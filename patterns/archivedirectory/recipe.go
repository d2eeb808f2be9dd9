package archivedirectory

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "archive-directory",
	Title:       "Archive entities in files",
	Guide:       []string{"G22"},
	Related:     []string{"archive", "search-index", "large-entity"},
	Consistency: "eventual",
	Measured:    []string{"request the move"},
	Problem: `An archive need not have the price of a table. A destination can be anything that writes a row only if the stored
		version is the expected one. This destination is a directory, in a hundred lines.`,
	Kept: "archivedirectory",
	Run: func(ctx context.Context, r *recipe.Run) error {
		dir, err := os.MkdirTemp("", "archive")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		reports := Open(r.Account(), dir, r.StoreOptions("reports", "Current"))
		if err := r.Ensure(ctx, reports); err != nil {
			return err
		}
		e, err := reports.Current.Insert(ctx, &Report{Department: "Sales", Number: 1, Title: "Sales of last year"})
		if err != nil {
			return err
		}
		find := func() error {
			found, archived, err := reports.Find(ctx, "Sales", 1)
			if err == nil {
				r.Answer("%s, archived: %v", found.Title, archived)
			}
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"request the move of a report, and let a worker execute it", func() error {
				if err := reports.Archive(ctx, e); err != nil {
					return err
				}
				return reports.Drain(ctx)
			}},
			{"find the report: read the table, and then the file", find},
			{"restore the report, and let a worker remove it from the archive", func() error {
				if err := reports.Restore(ctx, "Sales", 1); err != nil {
					return err
				}
				return reports.Drain(ctx)
			}},
			{"find the report again, and list the files", func() error {
				if err := find(); err != nil {
					return err
				}
				var files []string
				err := filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
					if err == nil && !f.IsDir() {
						files = append(files, f.Name())
					}
					return err
				})
				slices.Sort(files)
				r.Answer("files of the old incarnation: %v; the last one says that the row was removed", files)
				return err
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return nil
	},
}
