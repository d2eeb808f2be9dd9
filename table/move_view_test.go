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
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// townProgram returns the residents of a service for one program, with its own requests.
func townProgram(t testing.TB, s *storagetest.Service, o *table.Options) (*table.Table[resident], *testkit.Hooked) {
	t.Helper()
	own := &testkit.Hooked{Service: s}
	people, err := baretest.WithOutbox(peopleOf(t, own, o), &memoryOutbox{}, byLast{}, byEmail{})
	noError(t, err)
	return people, own
}

// held is a program that stops before one of its transactions.
type held struct {
	stopped chan bool
	goOn    chan bool
	ended   chan error
}

// holdMove moves resident 1 to M in another goroutine, and stops before the transaction with a number: 1 prepares, 2 commits and 3
// finishes.
func holdMove(t testing.TB, s *storagetest.Service, at int) *held {
	t.Helper()
	people, own := townProgram(t, s, nil)
	e, err := people.Get(context.Background(), residentAt(1))
	noError(t, err)
	h := &held{make(chan bool), make(chan bool), make(chan error, 1)}
	n := 0
	own.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			if n++; n == at {
				close(h.stopped)
				<-h.goOn
			}
		}
	}
	e.Value.Dept = "M"
	go func() { h.ended <- people.Move(context.Background(), e) }()
	<-h.stopped
	return h
}

// end lets the program go on to its end.
func (h *held) end() error {
	close(h.goOn)
	return <-h.ended
}

// onFirst lets a program call f before its first request for a row whose RowKey contains a text.
func onFirst(own *testkit.Hooked, text string, f func()) {
	own.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "RowKey='"+text) {
			own.BeforeRequest = nil
			f()
		}
	}
}

// TestMovePage: a page is of one instant, although its moves commit one after the other while it is read.
func TestMovePage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	people, _ := townProgram(t, s, nil)
	noError(t, tabledoor.Ensure(ctx, people))
	for _, p := range []resident{{"S", 1, "Jones", "a"}, {"S", 2, "Smith", "b"}} {
		_, err := people.Insert(ctx, &p)
		noError(t, err)
	}
	first := holdMove(t, s, 2) // its row is in M and marked
	reader, own := townProgram(t, s, nil)
	onFirst(own, "~i|", func() { // the page has been read; the second commits before the first
		e, err := people.Get(ctx, residentAt(2))
		noErrorInHook(t, err)
		e.Value.Dept = "M"
		noErrorInHook(t, people.Move(ctx, e))
		noErrorInHook(t, first.end())
	})
	var got []int
	for e, err := range reader.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("M")}) {
		noError(t, err)
		got = append(got, e.Value.ID)
	}
	if own.BeforeRequest != nil {
		t.Error("the list has read no commit record")
	}
	testkit.Expect(t, "residents of M", got, []int{1, 2})
}

func noErrorInHook(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("before a request: got error %v; want none", err)
	}
}

// TestMovePageFinished: a move is finished between the page and the new content of one of its rows.
func TestMovePageFinished(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	move := holdMove(t, s.Service, 3) // it has committed
	own := &testkit.Hooked{Service: s.Service}
	rows, err := bare.NewTable(serviceOf(t, own), "people", table.Schema[table.Row]{}, noWaitOptions())
	noError(t, err)
	onFirst(own, "~t|", func() { noErrorInHook(t, move.end()) })
	var got []string
	for e, err := range rows.List(ctx, table.Query[table.Row]{Partition: keys.RawPartition("M"), Rows: keys.RawRow("last_Jones").Point()}) {
		noError(t, err)
		ids, _ := e.Value.Get("IDs")
		got = append(got, fmt.Sprint(e.Key.RowKey(), "=", ids))
	}
	if own.BeforeRequest != nil {
		t.Error("the list has read no new content")
	}
	testkit.Expect(t, "lists of M", got, []string{"last_Jones=1 3"})
}

// crashedMove moves resident 1 to M by a program that crashes before one of its transactions, as of holdMove.
func crashedMove(t testing.TB, s *storagetest.Service, at int) {
	t.Helper()
	crashedMoveOf(t, s, 1, at)
}

