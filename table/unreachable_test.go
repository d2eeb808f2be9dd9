package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestUnreachable: a request that did not reach the service, that the service did not answer, or whose caller it did not admit
// is ErrUnreachable, for every method. A refusal, a write that may have arrived and a cancelled request are not.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	methods := map[string]func(context.Context, *table.Table[table.Row]) error{
		"Get": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := rows.Get(ctx, keys.Raw("p", "r"))
			return err
		},
		"List": func(ctx context.Context, rows *table.Table[table.Row]) error {
			for _, err := range rows.List(ctx, table.Query[table.Row]{Partition: keys.RawPartition("p")}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Partitions": func(ctx context.Context, rows *table.Table[table.Row]) error {
			for _, err := range rows.Partitions(ctx, keys.PartitionRange{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"CommitRecords.Get": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := records.Of(rows).Get(ctx, keys.RawPartition("p"), "01K00000000000000000000000")
			return err
		},
		"Insert": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := rows.Insert(ctx, &table.Row{Key: keys.Raw("p", "new")})
			return err
		},
		"Transact": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: keys.Raw("p", "a")}), rows.InsertOp(&table.Row{Key: keys.Raw("p", "b")}))
			return err
		},
	}
	reads := map[string]bool{"Get": true, "List": true, "Partitions": true, "CommitRecords.Get": true}
	type want struct{ read, write error }
	gone := want{table.ErrUnreachable, table.ErrUnreachable}
	unknownWrite := want{table.ErrUnreachable, table.ErrUnknownOutcome}
	for name, c := range map[string]struct {
		fault storagetest.Fault
		want
	}{
		"not sent": {storagetest.NotSent(), gone}, "lost": {storagetest.LostResponse(), unknownWrite}, "no answer": {storagetest.Hang(), unknownWrite},
		"401": {storagetest.Refuse(401, "InvalidAuthenticationInfo"), gone}, "403": {storagetest.Refuse(403, "AuthorizationFailure"), gone}, "a proxy's 404": {storagetest.Refuse(404, ""), unknownWrite},
		"408": {storagetest.Refuse(408, "RequestTimeout"), unknownWrite}, "429": {storagetest.Refuse(429, "TooManyRequests"), unknownWrite},
		"500": {storagetest.Refuse(500, "InternalError"), unknownWrite}, "503": {storagetest.Refuse(503, "ServerBusy"), unknownWrite},
		"no table": {storagetest.Refuse(404, "TableNotFound"), want{table.ErrNotCreated, table.ErrNotCreated}},
		"bad":      {storagetest.Refuse(400, "InvalidInput"), want{}},
	} {
		for method, do := range methods {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx := context.Background()
					rows, s := unreachable(t)
					s.SetFaults(func(storagetest.Request) storagetest.Fault { return c.fault })
					want := c.write
					if reads[method] {
						want = c.read
					}
					err := do(ctx, rows)
					for _, is := range []error{table.ErrUnreachable, table.ErrUnknownOutcome, table.ErrNotCreated} {
						if errors.Is(err, is) != (is == want) {
							t.Errorf("got %v; want errors.Is(err, %q) == %v", err, is, is == want)
						}
					}
					var re *azcore.ResponseError
					if want == table.ErrUnreachable && c.fault != storagetest.NotSent() && c.fault != storagetest.LostResponse() && c.fault != storagetest.Hang() && !errors.As(err, &re) {
						t.Errorf("got %v; want an *azcore.ResponseError in it", err)
					}
				})
			})
		}
	}
}

// unreachable returns an empty table, and its service for faults.
func unreachable(t testing.TB) (*table.Table[table.Row], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	rows, err := bare.NewTable(serviceOf(t, s), "staff", table.Schema[table.Row]{}, nil)
	noError(t, err)
	noError(t, tabledoor.Ensure(context.Background(), rows))
	return rows, s
}

