package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// leavers are two tables of one program: the people of a town, and the people that have left the town.
type leavers struct {
	people, left *table.Table[resident]
}

var leaversOutbox = &memoryOutbox{}

// openLeavers opens both tables. Handles of the second one believe marks of moves from the tables in movedFrom.
func openLeavers(t testing.TB, own *testkit.Hooked, movedFrom ...string) leavers {
	t.Helper()
	service := serviceOf(t, own)
	l := leavers{openLeaversTable(t, service, own.Now, "people"), openLeaversTable(t, service, own.Now, "leavers", movedFrom...)}
	noError(t, errors.Join(tabledoor.Ensure(context.Background(), l.people), tabledoor.Ensure(context.Background(), l.left)))
	return l
}

func openLeaversTable(t testing.TB, service engine.Service, now func() time.Time, name string, movedFrom ...string) *table.Table[resident] {
	t.Helper()
	o := *noWaitOptions()
	options.SetNow(&o.Common, now)
	base, err := bare.NewTable(service, name, peopleSchema, &o)
	noError(t, err)
	door.Table(base).Kin = new(engine.Kin)
	for _, name := range movedFrom {
		door.Table(base).Kin.Add(name)
	}
	people, err := baretest.WithOutbox(base, leaversOutbox)
	noError(t, err)
	return people
}

// leave moves resident 1 from the first table to the second by a program that sends nothing after its commit.
func leave(t testing.TB, s *storagetest.Service) {
	t.Helper()
	own := &testkit.Hooked{Service: s}
	l := openLeavers(t, own, "people")
	e, err := l.people.Insert(context.Background(), &resident{Dept: "S", ID: 1, Last: "Jones"})
	noError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	transactions := 0
	own.BeforeRequest = func(r *http.Request) {
		if transactions++; !strings.HasSuffix(r.URL.Path, "$batch") {
			transactions--
		}
		if transactions == 3 {
			cancel()
		}
	}
	e.Value.Last = "Smith"
	err = l.people.MoveTo(ctx, l.left, e)
	if got := transactions; got != 3 {
		t.Fatalf("got %d transactions, error %v; want 3 transactions, the last of them not sent", got, err)
	}
}

// TestMoveHomeGone: the old table is deleted before a move of a crashed program is finished. All reads of the new one name the row and
// the old table. After the retention, FinishPrepared commits or rolls back, as its caller says.
func TestMoveHomeGone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for orphans, want := range map[commit.Orphans]int{commit.CommitOrphans: 1, commit.RollBackOrphans: 0} {
		s := storagetest.New(nil)
		leave(t, s)
		_, err := s.Tables().DeleteTable(ctx, "people", nil)
		noError(t, err)
		left := openLeaversTable(t, serviceOf(t, s), s.Now, "leavers", "people")
		gone := func(what string, err error) {
			t.Helper()
			var he *errs.HomeError
			if !errors.As(err, &he) || he.Table != "people" || !he.Gone || errors.Is(err, table.ErrNotCreated) {
				t.Errorf("%s: got error %v; want a *HomeError that names table people, and not ErrNotCreated", what, err)
			}
			if text := `was prepared by a write whose commit record is in table "people", which does not exist any more`; !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got error %q; want %q in it", what, err, text)
			}
		}
		_, err = left.Get(ctx, residentAt(1))
		gone("Get", err)
		_, err = table.Collect(left.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("S")}))
		gone("List", err)
		finish := func(o commit.Orphans) (int, error) {
			return baretest.FinishPrepared(ctx, left, dept.PartitionKey("S"), s.Now().Add(time.Minute), o)
		}
		_, err = finish(orphans)
		gone("FinishPrepared within the retention", err)
		s.Advance(25 * time.Hour)
		_, err = finish(commit.LeaveOrphans)
		gone("FinishPrepared without a decision", err)
		if n, err := finish(orphans); n != 1 || err != nil {
			t.Errorf("FinishPrepared: got %d, error %v; want 1 write ended", n, err)
		}
		n, err := left.Count(ctx, table.Query[resident]{Partition: dept.PartitionKey("S")})
		if n != want || err != nil {
			t.Errorf("orphans %d: got %d entities, error %v; want %d", orphans, n, err, want)
		}
	}
}

