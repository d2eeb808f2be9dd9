package house_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestRefused: what testdata/refused.txt says does not compile, for the reason that it says. Most of it are a PartitionKey where a
// RowKey is wanted, and the other way round.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := newCompiler(t)
	refused, compiled := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(read(t, "tools/house/testdata/refused.txt")), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		code, want, _ := strings.Cut(line, " //")
		want = strings.TrimSpace(want)
		got := fmt.Sprint(errors.Join(c.compile(snippet{dir: "tools/house", name: "refused", code: "var err error\n" + code + "\n_ = err\n"})...))
		if want == "" {
			compiled++
			want = "<nil>"
		} else {
			refused++
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s\ngot error %s\nwant %s", code, got, want)
		}
	}
	if refused < 10 || compiled < 3 {
		t.Errorf("got %d statements that are refused and %d that compile; want 10 and 3", refused, compiled)
	}
}
