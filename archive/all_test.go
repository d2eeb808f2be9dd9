package archive_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// insertClerks inserts n clerks, and discards the count of the requests.
func insertClerks(t testing.TB, fx *fixture, s *storagetest.Service, n int) {
	t.Helper()
	_, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		for i := range n {
			if !yield(fx.current.InsertOp(&clerk{"S", i, fmt.Sprint("Name", i%7)}), nil) {
				return
			}
		}
	}, nil)
	must(t, err)
	s.Count()
}

var last = table.FieldOf(func(c *clerk) *string { return &c.Last })

// TestArchiveAll: the entities that a query finds are moved by 7 requests for each transaction, and the others stay.
func TestArchiveAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	const n = 1400
	insertClerks(t, fx, s, n)
	var tokens []string
	report, err := fx.mover.ArchiveAll(ctx, table.Query[clerk]{Partition: dept.PartitionKey("S"), Where: last.Ne("Name3")}, &table.Pass{
		Progress: func(r table.Progress) { tokens = append(tokens, r.Token) }})
	sent := s.Count()
	if err != nil || report.Changed != n-n/7 || report.Rows != n-n/7 || report.Token != "" || len(tokens) < 2 {
		t.Fatalf("got %+v, error %v and the tokens %q; want %d entities archived", report, err, tokens, n-n/7)
	}
	if most := report.Changed*7/40 + n/1000; sent.Total() > most {
		t.Errorf("requests: got %v, %d in all; want %d at most", sent, sent.Total(), most)
	}
	t.Log(sent)
	current, old := storedClerks(s)
	if len(current) != n/7 || len(old) != n-n/7 || slices.ContainsFunc(current, func(c string) bool { return !strings.HasSuffix(c, "Name3") }) {
		t.Errorf("got %d in the table and %d in the destination; want %d and %d", len(current), len(old), n/7, n-n/7)
	}
	if left := s.Messages("moves"); len(left) > 1 { // the last one, which is not withdrawn
		t.Errorf("messages: got %d; want at most 1", len(left))
	}
	must(t, fx.work(ctx))
	again, err := fx.mover.ArchiveAll(ctx, table.Query[clerk]{Partition: dept.PartitionKey("S"), Where: last.Ne("Name3")}, nil)
	if err != nil || again.Rows+again.Changed > 0 {
		t.Errorf("again: got %+v, error %v; want nothing to move", again, err)
	}
	if e, archived, err := fx.mover.Find(ctx, at(5)); err != nil || !archived || e.Value.Last != "Name5" {
		t.Errorf("Find: got %v, archived %v, error %v; want clerk 5, archived", e, archived, err)
	}
	restored, err := fx.mover.Restore(ctx, at(5))
	if err != nil || restored.Value.Last != "Name5" {
		t.Errorf("Restore: got %v, error %v; want clerk 5", restored, err)
	}
}

// TestArchiveAllInterrupted: with a refusal or a lost response at each request in turn, a job that is begun again at its token and the worker
// move all entities once.
func TestArchiveAllInterrupted(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx := context.Background()
	const n = 120
	apart := 1 // the requests that fail
	if testkit.Few() {
		apart = 5
	}
	for what, fault := range map[string]storagetest.Fault{"refused": storagetest.Refuse(403, "AuthorizationFailure"), "without a response": storagetest.LostResponse()} {
		for at := 1; at < 100; at += apart {
			fx, s := newFixture(t, nil)
			insertClerks(t, fx, s, n)
			broken := false
			from := s.Requests()[len(s.Requests())-1].Number
			s.SetFaults(func(q storagetest.Request) (none storagetest.Fault) {
				if q.Number == from+at {
					broken = true
					return fault
				}
				return none
			})
			token := ""
			q := table.Query[clerk]{Partition: dept.PartitionKey("S"), PageSize: 50}
			_, err := fx.mover.ArchiveAll(ctx, q, &table.Pass{Progress: func(r table.Progress) { token = r.Token }})
			s.SetFaults(nil)
			if err != nil {
				_, err = fx.mover.ArchiveAll(ctx, q, &table.Pass{Token: token})
			}
			must(t, err)
			must(t, fx.work(ctx))
			current, old := storedClerks(s)
			if len(current) != 0 || len(old) != n || len(slices.Compact(old)) != n || len(s.Messages("poison")) > 0 {
				t.Fatalf("%s at request %d: got %d in the table and %d in the destination; want %d there", what, at, len(current), len(old), n)
			}
			if !broken {
				break
			}
		}
	}
}

