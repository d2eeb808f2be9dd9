package expire_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var mail = table.FieldOf(func(s *session) *string { return &s.Mail })

// everyone is a value that all sessions have in an index.
func everyone(*session) (string, bool) { return "all", true }

func mailOf(s *session) (string, bool) { return s.Mail, true }

// ids returns the IDs of the sessions of a list.
func ids(list iter.Seq2[*table.Entity[session], error]) ([]string, error) {
	var all []string
	for e, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, e.Value.ID)
	}
	return all, nil
}

// one returns the ID of the session that a read for one found, none if it found none.
func one(e *table.Entity[session], err error) ([]string, error) {
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []string{e.Value.ID}, nil
}

// TestAsWithout: an insert, a read and a list of sessions that end take as many requests as those of sessions in a table without ends. What is over is counted beside the rows
// that a list returns.
func TestAsWithout(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	other := aztablekit.Open(s.service, "other", &aztablekit.Options{Daily: -1, Now: s.clock.now})
	without := aztablekit.Table(other, "endless", user, id)
	must(t, other.Ensure(ctx))
	counts := func(sessions *table.Table[session]) (all string) {
		_, err := sessions.Insert(ctx, &session{User: "bob", ID: "first", Ends: noon.Add(time.Hour)}) // reads the catalogue
		must(t, err)
		s.service.Count()
		_, err = sessions.Insert(ctx, &session{User: "ann", ID: "a", Ends: noon.Add(time.Minute)})
		must(t, err)
		all += s.service.Count().String()
		_, err = sessions.Get(ctx, at("ann", "a"))
		must(t, err)
		all += "; " + s.service.Count().String()
		found, err := ids(sessions.List(ctx, table.Query[session]{Partition: user.Of("ann")}))
		must(t, err)
		return fmt.Sprint(all, "; ", s.service.Count(), found)
	}
	testkit.Expect(t, "requests with ends", counts(s.sessions), "1 transaction; 1 get; 1 query [a]")
	testkit.Expect(t, "requests without", counts(without), "1 insert; 1 get; 1 query [a]") // as many
	s.clock.pass(time.Minute)
	var stats table.Stats
	found, err := ids(s.sessions.List(ctx, table.Query[session]{Partition: user.Of("ann"), Stats: &stats}))
	must(t, err)
	testkit.Expect(t, "what a list finds after the end", fmt.Sprint(found, stats.Over), "[] 1")
}

