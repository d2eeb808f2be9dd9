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

// TestProjectedCopyIsRefused: what a look-up in a projected copy returns has only some fields, and no write takes it for the whole.
func TestProjectedCopyIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mail := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Only: []table.AnyField[worker]{email}})
	staff, s := office(t, mail)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	for e, err := range mail.List(ctx, staff, sales, "a") {
		check(err)
		s.Count()
		for what, err := range map[string]error{"Replace": staff.Replace(ctx, e), "ReplaceAny": staff.ReplaceAny(ctx, e), "Delete": staff.Delete(ctx, e)} {
			if !errors.Is(err, table.ErrNoETag) || !strings.Contains(err.Error(), "some of its properties") {
				t.Errorf("%s: got %v, want ErrNoETag that names the copy", what, err)
			}
		}
		expect(t, "requests", s.Count(), "none")
	}
}
