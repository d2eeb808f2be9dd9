package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// namedEffect is a maintainer that adds an effect of a kind.
type namedEffect string

func (namedEffect) Name() string { return "named" }
func (namedEffect) MaxRows() int { return 0 }
func (n namedEffect) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	p.Effect(string(n), 1, []byte(n))
	return nil
}

// TestEffectsInAnyLanguage: a long list of effects is stored in parts. No part ends inside a character of several bytes.
func TestEffectsInAnyLanguage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []string{"é", "日", "😀"} {
		for lead := range len(c) {
			d := &memoryOutbox{}
			people, s := townWithEffects(t, d)
			kind := strings.Repeat("x", lead) + strings.Repeat(c, 70_000/len(c))
			long, err := bare.With(people, namedEffect(kind))
			noError(t, err)
			if _, err := long.Insert(ctx, &resident{"S", 1, "Jones", "a"}); err != nil {
				t.Fatal(err)
			}
			i, err := records.Of(people).Get(ctx, keys.RawPartition("S"), d.last.OperationID)
			noError(t, err)
			if got := i.Effects[len(i.Effects)-1]; got.Kind != kind || string(got.Payload) != kind {
				t.Errorf("%d bytes before %s: got %d bytes of kind; want %d", lead, c, len(got.Kind), len(kind))
			}
			for _, r := range s.Rows("people") {
				for _, name := range []string{"Effects", "Effects1", "Effects2"} {
					if part, _ := r.Get(name).(string); strings.ContainsRune(part, '\uFFFD') {
						t.Errorf("%d bytes before %s: got %s with a cut character; want whole characters", lead, c, name)
					}
				}
			}
		}
	}
}

// largeEffects is a maintainer that adds effects of a size.
type largeEffects struct{ n, size int }

func (largeEffects) Name() string { return "heavy" }

func (largeEffects) MaxRows() int { return 0 }

func (h largeEffects) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	for i := range h.n {
		p.Effect("heavy", i, []byte(strings.Repeat("é", h.size/2)))
	}
	return nil
}

// TestLargeEffects: a list of effects up to the limit is stored and read unchanged.
func TestLargeEffects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, _ := townWithEffects(t, d)
	many, err := bare.With(people, largeEffects{3, 50_000})
	noError(t, err)
	if _, err := many.Insert(ctx, &resident{"S", 1, "Jones", "a"}); err != nil {
		t.Fatal(err)
	}
	i, err := records.Of(people).Get(ctx, keys.RawPartition("S"), d.last.OperationID)
	if err != nil || len(i.Effects) != 4 || string(i.Effects[3].Payload) != strings.Repeat("é", 25_000) || i.Effects[3].Version != 2 {
		t.Errorf(`got %v; want no error and len(i.Effects) == 4 and string(i.Effects[3].Payload) == strings.Repeat("é", 25_000) and i.Effects[3].Version == 2`, err)
	}
	more, err := bare.With(people, largeEffects{1, 200_000})
	noError(t, err)
	var le *table.LimitError
	d.calls = nil
	if _, err := more.Insert(ctx, &resident{"S", 2, "Jones", "b"}); !errors.As(err, &le) || le.Max != 256<<10 || d.calls != nil {
		t.Errorf("got %v, %v; want a *LimitError and le.Max == 256<<10 and d.calls == nil", err, d.calls)
	}
}
