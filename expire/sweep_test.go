package expire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// many stores n sessions of a user that end after d.
func (s *shop) many(t *testing.T, u string, n int, d time.Duration) {
	t.Helper()
	_, err := door.Bulk(t.Context(), func(yield func(table.Op, error) bool) {
		for i := range n {
			if !yield(s.sessions.InsertOp(&session{User: u, ID: fmt.Sprintf("%05d", i), Ends: s.clock.now().Add(d)}), nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// swept is what a test reads of the Progress of a sweep.
type swept struct{ Partitions, Due, Deleted int }

func (s *shop) sweep(t *testing.T, p *table.Pass) swept {
	t.Helper()
	done, err := s.ends.Sweep(t.Context(), s.sessions, p)
	if err != nil {
		t.Fatal(err)
	}
	return swept{done.Counts["partitions"], done.Rows, done.Changed}
}

// TestSweepRequests: a sweep finds what is due by one query for each partition, reads it together, and deletes up to 49 sessions in a transaction.
func TestSweepRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.many(t, "ann", 45, time.Minute)
	s.many(t, "bob", 3, 3*time.Hour)
	s.clock.pass(time.Hour)
	if got := s.sweep(t, nil); got.Due != 0 {
		t.Errorf("an hour that was over just now: got %+v; want nothing due", got)
	}
	s.clock.pass(time.Minute)
	if got, want := s.sweep(t, &table.Pass{DryRun: true}), (swept{Partitions: 2, Due: 45, Deleted: 45}); got != want {
		t.Errorf("dry run: got %+v; want %+v", got, want)
	}
	s.sent()
	if got, want := s.sweep(t, nil), (swept{Partitions: 2, Due: 45, Deleted: 45}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	want := []string{"query sessions", "query sessions", "query sessions", "query sessions", "query sessions", "query sessions", "query sessions", "transaction sessions"} // 4 to find 2 partitions, 2 for what is due, 1 to read it
	got := s.sent()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got requests %q; want %q", got, want)
	}
	if got := s.sweep(t, nil); got.Due != 0 || got.Deleted != 0 {
		t.Errorf("again: got %+v; want nothing due", got)
	}
}

// TestSweepBesideWriters: what is extended, taken, or stored again at any request of a sweep is as its writer was told.
func TestSweepBesideWriters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		write func(context.Context, *shop, *table.Entity[session]) error
		left  []string // if the write was applied
	}{
		{"a renewal", func(ctx context.Context, s *shop, a *table.Entity[session]) error {
			a.Value.Ends = noon.Add(48 * time.Hour)
			return s.sessions.Replace(ctx, a)
		}, []string{"ann id_a", "ann ~x|ends_2026113012_id_a"}},
		{"an end that is taken away", func(ctx context.Context, s *shop, a *table.Entity[session]) error {
			a.Value.Ends = time.Time{}
			return s.sessions.Replace(ctx, a)
		}, []string{"ann id_a"}},
		{"a deletion", func(ctx context.Context, s *shop, a *table.Entity[session]) error { return s.sessions.Delete(ctx, a) }, nil},
		{"an insert in its place", func(ctx context.Context, s *shop, _ *table.Entity[session]) error {
			_, err := s.sessions.Insert(ctx, &session{User: "ann", ID: "a"})
			return err
		}, []string{"ann id_a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for k := 1; ; k++ {
				s := newShop(t, nil)
				ctx := t.Context()
				a := s.insert(t, "a", time.Minute)
				for i := range 12 { // so that they are read together
					s.insert(t, fmt.Sprint("b", i), time.Minute)
				}
				s.clock.pass(2 * time.Hour)
				sweeper := *s
				n, written := 0, error(nil)
				sweeper.open(t, &testkit.Hooked{Service: s.service, Serial: true, BeforeRequest: func(*http.Request) {
					if n++; n == k {
						written = c.write(ctx, s, a)
					}
				}}, nil)
				n = 0
				done := sweeper.sweep(t, nil)
				if n < k {
					break
				}
				left := c.left
				if written != nil {
					left = nil
					if !errors.Is(written, table.ErrNotFound) && !errors.Is(written, table.ErrChanged) {
						t.Errorf("at request %d: the write failed with %v", k, written)
					}
				}
				if got := s.rows(); !slices.Equal(got, left) {
					t.Errorf("at request %d: got rows %q after the write returned %v; want %q (%+v)", k, got, written, left, done)
				}
			}
		})
	}
}

// TestClocks: a sweep, an insert and a reader whose clocks are wrong by an hour or two days go by the service's.
func TestClocks(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-48 * time.Hour, -time.Hour, time.Hour, 48 * time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			t.Parallel()
			for _, o := range []expire.Options{{}, {ManyPartitions: true}} {
				s := newShop(t, &o)
				ctx := t.Context()
				theirs := *s
				theirs.clock = newClock(noon.Add(wrong))
				theirs.open(t, s.service, &o)
				_, err := theirs.sessions.Insert(ctx, &session{User: "ann", ID: "a", Ends: noon.Add(time.Minute)})
				must(t, err)
				if got := theirs.sweep(t, nil); got.Deleted != 0 {
					t.Errorf("%+v: got %+v; want nothing deleted: it is alive", o, got)
				}
				if _, err := theirs.sessions.Get(ctx, at("ann", "a")); err != nil {
					t.Errorf("%+v: got %v; want the session", o, err)
				}
				s.clock.pass(72 * time.Hour)
				theirs.clock.pass(72 * time.Hour)
				if got := theirs.sweep(t, nil); got.Deleted != 1 {
					t.Errorf("%+v: got %+v; want it deleted", o, got)
				}
			}
		})
	}
}

