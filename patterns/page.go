package main

import (
	"fmt"
	"html/template"
	"os"
	"slices"
	"strings"
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
	report
	Files   []keptFile
	Without string
}

// keptFile is a file that a user keeps.
type keptFile struct{ Path, Code string }

// shownRequests is how many requests of a step the page draws.
const shownRequests = 12

// sequence is how the page draws the requests of a step: lanes, and an arrow from the program,
// which is the first lane, for each request.
type sequence struct {
	Lanes  []string
	Arrows []arrow
	More   int // requests that are not drawn
}

type arrow struct {
	To     int // its lane
	Text   string
	Status int
}

// Drawn returns the requests as the page draws them.
func (s step) Drawn() *sequence {
	if len(s.Sequence) == 0 {
		return nil
	}
	q := &sequence{Lanes: []string{"program"}}
	lanes := map[string]int{}
	for i, r := range s.Sequence {
		if i == shownRequests {
			q.More = len(s.Sequence) - i
			break
		}
		lane, rest := r.lane()
		if lanes[lane] == 0 {
			lanes[lane] = len(q.Lanes)
			q.Lanes = append(q.Lanes, lane)
		}
		text := strings.TrimSpace(fmt.Sprintf("%s %s", r.Kind, rest))
		if r.Rows > 0 {
			text = fmt.Sprintf("%s of %d rows", r.Kind, r.Rows)
		}
		q.Arrows = append(q.Arrows, arrow{To: lanes[lane], Text: text, Status: r.Status})
	}
	return q
}

// ShowsRows reports whether the step shows the rows of a table, perhaps none.
func (s step) ShowsRows() bool { return s.Rows != nil }

// lane returns the table, queue or container of a request, and what remains of its path.
func (r request) lane() (lane, rest string) {
	lane = r.What
	if end := strings.IndexAny(r.What, "(/ "); end >= 0 {
		lane, rest = r.What[:end], strings.Trim(strings.TrimPrefix(r.What[end:], "()"), "/ ")
	}
	switch kind, _, _ := strings.Cut(string(r.Kind), "-"); kind {
	case "message", "queue":
		return "queue " + lane, "" // the rest is the random ID of a message
	case "blob", "container":
		return "container " + lane, rest
	}
	return "table " + lane, rest
}

// shownCode returns the code that a user keeps.
func shownCode(rec recipe) (all []keptFile) {
	for path, code := range keptCode(rec.kept) {
		if !strings.Contains(path, "/main/") {
			all = append(all, keptFile{path, code})
		}
	}
	slices.SortFunc(all, func(a, b keptFile) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// writePage writes reports as one page, with the code of their recipes, which needs no other file.
func writePage(file, service string, reports []report) error {
	p := page{Service: service, Consistencies: map[string]string{}}
	for _, c := range consistencies {
		p.Consistencies[c.word] = c.meaning
	}
	ran := func(name string) bool {
		return slices.ContainsFunc(reports, func(r report) bool { return r.Name == name })
	}
	for _, c := range chapters {
		shown := pageChapter{Title: c.title}
		for _, rec := range c.recipes {
			for _, r := range reports {
				if r.Name != rec.name {
					continue
				}
				r.Related = slices.DeleteFunc(slices.Clone(r.Related), func(name string) bool { return !ran(name) })
				shown.Recipes = append(shown.Recipes, pageRecipe{report: r, Files: shownCode(rec), Without: r.Compared.naiveRequests()})
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
