package storagetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// TestSignatures: the service accepts signatures with the account's key and shared access signatures, and refuses wrong signatures.
func TestSignatures(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
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
		t.Errorf("wrong key: got %v; want AuthenticationFailed", err)
	}
	withSAS := func(v aztables.SASSignatureValues, by *aztables.SharedKeyCredential) *aztables.Client {
		v.TableName, v.ExpiryTime = "staff", recordedTime.Add(time.Hour)
		query, err := v.Sign(by)
		if err != nil {
			t.Fatal(err)
		}
		if v.StartPartitionKey != "" { // the SDK omits the range
			query += "&spk=" + v.StartPartitionKey + "&epk=" + v.EndPartitionKey + "&srk=" + v.StartRowKey + "&erk=" + v.EndRowKey
		}
		s, err := aztables.NewServiceClientWithNoCredential(base+"/?"+query, options)
		if err != nil {
			t.Fatal(err)
		}
		return s.NewClient("staff")
	}
	ranged := withSAS(aztables.SASSignatureValues{Permissions: "raud", StartPartitionKey: "p", EndPartitionKey: "p", StartRowKey: "a", EndRowKey: "k"}, cred)
	_, inside := ranged.GetEntity(ctx, "p", "in", nil)
	_, outside := ranged.GetEntity(ctx, "p", "out", nil)
	_, added := ranged.AddEntity(ctx, entity("b"), nil)
	_, addedOutside := ranged.AddEntity(ctx, entity("z"), nil)
	_, updatedOutside := ranged.UpdateEntity(ctx, entity("out"), nil)
	_, deletedOutside := ranged.DeleteEntity(ctx, "p", "out", nil)
	_, both := ranged.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: entity("c")}, {ActionType: aztables.TransactionTypeAdd, Entity: entity("x")}}, nil)
	_, reader := withSAS(aztables.SASSignatureValues{Permissions: "r"}, cred).AddEntity(ctx, entity("d"), nil)
	_, forged := withSAS(aztables.SASSignatureValues{Permissions: "r"}, wrong).GetEntity(ctx, "p", "in", nil)
	for name, got := range map[string][2]string{
		"inside": {code(inside), ""}, "outside": {code(outside), "ResourceNotFound"}, "added": {code(added), ""}, "added outside": {code(addedOutside), "AuthorizationFailure"},
		"updated outside": {code(updatedOutside), "AuthorizationFailure"}, "deleted outside": {code(deletedOutside), "AuthorizationFailure"}, "without permission": {code(reader), "AuthorizationPermissionMismatch"}, "forged": {code(forged), "AuthenticationFailed"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %q; want %q", name, got[0], got[1])
		}
	}
	page, err := ranged.NewListEntitiesPager(nil).NextPage(ctx)
	if err != nil || len(page.Entities) != 2 || both == nil || rows(r.Service) != "b in out" {
		t.Errorf("got a page of %d rows, %v; transaction over the range: %v; stored %s; want 2 rows, an error, b in out", len(page.Entities), err, both, rows(r.Service))
	}
	r.Advance(2 * time.Hour)
	if _, err := ranged.GetEntity(ctx, "p", "in", nil); code(err) != "AuthenticationFailed" {
		t.Errorf("after the expiry: got %v; want AuthenticationFailed", err)
	}
}

// TestDates: a signed request without a valid date fails.
func TestDates(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	for _, date := range []string{"-", "yesterday"} {
		if a := r.send("GET", "/staff()", "", "x-ms-date", date); a.status != 403 {
			t.Errorf("date %q: got %d; want 403", date, a.status)
		}
	}
}
