package storagetest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestFaults: each fault determines whether an insert is stored at once and in the end, and what the client receives.
func TestFaults(t *testing.T) {
	t.Parallel()
	refused := func(err error) bool {
		var op *net.OpError
		return errors.As(err, &op) && op.Op == "dial"
	}
	reset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
	status := func(want int, code string) func(error) bool {
		return func(err error) bool {
			var re *azcore.ResponseError
			return errors.As(err, &re) && re.StatusCode == want && re.ErrorCode == code
		}
	}
	over := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	fine := func(err error) bool { return err == nil }
	for _, c := range []struct {
		fault         storagetest.Fault
		stored, inEnd bool
		wantErr       func(error) bool
		text          string
	}{
		{storagetest.Fault{}, true, true, fine, "none"},
		{storagetest.NotSent(), false, false, refused, "not sent"},
		{storagetest.LostRequest(), false, false, reset, "request lost"},
		{storagetest.LostResponse(), true, true, reset, "response lost"},
		{storagetest.Twice(), true, true, status(409, "EntityAlreadyExists"), "twice"},
		{storagetest.LateDuplicate(0), true, true, fine, "late duplicate, at the end"},
		{storagetest.Late(0), false, true, reset, "late, at the end"},
		{storagetest.Late(1), false, true, reset, "late, after 1 others"},
		{storagetest.Refuse(503, "ServerBusy"), false, false, status(503, "ServerBusy"), "refused 503 ServerBusy"},
		{storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), true, true, status(500, "OperationTimedOut"), "executed, then refused 500 OperationTimedOut"},
		{storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"), false, false, status(412, "UpdateConditionNotSatisfied"), "refused in transaction 412 UpdateConditionNotSatisfied"},
		{storagetest.Cut(10), true, true, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, "response cut at 10"},
		{storagetest.Cut(1 << 20), true, true, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, "response cut at 1048576"},
		{storagetest.Truncate(1 << 20), true, true, fine, "response truncated at 1048576"},
		{storagetest.Truncate(-5), true, true, func(err error) bool { return err != nil }, "response truncated at -5"},
		{storagetest.Hang(), false, false, over, "hang"},
		{storagetest.ExecuteThenHang(), true, true, over, "executed, then hang"},
		{storagetest.Slow(2 * time.Second), true, true, fine, "slow 2s"},
		{storagetest.Slow(time.Hour), true, true, over, "slow 1h0m0s"},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := storagetest.New(nil)
				tab := newStaffTable(t, s)
				s.SetFaults(storagetest.OfKind(requests.Insert, c.fault))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := tab.AddEntity(ctx, entity("a"), nil)
				if !c.wantErr(err) {
					t.Errorf("got error %v", err)
				}
				if got := rows(s); (got == "a") != c.stored {
					t.Errorf("got rows %q; want stored %v", got, c.stored)
				}
				s.Deliver()
				if got := rows(s); (got == "a") != c.inEnd {
					t.Errorf("in the end: got rows %q; want stored %v", got, c.inEnd)
				}
				if got := c.fault.String(); got != c.text {
					t.Errorf("got fault %q; want %q", got, c.text)
				}
				if list := s.Requests(); len(list) != 2 || list[1].Fault != c.fault || list[1].Kind != requests.Insert || list[1].RowKey != "a" {
					t.Errorf("got requests %v; want an insert of a with fault %v", list, c.fault)
				}
			})
		})
	}
}

// TestLateRequests: a late request arrives after the number of other requests in its fault, or when delivered.
func TestLateRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	tab := newStaffTable(t, s)
	s.SetFaults(storagetest.First(storagetest.AtRequest(2, storagetest.Late(2)), storagetest.AtRequest(3, storagetest.Late(0)), storagetest.AtRequest(4, storagetest.LateDuplicate(0))))
	for i, want := range []string{"", "", "c", "a c d"} {
		tab.AddEntity(ctx, entity(string(rune('a'+i))), nil)
		if got := rows(s); got != want {
			t.Errorf("after %d requests: got rows %q; want %q", i+2, got, want)
		}
	}
	if list := s.LateRequests(); len(list) != 2 || list[0].RowKey != "b" || list[1].RowKey != "c" {
		t.Errorf("got late requests %v; want b and c", list)
	}
	if r := s.DeliverOne(1); r.RowKey != "c" || rows(s) != "a c d" {
		t.Errorf("got request %v, rows %s; want c, a c d", r, rows(s))
	}
	if list := s.Deliver(); len(list) != 1 || rows(s) != "a b c d" || len(s.LateRequests()) != 0 {
		t.Errorf("got requests %v, rows %s; want one request, a b c d", list, rows(s))
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a late request that is not there: got no panic; want one")
			}
		}()
		s.DeliverOne(0)
	}()
	if got := rows(s); got != "a b c d" {
		t.Errorf("after the panic: got rows %q; want a b c d", got)
	}
}

// TestFaultsInTransactions: with each fault, a transaction is stored completely or not at all.
func TestFaultsInTransactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	actions := []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: entity("a")}, {ActionType: aztables.TransactionTypeAdd, Entity: entity("b")}}
	for fault, stored := range map[storagetest.Fault]string{
		storagetest.RefuseInTransaction(503, "ServerBusy"): "", storagetest.Refuse(503, "ServerBusy"): "", storagetest.ExecuteThenRefuse(503, "ServerBusy"): "a b", storagetest.Cut(100): "a b", storagetest.Truncate(100): "a b",
		storagetest.Twice(): "a b", storagetest.Late(0): "", storagetest.LostResponse(): "a b",
	} {
		s := storagetest.New(nil)
		tab := newStaffTable(t, s)
		s.SetFaults(storagetest.OfKind(requests.Transaction, fault))
		func() {
			defer func() { recover() }() // the SDK panics on some cut responses
			tab.SubmitTransaction(ctx, actions, nil)
		}()
		if got := rows(s); got != stored {
			t.Errorf("%v: got rows %q; want %q", fault, got, stored)
		}
		if s.Deliver(); fault == storagetest.Late(0) && rows(s) != "a b" {
			t.Errorf("%v, delivered: got rows %q; want a b", fault, rows(s))
		}
	}
	s := storagetest.New(nil)
	tab := newStaffTable(t, s)
	s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied")))
	_, err := tab.SubmitTransaction(ctx, actions, nil)
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != 202 {
		t.Errorf("got %v; want an error inside a response with 202", err)
	}
	if got, want := s.Requests()[1].String(), "2 transaction staff {insert('p','a'), insert('p','b')} [refused in transaction 412 UpdateConditionNotSatisfied]: 202 UpdateConditionNotSatisfied"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}
