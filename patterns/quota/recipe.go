package quota

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "quota",
	Title:       "A quota that holds when many programs write at once",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"summary", "optimistic", "unique-email"},
	Consistency: "strong",
	Measured:    []string{"save a third file"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `A customer may have three files, and 10 MiB in all. A program that counts the files, and then saves one, lets two programs save the
		third file at the same time: both have counted two. A summary with a bound (Most) counts the file in the transaction that
		stores it, and refuses the one that is too many. It takes no request besides those of the summary.`,
	Kept: "quota",
	Run: func(ctx context.Context, r *recipe.Run) error {
		files := Open(r.Account(), r.StoreOptions("files", "files"))
		if err := r.Ensure(ctx, files); err != nil {
			return err
		}
		file := func(name string, mib int64) File {
			return File{Customer: "Acme", Name: name, Bytes: mib << 20}
		}
		save := func(f File) func() error {
			return func() error {
				err := files.Save(ctx, f)
				var full *index.FullError
				if errors.As(err, &full) {
					r.Answer("%s is refused: %v", f.Name, full)
					return nil
				}
				return err
			}
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"save two files: each write reads the row of the quota, and writes it with the file", func() error {
				return errors.Join(save(file("plan.pdf", 4))(), save(file("photo.jpg", 3))())
			}},
			{"save a file that is too large for what is left: the row of the quota says so", save(file("film.mp4", 5))},
			{"save a third file", save(file("notes.txt", 1))},
			{"save a fourth file: refused", save(file("more.txt", 1))},
			{"delete a file, and save the fourth", func() error {
				if err := files.Delete(ctx, "Acme", "photo.jpg"); err != nil {
					return err
				}
				return save(file("more.txt", 1))()
			}},
			{"what is used", func() error {
				n, bytes, err := files.Used(ctx, "Acme")
				r.Answer("files: %d, bytes: %d", n, bytes)
				return err
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "files"); err != nil {
			return err
		}
		return r.Naive("count the files, 1 request for each 1,000, and save one if there is room: two programs may do so at once", func() error {
			n, err := files.Table.Count(ctx, table.Query[File]{Partition: files.Table.Key(file("", 0)).Partition()})
			r.Answer("files: %d", n)
			return err
		})
	},
}
