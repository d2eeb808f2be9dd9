package azt

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A command line in the documentation: a line of code, a text between backquotes, or the arguments of a container.
var commandLine = regexp.MustCompile("(?m)`azt ([^`]+)`|^ {4,7}azt (.+)$|^ +args: \\[(.+)\\]$")

// TestDocs: azt accepts each command line of the documentation.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, page := range append(pages, "../README.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range commandLine.FindAllStringSubmatch(string(b), -1) {
			line := m[1] + m[2] + strings.NewReplacer(",", "", `"`, "").Replace(m[3])
			words := words(line)
			c := &call{}
			for _, cmd := range commands() {
				if cmd.name == words[0] {
					c.command = &cmd
				}
			}
			switch {
			case words[0] == "help":
				continue
			case c.command == nil:
				t.Errorf("%s: azt has no command for: azt %s", page, line)
				continue
			}
			if err := c.parse(words[1:]); err != nil {
				t.Errorf("%s: azt %s: %v", page, line, err)
			}
			if c.command.name == "query" || c.command.name == "count" {
				if _, err := c.flags.reading(false); err != nil {
					t.Errorf("%s: azt %s: %v", page, line, err)
				}
			}
			found[c.command.name]++
		}
	}
	if len(found) < 15 {
		t.Errorf("got %d commands in the documentation, %v; want at least 15", len(found), found)
	}
}

// words splits a command line at spaces outside of single quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// TestHelp: the help of each command names its arguments, and each of its flags says what it is for.
func TestHelp(t *testing.T) {
	t.Parallel()
	groupsOf := map[string]bool{}
	for _, g := range groups {
		groupsOf[g.name] = true
	}
	for _, cmd := range commands() {
		var out, errs strings.Builder
		if code := (&Program{}).Run(t.Context(), []string{"help", cmd.name}, &out, &errs); code != exitDone || errs.Len() > 0 {
			t.Errorf("help %s: got exit code %d and %s", cmd.name, code, errs.String())
		}
		for _, want := range []string{"usage: azt " + cmd.name, "Flags of all commands:"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("help %s: got\n%s\nwant a text with %q", cmd.name, out.String(), want)
			}
		}
		if !groupsOf[cmd.group] || cmd.short == "" || cmd.long == "" {
			t.Errorf("command %s is in no group, or is not described", cmd.name)
		}
		for line := range strings.Lines(out.String()) {
			if len([]rune(line)) > helpWidth+1 {
				t.Errorf("help %s: got a line of %d columns: %s", cmd.name, len([]rune(line)), line)
			}
		}
	}
}
