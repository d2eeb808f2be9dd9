package table_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/table"
)

// TestEmptiedState: a merge that leaves nothing to be remembered leaves a row that other handles and programs may move to another key,
// where every handle can still write it.
func TestEmptiedState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := town(t, nil)
	e := put(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	check(people.Merge(ctx, e, eMail.Set("")))
	plain := peopleOf(s.ConnectionString(), s, &table.Options{})
	e, err := plain.Get(ctx, residentAt(1))
	check(err)
	if row, err := e.Row(); err != nil || row.Type("_ix") != "Edm.Binary" || row.StateCorrupt() {
		t.Fatalf("%v %v", row, err)
	}
	e.Value.ID = 2
	if err := plain.Rekey(ctx, e); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Rows("people") {
		if r.RowKey == "p_000002" && (r.Get("_ix") != nil || r.Get("_life") != nil) {
			t.Errorf("what belongs to the old key was moved: %v", r)
		}
	}
	e, err = plain.Get(ctx, residentAt(2))
	check(err)
	if err := plain.Replace(ctx, e); err != nil {
		t.Errorf("without maintainers: %v", err)
	}
	if err := people.MergeAny(ctx, e.Key, eMail.Set("b")); err != nil {
		t.Errorf("with maintainers: %v", err)
	}
	e, err = people.Get(ctx, e.Key)
	check(err)
	if row, err := e.Row(); err != nil || !slices.Equal(row.MaintainerState("email"), []string{"email_b"}) {
		t.Errorf("%v %v", row, err)
	}
	if err := plain.Replace(ctx, e); !errors.Is(err, table.ErrUnknownMaintainer) {
		t.Errorf("a row with derived rows: %v", err)
	}
}

// TestEmptiedCopied: what a merge has emptied says nothing about the key, so another program's copy of the row is sound.
func TestEmptiedCopied(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := town(t, nil)
	e := put(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	check(people.Merge(ctx, e, eMail.Set("")))
	row, err := e.Row()
	check(err)
	if v, _ := row.Get("_ix"); v == nil || len(v.([]byte)) > 0 {
		t.Errorf("%v", v)
	}
	if row.At(residentAt(7)).StateCorrupt() {
		t.Error("under another key it is damaged")
	}
}

// TestEmptyState: a row of which maintainers remember nothing has an empty _ix, unless its maintainer state was lost before: then
// derived rows may exist, and the row stays without.
func TestEmptyState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := town(t, nil)
	plain := peopleOf(s.ConnectionString(), s, &table.Options{})
	has := func(what string, want any) {
		t.Helper()
		for _, r := range s.Rows("people") {
			if b, is := r.Get("_ix").([]byte); r.RowKey == "p_000001" && (is != (want != nil) || len(b) > 0) {
				t.Errorf("%s: _ix is %v, want %v", what, r.Get("_ix"), want)
			}
		}
	}
	empty := []byte{}
	e := put(t, people, s, resident{"S", 1, "Jones", ""})[0]
	has("insert", empty)
	check(people.Replace(ctx, e))
	has("replace", empty)
	check(people.MergeAny(ctx, residentAt(1), eMail.Set("a")))
	e, err := people.Get(ctx, residentAt(1))
	check(err)
	e.Value.Email = ""
	check(people.Replace(ctx, e))
	has("replace by nothing", empty)
	e, err = plain.Get(ctx, residentAt(1))
	check(err)
	check(plain.Replace(ctx, e))
	has("Replace of a loaded entity, without maintainers", empty)
	check(plain.ReplaceAny(ctx, e))
	has("without maintainers", nil)
	check(people.ReplaceAny(ctx, e))
	has("after a write without maintainers", nil)
	_, err = people.Update(ctx, residentAt(1), func(r *resident) error { r.Last = "Cao"; return nil })
	check(err)
	has("Update after that", nil)
	check(people.DeleteAny(ctx, residentAt(1)))
	_, err = people.Upsert(ctx, &resident{"S", 1, "Jones", ""}, table.ReplaceExisting)
	check(err)
	has("upsert", empty)
	for _, r := range s.Rows("people") {
		if strings.HasPrefix(r.RowKey, "p_") == (r.Get("_ix") == nil) {
			t.Error(r)
		}
	}
}