// TestUnreachableOrCancelled: if the caller's own context ends, the error says nothing about the service.
func TestUnreachableOrCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, s := unreachable(t)
		s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Hang() })
		short, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		if _, err := rows.Get(short, keys.Raw("p", "r")); errors.Is(err, table.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want not ErrUnreachable and context.DeadlineExceeded", err)
		}
		ended, end := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, end)
		for _, err := range rows.List(ended, table.Query[table.Row]{Partition: keys.RawPartition("p")}) {
			if errors.Is(err, table.ErrUnreachable) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v; want not ErrUnreachable and context.Canceled", err)
			}
		}
	})
	var re *azcore.ResponseError
	rows, s := unreachable(t)
	s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Refuse(403, "AuthorizationFailure") })
	_, err := rows.Get(context.Background(), keys.Raw("p", "r"))
	if got, want := err.Error(), "the service could not be reached, or did not let the caller in (the service answered 403: Forbidden.)"; !errors.As(err, &re) || re.StatusCode != http.StatusForbidden || !strings.Contains(got, want) {
		t.Errorf("got %q; want %q in it", got, want)
	}
}

// TestNotImplemented: a 501 of the service is its refusal of an operation that it does not have: the text does not say that it was not
// reached, and the request is not sent again. A proxy's 501 has no error code, and says nothing about the service.
func TestNotImplemented(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		k := keys.Raw("p", "r")
		for method, do := range map[string]func(*table.Table[table.Row]) error{
			"Get": func(rows *table.Table[table.Row]) error { return second(rows.Get(ctx, k)) },
			"Count": func(rows *table.Table[table.Row]) error {
				return second(rows.Count(ctx, table.Query[table.Row]{TableScan: true}))
			},
			"InsertAt": func(rows *table.Table[table.Row]) error { return second(rows.InsertAt(ctx, k, new(table.Row))) },
			"Transact": func(rows *table.Table[table.Row]) error {
				return second(table.Transact(ctx, baretest.InsertAtOp(rows, k, new(table.Row)), baretest.InsertAtOp(rows, keys.Raw("p", "s"), new(table.Row))))
			},
			"Ensure": func(rows *table.Table[table.Row]) error { return tabledoor.Ensure(ctx, rows) },
		} {
			rows, s := unreachable(t)
			s.Count()
			s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Refuse(501, "NotImplemented") })
			err := do(rows)
			if n := s.Count().Total(); err == nil || errors.Is(err, table.ErrUnreachable) || errors.Is(err, table.ErrUnknownOutcome) || !strings.HasSuffix(err.Error(), "NotImplemented: the service answered 501") || n != 1 {
				t.Errorf("%s: got error %v after %d requests; want one that ends with NotImplemented: the service answered 501, after 1", method, err, n)
			}
			s.SetFaults(func(storagetest.Request) storagetest.Fault {
				return storagetest.RefuseInTransaction(501, "NotImplemented")
			})
			if err := do(rows); errors.Is(err, table.ErrUnreachable) || errors.Is(err, table.ErrUnknownOutcome) || s.Count().Total() != 1 {
				t.Errorf("%s with a 501 inside of a transaction: got error %v; want neither ErrUnreachable nor ErrUnknownOutcome, and 1 request", method, err)
			}
			s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Refuse(501, "") })
			if err := do(rows); !errors.Is(err, table.ErrUnreachable) && !errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("%s by a proxy: got error %v; want ErrUnreachable or ErrUnknownOutcome", method, err)
			}
		}
	})
}

// TestBeingDeletedText: an operation on a table that is being deleted says so, and when it may be repeated.
func TestBeingDeletedText(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rows, s := unreachable(t)
	s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Refuse(409, "TableBeingDeleted") })
	const want = "TableBeingDeleted: the table is being deleted; the service refuses its name for 40 s or more, so try again later"
	_, terr := table.Transact(ctx, baretest.InsertAtOp(rows, keys.Raw("p", "r"), new(table.Row)), baretest.InsertAtOp(rows, keys.Raw("p", "s"), new(table.Row)))
	for method, err := range map[string]error{"Ensure": tabledoor.Ensure(ctx, rows), "InsertAt": second(rows.InsertAt(ctx, keys.Raw("p", "r"), new(table.Row))), "Transact": terr} {
		if !errors.Is(err, table.ErrNotCreated) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got error %v; want ErrNotCreated with the text %q at its end", method, err, want)
		}
	}
}
