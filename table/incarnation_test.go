package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// readsIncarnation is a maintainer that reads the incarnation and derives nothing.
type readsIncarnation struct{}

func (readsIncarnation) Name() string { return "living" }
func (readsIncarnation) MaxRows() int { return 0 }
func (readsIncarnation) Maintain(_ context.Context, _ *extend.Plan, c *extend.Change[resident]) error {
	c.Incarnation()
	return nil
}

// firstResident returns some columns of the first resident's row.
func firstResident(s *testkit.Hooked) map[string]any {
	for _, r := range s.Rows("people") {
		if r.RowKey == "p_000001" {
			return map[string]any{"_life": r.Get("_life"), "_ix": r.Get("_ix"), "_sys": r.Get("_sys"), "Last": r.Get("Last"), "Note": r.Get("Note")}
		}
	}
	return nil
}

// overwriteFirstResident stores the first resident's row as another program would.
func overwriteFirstResident(t testing.TB, ctx context.Context, s *testkit.Hooked, columns string) {
	t.Helper()
	_, err := serviceOf(t, s).NewClient("people").UpsertEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"p_000001","Email":"",`+columns+`}`),
		&aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	noError(t, err)
}

const (
	olderIncarnation, newerIncarnation = "0123456789ABCDEF", "FEDCBA9876543210"
)

// TestUnconditionalKeepsNoIncarnation: an unconditional write stores no system property of an earlier read. With maintainers,
// the row keeps its own.
func TestUnconditionalKeepsNoIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old := `"_life":"` + olderIncarnation + `","_ix":"","Last":"Old","Note":"x"`
	for name, c := range map[string]struct {
		write    func(people *table.Table[resident], rows *table.Table[table.Row], e *table.Entity[resident], r *table.Entity[table.Row]) error
		requests string
		want     any
	}{
		"ReplaceAny": {func(people *table.Table[resident], _ *table.Table[table.Row], e *table.Entity[resident], _ *table.Entity[table.Row]) error {
			return people.ReplaceAny(ctx, e)
		}, "1 replace", nil},
		"of a row": {func(_ *table.Table[resident], rows *table.Table[table.Row], _ *table.Entity[resident], r *table.Entity[table.Row]) error {
			return rows.ReplaceAny(ctx, r)
		}, "1 replace", nil},
		"Transact": {func(people *table.Table[resident], _ *table.Table[table.Row], e *table.Entity[resident], _ *table.Entity[table.Row]) error {
			_, err := table.Transact(ctx, baretest.ReplaceAnyOp(people, e))
			return err
		}, "1 transaction", nil},
		"maintained": {func(people *table.Table[resident], _ *table.Table[table.Row], e *table.Entity[resident], _ *table.Entity[table.Row]) error {
			with, err := bare.With(people, readsIncarnation{})
			noError(t, err)
			return with.ReplaceAny(ctx, e)
		}, "1 get, 1 replace", newerIncarnation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := newTown(t, nil)
			people, rows := peopleOf(t, s, nil), residentRows(t, s)
			overwriteFirstResident(t, ctx, s, old)
			e, err := people.Get(ctx, residentAt(1))
			noError(t, err)
			r, err := rows.Get(ctx, residentAt(1))
			noError(t, err)
			overwriteFirstResident(t, ctx, s, `"_life":"`+newerIncarnation+`","Last":"New"`)
			s.Count()
			noError(t, c.write(people, rows, e, r))
			if got := s.Count().String(); got != c.requests {
				t.Errorf("got %s; want %s", got, c.requests)
			}
			if got := firstResident(s); got["_life"] != c.want || got["_ix"] != nil || got["Last"] != "Old" || got["Note"] != "x" {
				t.Errorf("got %v; want the old content, and the incarnation %v", got, c.want)
			}
		})
	}
}

// TestMaintainedRowWithoutIncarnation: a row without an incarnation gets none from an earlier read.
func TestMaintainedRowWithoutIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	o := noWaitOptions()
	o.BlindWrites = false
	readsFirst := peopleOf(t, s, o)
	overwriteFirstResident(t, ctx, s, `"_life":"`+olderIncarnation+`","Last":"Old"`)
	e, err := readsFirst.Get(ctx, residentAt(1))
	noError(t, err)
	overwriteFirstResident(t, ctx, s, `"Last":"New"`)
	noError(t, readsFirst.ReplaceAny(ctx, e))
	if got := firstResident(s); got["_life"] != nil || got["Last"] != "Old" {
		t.Errorf("got %v; want no incarnation", got)
	}
}

// TestForgedIncarnation: a text of another form is not an incarnation. The next write that needs an incarnation replaces it.
func TestForgedIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, forged := range []string{"../../../etc/cron.d", "x~" + olderIncarnation, olderIncarnation + "~", olderIncarnation[1:], olderIncarnation + "0", "0123456789abcdef", "0123456789ABCDE\u0000", "０123456789ABC", ".", "  "} {
		_, s := newTown(t, nil)
		people, err := bare.With(peopleOf(t, s, nil), readsIncarnation{})
		noError(t, err)
		text, err := json.Marshal(forged)
		noError(t, err)
		overwriteFirstResident(t, ctx, s, `"_life":`+string(text)+`,"Last":"Old"`)
		read, err := tabledoor.GetRow(ctx, people, residentAt(1))
		if err != nil || read.Incarnation() != "" {
			t.Errorf("%q: got %q, %v; want none", forged, read.Incarnation(), err)
		}
		e, err := people.Get(ctx, residentAt(1))
		noError(t, err)
		noError(t, baretest.Touch(ctx, people, e))
		if read, err = tabledoor.GetRow(ctx, people, residentAt(1)); err != nil || len(read.Incarnation()) != 16 {
			t.Errorf("%q: got %q, %v; want a new one", forged, read.Incarnation(), err)
		}
	}
}

// TestNewIDLater: a NewID that returns an invalid ID after New makes the write fail.
func TestNewIDLater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	o, n := noWaitOptions(), 0
	options.SetNewID(&o.Common, func() string {
		if n++; n == 3 { // New makes the first, and the second is an operation ID
			return "../0123456789ABC"
		}
		return olderIncarnation
	})
	people, err := bare.With(peopleOf(t, s, o), readsIncarnation{})
	noError(t, err)
	var ve *table.ValueError
	if _, err := people.Insert(ctx, &resident{"S", 1, "Jones", ""}); !errors.As(err, &ve) || ve.Field != "Options.NewID" {
		t.Errorf("got %v; want a *ValueError of Options.NewID", err)
	}
	if got := firstResident(s); got != nil {
		t.Errorf("got %v; want nothing stored", got)
	}
}

// TestIncarnationKept: every method keeps an entity's incarnation. Its copies have none, and a new entity under the same key
// has another one.
func TestIncarnationKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := townWithEffects(t, &memoryOutbox{})
	incarnations := func() (primary, copied any) {
		for _, r := range s.Rows("people") {
			switch {
			case strings.HasPrefix(r.RowKey, "p_"):
				primary = r.Get("_life")
			case strings.HasPrefix(r.RowKey, "email_"):
				copied = r.Get("_life")
			}
		}
		return primary, copied
	}
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	noError(t, err)
	first, copied := incarnations()
	if s, is := first.(string); !is || len(s) != 16 || copied != nil {
		t.Errorf("%v: got %v; want is and len(s) == 16 and copied == nil", first, copied)
	}
	for what, err := range map[string]error{
		"Replace": people.Replace(ctx, e), "Merge": people.Merge(ctx, e, lastName.Set("X")), "MergeAny": people.MergeAny(ctx, e.Key, lastName.Set("Y")),
		"ReplaceAny": people.ReplaceAny(ctx, e),
	} {
		if is, _ := incarnations(); err != nil || is != first {
			t.Errorf("%v: got %v, %v; want no error and is == %v", what, err, is, first)
		}
	}
	_, err = people.Upsert(ctx, &resident{"S", 1, "Smith", "b"}, table.ReplaceExisting)
	if is, _ := incarnations(); err != nil || is != first {
		t.Errorf("got %v, %v; want no error and is == %v", err, is, first)
	}
	noError(t, people.DeleteAny(ctx, e.Key))
	_, err = people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	if is, _ := incarnations(); err != nil || is == first || is == nil {
		t.Errorf("got %v, %v; want no error and is != %v and is != nil", err, is, first)
	}
}
