package index_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// site is an entity whose keys are any texts, such as those of an existing table.
type site struct{ Host, Path, Owner string }

// TestElsewhereColons: rows elsewhere tell entities apart whose keys contain the characters between two keys.
func TestElsewhereColons(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rawSchema := table.Schema[site]{
		Partition: keys.RawPartitionOf(func(s *site) *string { return &s.Host }),
		Row:       keys.RawRowOf(func(s *site) *string { return &s.Path }),
	}
	owner := func(s *site) (string, bool) { return s.Owner, true }
	pointers := index.NewGlobal("owner", keys.Text(), owner, nil).Only()
	copies := index.NewGlobal("copy", keys.Text(), owner, nil)
	a := openElsewhereOf(t, storagetest.New(nil), "sites", rawSchema, pointers, copies)
	want := map[site]bool{}
	for _, s := range []site{{"a", "b:c", "o"}, {"a:b", "c", "o"}, {"a;1b", "c", "o"}, {"a;", "b", "o"}, {"a;0", "b", "o"}, {":", ":", "o"}} {
		_, err := a.t.Insert(ctx, &s)
		check(t, err)
		want[s] = true
	}
	a.drain()
	for name, all := range map[string]func(func(*table.Entity[site], error) bool){
		"pointers": pointers.List(ctx, a.t, "o"),
		"copies":   copies.List(ctx, a.t, "o"),
	} {
		got := map[site]bool{}
		for e, err := range all {
			check(t, err)
			got[e.Value] = true
		}
		testkit.Expect(t, name, got, want)
	}
}