// TestManyPartitions: a sweep looks only into partitions in which something has ended, and finds each.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	s := newShop(t, &expire.Options{ManyPartitions: true})
	ctx := t.Context()
	for i := range 30 {
		s.sent()
		_, err := s.sessions.Insert(ctx, &session{User: fmt.Sprint("user", i), ID: "a", Ends: noon.Add(time.Duration(i%3) * time.Hour)})
		must(t, err)
		if got, want := s.sent(), []string{"insert-or-replace sessionsends", "transaction sessions"}; !slices.Equal(got, want) {
			t.Errorf("got requests %q; want %q", got, want)
		}
	}
	_, err := s.ends.Extend(ctx, s.sessions, at("user1", "a"), func(v *session) error { v.Ends = v.Ends.Add(time.Minute); return nil })
	must(t, err)
	if got, want := s.sent(), []string{"get sessions", "replace sessions"}; !slices.Equal(got, want) {
		t.Errorf("another end in its hour: got requests %q; want %q", got, want)
	}
	s.clock.pass(time.Hour + 11*time.Minute)
	if got, want := s.sweep(t, nil), (swept{Partitions: 10, Due: 10, Deleted: 10}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	if got, want := s.sweep(t, nil), (swept{}); got != want {
		t.Errorf("again: got %+v; want %+v", got, want)
	}
	s.clock.pass(24 * time.Hour)
	if got, want := s.sweep(t, &table.Pass{Partitions: user.Of("user1").Point()}), (swept{Partitions: 1, Due: 1, Deleted: 1}); got != want {
		t.Errorf("one partition: got %+v; want %+v", got, want)
	}
	must(t, s.RunDaily(ctx))
	if got := s.rows(); len(got) > 0 {
		t.Errorf("got rows %q; want none", got)
	}
	if got := s.service.Rows("sessionsends"); len(got) > 0 {
		t.Errorf("got notes %v; want none", got)
	}
	_, err = s.sessions.Insert(ctx, &session{User: "late", ID: "a", Ends: noon}) // over already
	must(t, err)
	s.clock.pass(2 * time.Hour)
	if got := s.sweep(t, nil); got.Deleted != 1 {
		t.Errorf("one that was stored when it was over: got %+v; want it deleted", got)
	}
}

