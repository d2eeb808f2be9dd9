package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// movingTown returns a table of residents with an address, a list and an outbox, and some residents in two partitions.
func movingTown(t testing.TB) (*table.Table[resident], *testkit.Hooked, *memoryOutbox) {
	t.Helper()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	out := &memoryOutbox{}
	people := peopleOf(t, s, nil)
	noError(t, tabledoor.Ensure(context.Background(), people))
	people, err := baretest.WithOutbox(people, out, byLast{}, byEmail{})
	noError(t, err)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Jones", "b"}, resident{"M", 3, "Jones", "c"})
	return people, s, out
}

// storedRows returns the rows of the residents' table as text, without those of the library.
func storedRows(s *testkit.Hooked) string {
	var all []string
	for _, r := range s.Rows("people") {
		if strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		text := r.PartitionKey + "/" + r.RowKey
		if ids := r.Get("IDs"); ids != nil {
			text += fmt.Sprint("=", ids)
		}
		if r.Get("_tx") != nil {
			text += "*"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

const (
	townBefore = "M/email_c M/last_Jones=3 M/p_000003 S/email_a S/email_b S/last_Jones=1 2 S/p_000001 S/p_000002"
	townAfter  = "M/email_a M/email_c M/last_Jones=1 3 M/p_000001 M/p_000003 S/email_b S/last_Jones=2 S/p_000002"
)

// TestMove: a moved entity is under its new key with its derived rows, and can be written further.
func TestMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, out := movingTown(t)
	e, err := people.Get(ctx, residentAt(1))
	noError(t, err)
	s.Count()
	out.calls = nil
	e.Value.Dept = "M"
	noError(t, people.Move(ctx, e))
	// The lists of both partitions are read.
	if got := s.Count().String(); got != "2 get, 1 merge, 3 transaction" || strings.Join(out.calls, " ") != "notify withdraw" {
		t.Errorf("got %s and the calls %q; want 2 get, 1 merge, 3 transaction and notify withdraw", got, out.calls)
	}
	if got := storedRows(s); got != townAfter {
		t.Errorf("got %s; want %s", got, townAfter)
	}
	if want := keys.At(dept.PartitionKey("M"), residentID.Of(1)); e.Key != want {
		t.Errorf("got %v; want %v", e.Key, want)
	}
	e.Value.Last = "Smith"
	noError(t, people.Replace(ctx, e))
	if got, want := storedRows(s), strings.Replace(townAfter, "last_Jones=1 3", "last_Jones=3 M/last_Smith=1", 1); got != want {
		t.Errorf("after a write: got %s; want %s", got, want)
	}
	record, err := records.Of(people).Get(ctx, keys.RawPartition("S"), out.last.OperationID)
	if err != nil || record.State != commit.Done {
		t.Errorf("got %+v, %v; want a record that is done", record, err)
	}
}

// TestMoveRefused: a refused move changes nothing, and nothing stays prepared.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		before func(people *table.Table[resident]) error
		want   error
	}{
		"exists": {func(people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &resident{"M", 1, "Other", "z"})
			return err
		}, table.ErrExists},
		"taken": {func(people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &resident{"M", 7, "Other", "a"})
			return err
		}, errTaken},
		"changed": {func(people *table.Table[resident]) error {
			return people.MergeAny(ctx, residentAt(1), eMail.Set("n"))
		}, table.ErrChanged},
		"deleted": {func(people *table.Table[resident]) error { return people.DeleteAny(ctx, residentAt(1)) }, table.ErrNotFound},
	} {
		people, s, _ := movingTown(t)
		e, err := people.Get(ctx, residentAt(1))
		noError(t, err)
		noError(t, c.before(people))
		before := storedPeople(s)
		e.Value.Dept = "M"
		if err := people.Move(ctx, e); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v; want %v", what, err, c.want)
		}
		if got := storedRows(s); strings.Contains(got, "*") {
			t.Errorf("%s: got %s; want no mark, before %s", what, got, before)
		}
		if e.Key != residentAt(1) {
			t.Errorf("%s: got the key %v; want the old one", what, e.Key)
		}
	}
}

// TestMoveCrash: the program crashes before each request of a move. Every reader then sees the entity in one place, and reading it
// by its keys leaves nothing prepared.
func TestMoveCrash(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 7; at++ {
		people, s, _ := movingTown(t)
		e, err := people.Get(context.Background(), residentAt(1))
		noError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		s.BeforeRequest = func(*http.Request) {
			if n++; n == at {
				cancel()
			}
		}
		e.Value.Dept = "M"
		err = people.Move(ctx, e)
		s.BeforeRequest = nil
		cancel()
		ctx = context.Background()
		var in []string
		for e, err := range people.List(ctx, table.Query[resident]{TableScan: true}) {
			noError(t, err)
			if e.Value.ID == 1 {
				in = append(in, e.Value.Dept)
			}
		}
		var found []string
		for _, d := range []string{"S", "M"} {
			switch _, err := people.Get(ctx, keys.At(dept.PartitionKey(d), residentID.Of(1))); {
			case err == nil:
				found = append(found, d)
			case !errors.Is(err, table.ErrNotFound):
				t.Error(err)
			}
		}
		// The writes of other residents meet the lists.
		for _, d := range []string{"S", "M"} {
			_, err := people.Insert(ctx, &resident{d, 9, "Jones", "x"})
			noError(t, err)
			noError(t, people.DeleteAny(ctx, keys.At(dept.PartitionKey(d), residentID.Of(9))))
		}
		got := storedRows(s)
		want := townBefore
		if len(found) == 1 && found[0] == "M" {
			want = townAfter
		}
		if len(in) != 1 || !slices.Equal(in, found) || got != want {
			t.Errorf("crash before request %d (%v): lists find it in %v, Get in %v, got %s; want one place, and %s", at, err, in, found, got, want)
		}
	}
}
