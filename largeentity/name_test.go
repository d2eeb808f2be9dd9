package largeentity_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// TestNames: PartitionKeys of all kinds give names of blobs, which are read and swept.
func TestNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	for i, d := range []string{"a%20b", "a b", "a  b ", "Größe", "日本😀", "+", "a+b", "'q'", "x&<y>", "50%", "%2F", ".", "..", "a.b.", "~b", "~", "~2e", "=", ":", "|", "\u2028", "\ufeff", "e\u0301", "é", strings.Repeat("é", 80), "a\tb", "a/b"} {
		k := keys.At(dept.PartitionKey(d), empid.RowKey(i))
		b, err := fx.photos.Upload(ctx, k, strings.NewReader(text(20+i)), "")
		must(t, err)
		_, err = fx.staff.Insert(ctx, &employee{Department: d, ID: i, Photo: b})
		must(t, err)
		r, _, err := fx.photos.OpenAt(ctx, k, photoOf)
		must(t, err)
		got, err := io.ReadAll(r)
		must(t, err)
		testkit.Expect(t, d, string(got), text(20+i))
	}
	// The longest name of a blob, whose characters | are written as 3 each.
	var err error
	var limit *table.LimitError
	stored := 0
	for n := 0; err == nil && n < 40; n++ {
		k := keys.At(keys.RawPartition(strings.Repeat("|", 320)+strings.Repeat("a", n)), empid.RowKey(1))
		if _, err = fx.photos.Upload(ctx, k, strings.NewReader(text(20)), ""); err == nil {
			stored++
		}
	}
	if stored == 0 || !errors.As(err, &limit) || limit.Got != limit.Max+1 {
		t.Errorf("got error %v after %d names of which each has a character more; want a *table.LimitError of one character too many", err, stored)
	}
	n := len(s.StoredBlobs("photos"))
	testkit.Expect(t, "sweep", fx.sweep(t, nil), largeentity.SweepReport{Blobs: n, Linked: n - stored, Young: stored, Rows: n - stored})
}