// TestSweepAhead: a sweep whose clock is ahead leaves notes alone, so that their entities are swept
// when they are over.
func TestSweepAhead(t *testing.T) {
	t.Parallel()
	o := &expire.Options{ManyPartitions: true}
	s := newShop(t, o)
	s.insert(t, "a", time.Minute)
	ahead := *s
	ahead.clock = newClock(noon.Add(2 * time.Hour))
	ahead.open(t, s.service, o)
	if got, want := ahead.sweep(t, nil), (swept{}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	s.clock.pass(72 * time.Hour)
	if got, want := s.sweep(t, nil), (swept{Partitions: 1, Due: 1, Deleted: 1}); got != want {
		t.Errorf("later: got %+v; want %+v", got, want)
	}
}

// TestDamagedIsSweptLater: the note of an entity that a sweep could not delete stays.
func TestDamagedIsSweptLater(t *testing.T) {
	t.Parallel()
	s := newShop(t, &expire.Options{ManyPartitions: true})
	s.insert(t, "a", time.Minute)
	merge := func(hits string) {
		row := fmt.Sprintf(`{"PartitionKey":"ann","RowKey":"id_a",%s}`, hits)
		o := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge}
		_, err := s.service.Tables().NewClient("sessions").UpdateEntity(t.Context(), []byte(row), o)
		must(t, err)
	}
	merge(`"Hits":"soon"`)
	s.clock.pass(3 * time.Hour)
	done, err := s.ends.Sweep(t.Context(), s.sessions, nil)
	if !errors.As(err, new(*table.DecodeError)) || done.Faults != 1 {
		t.Errorf("got %+v, %v; want a fault, and a DecodeError", done, err)
	}
	merge(`"Hits":1`)
	if got, want := s.sweep(t, nil), (swept{Partitions: 1, Due: 1, Deleted: 1}); got != want {
		t.Errorf("later: got %+v; want %+v", got, want)
	}
}

// TestSweepBesideInsert: a sweep between a note and its entity leaves the note, whatever the clocks
// of the sweep and of the writer say.
func TestSweepBesideInsert(t *testing.T) {
	t.Parallel()
	o := &expire.Options{ManyPartitions: true}
	for _, wrong := range []time.Duration{-48 * time.Hour, -3 * time.Hour, 0, 3 * time.Hour, 48 * time.Hour} { // of the sweep's clock
		for _, behind := range []time.Duration{-5 * time.Hour, 0, 5 * time.Hour} { // the writer's clock
			for _, ends := range []time.Duration{-4 * time.Hour, -time.Minute, time.Minute, 2 * time.Hour} {
				s := newShop(t, o)
				sweeper, writer := *s, *s
				sweeper.clock, writer.clock = newClock(noon.Add(wrong)), newClock(noon.Add(-behind))
				sweeper.open(t, s.service, o)
				p := &testkit.Hooked{Service: s.service}
				acc, err := account.FromTransport(p, nil)
				must(t, err)
				writer.open(t, acc, o)
				p.BeforeRequest = func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "$batch") {
						p.BeforeRequest = nil
						sweeper.sweep(t, nil)
					}
				}
				_, err = writer.sessions.Insert(t.Context(), &session{User: "late", ID: "a", Ends: noon.Add(ends)})
				must(t, err)
				s.clock.pass(72 * time.Hour)
				if got, want := s.sweep(t, nil), (swept{Partitions: 1, Due: 1, Deleted: 1}); got != want {
					t.Errorf("the sweep's clock wrong by %v, the writer's behind by %v, an end in %v: got %+v; want %+v", wrong, behind, ends, got, want)
				}
			}
		}
	}
}

// TestNoteStays: a note stays until its hour has been over for ten minutes.
func TestNoteStays(t *testing.T) {
	t.Parallel()
	s := newShop(t, &expire.Options{ManyPartitions: true})
	s.insert(t, "a", time.Minute)
	for _, after := range []time.Duration{time.Hour + 2*time.Minute, time.Hour + 9*time.Minute} {
		s.clock.set(noon.Add(after))
		testkit.Expect(t, "swept after "+after.String(), s.sweep(t, nil), swept{})
	}
	s.clock.set(noon.Add(time.Hour + 10*time.Minute))
	testkit.Expect(t, "swept later", s.sweep(t, nil), swept{Partitions: 1, Due: 1, Deleted: 1})
	testkit.Expect(t, "notes", len(s.service.Rows("sessionsends")), 0)
}

