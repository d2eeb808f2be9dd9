package conformance_test

import (
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/tools/conformance"
)

var updateScorecard = flag.Bool("update", false, "write the scorecard into docs/storagetest.md, with the date")

// scorecard matches the date of the scorecard in docs/storagetest.md, and its table.
var scorecard = regexp.MustCompile(`(?m)Measured on [0-9-]+\.\n\n(\| topic \|(?:.*\n)+?)\n`)

// TestScorecard: docs/storagetest.md contains the scores of both services.
func TestScorecard(t *testing.T) {
	if testing.Short() {
		t.Skip("compares with the emulator")
	}
	t.Parallel()
	emulator, err := azurite.Start(t.Context()) // the recordings change the properties of the services
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(emulator.Stop)
	open := func() (*conformance.Client, func(time.Time), error) {
		c, err := conformance.NewClient(emulator.ConnectionString, http.DefaultClient)
		return c, nil, err
	}
	names, scores := []string{"storagetest", "Azurite 3.37"}, make([]*conformance.Score, 2)
	t.Run("measure", func(t *testing.T) {
		for i, account := range []conformance.Account{account, open} {
			t.Run(names[i], func(t *testing.T) {
				t.Parallel()
				scores[i] = measured(t, account)
			})
		}
	})
	if t.Failed() {
		return
	}
	want := conformance.Table(names, scores)
	page, err := os.ReadFile("../../docs/storagetest.md")
	if err != nil {
		t.Fatal(err)
	}
	found := scorecard.FindStringSubmatch(string(page))
	switch {
	case found == nil:
		t.Fatal("docs/storagetest.md: got no scorecard")
	case found[1] == want:
	case *updateScorecard:
		now := "Measured on " + time.Now().Format(time.DateOnly) + ".\n\n" + want + "\n"
		if err := os.WriteFile("../../docs/storagetest.md", []byte(strings.Replace(string(page), found[0], now, 1)), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("docs/storagetest.md: got the scorecard\n%s\nwant\n%s", found[1], want)
	}
}

// measured returns the score of a service.
func measured(t *testing.T, open conformance.Account) *conformance.Score {
	c, _, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s, err := conformance.Measure(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MeasureModules(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	return s
}
