package expire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestInsertInItsPlace: an insert takes the key of a session that is over (rate-limiter-flexible#310 waited for its deletion), by each way in which a session is stored.
func TestInsertInItsPlace(t *testing.T) {
	t.Parallel()
	later := func(s *shop) *session {
		return &session{User: "ann", ID: "a", Mail: "new@contoso.com", Ends: s.clock.now().Add(time.Hour)}
	}
	for _, c := range []struct {
		name  string
		store func(context.Context, *shop) error
		sent  []string
	}{
		{"Insert", func(ctx context.Context, s *shop) error {
			_, err := s.sessions.Insert(ctx, later(s))
			return err
		}, []string{"transaction sessions", "get sessions", "transaction sessions", "transaction sessions"}},
		{"Transact", func(ctx context.Context, s *shop) error {
			_, err := table.Transact(ctx, s.sessions.InsertOp(later(s)), s.sessions.InsertOp(&session{User: "ann", ID: "b"}))
			return err
		}, []string{"transaction sessions", "get sessions", "transaction sessions", "transaction sessions"}},
		{"Upsert", func(ctx context.Context, s *shop) error {
			_, err := s.sessions.Upsert(ctx, later(s), table.ReplaceExisting)
			return err
		}, []string{"get sessions", "transaction sessions", "transaction sessions"}},
		{"Upsert of what is there", func(ctx context.Context, s *shop) error {
			_, err := s.sessions.Upsert(ctx, later(s), table.MergeExisting)
			return err
		}, []string{"get sessions", "transaction sessions", "transaction sessions"}},
		{"Bulk", func(ctx context.Context, s *shop) error {
			_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(s.sessions.InsertOp(later(s)), nil) }, nil)
			return err
		}, []string{"transaction sessions", "get sessions", "transaction sessions", "transaction sessions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			old := s.insert(t, "a", time.Minute)
			s.clock.pass(time.Minute)
			s.sent()
			if err := c.store(ctx, s); err != nil {
				t.Fatal(err)
			}
			if got := s.sent(); !slices.Equal(got, c.sent) {
				t.Errorf("got requests %q; want %q", got, c.sent)
			}
			e, err := s.sessions.Get(ctx, at("ann", "a"))
			if err != nil || e.Value.Mail != "new@contoso.com" {
				t.Errorf("got %+v, %v; want the new session", e, err)
			}
			if rows := s.rows(); !slices.Contains(rows, "ann ~x|ends_2026112813_id_a") || slices.Contains(rows, "ann ~x|ends_2026112812_id_a") {
				t.Errorf("got rows %q; want one for the hour of the new end alone", rows)
			}
			if err := s.sessions.Replace(ctx, old); !errors.Is(err, table.ErrChanged) {
				t.Errorf("a late write of the old session: got %v; want ErrChanged", err)
			}
		})
	}
}

// TestWritesOfWhatIsOver: writes by key find nothing, and an insert beside a living session is refused as ever.
func TestWritesOfWhatIsOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		write func(context.Context, *shop) error
	}{
		{"Update", func(ctx context.Context, s *shop) error {
			_, err := s.sessions.Update(ctx, at("ann", "a"), func(v *session) error { v.Hits++; return nil })
			return err
		}},
		{"Extend", func(ctx context.Context, s *shop) error {
			_, err := s.ends.Extend(ctx, s.sessions, at("ann", "a"), func(v *session) error { v.Ends = v.Ends.Add(time.Hour); return nil })
			return err
		}},
		{"Take", func(ctx context.Context, s *shop) error {
			_, err := s.ends.Take(ctx, s.sessions, at("ann", "a"))
			return err
		}},
		{"MergeAny", func(ctx context.Context, s *shop) error {
			return s.sessions.MergeAny(ctx, at("ann", "a"), mail.Set("x"))
		}},
		{"DeleteAny", func(ctx context.Context, s *shop) error { return s.sessions.DeleteAny(ctx, at("ann", "a")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			s.insert(t, "a", time.Minute)
			if _, err := s.sessions.Insert(ctx, &session{User: "ann", ID: "a"}); !errors.Is(err, table.ErrExists) {
				t.Errorf("an insert beside it: got %v; want ErrExists", err)
			}
			s.clock.pass(time.Minute)
			if err := c.write(ctx, s); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("got %v; want ErrNotFound", err)
			}
			if rows := slices.DeleteFunc(s.rows(), func(row string) bool { return strings.Contains(row, "~i|") }); len(rows) > 0 {
				t.Errorf("got rows %q; want none: it has said that the session is over", rows)
			}
		})
	}
}

