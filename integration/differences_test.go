package integration

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDifferences: each difference exists, on both services. A difference that has disappeared should be deleted from the table,
// too.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		for _, d := range slices.Concat(tableDifferences, queueDifferences, blobDifferences, blockBlobDifferences) {
			t.Run(b.Name()+"/"+d.number+" "+d.name, func(t *testing.T) {
				t.Parallel()
				want := d.live
				if isAzurite(b) {
					want = d.azurite
				}
				if got := d.ask(newRawClient(t, b)); got != want {
					t.Errorf("%s: got %q; want %q", d.name, got, want)
				}
			})
		}
	}
}

// TestDifferencesAreListed: docs/storagetest.md lists the same differences.
func TestDifferencesAreListed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/storagetest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "## Differences from Azurite\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var listed, are []string
	for line := range strings.Lines(text) {
		if what, ok := strings.CutPrefix(line, "- "); ok {
			listed = append(listed, strings.TrimSpace(what))
		}
	}
	for _, d := range slices.Concat(tableDifferences, queueDifferences, blobDifferences, blockBlobDifferences) {
		are = append(are, d.name)
	}
	if !slices.Equal(listed, are) {
		t.Errorf("got %q\nwant %q", listed, are)
	}
}
