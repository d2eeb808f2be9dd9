package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/table"
)

// living is a maintainer that asks for incarnations, and derives nothing.
type living struct{}

func (living) Name() string { return "living" }
func (living) MaxRows() int { return 0 }
func (living) Maintain(_ context.Context, _ *table.Plan, c *table.Change[resident]) error {
	c.Incarnation()
	return nil
}

// columns is the first resident's row as it is stored.
func columns(s *interposed) map[string]any {
	for _, r := range s.Rows("people") {
		if r.RowKey == "p_000001" {
			return map[string]any{"_life": r.Get("_life"), "_ix": r.Get("_ix"), "_sys": r.Get("_sys"), "Last": r.Get("Last"), "Note": r.Get("Note")}
		}
	}
	return nil
}

// overwrite stores the first resident's row as another program would.
func overwrite(ctx context.Context, s *interposed, columns string) {
	_, err := serviceOf(s).NewClient("people").UpsertEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"p_000001","Email":"",`+columns+`}`),
		&aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	check(err)
}

const (
	older, newer = "0123456789ABCDEF", "FEDCBA9876543210"
)

// TestUnconditionalKeepsNoIncarnation: an unconditional write brings nothing of the library's from an old read. With maintainers, the
// row keeps what it has.
func TestUnconditionalKeepsNoIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old := `"_life":"` + older + `","_ix":"","Last":"Old","Note":"x"`
	for name, c := range map[string]struct {
		write    func(people *table.Table[resident], rows *table.Table[table.Row], e *table.Entity[resident], r *table.Entity[table.Row]) error
		requests string
		life     any
	}{
		"ReplaceAny": {func(people *table.Table[resident], _ *table.Table[table.Row], e *table.Entity[resident], _ *table.Entity[table.Row]) error {
			return people.ReplaceAny(ctx, e)
		}, "1 replace", nil},
		"of a row": {func(_ *table.Table[resident], rows *table.Table[table.Row], _ *table.Entity[resident], r *table.Entity[table.Row]) error {
			return rows.ReplaceAny(ctx, r)
		}, "1 replace", nil},
		"Transact": {func(people *table.Table[resident], _ *table.Table[table.Row], e *table.Entity[resident], _ *table.Entity[table.Row]) error {
			_, err := table.Transact(ctx, people.ReplaceAnyOp(e))
			return err
		}, "1 transaction", nil},
		"maintained": {func(people *table.Table[resident], _ *table.Table[table.Row], e *table.Entity[resident], _ *table.Entity[table.Row]) error {
			with, err := people.With(nil, living{})
			check(err)
			return with.ReplaceAny(ctx, e)
		}, "1 get, 1 replace", newer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := town(t, nil)
			people, rows := peopleOf(s.ConnectionString(), s, nil), byHand(s)
			overwrite(ctx, s, old)
			e, err := people.Get(ctx, residentAt(1))
			check(err)
			r, err := rows.Get(ctx, residentAt(1))
			check(err)
			overwrite(ctx, s, `"_life":"`+newer+`","Last":"New"`)
			s.Count()
			if err := c.write(people, rows, e, r); err != nil {
				t.Fatal(err)
			}
			if got := s.Count(); got != c.requests {
				t.Errorf("got %s; want %s", got, c.requests)
			}
			if got := columns(s); got["_life"] != c.life || got["_ix"] != nil || got["Last"] != "Old" || got["Note"] != "x" {
				t.Errorf("got %v; want the old content, and the incarnation %v", got, c.life)
			}
		})
	}
}

// TestMaintainedRowWithoutIncarnation: where the row has none, none comes from an old read.
func TestMaintainedRowWithoutIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := town(t, nil)
	o := quick()
	o.BlindWrites = false
	guarded := peopleOf(s.ConnectionString(), s, o)
	overwrite(ctx, s, `"_life":"`+older+`","Last":"Old"`)
	e, err := guarded.Get(ctx, residentAt(1))
	check(err)
	overwrite(ctx, s, `"Last":"New"`)
	check(guarded.ReplaceAny(ctx, e))
	if got := columns(s); got["_life"] != nil || got["Last"] != "Old" {
		t.Errorf("got %v; want no incarnation", got)
	}
}

// TestForgedIncarnation: a text of another form is no incarnation. The next write that needs one replaces it.
func TestForgedIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, forged := range []string{"../../../etc/cron.d", "x~" + older, older + "~", older[1:], older + "0", "0123456789abcdef", "0123456789ABCDE\u0000", "０123456789ABC", ".", "  "} {
		_, s := town(t, nil)
		people, err := peopleOf(s.ConnectionString(), s, nil).With(nil, living{})
		check(err)
		text, err := json.Marshal(forged)
		check(err)
		overwrite(ctx, s, `"_life":`+string(text)+`,"Last":"Old"`)
		read, err := people.GetRow(ctx, residentAt(1))
		if err != nil || read.Incarnation() != "" {
			t.Errorf("%q: got %q, %v; want none", forged, read.Incarnation(), err)
		}
		e, err := people.Get(ctx, residentAt(1))
		check(err)
		check(people.Touch(ctx, e))
		if read, err = people.GetRow(ctx, residentAt(1)); err != nil || len(read.Incarnation()) != 16 {
			t.Errorf("%q: got %q, %v; want a new one", forged, read.Incarnation(), err)
		}
	}
}

// TestNewIDLater: a NewID that comes to make something else than it should gives no incarnations.
func TestNewIDLater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := town(t, nil)
	o, n := quick(), 0
	o.NewID = func() string {
		if n++; n == 3 { // the first is that of New, the second an operation ID
			return "../0123456789ABC"
		}
		return older
	}
	people, err := peopleOf(s.ConnectionString(), s, o).With(nil, living{})
	check(err)
	var ve *table.ValueError
	if _, err := people.Insert(ctx, &resident{"S", 1, "Jones", ""}); !errors.As(err, &ve) || ve.Field != "Common.NewID" {
		t.Errorf("got %v; want a *ValueError of Common.NewID", err)
	}
	if got := columns(s); got != nil {
		t.Errorf("got %v; want nothing stored", got)
	}
}