// TestArchiveAllChanged: an entity that is changed meanwhile is moved as it is then, if the query still finds it.
func TestArchiveAllChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	insertClerks(t, fx, s, 20)
	changed := false
	hooked := newFixtureOn(t, s, &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		if !changed && strings.HasSuffix(r.URL.Path, "$batch") {
			changed = true
			noError(t, fx.current.MergeAny(ctx, at(1), last.Set("Name1")))
			noError(t, fx.current.MergeAny(ctx, at(2), last.Set("kept")))
			noError(t, fx.current.DeleteAny(ctx, at(3)))
		}
	}}, noPauses(), nil)
	report, err := hooked.mover.ArchiveAll(ctx, table.Query[clerk]{Partition: dept.PartitionKey("S"), Where: last.Ne("kept")}, nil)
	if err != nil || !changed || report.Changed != 18 {
		t.Errorf("got %+v, error %v, changed %v; want 18 archived", report, err, changed)
	}
	current, old := storedClerks(s)
	if len(old) != 18 || fmt.Sprint(current) != "[c_000002=kept]" {
		t.Errorf("got %q in the table and %d in the destination; want the kept one, and 18", current, len(old))
	}
}

// TestArchiveAllInsertedAgain: an entity that is deleted and inserted again after its move was requested is another one, and stays.
func TestArchiveAllInsertedAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	insertClerks(t, fx, s, 20)
	requested, changed := false, false
	hooked := newFixtureOn(t, s, &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		requested = requested || strings.HasSuffix(r.URL.Path, "$batch")
		if !changed && requested && r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "c_000019") {
			changed = true
			noError(t, fx.current.DeleteAny(ctx, at(1)))
			e, err := fx.current.Insert(ctx, &clerk{"S", 1, "new"})
			noError(t, err)
			noError(t, fx.mover.Archive(ctx, e)) // gives it an incarnation
			noError(t, fx.current.MergeAny(ctx, at(1), last.Set("newer")))
		}
	}}, noPauses(), nil)
	_, err := hooked.mover.ArchiveAll(ctx, table.Query[clerk]{Partition: dept.PartitionKey("S")}, nil)
	must(t, err)
	if rows := s.Rows("old"); !changed || len(rows) != 0 {
		t.Errorf("got %d rows in the destination, changed %v; want none: a worker moves what it finds to be requested", len(rows), changed)
	}
	must(t, fx.work(ctx))
	current, old := storedClerks(s)
	if len(current) != 0 || len(old) != 20 || !slices.Contains(old, "c_000001=newer") {
		t.Errorf("got %q in the table and %q in the destination; want 20 there, the newest of clerk 1", current, old)
	}
}

// TestArchiveAllIndexed: of entities with two index rows each, 33 are moved together.
func TestArchiveAllIndexed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	store := aztablekit.Open(service, "notes", nil)
	text := func(n *note) (string, bool) { return fmt.Sprint("v", n.No), true }
	former := archive.Into[note]("former", archive.ToTable("former", nil))
	notes := aztablekit.Table(store, "notes", topic, noteNo, index.New("a", keys.Text(), text, nil), index.New("b", keys.Text(), text, nil), former)
	must(t, store.Ensure(ctx))
	for i := range 80 {
		_, err := notes.Insert(ctx, &note{"A", i})
		must(t, err)
	}
	service.Count()
	_, err := former.ArchiveAll(ctx, notes, table.Query[note]{Partition: topic.Of("A")}, nil)
	must(t, err)
	testkit.Expect(t, "requests", service.Count().String(), "3 get, 1 insert-or-replace, 3 message-delete, 3 message-put, 4 query, 9 transaction")
}

