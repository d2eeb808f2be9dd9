package largeentity_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
)

// TestNames: PartitionKeys of all kinds give names of blobs, which are read and swept.
func TestNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	for i, d := range []string{"a%20b", "a b", "a  b ", "Größe", "日本😀", "+", "a+b", "'q'", "x&<y>", "50%", "%2F", ".", "..", "a.b.", "~b", "~", "~2e", "=", ":", "|", "\u2028", "\ufeff", "e\u0301", "é", strings.Repeat("é", 80), "a\tb", "a/b"} {
		k := keys.At(dept.Of(d), empid.Of(i))
		b, err := fx.store.Upload(ctx, k, strings.NewReader(text(20+i)), nil)
		must(t, err)
		_, err = fx.staff.Insert(ctx, &employee{Department: d, ID: i, Photo: b})
		must(t, err)
		r, _, err := largeentity.Open(ctx, fx.staff, fx.store, k, photoOf)
		must(t, err)
		got, err := io.ReadAll(r)
		must(t, err)
		testkit.Expect(t, d, string(got), text(20+i))
	}
	n := len(s.StoredBlobs("photos"))
	testkit.Expect(t, "sweep", fx.sweep(t, nil), largeentity.SweepReport{Blobs: n, Linked: n, Rows: n})
}
