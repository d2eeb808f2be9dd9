package index_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestProjectedCopyIsRefused: an entity from a projected copy has only some fields, and cannot be written.
func TestProjectedCopyIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mail := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, nil).Only(email)
	staff, s := newStaff(t, mail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	for e, err := range mail.List(ctx, staff, sales, "a") {
		check(t, err)
		s.Count()
		if !e.Partial() {
			t.Error("got an entity that is not partial; want a partial one")
		}
		for what, err := range map[string]error{
			"Replace": staff.Replace(ctx, e), "ReplaceAny": staff.ReplaceAny(ctx, e), "Delete": staff.Delete(ctx, e), "Merge": staff.Merge(ctx, e, last.Set("x")),
			"Touch": baretest.Touch(ctx, staff, e), "PinOp": tabledoor.PinOp(staff, e).Err(),
		} {
			if !errors.Is(err, table.ErrNotRead) || !strings.Contains(err.Error(), "some of its properties") || !strings.Contains(err.Error(), "Get it by its Key") {
				t.Errorf("%s: got %v, want ErrNotRead that names the copy and the way out", what, err)
			}
		}
		testkit.Expect(t, "requests", s.Count().String(), "none")
		// An ETag that the program has stored makes it an entity for Merge and Delete, and it stays partial.
		whole, err := staff.Get(ctx, e.Key)
		check(t, err)
		if whole.Partial() {
			t.Error("Get: got a partial entity; want a whole one")
		}
		e.ETag = whole.ETag
		if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrNotRead) {
			t.Errorf("Replace with an ETag: got %v, want ErrPartial", err)
		}
		check(t, staff.Merge(ctx, e, last.Set("Smith")))
		if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrNotRead) || !e.Partial() {
			t.Errorf("Replace after Merge: got %v, partial %v; want ErrPartial of a partial entity", err, e.Partial())
		}
	}
}

// TestProjectedCopyIsPrinted: an entity from a projected copy is printed and logged as partial, with the properties that it has.
func TestProjectedCopyIsPrinted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byAge)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "jones@contoso.com", 30, []string{"go"}})
	e, err := byAge.Get(ctx, staff, sales, 30)
	check(t, err)
	const want = "('S','w_000001') (partial) {Last:Jones Age:30}"
	testkit.Expect(t, "%v", fmt.Sprint(e), want)
	testkit.Expect(t, "%+v", fmt.Sprintf("%+v", *e), want)
	var text strings.Builder
	slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "entity", e)
	if got, want := text.String(), `"entity":{"key":"('S','w_000001')","partial":true,"value":{"Last":"Jones","Age":30},"etag":""}`; !strings.Contains(got, want) {
		t.Errorf("got %s; want %s in it", got, want)
	}
}
