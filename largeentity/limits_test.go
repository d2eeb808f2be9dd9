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

// TestReadLimits: a range is checked before any request, for a value in the entity and for a blob.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string]*largeentity.Options{"inline": nil, "blob": {InlineUpTo: -1}} {
		fx, s := newFixture(t, o)
		b := fx.upload(t, text(100))
		s.Count()
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