// TestMoveFromUnknown: a handle that does not name the old table shows an entity that is under way as not there, and counts it. MoveTo
// does not begin a move that the other handle would not believe.
func TestMoveFromUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	leave(t, s)
	own := &testkit.Hooked{Service: s}
	l := openLeavers(t, own)
	s.Count()
	if _, err := l.left.Get(ctx, residentAt(1)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get: got error %v; want ErrNotFound", err)
	}
	if got := s.Count().String(); got != "2 get" {
		t.Errorf("Get: got %s; want 2 get, none of them in the old table", got)
	}
	var stats table.Stats
	all, err := table.Collect(l.left.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("S"), Stats: &stats}))
	if err != nil || len(all) != 0 || stats.Damaged != 1 {
		t.Errorf("List: got %v, error %v and %+v; want nothing, and 1 damaged row", all, err, stats)
	}
	e, err := l.people.Insert(ctx, &resident{Dept: "S", ID: 2, Last: "Cao"})
	noError(t, err)
	s.Count()
	var ve *table.ValueError
	want := "leavers is not of the store of table people"
	if err := l.people.MoveTo(ctx, l.left, e); !errors.As(err, &ve) || !strings.Contains(err.Error(), want) {
		t.Errorf("MoveTo: got error %v; want a *ValueError with %q", err, want)
	}
	if got := s.Count().String(); got != "none" {
		t.Errorf("MoveTo: got %s; want no request", got)
	}
	if e, err := openLeavers(t, own, "people").left.Get(ctx, residentAt(1)); err != nil || e.Value.Last != "Smith" {
		t.Errorf("Get by a handle that names it: got %v, error %v; want the entity", e, err)
	}
}

// TestMoveHomeForged: the old table is gone, and one row names it as its home, as somebody can store it who may write one partition.
// Without a preparation, the mark counts for nothing. With one, FinishPrepared ends it by its option, whatever the time of its
// operation ID.
func TestMoveHomeForged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, prepared := range []bool{false, true} {
		for what, id := range map[string]string{"now": "", "ahead": "7ZZZZZZZZZ0123456789ABCDEF", "long ago": "00000000000123456789ABCDEF"} {
			s := storagetest.New(nil)
			left := openLeaversTable(t, serviceOf(t, s), s.Now, "leavers", "people")
			noError(t, tabledoor.Ensure(ctx, left))
			_, err := left.Insert(ctx, &resident{Dept: "S", ID: 2, Last: "Jones"})
			noError(t, err)
			if id == "" {
				id = commit.IDTime(s.Now()) + "0123456789ABCDEF"
			}
			forge := func(row string) {
				_, err := s.Tables().NewClient("leavers").AddEntity(ctx, []byte(row), nil)
				noError(t, err)
			}
			forge(fmt.Sprintf(`{"PartitionKey":"X","RowKey":"p_000009","Last":"Forged","_tx":"%s/people/S/insert/0/"}`, id))
			if prepared {
				forge(fmt.Sprintf(`{"PartitionKey":"X","RowKey":"~t|%s","_v":1,"Home":"people/S","State":"prepared","Rows":"[{\"row\":\"p_000009\",\"fate\":\"insert\"}]"}`, id))
			}
			s.Advance(25 * time.Hour)
			n, err := baretest.FinishPrepared(ctx, left, dept.PartitionKey("X"), s.Now(), commit.RollBackOrphans)
			if want := map[bool]int{true: 1}[prepared]; n != want || err != nil {
				t.Errorf("%s, prepared %v: FinishPrepared: got %d, error %v; want %d", what, prepared, n, err, want)
			}
			n, err = left.Count(ctx, table.Query[resident]{TableScan: true})
			if want := map[bool]int{true: 1, false: 2}[prepared]; n != want || err != nil {
				t.Errorf("%s, prepared %v: got %d entities, error %v; want %d", what, prepared, n, err, want)
			}
			if err = left.DeleteAny(ctx, keys.At(dept.PartitionKey("X"), residentID.Of(9))); errors.Is(err, table.ErrNotFound) != prepared || err != nil && !prepared {
				t.Errorf("%s, prepared %v: DeleteAny: got error %v; want ErrNotFound: %v", what, prepared, err, prepared)
			}
		}
	}
}
