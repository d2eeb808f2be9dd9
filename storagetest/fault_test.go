package storagetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/storagetest"
)

// client is the SDK's client of a service, without retries, with a table called staff.
func client(t *testing.T, s *storagetest.Service) *aztables.Client {
	t.Helper()
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(context.Background(), "staff", nil); err != nil {
		t.Fatal(err)
	}
	return c.NewClient("staff")
}

func entity(row string) []byte { return []byte(`{"PartitionKey":"p","RowKey":"` + row + `"}`) }

func rows(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		all = append(all, r.RowKey)
	}
	return strings.Join(all, " ")
}

// TestFaults: what each does to an insert: what is stored at once, what when all has arrived, and what the client sees.
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
		stored, later bool
		sees          func(error) bool
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
				tab := client(t, s)
				s.SetFaults(storagetest.OfKind("insert", c.fault))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := tab.AddEntity(ctx, entity("a"), nil)
				if !c.sees(err) {
					t.Errorf("the client sees %v", err)
				}
				if got := rows(s); (got == "a") != c.stored {
					t.Errorf("stored: %q", got)
				}
				s.Deliver()
				if got := rows(s); (got == "a") != c.later || c.fault.String() != c.text {
					t.Errorf("stored in the end: %q; %s", got, c.fault)
				}
				if list := s.Requests(); len(list) != 2 || list[1].Fault != c.fault || list[1].Kind != "insert" || list[1].RowKey != "a" {
					t.Errorf("%v", list)
				}
			})
		})
	}
}

// TestLateRequests arrive after as many others as was said, or one by one when they are let.
func TestLateRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	tab := client(t, s)
	s.SetFaults(storagetest.First(storagetest.AtRequest(2, storagetest.Late(2)), storagetest.AtRequest(3, storagetest.Late(0)), storagetest.AtRequest(4, storagetest.LateDuplicate(0))))
	for i, want := range []string{"", "", "c", "a c d"} {
		tab.AddEntity(ctx, entity(string(rune('a'+i))), nil)
		if got := rows(s); got != want {
			t.Errorf("after %d requests: %q, want %q", i+2, got, want)
		}
	}
	if list := s.LateRequests(); len(list) != 2 || list[0].RowKey != "b" || list[1].RowKey != "c" {
		t.Errorf("%v", list)
	}
	if r := s.DeliverOne(1); r.RowKey != "c" || rows(s) != "a c d" {
		t.Errorf("%v, %s", r, rows(s))
	}
	if list := s.Deliver(); len(list) != 1 || rows(s) != "a b c d" || len(s.LateRequests()) != 0 {
		t.Errorf("%v, %s", list, rows(s))
	}
}

// TestPlanAsks: a plan may look at the service, and change the plan.
func TestPlanAsks(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	tab := client(t, s)
	asked := ""
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		asked += fmt.Sprint(len(s.Rows("staff")), len(s.Requests()), s.Now().IsZero(), ";")
		s.SetFaults(nil) // once only
		return storagetest.LostResponse()
	})
	_, first := tab.AddEntity(context.Background(), entity("a"), nil)
	_, second := tab.AddEntity(context.Background(), entity("b"), nil)
	if asked != "0 1 false;" || first == nil || second != nil {
		t.Errorf("%q %v %v", asked, first, second)
	}
}

// TestAfter: each request is told of when it is carried out, late ones then.
func TestAfter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var s *storagetest.Service
	var told []string
	s = storagetest.New(&storagetest.Options{AfterRequest: func(r storagetest.Request) { told = append(told, fmt.Sprintf("%v with %q", r, rows(s))) }})
	tab := client(t, s)
	s.SetFaults(storagetest.First(storagetest.AtRequest(2, storagetest.Late(1)), storagetest.AtRequest(3, storagetest.Twice()), storagetest.AtRequest(4, storagetest.NotSent())))
	for _, row := range []string{"a", "b", "c"} {
		tab.AddEntity(ctx, entity(row), nil)
	}
	want := []string{
		`1 table-create staff: 201 with ""`,
		`2 insert staff('p','a') [late, after 1 others] with ""`,
		`3 insert staff('p','b') [twice]: 201 with "b"`, `3 insert staff('p','b') [twice]: 409 EntityAlreadyExists with "b"`,
		`2 insert staff('p','a') arrives: 201 with "a b"`,
		`4 insert staff('p','c') [not sent] with "a b"`,
	}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("%q", told)
	}
}

