package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/commit"
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
			_, err := rows.Get(ctx, keys.Stored("p", "r"))
			return err
		},
		"List": func(ctx context.Context, rows *table.Table[table.Row]) error {
			for _, err := range rows.List(ctx, table.Query[table.Row]{Partition: keys.Raw("p")}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Partitions": func(ctx context.Context, rows *table.Table[table.Row]) error {
			for _, err := range rows.Partitions(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"CommitRecords.Get": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := commit.Of(rows).Get(ctx, keys.Raw("p"), "01K00000000000000000000000")
			return err
		},
		"Insert": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := rows.Insert(ctx, &table.Row{Key: keys.Stored("p", "new")})
			return err
		},
		"Transact": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: keys.Stored("p", "a")}), rows.InsertOp(&table.Row{Key: keys.Stored("p", "b")}))
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
		"no table": {storagetest.Refuse(404, "TableNotFound"), want{table.ErrTableNotFound, table.ErrTableNotFound}},
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
					for _, is := range []error{table.ErrUnreachable, table.ErrUnknownOutcome, table.ErrTableNotFound} {
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
	rows, err := table.New(serviceOf(t, s), "staff", table.Schema[table.Row]{}, nil)
	noError(t, err)
	noError(t, rows.Ensure(context.Background()))
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
		if _, err := rows.Get(short, keys.Stored("p", "r")); errors.Is(err, table.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want not ErrUnreachable and context.DeadlineExceeded", err)
		}
		ended, end := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, end)
		for _, err := range rows.List(ended, table.Query[table.Row]{Partition: keys.Raw("p")}) {
			if errors.Is(err, table.ErrUnreachable) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v; want not ErrUnreachable and context.Canceled", err)
			}
		}
	})
	var re *azcore.ResponseError
	rows, s := unreachable(t)
	s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Refuse(403, "AuthorizationFailure") })
	_, err := rows.Get(context.Background(), keys.Stored("p", "r"))
	if got, want := err.Error(), "the service could not be reached, or did not let the caller in (the service answered 403: Forbidden.)"; !errors.As(err, &re) || re.StatusCode != http.StatusForbidden || !strings.Contains(got, want) {
		t.Errorf("got %q; want %q in it", got, want)
	}
}
