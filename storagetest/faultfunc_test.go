package storagetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/kinds"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPlanUsesService: a FaultFunc may read the account and replace itself.
func TestFaultFuncUsesService(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	tab := newStaffTable(t, s)
	read := ""
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		read += fmt.Sprint(len(s.Rows("staff")), len(s.Requests()), s.Now().IsZero(), ";")
		s.SetFaults(nil) // once only
		return storagetest.LostResponse()
	})
	_, first := tab.AddEntity(context.Background(), entity("a"), nil)
	_, second := tab.AddEntity(context.Background(), entity("b"), nil)
	if read != "0 1 false;" || first == nil || second != nil {
		t.Errorf("got %q, errors %v and %v; want 0 1 false, and an error in the first insert alone", read, first, second)
	}
}

// TestTimes: Times and Once limit a fault in each kind of FaultFunc, and requests record the fault itself.
func TestTimes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lost := storagetest.LostResponse()
	for name, faults := range map[string]func() storagetest.FaultFunc{
		"OfKind": func() storagetest.FaultFunc { return storagetest.OfKind(requests.Insert, storagetest.Times(2, lost)) },
		"When": func() storagetest.FaultFunc {
			return storagetest.When(func(r storagetest.Request) bool { return r.Kind == requests.Insert }, storagetest.Times(2, lost))
		},
		"First": func() storagetest.FaultFunc {
			return storagetest.First(storagetest.OfKind(requests.Get, lost), storagetest.OfKind(requests.Insert, storagetest.Once(lost)), storagetest.OfKind(requests.Insert, storagetest.Once(lost)))
		},
		"custom function": func() storagetest.FaultFunc {
			f := storagetest.Times(2, lost)
			return func(storagetest.Request) storagetest.Fault { return f }
		},
		"custom functions in First": func() storagetest.FaultFunc {
			f, g := storagetest.Once(lost), storagetest.Once(lost)
			return storagetest.First(func(storagetest.Request) storagetest.Fault { return f }, func(storagetest.Request) storagetest.Fault { return g })
		},
	} {
		s := storagetest.New(nil)
		tab := newStaffTable(t, s)
		s.SetFaults(faults())
		got := ""
		for i := range 4 {
			_, err := tab.AddEntity(ctx, entity(fmt.Sprint(i)), nil)
			got += fmt.Sprint(err == nil, " ")
		}
		if want := "false false true true "; got != want {
			t.Errorf("%s: got %s; want %s", name, got, want)
		}
		for i, r := range s.Requests()[1:] {
			if want := map[bool]storagetest.Fault{true: lost}[i < 2]; r.Fault != want {
				t.Errorf("%s: request %d: got %v; want %v", name, i, r.Fault, want)
			}
		}
	}
}

// TestUnknownKind: a FaultFunc for an unknown kind refuses every request and names the kind.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, kind := range []requests.Kind{"", "insrt", "Insert", "insert "} {
		for _, faults := range []storagetest.FaultFunc{storagetest.OfKind(kind, storagetest.LostResponse()), storagetest.First(storagetest.OfKind(requests.Get, storagetest.LostResponse()), storagetest.OfKind(kind, storagetest.Once(storagetest.LostResponse())))} {
			s := storagetest.New(nil)
			tab := newStaffTable(t, s)
			s.SetFaults(faults)
			for range 2 {
				_, err := tab.AddEntity(ctx, entity("a"), nil)
				var re *azcore.ResponseError
				if !errors.As(err, &re) || re.ErrorCode != "UnknownRequestKind" || !strings.Contains(err.Error(), fmt.Sprintf("no request is of kind '%v'", kind)) {
					t.Errorf("%v: got %v; want 400 UnknownRequestKind with the kind", kind, err)
				}
			}
			if got := rows(s); got != "" {
				t.Errorf("%v: got rows %q; want none", kind, got)
			}
		}
	}
	for _, text := range kinds.All() {
		kind := requests.Kind(text)
		if f := storagetest.OfKind(kind, storagetest.LostResponse())(storagetest.Request{Kind: kind}); f != storagetest.LostResponse() {
			t.Errorf("%s: got %v; want the fault", kind, f)
		}
	}
}
