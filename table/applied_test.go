package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// sentinels are the conditions of the package.
var sentinels = map[string]error{
	"ErrNotFound": table.ErrNotFound, "ErrExists": table.ErrExists, "ErrChanged": table.ErrChanged, "ErrContended": table.ErrContended,
	"ErrNotCreated":     table.ErrNotCreated,
	"ErrUnknownOutcome": table.ErrUnknownOutcome, "ErrUnreachable": table.ErrUnreachable, "ErrGivenUp": table.ErrGivenUp,
	"ErrOutbox": table.ErrOutbox, "ErrKeyChanged": table.ErrKeyChanged, "ErrNotRead": table.ErrNotRead,
	"ErrNotDeclared": table.ErrNotDeclared, "ErrNotRecorded": table.ErrNotRecorded, "ErrNotReadable": table.ErrNotReadable,
	"ErrForeignRow": table.ErrForeignRow, "ErrTaken": table.ErrTaken, "ErrAltered": table.ErrAltered,
	"ErrIncomplete": table.ErrIncomplete, "ErrBudget": table.ErrBudget, "ErrRanged": table.ErrRanged,
	"ErrTableScan": table.ErrTableScan,
}

// TestAppliedOfSentinels: the page of errors has each condition of the package, with the answers of Applied and Retryable.
func TestAppliedOfSentinels(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("errors.go")
	noError(t, err)
	declared := regexp.MustCompile(`(?m)^\t(Err\w+) += errs\.`).FindAllStringSubmatch(string(source), -1)
	if len(declared) != len(sentinels) {
		t.Errorf("got %d conditions in errors.go; want the %d of the test", len(declared), len(sentinels))
	}
	page, err := os.ReadFile("../docs/errors.md")
	noError(t, err)
	answers := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`Err[^|]*) \\| (\\w+) \\| (\\w+) \\|").FindAllStringSubmatch(string(page), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			answers[strings.Trim(name, "`")] = row[2] + " " + row[3]
		}
	}
	for _, d := range declared {
		is := sentinels[d[1]]
		for _, err := range []error{is, &table.OpError{Op: "Insert", Err: errs.With(is, errors.New("x"))}, fmt.Errorf("x: %w", is)} {
			if got := answered(err); got != answers[d[1]] || is == nil {
				t.Errorf("%v: got %q; want %q, as the page says of %s", err, got, answers[d[1]], d[1])
			}
		}
	}
}

// answered is what the page says of an error.
func answered(err error) string {
	words := map[table.Outcome]string{table.NotApplied: "no", table.IsApplied: "yes", table.MaybeApplied: "maybe"}
	again := map[bool]string{true: "yes", false: "no"}
	return words[table.Applied(err)] + " " + again[table.Retryable(err)]
}

// TestAppliedOfErrors: the answers for the types of errors, and for errors that are not of the library.
func TestAppliedOfErrors(t *testing.T) {
	t.Parallel()
	deleting := &azcore.ResponseError{StatusCode: 409, ErrorCode: "TableBeingDeleted"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "yes no"},
		{errors.New("x"), "maybe no"},
		{context.Canceled, "maybe no"},
		{context.DeadlineExceeded, "maybe no"},
		{&azcore.ResponseError{StatusCode: 503}, "maybe no"},
		{&table.OpError{Err: context.Canceled}, "no no"},
		{&table.OpError{Err: errs.With(table.ErrNotCreated, deleting)}, "no yes"},
		{&table.OpError{Err: &azcore.ResponseError{StatusCode: 400}}, "no no"},
		{errors.Join(table.ErrContended, context.Canceled), "no yes"},
		{&table.BatchError{Err: table.ErrExists}, "no no"},
		{&table.BatchError{Err: table.ErrUnknownOutcome}, "maybe no"},
		{&table.DerivedError{Err: table.ErrTaken}, "no no"},
		{&table.DerivedError{Err: errs.UserCodeError{Err: table.ErrUnknownOutcome}}, "no no"},
		{&table.UnknownError{Err: errors.New("x")}, "maybe no"},
		{errs.With(table.ErrOutbox, &table.LimitError{}), "no no"},
		{errs.ErrExpired, "maybe no"},
		{errs.ErrCosmosDB, "no no"},
		{errs.ErrUnknownParts, "no no"},
		{&table.ValueError{}, "no no"},
		{&table.LimitError{}, "no no"},
		{&table.TypeError{}, "no no"},
		{&table.DecodeError{}, "no no"},
		{&table.VersionError{}, "no no"},
		{&table.DefinitionError{}, "no no"},
		{&keys.KeyError{}, "no no"},
	} {
		if got := answered(c.err); got != c.want {
			t.Errorf("%T: got %q; want %q", c.err, got, c.want)
		}
	}
	for o, want := range map[table.Outcome]string{table.NotApplied: "not applied", table.IsApplied: "applied", table.MaybeApplied: "maybe applied"} {
		if o.String() != want {
			t.Errorf("got %q; want %q", o, want)
		}
	}
}