// TestFaultsInTransactions: those that only a transaction's response can have, and that nothing of it is half done.
func TestFaultsInTransactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	actions := []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: entity("a")}, {ActionType: aztables.TransactionTypeAdd, Entity: entity("b")}}
	for fault, stored := range map[storagetest.Fault]string{
		storagetest.RefuseInTransaction(503, "ServerBusy"): "", storagetest.Refuse(503, "ServerBusy"): "", storagetest.ExecuteThenRefuse(503, "ServerBusy"): "a b", storagetest.Cut(100): "a b", storagetest.Truncate(100): "a b",
		storagetest.Twice(): "a b", storagetest.Late(0): "", storagetest.LostResponse(): "a b",
	} {
		s := storagetest.New(nil)
		tab := client(t, s)
		s.SetFaults(storagetest.OfKind("transaction", fault))
		func() {
			defer func() { recover() }() // the SDK panics on some cut responses
			tab.SubmitTransaction(ctx, actions, nil)
		}()
		if got := rows(s); got != stored {
			t.Errorf("%v: %q", fault, got)
		}
		if s.Deliver(); fault == storagetest.Late(0) && rows(s) != "a b" {
			t.Errorf("%v, delivered: %q", fault, rows(s))
		}
	}
	s := storagetest.New(nil)
	tab := client(t, s)
	s.SetFaults(storagetest.OfKind("transaction", storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied")))
	_, err := tab.SubmitTransaction(ctx, actions, nil)
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != 202 {
		t.Error(err)
	}
	if got := s.Requests()[1].String(); got != "2 transaction staff {insert('p','a'), insert('p','b')} [refused in transaction 412 UpdateConditionNotSatisfied]: 202 UpdateConditionNotSatisfied" {
		t.Error(got)
	}
}

// TestCount: by kind, with conditions told apart.
func TestCount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(&storagetest.Options{RequestLogSize: 3})
	tab := client(t, s)
	if got := s.Count(); got != "1 table-create" {
		t.Error(got)
	}
	for _, row := range []string{"a", "b"} {
		tab.AddEntity(ctx, entity(row), nil)
	}
	tab.UpdateEntity(ctx, entity("a"), nil)
	tab.UpdateEntity(ctx, entity("a"), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	tab.UpsertEntity(ctx, entity("a"), nil)
	tab.UpsertEntity(ctx, entity("a"), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	tab.DeleteEntity(ctx, "p", "b", nil)
	tab.GetEntity(ctx, "p", "a", nil)
	filter := "PartitionKey eq 'p'"
	tab.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter}).NextPage(ctx)
	tab.Delete(ctx, nil)
	if got := s.Count(); got != "1 delete, 1 get, 2 insert, 1 insert-or-merge, 1 insert-or-replace, 1 merge, 1 query, 1 replace, 1 table-delete" {
		t.Error(got)
	}
	if got := s.Count(); got != "none" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.Requests()); got != "[9 get staff('p','a'): 200 10 query staff('p',''): 200 11 table-delete staff: 204]" {
		t.Error(got)
	}
	if got := storagetest.New(&storagetest.Options{RequestLogSize: -1}); got.Requests() != nil {
		t.Error("remembers")
	}
}