// TestReads: from its end on no read returns a session, whatever the way (electrodb#498, teleport#19885 forgot one). A read that says that a certain session is not there has deleted its row; one
// that leaves it out has not. A session that is not over takes as many requests as one that has no end.
func TestReads(t *testing.T) {
	t.Parallel()
	const mailOfA, byMail, byAll = "a@contoso.com", "mail", "all"
	in := user.Of("ann")
	q := table.Query[session]{Partition: in}
	full := index.New(byAll, keys.Text(), everyone, nil)
	some := index.New(byAll, keys.Text(), everyone, nil).Only(mail)
	pointer := index.New(byAll, keys.Text(), everyone, nil).Only()
	unique := index.New(byMail, keys.Text(), mailOf, &index.Options{Unique: true})
	uniquePointer := index.New(byMail, keys.Text(), mailOf, &index.Options{Unique: true}).Only()
	global := index.NewGlobal(byAll, keys.Text(), everyone, nil)
	globalSome := index.NewGlobal(byAll, keys.Text(), everyone, nil).Only(mail)
	globalPointer := index.NewGlobal(byAll, keys.Text(), everyone, nil).Only()
	everywhere := index.NewUnique(byMail, keys.Text(), mailOf, nil)
	lists := index.NewLists(byAll, keys.Text(), everyone, nil)
	for _, c := range []struct {
		name    string
		by      extend.Definition[session]
		read    func(context.Context, *shop) ([]string, error)
		all     bool // it returns both sessions before
		deletes bool
	}{
		{"Get", nil, func(ctx context.Context, s *shop) ([]string, error) { return one(s.sessions.Get(ctx, at("ann", "a"))) }, false, true},
		{"GetMany", nil, func(ctx context.Context, s *shop) (all []string, err error) {
			for e, err := range s.sessions.GetMany(ctx, at("ann", "a"), at("ann", "b")) {
				found, err := one(e, err)
				if err != nil {
					return nil, err
				}
				all = append(all, found...)
			}
			return all, nil
		}, true, true},
		{"GetRow", nil, func(ctx context.Context, s *shop) ([]string, error) {
			_, err := tabledoor.GetRow(ctx, s.sessions, at("ann", "a"))
			return one(&table.Entity[session]{Value: session{ID: "a"}}, err)
		}, false, true},
		{"Exists", nil, func(ctx context.Context, s *shop) ([]string, error) {
			is, err := baretest.Exists(ctx, s.sessions, at("ann", "a"))
			if !is {
				return nil, err
			}
			return []string{"a"}, err
		}, false, true},
		{"List", nil, func(ctx context.Context, s *shop) ([]string, error) { return ids(s.sessions.List(ctx, q)) }, true, false},
		{"a list of some fields", nil, func(ctx context.Context, s *shop) (all []string, err error) {
			names, err := table.ViewOf[struct{ Mail string }](s.sessions)
			if err != nil {
				return nil, err
			}
			for p, err := range names.List(ctx, q) {
				if err != nil {
					return nil, err
				}
				all = append(all, strings.TrimPrefix(p.Key.RowKey(), "id_"))
			}
			return all, nil
		}, true, false},
		{"a view of one", nil, func(ctx context.Context, s *shop) ([]string, error) {
			names, err := table.ViewOf[struct{ Mail string }](s.sessions)
			if err != nil {
				return nil, err
			}
			_, err = names.Get(ctx, at("ann", "a"))
			return one(&table.Entity[session]{Value: session{ID: "a"}}, err)
		}, false, true},
		{"Page", nil, func(ctx context.Context, s *shop) (all []string, err error) {
			page, err := s.sessions.Page(ctx, q, "")
			for _, e := range page.Entities {
				all = append(all, e.Value.ID)
			}
			return all, err
		}, true, false},
		{"Count", nil, func(ctx context.Context, s *shop) ([]string, error) {
			n, err := s.sessions.Count(ctx, q)
			return []string{"a", "b"}[2-n:], err
		}, true, false},
		{"Mixed.Get", nil, func(ctx context.Context, s *shop) ([]string, error) {
			m, err := table.NewMixed(s.sessions)
			if err != nil {
				return nil, err
			}
			e, err := m.Get(ctx, at("ann", "a"))
			found, _ := e.(*table.Entity[session])
			return one(found, err)
		}, false, true},
		{"Mixed.List", nil, func(ctx context.Context, s *shop) (all []string, err error) {
			m, err := table.NewMixed(s.sessions)
			if err != nil {
				return nil, err
			}
			for e, err := range m.List(ctx, table.Query[table.Row]{Partition: in}) {
				if err != nil {
					return nil, err
				}
				all = append(all, e.(*table.Entity[session]).Value.ID)
			}
			return all, nil
		}, true, false},
		{"an index of copies", full, func(ctx context.Context, s *shop) ([]string, error) {
			return ids(full.List(ctx, s.sessions, in, "all"))
		}, true, false},
		{"the keys of an index", full, func(ctx context.Context, s *shop) (all []string, err error) {
			for k, err := range full.Keys(ctx, s.sessions, q) {
				if err != nil {
					return nil, err
				}
				all = append(all, strings.TrimPrefix(k.RowKey(), "id_"))
			}
			return all, nil
		}, true, false},
		{"an index of some fields", some, func(ctx context.Context, s *shop) (all []string, err error) {
			return ids(some.List(ctx, s.sessions, in, "all"))
		}, true, false},
		{"an index of pointers", pointer, func(ctx context.Context, s *shop) ([]string, error) {
			return ids(pointer.List(ctx, s.sessions, in, "all"))
		}, true, true},
		{"a unique value", unique, func(ctx context.Context, s *shop) ([]string, error) {
			return one(unique.Get(ctx, s.sessions, in, mailOfA))
		}, false, true},
		{"a unique value by pointer", uniquePointer, func(ctx context.Context, s *shop) ([]string, error) {
			return one(uniquePointer.Get(ctx, s.sessions, in, mailOfA))
		}, false, true},
		{"a global index of copies", global, func(ctx context.Context, s *shop) ([]string, error) { return ids(global.List(ctx, s.sessions, "all")) }, true, true},
		{"a global index of some fields", globalSome, func(ctx context.Context, s *shop) ([]string, error) {
			return ids(globalSome.List(ctx, s.sessions, "all"))
		}, true, true},
		{"a global index of pointers", globalPointer, func(ctx context.Context, s *shop) ([]string, error) {
			return ids(globalPointer.List(ctx, s.sessions, "all"))
		}, true, true},
		{"a unique value of the table", everywhere, func(ctx context.Context, s *shop) ([]string, error) {
			return one(everywhere.Get(ctx, s.sessions, mailOfA))
		}, false, true},
		{"lists", lists, func(ctx context.Context, s *shop) ([]string, error) {
			return ids(lists.List(ctx, s.sessions, in, "all"))
		}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var more []extend.Definition[session]
			if c.by != nil {
				more = append(more, c.by)
			}
			s := newShop(t, nil, more...)
			a := s.insert(t, "a", time.Minute)
			s.insert(t, "b", 0)
			ctx := t.Context()
			if err := s.Drain(ctx); err != nil {
				t.Fatal(err)
			}
			expect := func(when string, want []string) {
				t.Helper()
				got, err := c.read(ctx, s)
				slices.Sort(got)
				if !slices.Equal(got, want) || err != nil {
					t.Fatalf("%s: got %q, %v; want %q", when, got, err, want)
				}
			}
			before, after := []string{"a"}, []string(nil)
			if c.all {
				before, after = []string{"a", "b"}, []string{"b"}
			}
			expect("at first", before)
			s.clock.pass(time.Minute - time.Second)
			s.sent()
			expect("a second before its end", before)
			counted := s.sent()
			s.clock.pass(time.Second)
			expect("at its end", after)
			if then := s.sent(); !c.deletes && !slices.Equal(then, counted) {
				t.Errorf("got requests %q, and %q before; want the same: it says nothing of the session", then, counted)
			}
			expect("again", after)
			a.Value.Ends = a.Value.Ends.Add(time.Hour) // a renewal that was on its way
			err := s.sessions.Replace(ctx, a)
			if revived := err == nil; revived == c.deletes || err != nil && !errors.Is(err, table.ErrNotFound) {
				t.Errorf("a renewal after that: got %v; want that it is refused: %v", err, c.deletes)
			}
			if c.deletes {
				expect("after the renewal", after)
			}
		})
	}
}

