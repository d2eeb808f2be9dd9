package index_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestProjectedCopyIsRefused: an entity from a projected copy has only some fields, and cannot be written.
func TestProjectedCopyIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mail := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Only: []table.AnyField[worker]{email}})
	staff, s := newStaff(t, mail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	for e, err := range mail.List(ctx, staff, sales, "a") {
		check(t, err)
		s.Count()
		for what, err := range map[string]error{"Replace": staff.Replace(ctx, e), "ReplaceAny": staff.ReplaceAny(ctx, e), "Delete": staff.Delete(ctx, e)} {
			if !errors.Is(err, table.ErrNoETag) || !strings.Contains(err.Error(), "some of its properties") {
				t.Errorf("%s: got %v, want ErrNoETag that names the copy", what, err)
			}
		}
		expect(t, "requests", s.Count().String(), "none")
	}
}