// TestUniqueValues: a session that is over does not hold its unique values.
func TestUniqueValues(t *testing.T) {
	t.Parallel()
	same := func(*session) (string, bool) { return "one", true }
	inPartition := index.New("one", keys.Text(), same, &index.Options{Unique: true})
	pointer := index.New("one", keys.Text(), same, &index.Options{Unique: true}).Only()
	everywhere := index.NewUnique("one", keys.Text(), same, nil)
	atOnePlace := index.NewUnique("one", keys.Text(), same, nil).In(func(*session) keys.PartitionKey { return keys.RawPartition("ones") })
	get := func(ix *index.Index[session, string], partition keys.PartitionKey) func(context.Context, *shop) (*table.Entity[session], error) {
		return func(ctx context.Context, s *shop) (*table.Entity[session], error) {
			return ix.Get(ctx, s.sessions, partition, "one")
		}
	}
	for _, c := range []struct {
		name string
		open func(t *testing.T) *shop
		user string
		get  func(context.Context, *shop) (*table.Entity[session], error)
	}{
		{"in the partition", func(t *testing.T) *shop { return newShop(t, nil, inPartition) }, "ann", get(inPartition, user.Of("ann"))},
		{"by pointer", func(t *testing.T) *shop { return newShop(t, nil, pointer) }, "ann", get(pointer, user.Of("ann"))},
		{"in the table", func(t *testing.T) *shop { return newShop(t, nil, everywhere) }, "bob", func(ctx context.Context, s *shop) (*table.Entity[session], error) {
			return everywhere.Get(ctx, s.sessions, "one")
		}},
		{"in one partition", func(t *testing.T) *shop { return newShop(t, nil, atOnePlace) }, "bob", get(atOnePlace, keys.RawPartition("ones"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			ctx := t.Context()
			s.insert(t, "a", time.Minute)
			other := &session{User: c.user, ID: "other", Ends: noon.Add(time.Hour)}
			if _, err := s.sessions.Insert(ctx, other); !errors.Is(err, table.ErrTaken) {
				t.Errorf("before the end: got %v; want ErrTaken", err)
			}
			s.clock.pass(time.Minute)
			if _, err := s.sessions.Insert(ctx, other); err != nil {
				t.Errorf("after the end: got %v", err)
			}
			if e, err := c.get(ctx, s); err != nil || e.Value.ID != "other" {
				t.Errorf("got %+v, %v; want the other session", e, err)
			}
			if is, err := baretest.Exists(ctx, s.sessions, at("ann", "a")); is || err != nil {
				t.Errorf("got %v, %v; want that the first is gone", is, err)
			}
			if _, err := s.sessions.Insert(ctx, &session{User: c.user, ID: "third"}); !errors.Is(err, table.ErrTaken) {
				t.Errorf("a third: got %v; want ErrTaken", err)
			}
		})
	}
}

// TestUniqueOrphan: a unique value whose row has lost its entity stays taken: only the end of an entity frees its value.
func TestUniqueOrphan(t *testing.T) {
	t.Parallel()
	one := index.NewUnique("one", keys.Text(), func(*session) (string, bool) { return "one", true }, nil)
	s := newShop(t, nil, one)
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	if _, err := s.service.Tables().NewClient("sessions").DeleteEntity(ctx, "ann", "id_a", nil); err != nil {
		t.Fatal(err)
	}
	s.clock.pass(time.Hour)
	s.sent()
	if _, err := s.sessions.Insert(ctx, &session{User: "bob", ID: "b"}); !errors.Is(err, table.ErrTaken) || len(s.sent()) > 10 {
		t.Errorf("got %v; want ErrTaken, at once", err)
	}
}

// TestExtendAfterConflict: an end that has come while Extend met a conflict is not extended.
func TestExtendAfterConflict(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	a := s.insert(t, "a", time.Minute)
	tries := 0
	_, err := s.ends.Extend(ctx, s.sessions, at("ann", "a"), func(v *session) error {
		if tries++; tries == 1 {
			a.Value.Hits++
			must(t, s.sessions.Replace(ctx, a))
			s.clock.pass(time.Minute)
		}
		v.Ends = v.Ends.Add(time.Hour)
		return nil
	})
	if !errors.Is(err, table.ErrNotFound) || tries != 1 {
		t.Errorf("got %v after %d tries; want ErrNotFound after 1", err, tries)
	}
}

// TestEnds: ends that are changed, in and across hours, and taken away.
func TestEnds(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	set := func(end time.Time) {
		t.Helper()
		s.sent()
		e, err := s.ends.Extend(ctx, s.sessions, at("ann", "a"), func(v *session) error { v.Ends = end; return nil })
		if err != nil || !e.Value.Ends.Equal(end) {
			t.Fatalf("Extend: got %+v, %v; want %v", e, err, end)
		}
		if got, want := s.sent(), []string{"get sessions", "transaction sessions"}; !slices.Equal(got, want) && !slices.Equal(got, []string{"get sessions", "replace sessions"}) {
			t.Errorf("got requests %q; want %q", got, want)
		}
	}
	expect := func(want ...string) {
		t.Helper()
		if got := s.rows(); !slices.Equal(got, want) {
			t.Errorf("got rows %q; want %q", got, want)
		}
	}
	set(noon.Add(30 * time.Minute))
	expect("ann id_a", "ann ~x|ends_2026112812_id_a")
	set(noon.Add(90 * time.Minute))
	expect("ann id_a", "ann ~x|ends_2026112813_id_a")
	set(noon.Add(5 * time.Minute)) // sooner
	expect("ann id_a", "ann ~x|ends_2026112812_id_a")
	set(time.Time{}) // never
	expect("ann id_a")
	s.clock.pass(48 * time.Hour)
	if _, err := s.sessions.Get(ctx, at("ann", "a")); err != nil {
		t.Errorf("without an end: got %v", err)
	}
	ends := table.FieldOf(func(s *session) *time.Time { return &s.Ends })
	if err := s.sessions.MergeAny(ctx, at("ann", "a"), ends.Set(s.clock.now().Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	expect("ann id_a", "ann ~x|ends_2026113012_id_a")
	if err := s.sessions.MergeAny(ctx, at("ann", "a"), ends.Set(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))); err != nil { // a merge that takes it away
		t.Fatal(err)
	}
	expect("ann id_a")
	s.clock.pass(time.Second)
	if _, err := s.sessions.Get(ctx, at("ann", "a")); err != nil {
		t.Errorf("an end that a merge has taken away: got %v", err)
	}
}

// TestExpired: effects find out that a session was deleted because it was over, also by a read.
func TestExpired(t *testing.T) {
	t.Parallel()
	var sent []string
	farewell := eventual.On("farewell", func(c *eventual.Change[session]) (string, bool) {
		return c.Key.RowKey(), c.Old != nil && c.New == nil && c.Expired()
	}, func(_ context.Context, _ eventual.Job, id string) error {
		sent = append(sent, id)
		return nil
	})
	s := newShop(t, nil, farewell)
	ctx := t.Context()
	logout := s.insert(t, "logout", time.Minute)
	for _, i := range []string{"read", "insert", "sweep"} {
		s.insert(t, i, time.Minute)
	}
	if err := s.sessions.Delete(ctx, logout); err != nil {
		t.Fatal(err)
	}
	s.clock.pass(time.Minute)
	if _, err := s.sessions.Get(ctx, at("ann", "read")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	if _, err := s.sessions.Insert(ctx, &session{User: "ann", ID: "insert"}); err != nil {
		t.Errorf("got %v", err)
	}
	s.clock.pass(2 * time.Hour)
	if _, err := s.ends.Sweep(ctx, s.sessions, nil); err != nil {
		t.Errorf("got %v", err)
	}
	if err := s.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	slices.Sort(sent)
	if want := []string{"id_insert", "id_read", "id_sweep"}; !slices.Equal(sent, want) {
		t.Errorf("got farewells %q; want %q", sent, want)
	}
}

// TestTake: one caller gets the code, whatever the requests of Take.
func TestTake(t *testing.T) {
	t.Parallel()
	s := newShop(t, &expire.Options{Once: true})
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	s.sent()
	e, err := s.ends.Take(ctx, s.sessions, at("ann", "a"))
	if err != nil || e.Value.Mail != "a@contoso.com" {
		t.Fatalf("got %+v, %v; want the session", e, err)
	}
	if got, want := s.sent(), []string{"get sessions", "transaction sessions"}; !slices.Equal(got, want) {
		t.Errorf("got requests %q; want %q", got, want)
	}
	if _, err := s.ends.Take(ctx, s.sessions, at("ann", "a")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a second time: got %v; want ErrNotFound", err)
	}
}

// TestTakeLostResponse: a lost response says neither that the caller has the session nor that it does not. The commit record does.
func TestTakeLostResponse(t *testing.T) {
	t.Parallel()
	for _, lost := range []storagetest.Fault{storagetest.LostResponse(), storagetest.LostRequest()} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, nil)
				s.insert(t, "a", time.Minute)
				n := 0
				s.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
					if r.Kind == requests.Delete || r.Kind == requests.Transaction {
						if n++; n == 1 {
							return lost
						}
					}
					return storagetest.Fault{}
				})
				if e, err := s.ends.Take(t.Context(), s.sessions, at("ann", "a")); err != nil || e.Value.ID != "a" {
					t.Errorf("got %+v, %v; want the session", e, err)
				}
			})
		})
	}
}

