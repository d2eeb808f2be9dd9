package table_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestEmptiedStateMoved: a merge that removes the last derived row leaves empty maintainer state. Other handles can then rekey
// the row, and every handle can write it.
func TestEmptiedStateMoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	noError(t, people.Merge(ctx, e, eMail.Set("")))
	base := peopleOf(t, s, &table.Options{})
	e, err := base.Get(ctx, residentAt(1))
	noError(t, err)
	if row, err := e.Row(); err != nil || row.Type("_ix") != "Edm.Binary" || (*stored.Row)(row).StateCorrupt() {
		t.Fatalf(`got %v %v; want no error and row.Type("_ix") == "Edm.Binary" and not (*stored.Row)(row).StateCorrupt()`, row, err)
	}
	e.Value.ID = 2
	noError(t, base.Move(ctx, e))
	for _, r := range s.Rows("people") {
		if r.RowKey == "p_000002" && (r.Get("_ix") != nil || r.Get("_life") != nil) {
			t.Errorf("got %v; want no system properties of the old key", r)
		}
	}
	e, err = base.Get(ctx, residentAt(2))
	noError(t, err)
	if err := base.Replace(ctx, e); err != nil {
		t.Errorf("without maintainers: got %v; want no error", err)
	}
	if err := people.MergeAny(ctx, e.Key, eMail.Set("b")); err != nil {
		t.Errorf("with maintainers: got %v; want no error", err)
	}
	e, err = people.Get(ctx, e.Key)
	noError(t, err)
	if row, err := e.Row(); err != nil || !slices.Equal((*stored.Row)(row).MaintainerState("email"), []string{"email_b"}) {
		t.Errorf(`got %v %v; want no error and slices.Equal((*stored.Row)(row).MaintainerState("email"), []string{"email_b"})`, row, err)
	}
	if err := base.Replace(ctx, e); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("a row with derived rows: got %v; want ErrUnknownMaintainer", err)
	}
}

// TestEmptiedStateCopied: empty maintainer state is valid under any key, so a copy of the row by another program is not
// corrupt.
func TestEmptiedStateCopied(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	noError(t, people.Merge(ctx, e, eMail.Set("")))
	row, err := e.Row()
	noError(t, err)
	if v, _ := row.Get("_ix"); v == nil || len(v.([]byte)) > 0 {
		t.Errorf("got %v; want v != nil and len(v.([]byte)) <= 0", v)
	}
	if (*stored.Row)(row.At(residentAt(7))).StateCorrupt() {
		t.Error("got corrupt state under another key; want none")
	}
}

// TestEmptyState: a row without derived rows has an empty _ix. A row that lost its maintainer state stays without _ix, since
// derived rows may exist.
func TestEmptyState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	base := peopleOf(t, s, &table.Options{})
	has := func(what string, want any) {
		t.Helper()
		for _, r := range s.Rows("people") {
			if b, is := r.Get("_ix").([]byte); r.RowKey == "p_000001" && (is != (want != nil) || len(b) > 0) {
				t.Errorf("%s: got _ix %v; want %v", what, r.Get("_ix"), want)
			}
		}
	}
	empty := []byte{}
	e := insertAll(t, people, s, resident{"S", 1, "Jones", ""})[0]
	has("insert", empty)
	noError(t, people.Replace(ctx, e))
	has("replace", empty)
	noError(t, people.MergeAny(ctx, residentAt(1), eMail.Set("a")))
	e, err := people.Get(ctx, residentAt(1))
	noError(t, err)
	e.Value.Email = ""
	noError(t, people.Replace(ctx, e))
	has("replace by nothing", empty)
	e, err = base.Get(ctx, residentAt(1))
	noError(t, err)
	noError(t, base.Replace(ctx, e))
	has("Replace of a loaded entity, without maintainers", empty)
	noError(t, base.ReplaceAny(ctx, e))
	has("without maintainers", nil)
	noError(t, people.ReplaceAny(ctx, e))
	has("after a write without maintainers", nil)
	_, err = people.Update(ctx, residentAt(1), func(r *resident) error { r.Last = "Cao"; return nil })
	noError(t, err)
	has("Update after that", nil)
	noError(t, people.DeleteAny(ctx, residentAt(1)))
	_, err = people.Upsert(ctx, &resident{"S", 1, "Jones", ""}, table.ReplaceExisting)
	noError(t, err)
	has("upsert", empty)
	for _, r := range s.Rows("people") {
		if strings.HasPrefix(r.RowKey, "p_") == (r.Get("_ix") == nil) {
			t.Errorf(`got %+v; want strings.HasPrefix(r.RowKey, "p_") != %v`, r, r.Get("_ix") == nil)
		}
	}
}

// keepsState is a maintainer that stores texts as its state.
type keepsState struct {
	texts     []string
	unchecked bool // any state of before is accepted
}

func (keepsState) Name() string { return "reminds" }

func (keepsState) MaxRows() int { return 0 }

