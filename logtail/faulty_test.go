package logtail_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestFaultyLogs: a log that was declared wrong says why, from each method and from its store, and sends nothing.
func TestFaultyLogs(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now()
	for want, declare := range map[string]func(*aztablekit.Store) *logtail.Log[claim]{
		"table name": func(s *aztablekit.Store) *logtail.Log[claim] { return logtail.New[claim](s, "my_claims", nil) },
		"Options.Spread is negative": func(s *aztablekit.Store) *logtail.Log[claim] {
			return logtail.New[claim](s, "claims", &logtail.Options{Spread: -1})
		},
		"prefix must not end with a": func(s *aztablekit.Store) *logtail.Log[claim] {
			return logtail.NewByPeriod[claim](s, "claims1", nil, nil)
		},
		"PeriodOptions.Keep is negative": func(s *aztablekit.Store) *logtail.Log[claim] {
			return logtail.NewByPeriod[claim](s, "claims", &logtail.PeriodOptions{Keep: -1}, nil)
		},
	} {
		service := storagetest.New(nil)
		store := aztablekit.Open(service, "claims", nil)
		log := declare(store)
		in := log.In(keys.RawPartition("Sales"))
		_, appended := log.Append(ctx, &claim{})
		_, all := log.AppendAll(ctx, &claim{})
		_, once := in.AppendOnce(ctx, "1", now, &claim{})
		_, deleted := log.Delete(ctx, time.Time{}, now, nil)
		_, tail := table.Collect(log.Tail(ctx, 1))
		_, between := table.Collect(in.Between(ctx, time.Time{}, now))
		_, since := table.Collect(log.Since(ctx, now))
		_, followed := table.Collect(log.Follow(ctx, logtail.NewCursor("", time.Time{})))
		found := []error{appended, all, once, deleted, tail, between, since, followed, log.Ensure(ctx), log.Resend(ctx, &logtail.Record[claim]{}), log.Err(), in.Err(), store.Ensure(ctx), store.RunDaily(ctx)}
		if p := log.Periods(); p != nil {
			_, created := p.Create(ctx)
			_, dropped := p.Drop(ctx, nil)
			_, listed := table.Collect(p.List(ctx))
			found = append(found, created, dropped, listed)
		}
		for i, err := range found {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("method %d: got %v; want %q", i, err, want)
			}
		}
		if n := service.Count().Total(); n != 0 {
			t.Errorf("got %d requests; want none", n)
		}
	}
	if err := logtail.New[claim](nil, "claims", nil).Err(); !errors.As(err, new(*table.ValueError)) {
		t.Errorf("without a store: got %v; want a *table.ValueError", err)
	}
}

// TestLogBesideATable: a log shares its table with logs of the same name alone, and is declared before the store is used.
func TestLogBesideATable(t *testing.T) {
	t.Parallel()
	store := aztablekit.Open(storagetest.New(nil), "claims", nil)
	for _, l := range []*logtail.Log[claim]{logtail.New[claim](store, "claims", nil), logtail.New[claim](store, "claims", nil)} {
		if err := l.Err(); err != nil {
			t.Errorf("two logs of one name: got %v; want none", err)
		}
	}
	daily := logtail.NewByPeriod[claim](store, "Claims", nil, nil)
	want := "table claims belongs to log claims"
	if _, err := daily.Append(t.Context(), &claim{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want %q", err, want)
	}
	if err := store.Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Ensure: got %v; want %q", err, want)
	}
	store = aztablekit.Open(storagetest.New(nil), "claims", nil)
	weekly := logtail.NewByPeriod[claim](store, "claims", &logtail.PeriodOptions{Keep: 7}, nil)
	if err := errors.Join(weekly.Err(), logtail.NewByPeriod[claim](store, "claims", &logtail.PeriodOptions{Keep: 7}, nil).Err()); err != nil {
		t.Errorf("a log by period twice: got %v; want none", err)
	}
	for what, l := range map[string]*logtail.Log[claim]{
		"another Keep":                 logtail.NewByPeriod[claim](store, "claims", &logtail.PeriodOptions{Keep: 30}, nil),
		"another Unit":                 logtail.NewByPeriod[claim](store, "claims", &logtail.PeriodOptions{Keep: 7, Unit: "month"}, nil),
		"a log in a table of a period": logtail.New[claim](store, "claims20260731", nil),
	} {
		if err := l.Err(); err == nil || !strings.Contains(err.Error(), "belongs to log by period claims (daily, Keep 7, Ahead 2)") {
			t.Errorf("%s: got %v; want that the tables belong to another log", what, err)
		}
	}
	store = aztablekit.Open(storagetest.New(nil), "claims", nil)
	if err := store.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := logtail.New[claim](store, "late", nil)
	want = "log late: the declaration is too late"
	if _, err := late.Append(t.Context(), &claim{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("after Ensure: got %v; want %q", err, want)
	}
	if err := store.RunDaily(t.Context()); err != nil {
		t.Errorf("a store with a late log: got %v; want none", err)
	}
}

// TestDeclaredLogs: the store creates the tables of its logs, and drops the old ones each day, under its prefix.
func TestDeclaredLogs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.Date(2026, 7, 31, 12, 0, 0, 0, time.UTC)
	service := storagetest.New(nil)
	store := aztablekit.Open(service, "claims", &aztablekit.Options{Prefix: "test", Now: func() time.Time { return now }})
	plain := logtail.New[claim](store, "plain", nil)
	daily := logtail.NewByPeriod[claim](store, "daily", &logtail.PeriodOptions{Keep: 1, Ahead: 1}, nil)
	if err := store.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err1 := plain.Append(ctx, &claim{})
		_, err2 := daily.Append(ctx, &claim{})
		now = now.AddDate(0, 0, 1)
		if err := errors.Join(err1, err2, store.RunDaily(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(service.TableNames(), " "), "testclaimswork testdaily testdaily20260802 testdaily20260803 testdaily20260804 testplain"; got != want {
		t.Errorf("got tables %s; want %s", got, want)
	}
	if got := amounts(t, daily.Tail(ctx, 10)); len(got) != 1 {
		t.Errorf("got %d records by day; want 1, that of the day before", len(got))
	}
	if got := amounts(t, plain.Tail(ctx, 10)); len(got) != 3 {
		t.Errorf("got %d records; want 3", len(got))
	}
}