// TestAppliedIsTrue: under each fault, what Applied says of an insert is so in the table.
func TestAppliedIsTrue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		fault storagetest.Fault
		want  string
	}{
		{"none", storagetest.Fault{}, "yes no"},
		{"not sent", storagetest.NotSent(), "no yes"},
		{"lost request", storagetest.LostRequest(), "maybe no"},
		{"lost response", storagetest.LostResponse(), "maybe no"},
		{"exists", storagetest.Refuse(409, "EntityAlreadyExists"), "no no"},
		{"no table", storagetest.Refuse(404, "TableNotFound"), "no no"},
		{"being deleted", storagetest.Refuse(409, "TableBeingDeleted"), "no yes"},
		{"denied", storagetest.Refuse(403, "AuthorizationFailure"), "no yes"},
		{"bad request", storagetest.Refuse(400, "InvalidInput"), "no no"},
		{"busy", storagetest.Refuse(503, "ServerBusy"), "maybe no"},
		{"applied, and busy", storagetest.ExecuteThenRefuse(503, "ServerBusy"), "maybe no"},
		{"throttled", storagetest.Refuse(429, "TooManyRequests"), "maybe no"},
		{"timeout", storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), "maybe no"},
		{"hangs", storagetest.Hang(), "maybe no"},
		{"applied, and hangs", storagetest.ExecuteThenHang(), "maybe no"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				staff, _, s := staffInMemory(t, singleAttempt())
				s.SetFaults(func(storagetest.Request) storagetest.Fault { return c.fault })
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := staff.Insert(ctx, &employee{"Sales", 2, "Cao", 30})
				there := len(s.Rows("staff")) == 2
				if got := answered(err); got != c.want {
					t.Errorf("got %v: %q; want %q", err, got, c.want)
				}
				if is := table.Applied(err); is == table.IsApplied && !there || is == table.NotApplied && there {
					t.Errorf("got %v, and the row is there: %v", is, there)
				}
			})
		})
	}
}

// TestAppliedResolved: Applied of an unknown outcome is what Resolve has found out.
func TestAppliedResolved(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]storagetest.Fault{"no yes": storagetest.Hang(), "yes no": storagetest.ExecuteThenHang()} {
		synctest.Test(t, func(t *testing.T) {
			staff, e, s := staffInMemory(t, nil)
			s.SetFaults(func(storagetest.Request) storagetest.Fault { return fault })
			ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
			defer cancel()
			err := staff.Exact().Merge(ctx, e, age.Set(50))
			var unknown *table.UnknownError
			if got := answered(err); got != "maybe no" || !errors.As(err, &unknown) {
				t.Fatalf(`got %v: %q; want "maybe no" and an *UnknownError`, err, got)
			}
			s.SetFaults(nil)
			_, resolved := unknown.Resolve(context.Background())
			noError(t, resolved)
			if got := answered(err); got != want {
				t.Errorf("after Resolve: got %q; want %q", got, want)
			}
		})
	}
}

// TestAppliedOfTransactions: a refused transaction and refused bulk work are not applied.
func TestAppliedOfTransactions(t *testing.T) {
	t.Parallel()
	staff, _, _ := staffInMemory(t, nil)
	second := staff.InsertOp(&employee{"Sales", 2, "Cao", 30})
	exists := staff.InsertOp(&employee{"Sales", 1, "Jones", 44})
	_, err := table.Transact(t.Context(), second, exists)
	if got := answered(err); got != "no no" {
		t.Errorf("Transact: got %v: %q; want %q", err, got, "no no")
	}
	_, err = door.Bulk(t.Context(), func(yield func(table.Op, error) bool) { yield(exists, nil) }, nil)
	var be *table.BatchError
	if got := answered(err); got != "no no" || !errors.As(err, &be) || be.Index != 0 {
		t.Errorf("Bulk: got %v: %q; want %q and a *BatchError of operation 0", err, got, "no no")
	}
	unreached := newStaff(t, sdkClient(t, &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
		return errorResponse(403, "AuthorizationFailure"), nil
	}}))
	_, err = unreached.Get(t.Context(), employeeKey("Sales", 1))
	if got := answered(err); got != "no yes" {
		t.Errorf("Get: got %v: %q; want %q", err, got, "no yes")
	}
}