// TestArchiveAllErrors: wrong arguments are refused before a request, and an entity that cannot be moved is left if Skip says so.
func TestArchiveAllErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	insertClerks(t, fx, s, 3)
	in := table.Query[clerk]{Partition: dept.PartitionKey("S")}
	limited, wrong := in, in
	limited.Limit, wrong.Partitions = 1, in.Partition.Point()
	var ve *table.ValueError
	for what, c := range map[string]struct {
		q table.Query[clerk]
		o table.Pass
	}{"a limit": {q: limited}, "a partition and a range": {q: wrong}, "a rate": {q: in, o: table.Pass{Rate: -1}}, "a dry run": {q: in, o: table.Pass{DryRun: true}}} {
		if _, err := fx.mover.ArchiveAll(ctx, c.q, &c.o); !errors.As(err, &ve) {
			t.Errorf("%s: got error %v; want a *table.ValueError", what, err)
		}
	}
	if _, err := fx.mover.ArchiveAll(ctx, table.Query[clerk]{}, nil); !errors.Is(err, table.ErrTableScan) {
		t.Errorf("no partition: got error %v; want ErrTableScan", err)
	}
	if n := s.Count().Total(); n != 0 {
		t.Errorf("requests: got %d; want none", n)
	}
	long := strings.Repeat("x", 500)
	raw := fx.account.Tables().NewClient("current")
	_, err := raw.AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"S","RowKey":"c_000009","Last":5}`), nil)
	must(t, err)
	_, err = raw.AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"S","RowKey":%q,"Last":"y"}`, "c_"+long), nil)
	must(t, err)
	var de *table.DecodeError
	if _, err := fx.mover.ArchiveAll(ctx, in, nil); !errors.As(err, &de) {
		t.Errorf("a row that cannot be read: got error %v; want a *table.DecodeError", err)
	}
	var left []keys.Key
	report, err := fx.mover.ArchiveAll(ctx, in, &table.Pass{Skip: func(k keys.Key, err error) bool { left = append(left, k); return true }})
	if err != nil || report.Changed != 3 || report.Skipped != len(left) || len(left) == 0 {
		t.Errorf("got %+v, error %v, left %v; want 3 archived, and the others left", report, err, left)
	}
	testkit.Expect(t, "rest", len(s.Rows("old")), 3)
}

// TestArchiveAllKinds: the rows of indexes in the partition and elsewhere go with the entities, into a table and into blobs.
func TestArchiveAllKinds(t *testing.T) {
	t.Parallel()
	for _, blobs := range []bool{false, true} {
		t.Run(fmt.Sprint("blobs ", blobs), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			service := storagetest.New(nil)
			store := aztablekit.Open(service, "notes", nil)
			var to archive.Destination = archive.ToTable("former", nil)
			if blobs {
				to = blobarchive.New("former", nil)
			}
			text := func(n *note) (string, bool) { return fmt.Sprint("v", n.No), true }
			former, byText := archive.Into[note]("former", to), index.New("text", keys.Text(), text, nil)
			shown, anywhere := index.New("shown", keys.Text(), text, nil), index.NewGlobal("anywhere", keys.Text(), text, nil)
			notes := aztablekit.Table(store, "notes", topic, noteNo, former, byText, shown, anywhere)
			must(t, store.Ensure(ctx))
			const n = 120
			for i := range n {
				_, err := notes.Insert(ctx, &note{[]string{"A", "B"}[i%2], i})
				must(t, err)
			}
			must(t, store.Drain(ctx))
			report, err := former.ArchiveAll(ctx, notes, table.Query[note]{Partitions: topic.All(), TableScan: true}, nil)
			if err != nil || report.Changed != n {
				t.Errorf("got %+v, error %v; want %d archived", report, err, n)
			}
			must(t, store.Drain(ctx))
			if all, err := store.Verify(ctx, nil); err != nil || all.Faults > 0 || all.Rows > 0 {
				t.Errorf("verify: got %+v, error %v; want a sound table without entities", all, err)
			}
			for _, row := range service.Rows("notes") {
				if !strings.HasPrefix(row.RowKey, "~") && row.PartitionKey != "~d" {
					t.Errorf("got %v; want no row of an entity or of an index", row)
				}
			}
			for _, i := range []int{0, 1, n - 1} {
				k := keys.At(topic.Of([]string{"A", "B"}[i%2]), noteNo.Of(i))
				if e, archived, err := former.Find(ctx, notes, k); err != nil || !archived || e.Value.No != i {
					t.Errorf("Find %v: got %+v, archived %v, error %v; want it archived", k, e, archived, err)
				}
			}
		})
	}
}
