package index_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestVerifyLogsRepairs: Run logs how many rows it has repaired in each partition, one line for each.
func TestVerifyLogsRepairs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old, s := newStaff(t)
	insertAll(t, old, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil}, worker{"T", 1, "Kwok", "c", 30, nil})
	var text strings.Builder
	o := quick()
	o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), s), "staff", schema, o)
	check(t, err)
	staff, err := baretest.Attach(base, byEmail)
	check(t, err)
	for _, want := range []string{
		"level=WARN msg=\"repaired derived rows\" table=staff operation=verify.Repair partition=S rows=2\n" +
			"level=WARN msg=\"repaired derived rows\" table=staff operation=verify.Repair partition=T rows=1\n",
		"", // nothing is left to repair
	} {
		text.Reset()
		_, err := verify.Repair(ctx, staff, nil)
		check(t, err)
		testkit.Expect(t, "log", text.String(), want)
	}
}

// TestVerifyLogsConflicts: Run logs each attempt that a concurrent writer made void, and gives up after the last one.
func TestVerifyLogsConflicts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		definition extend.Definition[worker]
		damaged    string // the row that is deleted
		read       string // in the URL of the request at which the entity changes
		of         string // what the lines name
	}{
		"an entity":         {byLast, "last_Jones!_w_000001", "RowKey='last_", "key=('S','w_000001')"},
		"an entity's group": {ages, "ages_Jones", "ages_", "partition=S"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, c.definition)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt(c.damaged)))
			b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
				if r.Method == http.MethodGet && strings.Contains(r.URL.String(), c.read) {
					_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
					testkit.Expect(t, "error of the concurrent update", err, nil)
				}
			}}
			var text strings.Builder
			o := quick()
			o.Retry.ConflictAttempts = 3
			o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
			base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), b), "staff", schema, o)
			check(t, err)
			slow, err := baretest.Attach(base, c.definition)
			check(t, err)
			mustVerify(t, slow, verify.Options{}, c.definition)
			const again, last = "level=DEBUG msg=\"conflict with a concurrent writer; another attempt follows\"", "level=WARN msg=\"gave up\""
			lines := strings.Split(strings.TrimSpace(text.String()), "\n")
			for i, want := range []string{again, again, last} {
				if len(lines) != 3 || !strings.Contains(lines[i], want) || !strings.Contains(lines[i], c.of) {
					t.Fatalf("got\n%s\nwant two conflicts of %s, and that Run gave up", text.String(), c.of)
				}
			}
		})
	}
}

// TestVerifyLogsOwner: if the repair of a unique row fails because its wrong owner changes, the log says why.
func TestVerifyLogsOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 40, nil})
	overwrite(t, s, rowAt("email_a"), func(m map[string]any) { m["_sys"] = "w_000002" })
	rows := door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false)
	n := 0
	b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "email_a") {
			n++
			checkInHook(t, rows.MergeAny(ctx, rowAt("email_a"), table.PropertyOf[int64]("Age").Set(int64(n))))
		}
	}}
	var text strings.Builder
	o := quick()
	o.Retry.ConflictAttempts = 2
	o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), b), "staff", schema, o)
	check(t, err)
	slow, err := baretest.Attach(base, byEmail)
	check(t, err)
	mustVerify(t, slow, verify.Options{}, byEmail)
	lines := 0
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, "key=('S','w_000001')") && strings.Contains(line, "code=UpdateConditionNotSatisfied") {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("got\n%s\nwant 2 lines of ('S','w_000001') with the code UpdateConditionNotSatisfied", text.String())
	}
}
