package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// logLines is the destination of a JSON logger.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// take returns the lines since the last call, without their times.
func (l *logLines) take(t testing.TB) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		var of map[string]any
		noError(t, json.Unmarshal([]byte(line), &of))
		delete(of, slog.TimeKey)
		lines = append(lines, of)
	}
	l.text.Reset()
	return lines
}

// loggedOptions returns options without pauses but for waits after throttled requests, and the lines that they log.
func loggedOptions() (*table.Options, *logLines) {
	lines := &logLines{}
	o := noWaitOptions()
	o.BlindWrites = false
	o.Logger = slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return o, lines
}

// TestLog: each event of a write is one line, with its level and attributes.
func TestLog(t *testing.T) {
	t.Parallel()
	const (
		failed    = "request failed; another attempt follows"
		conflict  = "conflict with a concurrent writer; another attempt follows"
		throttled = "throttled by the service; another attempt follows"
	)
	jones := employee{"Sales", 2, "Jones", 44}
	key := employeeKey("Sales", 2).String()
	refuse := func(kind requests.Kind, status int, code string) storagetest.FaultFunc {
		return storagetest.OfKind(kind, storagetest.Once(storagetest.Refuse(status, code)))
	}
	update := func(ctx context.Context, staff *table.Table[employee]) error {
		_, err := staff.Update(ctx, employeeKey("Sales", 1), func(e *employee) error { e.Age++; return nil })
		return err
	}
	for _, c := range []struct {
		what   string
		faults storagetest.FaultFunc
		do     func(context.Context, *table.Table[employee]) error
		fails  error
		lines  []map[string]any // a value nil asks for any value
	}{
		{
			what: "nothing to tell",
			do: func(ctx context.Context, staff *table.Table[employee]) error {
				return second(staff.Insert(ctx, &jones))
			},
			lines: nil,
		}, {
			what:   "a lost response",
			faults: storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())),
			do: func(ctx context.Context, staff *table.Table[employee]) error {
				return second(staff.Insert(ctx, &jones))
			},
			lines: []map[string]any{{"level": "DEBUG", "msg": failed, "operation": "Insert", "key": key, "attempt": 1.0, "error": nil}},
		}, {
			what: "every request lost", faults: storagetest.OfKind(requests.Insert, storagetest.LostRequest()),
			do: func(ctx context.Context, staff *table.Table[employee]) error {
				return second(staff.Insert(ctx, &jones))
			},
			fails: table.ErrUnknownOutcome,
			lines: []map[string]any{
				{"level": "DEBUG", "msg": failed, "operation": "Insert", "key": key, "attempt": 1.0, "error": nil},
				{"level": "WARN", "msg": "gave up", "operation": "Insert", "key": key, "attempt": 2.0, "error": nil},
			},
		}, {
			what:   "throttling",
			faults: refuse(requests.Insert, 503, "ServerBusy"),
			do: func(ctx context.Context, staff *table.Table[employee]) error {
				return second(staff.Insert(ctx, &jones))
			},
			lines: []map[string]any{{"level": "WARN", "msg": throttled, "operation": "Insert", "key": key, "attempt": 1.0, "wait": nil, "code": "ServerBusy", "error": "the service answered 503"}},
		}, {
			what:   "a conflict of Update",
			faults: refuse(requests.Replace, 412, "UpdateConditionNotSatisfied"),
			do:     update,
			lines:  []map[string]any{{"level": "DEBUG", "msg": conflict, "operation": "Update", "key": employeeKey("Sales", 1).String(), "attempt": 1.0, "code": "UpdateConditionNotSatisfied", "error": nil}},
		}, {
			what: "conflicts without end", faults: storagetest.OfKind(requests.Replace, storagetest.Refuse(412, "UpdateConditionNotSatisfied")),
			do: update, fails: table.ErrChanged,
			lines: []map[string]any{
				{"level": "DEBUG", "msg": conflict, "operation": "Update", "attempt": 1.0, "key": nil, "code": nil, "error": nil},
				{"level": "WARN", "msg": "gave up", "operation": "Update", "attempt": 2.0, "key": nil, "code": nil, "error": nil},
			},
		}, {
			what:   "a conflict of a write by key",
			faults: refuse(requests.Replace, 412, "UpdateConditionNotSatisfied"),
			do: func(ctx context.Context, staff *table.Table[employee]) error {
				return second(staff.Upsert(ctx, &employee{"Sales", 1, "Cao", 30}, table.ReplaceExisting))
			},
			lines: []map[string]any{{"level": "DEBUG", "msg": conflict, "operation": "Upsert", "key": employeeKey("Sales", 1).String(), "attempt": 1.0, "code": nil, "error": nil}},
		}, {
			what:   "a lost transaction",
			faults: storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LostRequest())),
			do: func(ctx context.Context, staff *table.Table[employee]) error {
				return second(table.Transact(ctx, staff.InsertOp(&jones), staff.InsertOp(&employee{"Sales", 3, "Cao", 30})))
			},
			lines: []map[string]any{{"level": "DEBUG", "msg": failed, "operation": "Transact", "partition": "Sales", "attempt": 1.0, "error": nil}},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			o, lines := loggedOptions()
			o.Retry.Attempts, o.Retry.ConflictAttempts = 2, 2
			staff, _, s := staffInMemory(t, o)
			s.SetFaults(c.faults)
			if err := c.do(context.Background(), staff); !errors.Is(err, c.fails) {
				t.Errorf("got %v; want %v", err, c.fails)
			}
			got := lines.take(t)
			if len(got) != len(c.lines) {
				t.Fatalf("got %d lines %v; want %v", len(got), got, c.lines)
			}
			for i, want := range c.lines {
				want["table"] = "staff"
				for name, v := range want {
					if is, has := got[i][name]; !has || v != nil && is != v {
						t.Errorf("line %d: got %s = %v; want %v", i, name, is, v)
					}
				}
				for name := range got[i] {
					if _, asked := want[name]; !asked {
						t.Errorf("line %d: got the attribute %s = %v; want none", i, name, got[i][name])
					}
				}
			}
		})
	}
}

