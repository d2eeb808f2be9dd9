package main

import (
	"html/template"
	"os"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// page is what the template page.html shows.
type page struct {
	Service       string
	Chapters      []pageChapter
	Consistencies map[string]string
}

type pageChapter struct {
	Title   string
	Recipes []pageRecipe
}

type pageRecipe struct {
	recipe.Report
	Files   []keptFile
	Without string
}

// keptFile is a file that a user keeps.
type keptFile struct{ Path, Code string }

// shownCode returns the code that a user keeps.
func shownCode(rec recipe.Recipe) (all []keptFile) {
	for path, code := range keptCode(rec.Kept) {
		if !strings.Contains(path, "/main/") {
			all = append(all, keptFile{path, code})
		}
	}
	slices.SortFunc(all, func(a, b keptFile) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// writePage writes reports as one page, with the code of their recipes, which needs no other file.
func writePage(file, service string, reports []recipe.Report) error {
	p := page{Service: service, Consistencies: map[string]string{}}
	for _, c := range consistencies {
		p.Consistencies[c.word] = c.meaning
	}
	ran := func(name string) bool {
		return slices.ContainsFunc(reports, func(r recipe.Report) bool { return r.Name == name })
	}
	for _, c := range chapters {
		shown := pageChapter{Title: c.title}
		for _, rec := range c.recipes {
			for _, r := range reports {
				if r.Name != rec.Name {
					continue
				}
				r.Related = slices.DeleteFunc(slices.Clone(r.Related), func(name string) bool { return !ran(name) })
				shown.Recipes = append(shown.Recipes, pageRecipe{Report: r, Files: shownCode(rec), Without: naiveRequests(r.Compared)})
			}
		}
		if len(shown.Recipes) > 0 {
			p.Chapters = append(p.Chapters, shown)
		}
	}
	t, err := template.ParseFS(source, "page.html")
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := t.Execute(out, p); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
