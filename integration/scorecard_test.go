package integration

import (
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
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
	all := services()
	names, scores := make([]string, len(all)), make([]*conformance.Score, len(all))
	t.Run("measure", func(t *testing.T) {
		for i, b := range all {
			t.Run(b.Name(), func(t *testing.T) {
				t.Parallel()
				names[i], scores[i] = measured(t, b)
			})
		}
	})
	if t.Failed() {
		return
	}
	want := conformance.Table(names, scores)
	readme, err := os.ReadFile("../docs/storagetest.md")
	if err != nil {
		t.Fatal(err)
	}
	found := scorecard.FindStringSubmatch(string(readme))
	switch {
	case found == nil:
		t.Fatal("docs/storagetest.md: got no scorecard")
	case found[1] == want:
	case *updateScorecard:
		now := "Measured on " + time.Now().Format(time.DateOnly) + ".\n\n" + want + "\n"
		if err := os.WriteFile("../docs/storagetest.md", []byte(strings.Replace(string(readme), found[0], now, 1)), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("docs/storagetest.md: got the scorecard\n%s\nwant\n%s", found[1], want)
	}
}

// measured returns the score of a service, and its name in the table.
func measured(t *testing.T, b backend) (string, *conformance.Score) {
	c, err := conformance.NewClient(b.ConnectionString(), http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conformance.Measure(c)
	if err != nil {
		t.Fatal(err)
	}
	open := newRecordedAccount
	if isAzurite(b) { // an emulator of its own: other tests change the properties of the services
		own, err := azurite.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(own.Stop)
		open = func() (*conformance.Client, func(time.Time), error) {
			c, err := conformance.NewClient(own.ConnectionString, http.DefaultClient)
			return c, nil, err
		}
	}
	if err := s.MeasureModules(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	if isAzurite(b) {
		return "Azurite 3.37", s
	}
	return b.Name(), s
}

// newRecordedAccount returns a client of a new account of storagetest, and sets its clock, which is that of the recordings.
func newRecordedAccount() (*conformance.Client, func(time.Time), error) {
	var now time.Time
	s := storagetest.New(&storagetest.Options{GeoRedundant: true, Now: func() time.Time { return now }})
	c, err := conformance.NewClient(s.ConnectionString(), s)
	return c, func(at time.Time) { now = at }, err
}
