package azt_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

var update = flag.Bool("update", false, "write what azt prints to testdata")

// tasks are what an operator does with azt, each with the commands for it.
var tasks = []struct {
	name     string
	commands []string
}{
	{"Which tables are there, and what keeps them?", []string{"ls", "describe"}},
	{"Look at one employee", []string{"get staff Sales empid_000002"}},
	{"Find employees, and know the price before", []string{"query staff --partition Sales --where Age>=22 --explain", "query staff --partition Sales --where Age>=22", "query staff"}},
	{"Which partition is the largest, and what takes the space?", []string{"hot staff --top 3"}},
	{"Is anything stuck?", []string{"doctor --store company --table staff", "poison list company", "pending staff", "jobs staff"}},
	{"Give the messages to the workers again, when the cause is repaired", []string{"poison replay company", "poison replay company --write"}},
	{"Take a backup, and compare it", []string{"export staff ./backup", "compare ./backup staff"}},
	{"Bring it back into another table", []string{"import ./backup restored --write", "compare staff restored"}},
	{"Are the indexes right?", []string{"verify", "verify --repair --write"}},
	{"What does it cost?", []string{"cost staff --prices prices.json"}},
}

// TestSession: ten tasks, as a terminal of 80 columns and one of 140 show them.
func TestSession(t *testing.T) {
	for _, width := range []int{80, 140} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			file, err := filepath.Abs(fmt.Sprintf("testdata/session-%d.txt", width))
			testkit.NoError(t, err)
			s := newShell(t, 6)
			s.trouble()
			got := s.session(width)
			if *update {
				testkit.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			testkit.NoError(t, err)
			gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i, line := range gotLines {
				if i >= len(wantLines) || line != wantLines[i] {
					t.Fatalf("%s, line %d: got\n%s\nand then other lines than the file; if the change is meant, run go test ./azt -run TestSession -update", file, i+1, line)
				}
			}
			for line := range strings.Lines(got) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
					t.Errorf("got a line of %d columns, want %d at most: %s", n, width, line)
				}
			}
		})
	}
}

// trouble leaves a poison message, a job, and an index row that another program has deleted.
func (s *shell) trouble() {
	ctx := s.t.Context()
	testkit.NoError(s.t, s.company.Drain(ctx))
	testkit.NoError(s.t, s.company.raise.Start(ctx, s.company.staff, "2026", 3, nil))
	_, err := s.company.staff.Insert(ctx, &employee{Department: "Sales", ID: 77, FirstName: "Bad", LastName: "Smith", Email: "smith@contoso.com"})
	testkit.NoError(s.t, err)
	testkit.Failed(s.t, s.company.Drain(ctx))
	testkit.NoError(s.t, s.company.raise.Start(ctx, s.company.staff, "2027", 3, nil))
	_, err = s.service.Tables().NewClient("staff").DeleteEntity(ctx, "Sales", "name_Jones2_empid_000002", nil)
	testkit.NoError(s.t, err)
}

// session runs all tasks, and returns what a terminal shows.
func (s *shell) session(width int) string {
	var b strings.Builder
	prices, err := os.ReadFile("testdata/prices.json")
	testkit.NoError(s.t, err)
	s.t.Chdir(s.t.TempDir())
	testkit.NoError(s.t, os.WriteFile("prices.json", prices, 0o644))
	for _, task := range tasks {
		fmt.Fprintf(&b, "# %s\n", task.name)
		for _, c := range task.commands {
			args := append(strings.Fields(c), "--width", fmt.Sprint(width))
			out, errs, code := s.run(args...)
			fmt.Fprintf(&b, "$ azt %s\n%s%s", c, out, errs)
			if code != 0 {
				fmt.Fprintf(&b, "(exit code %d)\n", code)
			}
		}
		b.WriteString("\n")
	}
	return steady(b.String())
}

// steady returns a text in which what differs from run to run is the same.
func steady(text string) string {
	for _, r := range []struct{ from, to string }{
		{`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?`, "2026-11-28 09:30:00"},
		{`\b0[0-9A-Z]{25}\b`, "01M8GHWDBTW1J26DRKY544KM90"},
		{`0x[0-9a-f]{20,}`, "0x32fb"},
		{`\b1[78]\d\d\b`, "1800"}, // the compressed size
	} {
		text = regexp.MustCompile(r.from).ReplaceAllString(text, r.to)
	}
	return text
}