// TestTakeInDoubt: if nobody says whether the session is deleted, Take returns it with the error,
// for the caller who finds out later.
func TestTakeInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, nil)
		s.insert(t, "a", time.Minute)
		deleted := false
		s.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
			switch {
			case deleted:
				return storagetest.NotSent()
			case r.Kind == requests.Transaction:
				deleted = true
				return storagetest.LostResponse()
			}
			return storagetest.Fault{}
		})
		e, err := s.ends.Take(t.Context(), s.sessions, at("ann", "a"))
		var in *table.UnknownError
		if e == nil || e.Value.ID != "a" || !errors.As(err, &in) {
			t.Fatalf("got %+v, %v; want the session, and an *UnknownError", e, err)
		}
		s.service.SetFaults(nil)
		applied, err := in.Resolve(t.Context())
		must(t, err)
		testkit.Expect(t, "applied", applied, true)
	})
}

// TestOnceStoresRecords: with Options.Once an insert stores its commit record, so that a copy of
// the request that comes late does not make a code valid again which was taken.
func TestOnceStoresRecords(t *testing.T) {
	t.Parallel()
	s := newShop(t, &expire.Options{Once: true})
	s.service.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LateDuplicate(0))))
	s.insert(t, "a", time.Minute)
	s.service.SetFaults(nil)
	if _, err := s.ends.Take(t.Context(), s.sessions, at("ann", "a")); err != nil {
		t.Fatal(err)
	}
	s.service.Deliver()
	if e, err := s.sessions.Get(t.Context(), at("ann", "a")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("behind the late copy: got %+v, %v; want ErrNotFound", e, err)
	}
}