// TestReadsAnEnd: how ends are stored and compared.
func TestReadsAnEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  time.Time
		over time.Time // the first second in which it is over; zero for never
	}{
		{"a whole second", noon.Add(time.Minute), noon.Add(time.Minute)},
		{"a part of a second", noon.Add(time.Minute + 1), noon.Add(time.Minute + time.Second)},
		{"another zone", noon.Add(time.Minute).In(time.FixedZone("", 3600)), noon.Add(time.Minute)},
		{"none", time.Time{}, time.Time{}},
		{"before the service's first", time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC), noon},
		{"the service's last", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Time{}},
		{"far", time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			s.end = func(*session) time.Time { return c.end }
			s.open(t, s.service, nil)
			s.insert(t, "a", 0)
			if !c.over.IsZero() && c.over.After(noon) {
				s.clock.set(c.over.Add(-time.Second))
				if _, err := s.sessions.Get(ctx, at("ann", "a")); err != nil {
					t.Errorf("a second before: got %v", err)
				}
			}
			s.clock.set(c.over)
			if c.over.IsZero() {
				s.clock.set(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
			}
			if _, err := s.sessions.Get(ctx, at("ann", "a")); errors.Is(err, table.ErrNotFound) == c.over.IsZero() {
				t.Errorf("at %v: got %v; want it to be over: %v", s.clock.now(), err, !c.over.IsZero())
			}
		})
	}
}

