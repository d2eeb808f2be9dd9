package table_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// named has an effect of a kind.
type named string

func (named) Name() string { return "named" }
func (named) MaxRows() int { return 0 }
func (n named) Maintain(_ context.Context, p *table.Plan, c *table.Change[resident]) error {
	p.Effect(string(n), 1, []byte(n))
	return nil
}

// TestEffectsInAnyLanguage: a long list of effects is stored in parts that are texts by themselves, wherever its characters of
// several bytes stand, for what is cut inside a character is another one when it comes back.
func TestEffectsInAnyLanguage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []string{"é", "日", "😀"} {
		for lead := range len(c) {
			d := &drawer{}
			people, s := effects(t, d)
			kind := strings.Repeat("x", lead) + strings.Repeat(c, 70_000/len(c))
			long, err := people.With(nil, named(kind))
			check(err)
			if _, err := long.Insert(ctx, &resident{"S", 1, "Jones", "a"}); err != nil {
				t.Fatal(err)
			}
			i, err := people.CommitRecords().Get(ctx, keys.Raw("S"), d.last.OperationID)
			if err != nil {
				t.Fatal(err)
			}
			if got := i.Effects[len(i.Effects)-1]; got.Kind != kind || string(got.Payload) != kind {
				t.Errorf("%d bytes before %s: %d bytes of kind come back, want %d", lead, c, len(got.Kind), len(kind))
			}
			for _, r := range s.Rows("people") {
				for _, name := range []string{"Effects", "Effects1", "Effects2"} {
					if part, _ := r.Get(name).(string); strings.ContainsRune(part, '\uFFFD') {
						t.Errorf("%d bytes before %s: %s was cut inside a character", lead, c, name)
					}
				}
			}
		}
	}
}