// TestFarEnds: an end behind the year 9999 is an error of the write that says how it comes about,
// and the zero time and the last second are no end.
func TestFarEnds(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	s.end = func(v *session) time.Time {
		if v.Hits == 0 {
			return time.Time{}
		}
		return time.Unix(int64(v.Hits), 0)
	}
	s.open(t, s.service, nil)
	for _, far := range []int64{noon.UnixMilli(), noon.UnixMicro(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()} {
		_, err := s.sessions.Insert(ctx, &session{User: "ann", ID: "a", Hits: int(far)})
		expectError(t, err, "time.UnixMilli")
		var de *table.DefinitionError
		if !errors.As(err, &de) || de.Definition != "ends" || de.Field != "at" {
			t.Errorf("an end after %d s: got %v; want a *DefinitionError about at", far, err)
		}
	}
	testkit.Expect(t, "rows", len(s.rows()), 0)
	for _, none := range []int64{0, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()} {
		_, err := s.sessions.Upsert(ctx, &session{User: "ann", ID: "a", Hits: int(none)}, table.ReplaceExisting)
		must(t, err)
		testkit.Expect(t, "rows", len(s.rows()), 1)
	}
}

// TestMistakes: each mistake of a declaration has an error that names it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   func(*session) time.Time
		o    *expire.Options
		want string
	}{
		{"no function", nil, nil, "at is nil"},
		{"a name that no row can have", func(*session) time.Time { return noon }, &expire.Options{Name: "a_b"}, "a_b"},
		{"a function that panics", func(*session) time.Time { panic("at once") }, nil, "panics: at once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			s.end = c.at
			err := s.tryOpen(t.Context(), s.service, c.o)
			if err == nil {
				_, err = s.sessions.Insert(t.Context(), &session{User: "ann", ID: "a"})
			}
			expectError(t, err, c.want)
		})
	}
	s := newShop(t, nil)
	err := s.tryOpen(t.Context(), s.service, nil, expire.At(func(*session) time.Time { return noon }, &expire.Options{Name: "other"}))
	expectError(t, err, "an entity has one end")
	other := newShop(t, &expire.Options{Name: "other"})
	_, err = newShop(t, nil).ends.Take(t.Context(), other.sessions, at("ann", "a"))
	expectError(t, err, "does not have the definition")
	var none *expire.Ends[session]
	_, err = none.Sweep(t.Context(), other.sessions, nil)
	expectError(t, err, "is nil or zero")
}