// TestLateRenewalBehindCopy: a reader that has found the copy of an entity over reads the entity,
// which was renewed meanwhile, and leaves it.
func TestLateRenewalBehindCopy(t *testing.T) {
	t.Parallel()
	byMail := index.New("mail", keys.Text(), mailOf, &index.Options{Unique: true})
	s := newShop(t, nil, byMail)
	ctx := t.Context()
	e := s.insert(t, "a", time.Minute)
	p := &testkit.Hooked{Service: s.service}
	acc, err := account.FromTransport(p, nil)
	must(t, err)
	reader := *s
	reader.open(t, acc, nil, byMail)
	s.clock.pass(time.Minute)
	renewed := false
	p.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "id_a") && !renewed {
			renewed = true
			e.Value.Ends = noon.Add(time.Hour)
			must(t, s.sessions.Replace(ctx, e)) // its request was on the way before the end
		}
	}
	_, _ = byMail.Get(ctx, reader.sessions, user.Of("ann"), "a@contoso.com")
	testkit.Expect(t, "renewed", renewed, true)
	if _, err := s.sessions.Get(ctx, at("ann", "a")); err != nil {
		t.Errorf("got %v; want the session, which was renewed", err)
	}
}

// TestLateRenewal: a session that is renewed between the look that finds it over and its deletion
// stays, for each method that looks.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	key := at("ann", "a")
	calls := map[string]func(context.Context, *shop) error{
		"Get":    func(ctx context.Context, s *shop) error { _, err := s.sessions.Get(ctx, key); return err },
		"GetRow": func(ctx context.Context, s *shop) error { _, err := tabledoor.GetRow(ctx, s.sessions, key); return err },
		"Exists": func(ctx context.Context, s *shop) error {
			is, err := baretest.Exists(ctx, s.sessions, key)
			if err == nil && !is {
				err = table.ErrNotFound
			}
			return err
		},
		"Update": func(ctx context.Context, s *shop) error {
			_, err := s.sessions.Update(ctx, key, func(of *session) error { of.Mail = "b@contoso.com"; return nil })
			return err
		},
		"Insert": func(ctx context.Context, s *shop) error {
			_, err := s.sessions.Insert(ctx, &session{User: "ann", ID: "a"})
			if errors.Is(err, table.ErrExists) {
				return nil
			}
			return fmt.Errorf("got %w; want ErrExists", err)
		},
		"Sweep": func(ctx context.Context, s *shop) error {
			_, err := s.ends.Sweep(ctx, s.sessions, &table.Pass{Partitions: keys.RawPartitions("", "")})
			return err
		},
	}
	for name, call := range calls {
		for _, by := range [][]extend.Definition[session]{nil, {index.New("mail", keys.Text(), mailOf, nil)}} {
			t.Run(fmt.Sprintf("%s of %d", name, len(by)), func(t *testing.T) {
				t.Parallel()
				s := newShop(t, nil, by...)
				ctx := t.Context()
				e := s.insert(t, "a", time.Minute)
				p := &testkit.Hooked{Service: s.service}
				acc, err := account.FromTransport(p, nil)
				must(t, err)
				other := *s
				other.open(t, acc, nil, by...)
				s.clock.pass(2 * time.Hour)
				seen, renewed := false, false
				p.BeforeRequest = func(r *http.Request) {
					if r.Method == http.MethodGet {
						seen = true
						return
					}
					if !seen || renewed {
						return
					}
					renewed = true
					e.Value.Ends, e.Value.Hits = noon.Add(3*time.Hour), 1
					must(t, s.sessions.Replace(ctx, e)) // its request was on the way before the end
				}
				if err := call(ctx, &other); err != nil || !renewed {
					t.Errorf("got %v, renewed: %v; want the session as it was renewed", err, renewed)
				}
				if e, err := s.sessions.Get(ctx, key); err != nil || e.Value.Hits != 1 {
					t.Errorf("got %+v, %v; want the session as it was renewed", e, err)
				}
			})
		}
	}
}