// TestRepairIsLogged: the repair of derived rows is one line.
func TestRepairIsLogged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, lines := loggedOptions()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, o)
	noError(t, tabledoor.Ensure(ctx, base))
	people, err := bare.With(base, byEmail{})
	noError(t, err)
	jones, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	noError(t, err)
	rows, err := bare.NewTable(serviceOf(t, s), "people", table.Schema[table.Row]{}, nil)
	noError(t, err)
	for _, r := range s.Rows("people") {
		if r.RowKey != jones.Key.RowKey() {
			noError(t, rows.DeleteAny(ctx, keys.Raw(r.PartitionKey, r.RowKey)))
		}
	}
	lines.take(t)
	jones.Value.Email = "b"
	noError(t, people.Replace(ctx, jones))
	got := lines.take(t)
	if i := slices.IndexFunc(got, func(l map[string]any) bool { return l["msg"] == "repaired derived rows" }); i < 0 || got[i]["level"] != "WARN" || got[i]["rows"] != 1.0 || got[i]["key"] != jones.Key.String() || len(got) != 1 {
		t.Errorf("got %v; want one warning that 1 row was repaired", got)
	}
}

// TestLogHasNoSecrets: lines contain neither a signature nor the properties of an entity.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	o, lines := loggedOptions()
	o.Retry.Attempts = 2
	acc, err := account.FromSAS(account.Endpoints{Table: "https://contoso.table.core.windows.net/?sv=2019-02-02&sig=c2VjcmV0"}, &account.Options{Client: azcore.ClientOptions{Transport: brokenTransport{}, Retry: policy.RetryOptions{MaxRetries: -1}}})
	noError(t, err)
	staff, err := bare.NewTable(acc.Tables(), "staff", staffSchema, o)
	noError(t, err)
	_, err = staff.Insert(context.Background(), &employee{"Sales", 1, "confidential", 44})
	if err == nil {
		t.Error("got no error; want one of the transport")
	}
	lines.mu.Lock()
	got := lines.text.String()
	lines.mu.Unlock()
	if strings.Count(got, "\n") != 4 || strings.Contains(got, "c2VjcmV0") || strings.Contains(got, "confidential") {
		t.Errorf("got %s; want two lines for the insert and two for its look at the row, without the signature and the name", got)
	}
}

// brokenTransport fails with the URL of each request in its error, as net/http does.
type brokenTransport struct{}

func (brokenTransport) Do(r *http.Request) (*http.Response, error) {
	return nil, errors.New("lost " + r.URL.String())
}

// second returns the error of a call.
func second[X any](_ X, err error) error { return err }
