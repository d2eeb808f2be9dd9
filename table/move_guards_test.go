package table_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// preparations returns the keys of what moves to M have prepared there, without the rows of new contents.
func preparations(s *storagetest.Service) (ids []string) {
	for _, r := range s.Rows("people") {
		if id, is := strings.CutPrefix(r.RowKey, "~t|"); is && r.PartitionKey == "M" && !strings.Contains(id, "|") {
			ids = append(ids, id)
		}
	}
	return ids
}

// moveToM moves resident id from S to M with a handle, and calls before before its transaction with a number.
func moveToM(ctx context.Context, t testing.TB, people *table.Table[resident], own *testkit.Hooked, id, at int, before func()) error {
	t.Helper()
	e, err := people.Get(context.Background(), residentAt(id))
	noError(t, err)
	n := 0
	own.BeforeRequest = func(r *http.Request) {
		if isBatch(r) {
			if n++; n == at {
				before()
			}
		}
	}
	defer func() { own.BeforeRequest = nil }()
	e.Value.Dept = "M"
	return people.Move(ctx, e)
}

// TestMoveSuspended: a program that was suspended before it prepares does not prepare with its old operation ID, of which no worker
// hears any more.
func TestMoveSuspended(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	late := time.Duration(0)
	o := noWaitOptions()
	options.SetNow(&o.Common, func() time.Time { return time.Now().Add(late) })
	out := &memoryOutbox{}
	own := &testkit.Hooked{Service: s.Service}
	suspending := &suspendedOutbox{memoryOutbox: out, suspend: func() { late = 30 * time.Hour }}
	people, err := baretest.WithOutbox(peopleOf(t, own, o), suspending, byLast{}, byEmail{})
	noError(t, err)
	e, err := people.Get(ctx, residentAt(1))
	noError(t, err)
	old := ""
	own.BeforeRequest = func(*http.Request) {
		if old = suspending.first; old != "" {
			for _, id := range preparations(s.Service) {
				if id == old {
					t.Errorf("got a preparation of %s; want none of an operation ID of 30 hours ago", id)
				}
			}
		}
	}
	e.Value.Dept = "M"
	noError(t, people.Move(ctx, e))
	own.BeforeRequest = nil
	testkit.Expect(t, "rows", storedRows(s), townAfter)
	if old == "" || out.last.OperationID == old {
		t.Errorf("got the operation IDs %q and %q; want another one after the suspension", old, out.last.OperationID)
	}
}

// suspendedOutbox suspends the program once, behind its first notification.
type suspendedOutbox struct {
	*memoryOutbox
	suspend func()
	first   string
}

func (o *suspendedOutbox) Notify(ctx context.Context, n commit.Notification) (commit.SentNotification, error) {
	sent, err := o.memoryOutbox.Notify(ctx, n)
	if o.first == "" {
		o.first = n.OperationID
		o.suspend()
	}
	return sent, err
}

// TestMoveRolledBackBefore: another program has rolled back a move before the request that prepares arrives, and its abort record is
// gone: some other program has deleted it. The move does not commit without its rows.
func TestMoveRolledBackBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	own := &testkit.Hooked{Service: s.Service}
	out := &memoryOutbox{}
	people, err := baretest.WithOutbox(peopleOf(t, own, nil), out, byLast{}, byEmail{})
	noError(t, err)
	other, _ := townProgram(t, s.Service, nil)
	err = moveToM(ctx, t, people, own, 1, 1, func() {
		id := out.last.OperationID
		noError(t, door.Table(other).EndParticipant(ctx, "S", id, commit.Place{Table: "people", Partition: "M"}, true))
		_, err := s.Tables().NewClient("people").DeleteEntity(ctx, "S", "~i|"+id, nil)
		noError(t, err)
	})
	noError(t, err)
	testkit.Expect(t, "rows", storedRows(s), townAfter)
}

// TestMoveLatePreparation: the request that prepares arrives after the move was given up. It prepares nothing.
func TestMoveLatePreparation(t *testing.T) {
	t.Parallel()
	_, s, _ := movingTown(t)
	o := noWaitOptions()
	o.Retry.Attempts = -1
	people, own := townProgram(t, s.Service, o)
	err := moveToM(context.Background(), t, people, own, 1, 1, func() {
		once := true
		s.SetFaults(func(r storagetest.Request) (f storagetest.Fault) {
			if once && r.Kind == requests.Transaction {
				once, f = false, storagetest.Late(0)
			}
			return f
		})
	})
	if err == nil {
		t.Fatal("a move whose preparation was lost: got no error; want one")
	}
	testkit.Expect(t, "late requests", len(s.LateRequests()), 1)
	s.Deliver()
	testkit.Expect(t, "rows", storedRows(s), townBefore)
}

// TestMoveExecutedAgain: a message that arrives once more, after the rows of its move were swept, leaves no row.
func TestMoveExecutedAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, out := movingTown(t)
	noError(t, moveToM(ctx, t, people, s, 1, 0, nil))
	client := s.Tables().NewClient("people")
	for _, id := range preparations(s.Service) {
		_, err := client.DeleteEntity(ctx, "M", "~t|"+id, nil)
		noError(t, err)
	}
	before := len(s.Rows("people"))
	noError(t, door.Table(people).EndParticipant(ctx, "S", out.last.OperationID, commit.Place{Table: "people", Partition: "M"}, true))
	testkit.Expect(t, "rows", len(s.Rows("people")), before)
	testkit.Expect(t, "rows", storedRows(s), townAfter)
}

// TestMoveBroughtBack: another program has written back what a move had prepared before it was over. A program that finishes the move
// again leaves alone what a later move has prepared since.
func TestMoveBroughtBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	crashedMove(t, s.Service, 3) // committed, and not finished
	first := preparations(s.Service)[0]
	client := s.Tables().NewClient("people")
	var kept [][]byte
	for _, r := range s.Rows("people") {
		if strings.HasPrefix(r.RowKey, "~t|") {
			raw, err := client.GetEntity(ctx, r.PartitionKey, r.RowKey, nil)
			noError(t, err)
			kept = append(kept, raw.Value)
		}
	}
	reader, _ := townProgram(t, s.Service, nil)
	_, err := reader.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(1))) // finishes the move
	noError(t, err)

	people, own := townProgram(t, s.Service, nil)
	crashing, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = moveToM(crashing, t, people, own, 2, 3, func() { cancel() }) // committed, and not finished
	testkit.Expect(t, "preparations", len(preparations(s.Service)), 2)
	for _, raw := range kept {
		_, err := client.UpsertEntity(ctx, raw, nil)
		noError(t, err)
	}
	before := storedRows(s)
	noError(t, door.Table(reader).EndParticipant(ctx, "S", first, commit.Place{Table: "people", Partition: "M"}, false))
	testkit.Expect(t, "rows after the first move was finished again", storedRows(s), before)
	for _, id := range []int{1, 2, 3} {
		_, err := reader.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(id)))
		noError(t, err)
	}
	testkit.Expect(t, "rows", storedRows(s), "M/email_a M/email_b M/email_c M/last_Jones=1 2 3 M/p_000001 M/p_000002 M/p_000003")
}
