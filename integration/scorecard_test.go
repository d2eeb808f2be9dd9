package integration

import (
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/conformance"
	"github.com/aztablekit/aztablekit/storagetest"
)

var updateScorecard = flag.Bool("update", false, "write the scorecard into README.md, with the date")

// scorecard matches the date of the scorecard in README.md, and its table.
var scorecard = regexp.MustCompile(`(?m)Measured on [0-9-]+\.\n\n(\| topic \|(?:.*\n)+?)\n`)

// TestScorecard: README.md contains the scores of both services.
func TestScorecard(t *testing.T) {
	if testing.Short() {
		t.Skip("compares with the emulator")
	}
	t.Parallel()
	var (
		names  []string
		scores []*conformance.Score
	)
	for _, b := range backends {
		if _, is := b.(plain); is {
			continue // the same service
		}
		c, err := conformance.NewClient(b.ConnectionString(), http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		s, err := conformance.Measure(c)
		if err != nil {
			t.Fatal(err)
		}
		open := func() (*conformance.Client, func(time.Time), error) { return c, nil, nil }
		if !isAzurite(b) { // with the clock of the recordings
			open = func() (*conformance.Client, func(time.Time), error) {
				var now time.Time
				s := storagetest.New(&storagetest.Options{GeoRedundant: true, Now: func() time.Time { return now }})
				c, err := conformance.NewClient(s.ConnectionString(), s)
				return c, func(at time.Time) { now = at }, err
			}
		}
		if err := s.MeasureModules(t.Context(), open); err != nil {
			t.Fatal(err)
		}
		if isAzurite(b) {
			names = append(names, "Azurite 3.37")
		} else {
			names = append(names, b.Name())
		}
		scores = append(scores, s)
	}
	want := conformance.Table(names, scores)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := scorecard.FindStringSubmatch(string(readme))
	switch {
	case found == nil:
		t.Fatal("README.md: got no scorecard")
	case fixed(found[1]) == fixed(want):
	case *updateScorecard:
		now := "Measured on " + time.Now().Format(time.DateOnly) + ".\n\n" + want + "\n"
		if err := os.WriteFile("../README.md", []byte(strings.Replace(string(readme), found[0], now, 1)), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("README.md: got the scorecard\n%s\nwant\n%s", found[1], want)
	}
}

// fixed returns a scorecard without the emulator's numbers for the recordings of modules: they depend on its clock, and on the other
// tests that use it at the same time.
func fixed(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| recordings of ") && len(cells) > 4 {
			lines[i] = strings.Join(cells[:4], "|")
		}
	}
	return strings.Join(lines, "\n")
}
