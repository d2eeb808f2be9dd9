package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// TestStatuses: the errors on docs/service.md have the statuses of that page, and the page contains each error of statusOf.
func TestStatuses(t *testing.T) {
	t.Parallel()
	missing := map[string]error{
		"keys.KeyError":           &keys.KeyError{},
		"table.LimitError":        &table.LimitError{},
		"table.ValueError":        &table.ValueError{},
		"table.ErrNotFound":       table.ErrNotFound,
		"largeentity.ErrNoValue":  largeentity.ErrNoValue,
		"table.ErrTaken":          table.ErrTaken,
		"table.ErrExists":         table.ErrExists,
		"table.ErrChanged":        table.ErrChanged,
		"table.ErrNotRead":        table.ErrNotRead,
		"http.MaxBytesError":      &http.MaxBytesError{},
		"table.ErrUnreachable":    table.ErrUnreachable,
		"table.ErrOutbox":         table.ErrOutbox,
		"table.ErrContended":      table.ErrContended,
		"table.ErrGivenUp":        table.ErrGivenUp,
		"table.ErrUnknownOutcome": table.ErrUnknownOutcome,
		"errBusy":                 fmt.Errorf("%w: %w", errBusy, table.ErrChanged),
	}
	page, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([A-Za-z.]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\| ([0-9]{3}) \\|").FindAllStringSubmatch(string(page), -1) {
		want, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(row[1], -1) {
			err := missing[m[1]]
			delete(missing, m[1])
			if got := statusOf(fmt.Errorf("get: %w", err)); got != want {
				t.Errorf("%s: got status %d, want the %d of the page", m[1], got, want)
			}
		}
	}
	for name := range missing {
		t.Errorf("docs/service.md: got no status of %s, want one", name)
	}
	if got := statusOf(os.ErrClosed); got != http.StatusInternalServerError {
		t.Errorf("any other error: got status %d, want 500", got)
	}
}
