package largeentity_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// TestReadLimits: a limit and a range are checked before any request, for a value in the entity and for a blob.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string]*largeentity.Options{"inline": nil, "blob": {InlineUpTo: -1}} {
		fx, s := newFixture(t, o)
		b := fx.upload(t, text(100))
		s.Count()
		var le *table.LimitError
		if _, err := fx.photos.ReadAll(ctx, b, 99); !errors.As(err, &le) || le.Got != 100 || le.Max != 99 {
			t.Errorf("%s: ReadAll of 100 bytes with limit 99: got error %v; want a *table.LimitError with 100 and 99", name, err)
		}
		for _, c := range [][2]int64{{-1, 5}, {0, -1}, {101, 0}, {0, 101}, {50, 51}, {1 << 62, 1 << 62}, {50, math.MaxInt64}} {
			var ve *table.ValueError
			if r, err := fx.photos.OpenRange(ctx, b, c[0], c[1]); !errors.As(err, &ve) {
				t.Errorf("%s: %d bytes from %d on: got %v, error %v; want a *table.ValueError", name, c[1], c[0], r, err)
			}
		}
		testkit.Expect(t, name+": requests", s.Count().String(), "none")
		fx.expectContent(t, name, b, text(100))
	}
}