// crashedMoveOf is crashedMove of any resident.
func crashedMoveOf(t testing.TB, s *storagetest.Service, id, at int) {
	t.Helper()
	people, own := townProgram(t, s, nil)
	e, err := people.Get(context.Background(), residentAt(id))
	noError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	own.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			if n++; n == at {
				cancel()
			}
		}
	}
	e.Value.Dept = "M"
	if err := people.Move(ctx, e); ctx.Err() == nil {
		t.Fatalf("the move ended with %v before its transaction %d", err, at)
	}
}

// TestMovePageOfMany: a page contains the rows of moves whose programs crashed: one that has committed, one that has not, and one that was
// aborted. A list contains the first alone.
func TestMovePageOfMany(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _ := movingTown(t)
	insertAll(t, people, s, resident{"S", 4, "Smith", "d"}, resident{"S", 5, "Brown", "e"})
	crashedMove(t, s.Service, 3)
	crashedMoveOf(t, s.Service, 4, 2)
	crashedMoveOf(t, s.Service, 5, 2)
	var aborted string
	for _, r := range s.Rows("people") {
		if r.PartitionKey == "M" && r.RowKey == "p_000005" {
			aborted = testkit.OperationID(r.Get("_op"))
		}
	}
	record, err := records.Of(people).Resolve(ctx, keys.RawPartition("S"), aborted)
	noError(t, err)
	testkit.Expect(t, "the third write", record.State, commit.Aborted)
	reader, own := townProgram(t, s.Service, nil)
	records := map[string]bool{}
	own.BeforeRequest = func(r *http.Request) {
		if _, id, is := strings.Cut(r.URL.Path, "RowKey='~i|"); is {
			records[id] = true
		}
	}
	var got []int
	for e, err := range reader.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("M")}) {
		noError(t, err)
		got = append(got, e.Value.ID)
	}
	testkit.Expect(t, "residents of M", got, []int{1, 3})
	testkit.Expect(t, "commit records read", len(records), 3)
}

// muchLater returns options whose clock is ahead by more than commit records are kept.
func muchLater() *table.Options {
	o := noWaitOptions()
	options.SetNow(&o.Common, func() time.Time { return time.Now().Add(25 * time.Hour) })
	return o
}

// TestMoveLongAgo: the program of a move crashed longer ago than commit records are kept. Readers finish what has committed, and roll
// back the rest.
func TestMoveLongAgo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at, want := range map[int]string{2: townBefore, 3: townAfter} {
		_, s, _ := movingTown(t)
		crashedMove(t, s.Service, at)
		reader, _ := townProgram(t, s.Service, muchLater())
		in := map[string]bool{}
		for _, d := range []string{"S", "M"} {
			for e, err := range reader.List(ctx, table.Query[resident]{Partition: dept.PartitionKey(d)}) {
				noError(t, err)
				in[d] = in[d] || e.Value.ID == 1
			}
		}
		if moved := at == 3; in["M"] != moved || in["S"] == moved {
			t.Errorf("crash before transaction %d: lists find the resident in %v", at, in)
		}
		for _, d := range []string{"S", "M"} {
			if _, err := reader.Get(ctx, keys.At(dept.PartitionKey(d), residentID.Of(1))); err != nil && !errors.Is(err, table.ErrNotFound) {
				t.Error(err)
			}
			// Writes of other residents meet the lists.
			_, err := reader.Insert(ctx, &resident{d, 9, "Jones", "x"})
			noError(t, err)
			noError(t, reader.DeleteAny(ctx, keys.At(dept.PartitionKey(d), residentID.Of(9))))
		}
		testkit.Expect(t, fmt.Sprintf("after a crash before transaction %d", at), storedRows(s), want)
	}
}

// TestMovePageSwept: a move is finished, and its old commit record swept, after a page was read.
func TestMovePageSwept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	crashedMove(t, s.Service, 3)
	reader, own := townProgram(t, s.Service, muchLater())
	onFirst(own, "~i|", func() {
		_, err := reader.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(1)))
		noErrorInHook(t, err)
		for _, r := range s.Rows("people") {
			if strings.HasPrefix(r.RowKey, "~i|") {
				_, err := s.Tables().NewClient("people").DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
				noErrorInHook(t, err)
			}
		}
	})
	var got []int
	for e, err := range reader.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("M")}) {
		noError(t, err)
		got = append(got, e.Value.ID)
	}
	testkit.Expect(t, "residents of M", got, []int{1, 3})
}
