package table_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestEmptiedState: a merge that leaves nothing to be remembered leaves a row that other handles and programs may move to another key,
// where every handle can still write it.
func TestEmptiedStateMoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
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
func TestEmptiedStateCopied(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
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
	people, s := newTown(t, nil)
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
	e := insertAll(t, people, s, resident{"S", 1, "Jones", ""})[0]
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

// reminds remembers texts.
type keepsState struct {
	texts     []string
	unchecked bool // was remembered
}

func (keepsState) Name() string { return "reminds" }

func (keepsState) MaxRows() int { return 0 }

func (r keepsState) Maintain(_ context.Context, p *table.Plan, c *table.Change[resident]) error {
	if c.Old != nil && !r.unchecked && !slices.Equal(c.State(), r.texts) {
		return fmt.Errorf("remembers %d texts", len(c.State()))
	}
	c.SetState(r.texts...)
	return nil
}

// TestRemember: what maintainers remember comes back, whatever verb it went by, up to its limit; and is empty where they forget.
func TestMaintainerState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	plain, err := table.New(serviceOf(s), "people", peopleSchema, noWaitOptions())
	check(err)
	long := strings.Repeat("é\n", 12_000) // 4 bytes each, as JSON
	for _, texts := range [][]string{{"a"}, {"", "é", "a\x01\"\\\u2028"}, {long}, {"x" + strings.Repeat("é", 30_711) + "y"}, slices.Repeat([]string{"key"}, 5000)} {
		keeps, err := plain.With(nil, keepsState{texts: texts})
		check(err)
		e, err := keeps.Insert(ctx, &resident{"S", 1, "same", ""})
		check(err)
		for what, err := range map[string]error{"Replace": keeps.Replace(ctx, e), "Merge": keeps.Merge(ctx, e, eMail.Set("x")), "MergeAny": keeps.MergeAny(ctx, e.Key, eMail.Set("y"))} {
			if err != nil {
				t.Error(what, err)
			}
		}
		shorter, err := plain.With(nil, keepsState{[]string{"b"}, true})
		check(err)
		check(shorter.MergeAny(ctx, e.Key, lastName.Set("other")))
		strict, err := plain.With(nil, keepsState{texts: []string{"b"}})
		check(err)
		check(strict.MergeAny(ctx, e.Key, lastName.Set("another")))
		forgets, err := plain.With(nil, keepsState{nil, true})
		check(err)
		check(forgets.MergeAny(ctx, e.Key, lastName.Set("third")))
		if err := plain.DeleteAny(ctx, e.Key); err != nil { // no request sees what it remembers
			t.Error(err)
		}
	}
	keeps, err := plain.With(nil, keepsState{texts: []string{long, long}})
	check(err)
	s.Count()
	var le *table.LimitError
	if _, err := keeps.Insert(ctx, &resident{"S", 1, "same", ""}); !errors.As(err, &le) || le.Field != "_ix" || le.Max != 60<<10 || s.Count() != "none" {
		t.Error(err)
	}
}

// TestPrimarysOwn: what is kept with one entity does not wander to other rows.
func TestStateStaysWithEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
	rows := residentRows(s)
	r, err := rows.Get(ctx, residentAt(1))
	check(err)
	twin := r.Value.At(residentAt(2))
	check(twin.Set("Email", "b"))
	_, err = rows.Insert(ctx, twin)
	check(err)
	check(people.DeleteAny(ctx, residentAt(2)))
	there := false
	for _, row := range s.Rows("people") {
		there = there || row.RowKey == "email_a"
	}
	if !there {
		t.Error("the index row of another entity was deleted")
	}
	plain := peopleOf(s.ConnectionString(), s, nil)
	e, err := plain.Get(ctx, residentAt(1))
	check(err)
	if err := plain.ReplaceAny(ctx, e); !errors.Is(err, table.ErrUnknownMaintainer) {
		t.Error(err)
	}

	// Full copies of rows of any type.
	all, err := rows.With(nil, rowCopies{})
	check(err)
	one, err := all.Insert(ctx, residentRow("any", map[string]any{"X": 1}))
	check(err)
	check(one.Value.Set("X", 2))
	check(all.Replace(ctx, one))
	for _, row := range s.Rows("people") {
		switch row.RowKey {
		case "copy_any":
			if row.Get("X") != int64(2) || row.Get("_ix") != nil || row.Get("_life") != nil || row.Get("_op") == nil {
				t.Error(row)
			}
		case "any":
			if row.Get("_ix") == nil || row.Get("_life") == nil {
				t.Error(row)
			}
		}
	}
	check(all.Delete(ctx, one))
}

// copies is a maintainer of rows of any type.
type rowCopies struct{}

func (rowCopies) Name() string { return "copies" }

func (rowCopies) MaxRows() int { return 1 }

func (rowCopies) Maintain(_ context.Context, p *table.Plan, c *table.Change[table.Row]) error {
	k := keys.At(keys.Raw("S"), keys.Raw("copy_"+c.Key.RowKey()))
	if c.New == nil {
		return p.Remove(k.Row())
	}
	c.Incarnation()
	c.SetState("x")
	if c.Old == nil {
		return p.Insert(c.New.At(k), nil)
	}
	return p.Put(c.New.At(k))
}
