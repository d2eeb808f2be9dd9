package integration

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// grants: the service accepts a signature of TableSAS, with its range, and refuses one of the SDK for the same range. It refuses
// requests that a signature does not allow. Azurite does not check ranges, so the other services test them.
func grants(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	insertStaff(e, staff, "Sales", 3)
	in := account.Grant{
		Table: staff.Name(), Read: true, Add: true, AllowHTTP: true,
		Partitions: dept.PartitionKey("Sales").Point(), Rows: empid.Rows().Between(1, 100),
		Start: time.Now().Add(-time.Hour).In(time.FixedZone("", -7*3600)), Expiry: time.Now().Add(time.Hour).In(time.FixedZone("", 5*3600)),
	}
	held := func(g account.Grant) *table.Table[employee] {
		e.Helper()
		u, err := e.acc.TableSAS(g)
		e.must(err)
		holder, err := account.FromSAS(account.Endpoints{Table: u}, &account.Options{Client: e.backend.Client()})
		e.must(err)
		t, err := bare.NewTable(holder.Tables(), staff.Name(), staffSchema, nil)
		e.must(err)
		return t
	}
	mine := held(in)
	got, err := mine.Get(ctx, at("Sales", 1))
	e.must(err)
	n, err := mine.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")})
	e.must(err)
	if n != 3 {
		e.Errorf("Count: got %d; want 3", n)
	}
	_, err = mine.Insert(ctx, &employee{Department: "Sales", ID: 50})
	e.must(err)
	for what, err := range map[string]error{"replace": mine.Replace(ctx, got), "delete": mine.Delete(ctx, got)} {
		var oe *table.OpError
		if !errors.As(err, &oe) || oe.Code != "AuthorizationPermissionMismatch" && oe.Code != "AuthorizationFailure" || errors.Is(err, table.ErrUnknownOutcome) {
			e.Errorf("%s without permission: got error %v; want an *OpError with a code of an authorization failure", what, err)
		}
	}
	over := in
	over.Start, over.Expiry = time.Time{}, time.Now().Add(-time.Minute)
	if _, err := held(over).Get(ctx, at("Sales", 1)); err == nil {
		e.Error("Get by an expired signature: got no error; want one")
	}
	other := in
	other.Table = "x" + staff.Name()
	if _, err := held(other).Get(ctx, at("Sales", 1)); err == nil {
		e.Error("Get by the signature of another table: got no error; want one")
	}
	whole := in
	whole.Partitions, whole.Rows = keys.PartitionRange{}, keys.RowRange{}
	if _, err := held(whole).Get(ctx, at("Sales", 1)); err != nil {
		e.Errorf("Get by a signature without ranges: got error %v; want none", err)
	}
	if !isAzurite(e.backend) {
		ranged(e, staff, held(account.Grant{
			Table: staff.Name(), Read: true, Add: true, Update: true, Delete: true, AllowHTTP: true, Expiry: time.Now().Add(time.Hour),
			Partitions: dept.PartitionKey("Sales").Point(), Rows: empid.Rows().Between(2, 100),
		}))
	}
	// The SDK's own signature for the same range is invalid (T13).
	c := e.acc.Tables().NewClient(staff.Name())
	u, err := c.GetTableSASURL(aztables.SASPermissions{Read: true, StartPartitionKey: "Sales", EndPartitionKey: "Sales"}, time.Now().UTC().Add(-time.Hour), time.Now().UTC().Add(time.Hour))
	e.must(err)
	theirs, err := aztables.NewClientWithNoCredential(u, nil)
	e.must(err)
	if _, err := theirs.GetEntity(ctx, "Sales", "empid_000001", nil); err == nil {
		e.Error("Get by the SDK's signature for a range: got no error; want one, until the SDK is repaired")
	}
}

// ranged: the holder of a signature for employees 2 to 100 of Sales reads and writes only these. A transaction is refused as a
// whole if one of its rows is outside.
func ranged(e *env, staff, mine *table.Table[employee]) {
	ctx := context.Background()
	refused := func(what string, err error) {
		e.Helper()
		var oe *table.OpError
		if !errors.As(err, &oe) || errors.Is(err, table.ErrUnknownOutcome) {
			e.Errorf("%s: got error %v; want an *OpError with a known outcome", what, err)
		}
		var re *azcore.ResponseError
		if !errors.As(err, &re) || re.ErrorCode != "AuthorizationFailure" {
			e.Errorf("%s: got error %v; want AuthorizationFailure", what, err)
		}
	}
	if _, err := mine.Get(ctx, at("Sales", 1)); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Get outside the range: got error %v; want ErrNotFound", err)
	}
	n, err := mine.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")})
	e.must(err)
	if n != 3 { // employees 2, 3 and 50
		e.Errorf("Count: got %d; want 3", n)
	}
	outside, err := staff.Get(ctx, at("Sales", 1))
	e.must(err)
	inside, err := mine.Get(ctx, at("Sales", 2))
	e.must(err)
	_, err = mine.Insert(ctx, &employee{Department: "Sales", ID: 101})
	refused("insert", err)
	_, err = mine.Insert(ctx, &employee{Department: "Marketing", ID: 2})
	refused("insert in another partition", err)
	_, err = mine.Upsert(ctx, &outside.Value, table.ReplaceExisting)
	refused("upsert", err)
	refused("replace", mine.Replace(ctx, outside))
	refused("merge", mine.Merge(ctx, outside, age.Set(1)))
	refused("delete", mine.Delete(ctx, outside))
	_, err = table.Transact(ctx, mine.MergeOp(inside, age.Set(77)), mine.DeleteOp(outside))
	refused("a transaction with one row outside", err)
	var be *table.BatchError
	if !errors.As(err, &be) || be.Index != 1 || be.Key != outside.Key {
		e.Errorf("got %+v; want a *BatchError of operation 1, %v", be, outside.Key)
	}
	if got, err := staff.Get(ctx, inside.Key); err != nil || got.Value.Age == 77 {
		e.Errorf("after a refused transaction: got %+v, error %v; want the entity unchanged", got, err)
	}
	_, err = table.Transact(ctx, mine.MergeOp(inside, age.Set(77)), mine.InsertOp(&employee{Department: "Sales", ID: 51}))
	e.must(err)
}

// rights: a caller with all rights has them, also where nothing exists.
func rights(e *env) {
	for _, f := range account.Diagnose(context.Background(), e.acc, nil) {
		if f.Err != nil {
			e.Errorf("got %v, %v; want the right", f, f.Err)
		}
	}
}