// TestPort: the service over HTTP, to clients that know nothing of it, and its faults there.
func TestPort(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(&storagetest.Options{Account: "other"})
	cs, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := aztables.NewServiceClientFromConnectionString(cs, &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, "staff", nil); err != nil {
		t.Fatal(err)
	}
	tab := c.NewClient("staff")
	if _, err := tab.AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"O'Brien é","A":1}`), nil); err != nil {
		t.Fatal(err)
	}
	got, err := tab.GetEntity(ctx, "p", "O'Brien é", nil)
	if err != nil || !strings.Contains(string(got.Value), `"A":1`) {
		t.Errorf("%s, %v", got.Value, err)
	}
	for fault, stored := range map[storagetest.Fault]bool{storagetest.LostResponse(): true, storagetest.NotSent(): false, storagetest.Cut(20): true} {
		s.SetFaults(storagetest.OfKind("insert", fault))
		row := strings.ReplaceAll(fault.String(), " ", "")
		if _, err := tab.AddEntity(ctx, entity(row), nil); err == nil {
			t.Errorf("%v: no error", fault)
		}
		if strings.Contains(rows(s), row) != stored {
			t.Errorf("%v: %s", fault, rows(s))
		}
	}
	resp, err := http.Get(strings.SplitAfter(strings.SplitAfter(cs, "TableEndpoint=")[1], "other")[0] + "/staff()")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 403 || !strings.Contains(string(body), "<m:code>AuthenticationFailed</m:code>") || resp.Header.Get("x-ms-error-code") != "AuthenticationFailed" || resp.Header.Get("x-ms-version") != "" {
		t.Errorf("%v %s", resp, body)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tab.GetEntity(ctx, "p", "x", nil); err == nil {
		t.Error("the port is still open")
	}
}

// TestSignatures: of the account's key, and of a table; wrong ones, and none.
func TestSignatures(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	r.insert("in", "")
	r.insert("out", "")
	ctx := context.Background()
	cred, err := aztables.NewSharedKeyCredential("storagename", r.Key())
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := aztables.NewSharedKeyCredential("storagename", "AAAA")
	if err != nil {
		t.Fatal(err)
	}
	options := &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: r.Service}}
	const base = "https://storagename.table.storagetest.test"
	with := func(c *aztables.SharedKeyCredential) *aztables.ServiceClient {
		s, err := aztables.NewServiceClientWithSharedKey(base, c, options)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := with(wrong).NewClient("staff").GetEntity(ctx, "p", "in", nil); code(err) != "AuthenticationFailed" {
		t.Error(err)
	}
	holder := func(v aztables.SASSignatureValues, by *aztables.SharedKeyCredential) *aztables.Client {
		v.TableName, v.ExpiryTime = "staff", moment.Add(time.Hour)
		query, err := v.Sign(by)
		if err != nil {
			t.Fatal(err)
		}
		if v.StartPartitionKey != "" { // which the SDK forgets
			query += "&spk=" + v.StartPartitionKey + "&epk=" + v.EndPartitionKey + "&srk=" + v.StartRowKey + "&erk=" + v.EndRowKey
		}
		s, err := aztables.NewServiceClientWithNoCredential(base+"/?"+query, options)
		if err != nil {
			t.Fatal(err)
		}
		return s.NewClient("staff")
	}
	mine := holder(aztables.SASSignatureValues{Permissions: "raud", StartPartitionKey: "p", EndPartitionKey: "p", StartRowKey: "a", EndRowKey: "k"}, cred)
	_, inside := mine.GetEntity(ctx, "p", "in", nil)
	_, outside := mine.GetEntity(ctx, "p", "out", nil)
	_, added := mine.AddEntity(ctx, entity("b"), nil)
	_, addedOutside := mine.AddEntity(ctx, entity("z"), nil)
	_, updatedOutside := mine.UpdateEntity(ctx, entity("out"), nil)
	_, deletedOutside := mine.DeleteEntity(ctx, "p", "out", nil)
	_, both := mine.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: entity("c")}, {ActionType: aztables.TransactionTypeAdd, Entity: entity("x")}}, nil)
	_, reader := holder(aztables.SASSignatureValues{Permissions: "r"}, cred).AddEntity(ctx, entity("d"), nil)
	_, forged := holder(aztables.SASSignatureValues{Permissions: "r"}, wrong).GetEntity(ctx, "p", "in", nil)
	for what, got := range map[string][2]string{
		"inside": {code(inside), ""}, "outside": {code(outside), "ResourceNotFound"}, "added": {code(added), ""}, "added outside": {code(addedOutside), "AuthorizationFailure"},
		"updated outside": {code(updatedOutside), "AuthorizationFailure"}, "deleted outside": {code(deletedOutside), "AuthorizationFailure"}, "without permission": {code(reader), "AuthorizationPermissionMismatch"}, "forged": {code(forged), "AuthenticationFailed"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	page, err := mine.NewListEntitiesPager(nil).NextPage(ctx)
	if err != nil || len(page.Entities) != 2 || both == nil || rows(r.Service) != "b in out" {
		t.Errorf("%d rows, %v, %v, %s", len(page.Entities), err, both, rows(r.Service))
	}
	r.Advance(2 * time.Hour)
	if _, err := mine.GetEntity(ctx, "p", "in", nil); code(err) != "AuthenticationFailed" {
		t.Errorf("after its end: %v", err)
	}
}

func code(err error) string {
	var re *azcore.ResponseError
	errors.As(err, &re)
	if re == nil {
		return ""
	}
	return re.ErrorCode
}

// TestTimes: a fault with a number hits as many requests as that, wherever it stands in a plan, and is recorded as the fault that it is.
func TestTimes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lost := storagetest.LostResponse()
	for name, plan := range map[string]func() storagetest.Plan{
		"OfKind": func() storagetest.Plan { return storagetest.OfKind("insert", storagetest.Times(2, lost)) },
		"When": func() storagetest.Plan {
			return storagetest.When(func(r storagetest.Request) bool { return r.Kind == "insert" }, storagetest.Times(2, lost))
		},
		"First": func() storagetest.Plan {
			return storagetest.First(storagetest.OfKind("get", lost), storagetest.OfKind("insert", storagetest.Once(lost)), storagetest.OfKind("insert", storagetest.Once(lost)))
		},
		"a plan of one's own": func() storagetest.Plan {
			f := storagetest.Times(2, lost)
			return func(storagetest.Request) storagetest.Fault { return f }
		},
		"a plan of one's own, joined": func() storagetest.Plan {
			f, g := storagetest.Once(lost), storagetest.Once(lost)
			return storagetest.First(func(storagetest.Request) storagetest.Fault { return f }, func(storagetest.Request) storagetest.Fault { return g })
		},
	} {
		s := storagetest.New(nil)
		tab := client(t, s)
		s.SetFaults(plan())
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

// TestUnknownKind: a plan for a kind that no request has refuses every request, and says why.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, kind := range []string{"insrt", "", "Insert", "upsert", "update", "message", "insert "} {
		for _, plan := range []storagetest.Plan{storagetest.OfKind(kind, storagetest.LostResponse()), storagetest.First(storagetest.OfKind("get", storagetest.LostResponse()), storagetest.OfKind(kind, storagetest.Once(storagetest.LostResponse())))} {
			s := storagetest.New(nil)
			tab := client(t, s)
			s.SetFaults(plan)
			for range 2 {
				_, err := tab.AddEntity(ctx, entity("a"), nil)
				var re *azcore.ResponseError
				if !errors.As(err, &re) || re.ErrorCode != "UnknownRequestKind" || !strings.Contains(err.Error(), fmt.Sprintf("no request is of kind '%s'", kind)) {
					t.Errorf("%q: got %v; want 400 UnknownRequestKind, and why", kind, err)
				}
			}
			if got := rows(s); got != "" {
				t.Errorf("%q: stored: %q", kind, got)
			}
		}
	}
	for _, kind := range storagetest.Kinds() {
		if f := storagetest.OfKind(kind, storagetest.LostResponse())(storagetest.Request{Kind: kind}); f != storagetest.LostResponse() {
			t.Errorf("%s: got %v; want the fault", kind, f)
		}
	}
}
