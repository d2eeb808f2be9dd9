package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/table"
)

// writeMethods returns all writes of one entity.
func writeMethods(staff *table.Table[employee], e *table.Entity[employee]) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Insert": func(ctx context.Context) error { _, err := staff.Insert(ctx, &e.Value); return err },
		"Upsert": func(ctx context.Context) error {
			_, err := staff.Upsert(ctx, &e.Value, table.MergeExisting)
			return err
		},
		"Replace":    func(ctx context.Context) error { return staff.Replace(ctx, e) },
		"ReplaceAny": func(ctx context.Context) error { return staff.ReplaceAny(ctx, e) },
		"Merge":      func(ctx context.Context) error { return staff.Merge(ctx, e, last.Set("Smith")) },
		"MergeAny":   func(ctx context.Context) error { return staff.MergeAny(ctx, e.Key, last.Set("Smith")) },
		"Delete":     func(ctx context.Context) error { return staff.Delete(ctx, e) },
		"DeleteAny":  func(ctx context.Context) error { return staff.DeleteAny(ctx, e.Key) },
		"Ensure":     func(ctx context.Context) error { return tabledoor.Ensure(ctx, staff) },
	}
}

// TestOutcomes: each method returns the right outcome for each response to its one request. An uncertain outcome is
// ErrUnknownOutcome.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused, for another reason")
	status := func(code int, body string) func(*http.Request, string) (*http.Response, error) {
		return func(*http.Request, string) (*http.Response, error) { return errorResponse(code, body), nil }
	}
	broken := func(err error) func(*http.Request, string) (*http.Response, error) {
		return func(*http.Request, string) (*http.Response, error) { return nil, err }
	}
	for name, c := range map[string]struct {
		answer func(*http.Request, string) (*http.Response, error)
		want   error
	}{
		"lost response":     {broken(io.ErrUnexpectedEOF), table.ErrUnknownOutcome},
		"reset":             {broken(&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}), table.ErrUnknownOutcome},
		"never connected":   {broken(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), refused},
		"500":               {status(500, "OperationTimedOut"), table.ErrUnknownOutcome},
		"502 by a gateway":  {func(*http.Request, string) (*http.Response, error) { return jsonResponse(502, "<html>"), nil }, table.ErrUnknownOutcome},
		"503":               {status(503, "ServerBusy"), table.ErrUnknownOutcome},
		"408":               {status(408, ""), table.ErrUnknownOutcome},
		"429":               {status(429, ""), table.ErrUnknownOutcome},
		"404 row":           {status(404, "ResourceNotFound"), table.ErrNotFound},
		"404 table":         {status(404, "TableNotFound"), table.ErrNotCreated},
		"412":               {status(412, "UpdateConditionNotSatisfied"), table.ErrChanged},
		"400":               {status(400, "InvalidInput"), refused},
		"403":               {status(403, "AuthenticationFailed"), refused},
		"413":               {status(413, "RequestBodyTooLarge"), refused},
		"409 being deleted": {status(409, "TableBeingDeleted"), refused},
		"a bare redirect":   {func(*http.Request, string) (*http.Response, error) { return jsonResponse(307, ""), nil }, table.ErrUnknownOutcome},
	} {
		w := &fakeTransport{respond: c.answer}
		staff := newStaff(t, sdkClient(t, w))
		for method := range writeMethods(staff, &table.Entity[employee]{}) {
			e := readEmployee(t, staff, w)
			before, value := e.ETag, e.Value
			err := writeMethods(staff, e)[method](context.Background())
			var oe *table.OpError
			if !errors.As(err, &oe) || oe.Op != method || oe.Table != "staff" {
				t.Errorf(`%s, %s: got %v; want a *OpError and oe.Op == %q and oe.Table == "staff"`, method, name, err, method)
				continue
			}
			if unknown := errors.Is(err, table.ErrUnknownOutcome); unknown != (c.want == table.ErrUnknownOutcome) || c.want != refused && !errors.Is(err, c.want) {
				t.Errorf("%s, %s: got %v; want %v", method, name, err, c.want)
			}
			if n := len(w.sent); n != 1 {
				t.Errorf("%s, %s: got %d requests; want 1", method, name, n)
			}
			if e.ETag != before || e.Value != value {
				t.Errorf("%s, %s: got entity %+v; want it unchanged", method, name, e)
			}
			if strings.ContainsAny(err.Error(), "\n<") {
				t.Errorf("%s, %s: got %q; want an error without the response's text", method, name, err)
			}
		}
	}
}

// TestInDoubt: an entity with an unknown outcome is refused before any request until it is read again.
func TestInDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }}
	staff := newStaff(t, sdkClient(t, w))
	e := readEmployee(t, staff, w)
	if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Fatalf("got %v; want ErrUnknownOutcome", err)
	}
	w.sent = nil
	w.respond = func(*http.Request, string) (*http.Response, error) { return noContent(), nil }
	for what, err := range map[string]error{"replace": staff.Replace(ctx, e), "merge": staff.Merge(ctx, e, last.Set("x")), "delete": staff.Delete(ctx, e), "replace any": staff.ReplaceAny(ctx, e)} {
		if !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: got %v; want ErrUnknownOutcome", what, err)
		}
	}
	if w.requests() != "" {
		t.Errorf("got %q; want %q", w.requests(), "")
	}
	e = readEmployee(t, staff, w)
	if err := staff.Replace(ctx, e); err != nil {
		t.Error(err)
	}
}

