package index_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// pausing returns a table with one definition, over a service that calls do before each request, with pauses after conflicts.
func pausing(t *testing.T, s *storagetest.Service, log io.Writer, do func(*http.Request), ix extend.Definition[worker]) *table.Table[worker] {
	t.Helper()
	o := &table.Options{}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Retry.ConflictAttempts = 5
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), &testkit.Hooked{Service: s, Serial: true, BeforeRequest: do}), "staff", schema, o)
	check(t, err)
	staff, err := baretest.Attach(base, ix)
	check(t, err)
	return staff
}

// TestPausesOfGet: a look-up that meets conflicts pauses before its third attempt and all later ones, and logs them.
func TestPausesOfGet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		byMail := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, w.Email != "" },
			&index.Options{Unique: true}).Only()
		staff, s := newStaff(t, byMail)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
		owner, reads := 1, 0
		give := func(id int, mail string) {
			_, err := staff.Update(ctx, at(id), func(w *worker) error { w.Email = mail; return nil })
			checkInHook(t, err)
		}
		var log strings.Builder
		slow := pausing(t, s, &log, func(r *http.Request) {
			if strings.Contains(r.URL.Path, "w_") { // the other worker gets the address before its owner is read
				reads++
				give(owner, "")
				owner = 3 - owner
				give(owner, "a")
			}
		}, byMail)
		began := time.Now()
		_, err := byMail.Get(ctx, slow, sales, "a")
		if took := time.Since(began); !errors.Is(err, table.ErrChanged) || reads != 5 || took < 70*time.Millisecond || took > 140*time.Millisecond {
			t.Errorf("got %v after %d attempts and %v; want ErrChanged after 5 attempts and 70 to 140 ms", err, reads, took)
		}
		if got := log.String(); strings.Count(got, "another attempt follows\" table=staff operation=Get key=('S','mail_a')") != 3 {
			t.Errorf("log:\n%s\nwant a line for each of 3 pauses, with the key of the index row", got)
		}
	})
}

// TestPausesOfVerify: a confirmation that meets conflicts pauses before each new attempt.
func TestPausesOfVerify(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		staff, s := newStaff(t, byLast)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
		check(t, rawTable(t, s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
		reads := 0
		slow := pausing(t, s, io.Discard, func(r *http.Request) {
			if strings.Contains(r.URL.Path, "last_") {
				reads++
				_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
				checkInHook(t, err)
			}
		}, byLast)
		began := time.Now()
		r, _ := mustVerify(t, slow, verify.Options{Pass: table.Pass{DryRun: true}}, byLast)
		if took := time.Since(began); r.Counts["unconfirmed"] != 1 || reads != 5 || took < 150*time.Millisecond || took > 300*time.Millisecond {
			t.Errorf("got %v after %d attempts and %v; want 1 unconfirmed after 5 attempts and 150 to 300 ms", r, reads, took)
		}
	})
}