// TestSweepInZone: a machine whose zone is behind UTC sweeps what is over.
func TestSweepInZone(t *testing.T) {
	t.Parallel()
	for _, o := range []expire.Options{{}, {ManyPartitions: true}} {
		s := newShop(t, &o)
		s.insert(t, "a", time.Minute)
		west := *s
		west.clock = newClock(noon.Add(2 * time.Hour).In(time.FixedZone("west", -8*3600)))
		west.open(t, s.service, &o)
		s.clock.pass(2 * time.Hour)
		testkit.Expect(t, fmt.Sprintf("swept with %+v", o), west.sweep(t, nil).Deleted, 1)
	}
}

// TestSweepFailing: an entity whose definition fails does not keep the sweep from the others.
func TestSweepFailing(t *testing.T) {
	t.Parallel()
	farewell := eventual.On("farewell", func(c *eventual.Change[session]) (string, bool) {
		if c.New == nil && c.Old.ID == "b" {
			panic("it has no name")
		}
		return "", false
	}, func(context.Context, eventual.Job, string) error { return nil })
	s := newShop(t, nil, farewell)
	for _, i := range []string{"a", "b", "c"} {
		s.insert(t, i, time.Minute)
	}
	s.clock.pass(2 * time.Hour)
	done, err := s.ends.Sweep(t.Context(), s.sessions, nil)
	expectError(t, err, "it has no name")
	testkit.Expect(t, "deleted", done.Changed, 2)
}

// TestJobWithoutNotes: a job finds what has no notes, such as imported rows.
func TestJobWithoutNotes(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.withJob = true
	s.open(t, s.service, &expire.Options{ManyPartitions: true})
	s.insert(t, "a", time.Minute)
	for _, r := range s.service.Rows("sessionsends") {
		_, err := s.service.Tables().NewClient("sessionsends").DeleteEntity(t.Context(), r.PartitionKey, r.RowKey, nil)
		must(t, err)
	}
	s.clock.pass(2 * time.Hour)
	must(t, s.job.Start(t.Context(), s.sessions, "today", struct{}{}, nil))
	must(t, s.Drain(t.Context()))
	testkit.Expect(t, "rows", len(s.rows()), 0)
}