func (r keepsState) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	if c.Old != nil && !r.unchecked && !slices.Equal(c.State(), r.texts) {
		return fmt.Errorf("got %d texts of state; want %d", len(c.State()), len(r.texts))
	}
	c.SetState(r.texts...)
	return nil
}

// TestMaintainerState: maintainer state up to its limit is read unchanged, whichever method wrote it. A maintainer that sets no
// state clears it.
func TestMaintainerState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	base, err := bare.NewTable(serviceOf(t, s), "people", peopleSchema, noWaitOptions())
	noError(t, err)
	long := strings.Repeat("é\n", 12_000) // 4 bytes each, as JSON
	for _, texts := range [][]string{{"a"}, {"", "é", "a\x01\"\\\u2028"}, {long}, {"x" + strings.Repeat("é", 30_711) + "y"}, slices.Repeat([]string{"key"}, 5000)} {
		keeps, err := bare.With(base, keepsState{texts: texts})
		noError(t, err)
		e, err := keeps.Insert(ctx, &resident{"S", 1, "same", ""})
		noError(t, err)
		for what, err := range map[string]error{"Replace": keeps.Replace(ctx, e), "Merge": keeps.Merge(ctx, e, eMail.Set("x")), "MergeAny": keeps.MergeAny(ctx, e.Key, eMail.Set("y"))} {
			if err != nil {
				t.Errorf("%v: got %v; want no error", what, err)
			}
		}
		shorter, err := bare.With(base, keepsState{[]string{"b"}, true})
		noError(t, err)
		noError(t, shorter.MergeAny(ctx, e.Key, lastName.Set("other")))
		strict, err := bare.With(base, keepsState{texts: []string{"b"}})
		noError(t, err)
		noError(t, strict.MergeAny(ctx, e.Key, lastName.Set("another")))
		clears, err := bare.With(base, keepsState{nil, true})
		noError(t, err)
		noError(t, clears.MergeAny(ctx, e.Key, lastName.Set("third")))
		if err := base.DeleteAny(ctx, e.Key); err != nil { // no maintainer state is left
			t.Error(err)
		}
	}
	keeps, err := bare.With(base, keepsState{texts: []string{long, long}})
	noError(t, err)
	s.Count()
	var le *table.LimitError
	if _, err := keeps.Insert(ctx, &resident{"S", 1, "same", ""}); !errors.As(err, &le) || le.Field != "_ix" || le.Max != 60<<10 || s.Count().String() != "none" {
		t.Errorf(`got %v; want a *LimitError and le.Field == "_ix" and le.Max == 60<<10 and s.Count().String() == "none"`, err)
	}
}

// TestStateStaysWithEntity: the maintainer state of an entity is not copied to other rows.
func TestStateStaysWithEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
	rows := residentRows(t, s)
	r, err := rows.Get(ctx, residentAt(1))
	noError(t, err)
	twin := r.Value.At(residentAt(2))
	noError(t, twin.Set("Email", "b"))
	_, err = rows.Insert(ctx, twin)
	noError(t, err)
	noError(t, people.DeleteAny(ctx, residentAt(2)))
	exists := false
	for _, row := range s.Rows("people") {
		exists = exists || row.RowKey == "email_a"
	}
	if !exists {
		t.Error("got no row email_a; want the derived row of the other entity")
	}
	base := peopleOf(t, s, nil)
	e, err := base.Get(ctx, residentAt(1))
	noError(t, err)
	if err := base.ReplaceAny(ctx, e); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got %v; want ErrUnknownMaintainer", err)
	}

	// Full copies of rows of any type.
	all, err := bare.With(rows, rowCopies{})
	noError(t, err)
	one, err := all.Insert(ctx, residentRow(t, "any", map[string]any{"X": 1}))
	noError(t, err)
	noError(t, one.Value.Set("X", 2))
	noError(t, all.Replace(ctx, one))
	for _, row := range s.Rows("people") {
		switch row.RowKey {
		case "copy_any":
			if row.Get("X") != int64(2) || row.Get("_ix") != nil || row.Get("_life") != nil || row.Get("_op") == nil {
				t.Errorf(`got %+v; want row.Get("X") == int64(2) and row.Get("_ix") == nil and row.Get("_life") == nil and row.Get("_op") != nil`, row)
			}
		case "any":
			if row.Get("_ix") == nil || row.Get("_life") == nil {
				t.Errorf(`got %+v; want row.Get("_ix") != nil and row.Get("_life") != nil`, row)
			}
		}
	}
	noError(t, all.Delete(ctx, one))
}

// rowCopies is a maintainer that copies rows of any type.
type rowCopies struct{}

func (rowCopies) Name() string { return "copies" }

func (rowCopies) MaxRows() int { return 1 }

func (rowCopies) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[table.Row]) error {
	k := keys.At(keys.RawPartition("S"), keys.RawRow("copy_"+c.Key.RowKey()))
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