// TestCancelledOnTheWay: the outcome of a call that ends during its request is unknown. The error also contains the reason.
func TestCancelledOnTheWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}}
	_, err := newStaff(t, sdkClient(t, w)).Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	if !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want ErrUnknownOutcome and context.Canceled", err)
	}
}

// noToken is a credential without a token.
type noToken struct{}

var errNoToken = errors.New("log in first")

func (noToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errNoToken
}

// TestNeverSent: with table.ClientOptions, a request that fails for lack of a token is known not to be sent. With any other
// client the outcome is unknown.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	for _, policies := range []bool{true, false} {
		w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
		o := azcore.ClientOptions{Transport: w}
		if policies {
			o = table.ClientOptions(o, nil)
		}
		s, err := aztables.NewServiceClient("https://account.table.invalid", noToken{}, &aztables.ClientOptions{ClientOptions: o})
		noError(t, err)
		_, err = newStaff(t, s).Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
		if !errors.Is(err, errNoToken) || errors.Is(err, table.ErrUnknownOutcome) == policies || w.requests() != "" {
			t.Errorf(`policies %v: got %v; want errNoToken and errors.Is(err, table.ErrUnknownOutcome) != %v and w.requests() == ""`, policies, err, policies)
		}
	}
}

// counterService is a service with one row and one number in it. It loses the response to its first write.
type counterService struct {
	value, version int
	lose           bool
}

func (s *counterService) tag() string { return `W/"` + strconv.Itoa(s.version) + `"` }

func (s *counterService) Do(r *http.Request) (*http.Response, error) {
	resp := func() *http.Response {
		if r.Method == http.MethodGet {
			return jsonResponse(200, fmt.Sprintf(`{"odata.etag":%q,"PartitionKey":"Sales","RowKey":"empid_000223","LastName":"Jones","Age":%d}`, s.tag(), s.value), "ETag", s.tag())
		}
		b, _ := io.ReadAll(r.Body)
		if r.Header["If-Match"][0] != s.tag() {
			return errorResponse(412, "UpdateConditionNotSatisfied")
		}
		s.value, _ = strconv.Atoi(regexp.MustCompile(`"Age":(\d+)`).FindStringSubmatch(string(b))[1])
		s.version++
		return jsonResponse(204, "", "ETag", s.tag())
	}()
	if r.Method != http.MethodGet && s.lose {
		s.lose = false
		return nil, io.ErrUnexpectedEOF
	}
	resp.Request = r
	return resp, nil
}

// TestLostResponseIsNotRepeated: with the SDK's retries, the loop 'read, add one, replace by ETag, repeat after 412' adds two
// if one response is lost. Update adds one, and returns ErrUnknownOutcome.
func TestLostResponseIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &counterService{value: 10, lose: true}
	sdk := sdkClient(t, s).NewClient("staff")
	for {
		got, err := sdk.GetEntity(ctx, "Sales", "empid_000223", nil)
		noError(t, err)
		body := fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":"empid_000223","Age":%d}`, s.value+1)
		_, err = sdk.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &got.ETag, UpdateMode: aztables.UpdateModeReplace})
		var re *azcore.ResponseError
		if errors.As(err, &re) && re.StatusCode == http.StatusPreconditionFailed {
			continue
		}
		noError(t, err)
		break
	}
	if s.value != 12 {
		t.Errorf("the SDK: got %d; want 12", s.value)
	}
	s = &counterService{value: 10, lose: true}
	_, err := newStaff(t, sdkClient(t, s)).Update(ctx, employeeKey("Sales", 223), func(e *employee) error { e.Age++; return nil })
	if s.value != 11 || !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %d, %v; want s.value == 11 and ErrUnknownOutcome", s.value, err)
	}
}

// TestWithoutLimits: negative timeouts set no deadline.
func TestWithoutLimits(t *testing.T) {
	t.Parallel()
	o := singleAttempt()
	o.WriteTimeout, o.ReadTimeout, o.Retry.AttemptTimeout = -1, -1, -1
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		if deadline, ok := r.Context().Deadline(); ok {
			t.Errorf("got a deadline in %v; want none", time.Until(deadline))
		}
		if r.Method == http.MethodGet {
			return jsonResponse(200, employeeJSON, "ETag", etag), nil
		}
		return noContent(), nil
	}}
	staff, err := bare.NewTable(sdkClient(t, w), "staff", staffSchema, o)
	noError(t, err)
	if _, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44}); err != nil {
		t.Error(err)
	}
	if _, err := staff.Get(context.Background(), employeeKey("Sales", 223)); err != nil {
		t.Error(err)
	}
}