// TestSweepBehindNote: a sweep between a note and its entity, which is over already when it is stored, leaves the note to a later sweep.
func TestSweepBehindNote(t *testing.T) {
	t.Parallel()
	o := &expire.Options{ManyPartitions: true}
	s := newShop(t, o)
	p := &testkit.Hooked{Service: s.service}
	acc, err := account.FromTransport(p, nil)
	must(t, err)
	writer := *s
	writer.open(t, acc, o)
	p.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			p.BeforeRequest = nil
			s.clock.pass(15 * time.Minute)
			s.sweep(t, nil)
		}
	}
	_, err = writer.sessions.Insert(t.Context(), &session{User: "late", ID: "a", Ends: noon.Add(-5 * time.Hour)})
	must(t, err)
	s.clock.pass(3 * time.Hour)
	if got, want := s.sweep(t, nil), (swept{Partitions: 1, Due: 1, Deleted: 1}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

// TestSweepDamaged: an entity that cannot be decoded does not keep the sweep from the others.
func TestSweepDamaged(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	for _, i := range []string{"a", "b", "c"} {
		s.insert(t, i, time.Minute)
	}
	s.many(t, "bob", 3, time.Minute)
	_, err := s.service.Tables().NewClient("sessions").UpdateEntity(ctx, []byte(`{"PartitionKey":"ann","RowKey":"id_b","Hits":"soon"}`), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
	must(t, err)
	s.clock.pass(2 * time.Hour)
	done, err := s.ends.Sweep(ctx, s.sessions, nil)
	var de *table.DecodeError
	if !errors.As(err, &de) || done.Changed != 5 || done.Faults != 1 {
		t.Errorf("got %+v, %v; want 5 deleted, 1 fault, and a DecodeError", done, err)
	}
	var damaged []keys.Key
	done, err = s.ends.Sweep(ctx, s.sessions, &table.Pass{Skip: func(k keys.Key, err error) bool {
		damaged = append(damaged, k)
		return errors.As(err, new(*table.DecodeError))
	}})
	if err != nil || done.Skipped != 1 || !slices.Equal(damaged, []keys.Key{at("ann", "b")}) {
		t.Errorf("with Skip: got %+v, %v and %v; want id_b skipped", done, err, damaged)
	}
}

// TestSweepAll: a sweep of 2,000 sessions, some of which are not over, by the work of a day and by a job.
func TestSweepAll(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"daily", "job"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			s.withJob = true
			s.open(t, s.service, nil)
			for _, u := range []string{"ann", "bob", "cy", "dee"} {
				s.many(t, u, 500, time.Minute)
			}
			_, err := s.sessions.Insert(ctx, &session{User: "eve", ID: "a", Ends: noon.Add(24 * time.Hour)})
			must(t, err)
			s.clock.pass(2 * time.Hour)
			if way == "daily" {
				must(t, s.RunDaily(ctx))
			} else {
				must(t, s.job.Start(ctx, s.sessions, "today", struct{}{}, nil))
				must(t, s.Drain(ctx))
				status, err := s.job.Status(ctx, s.sessions, "today")
				if err != nil || status.Rows != 2000 || status.Changed != 2000 {
					t.Errorf("got %+v, %v; want 2000 rows, all changed", status, err)
				}
			}
			if got, want := s.rows(), []string{"eve id_a", "eve ~x|ends_2026112912_id_a"}; !slices.Equal(got, want) {
				t.Errorf("got rows %q; want %q", got, want)
			}
		})
	}
}

// TestFillAndRetire: the definition on a table in use. Before it is filled nothing ends, and after it is retired nothing ends any more.
func TestFillAndRetire(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	old := *s
	old.clock, old.service = s.clock, storagetest.New(&storagetest.Options{Now: s.clock.now})
	plain := aztablekit.Open(old.service, "shop", &aztablekit.Options{Daily: -1, CatalogueAge: time.Second})
	sessions := aztablekit.Table(plain, "sessions", user, id)
	must(t, plain.Ensure(ctx))
	for _, i := range []string{"a", "b"} {
		_, err := sessions.Insert(ctx, &session{User: "ann", ID: i, Ends: noon.Add(time.Minute)})
		must(t, err)
	}
	old.lease = time.Second
	old.open(t, old.service, nil)
	old.clock.pass(time.Hour)
	if _, err := old.sessions.Get(ctx, at("ann", "a")); err != nil {
		t.Errorf("before it is filled: got %v; want the session", err)
	}
	if err := old.RunDaily(ctx); err != nil {
		t.Errorf("before it is filled: got %v", err)
	}
	_, err := old.Fill(ctx, nil)
	must(t, err)
	if _, err := old.sessions.Get(ctx, at("ann", "a")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("after it is filled: got %v; want ErrNotFound", err)
	}
	if report, err := verify.Check(ctx, old.sessions, nil); err != nil || len(derived.Kinds(report)) != 0 {
		t.Errorf("got %+v, %v; want no faults", report, err)
	}
	_, err = old.sessions.Insert(ctx, &session{User: "ann", ID: "c", Ends: noon.Add(3 * time.Hour)})
	must(t, err)
	old.clock.pass(3 * time.Hour)
	if got := old.sweep(t, nil); got.Deleted != 1 {
		t.Errorf("got %+v; want b deleted", got)
	}
	old.clock.pass(time.Minute)
	_, err = old.sessions.Insert(ctx, &session{User: "ann", ID: "d", Ends: old.clock.now().Add(time.Minute)})
	must(t, err)
	must(t, old.Retire(ctx, "sessions", "ends", nil))
	for _, r := range old.service.Rows("sessions") {
		if r.Get("_end") != nil || strings.HasPrefix(r.RowKey, "~x|") {
			t.Errorf("after it is retired: got the row %v", r)
		}
	}
}
