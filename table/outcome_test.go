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

	"github.com/aztablekit/aztablekit/table"
)

// verbs are all single-entity writes.
func verbs(staff *table.Table[employee], e *table.Entity[employee]) map[string]func(context.Context) error {
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
		"Ensure":     func(ctx context.Context) error { return staff.Ensure(ctx) },
	}
}

// TestOutcomes: every verb, every way in which its one request can end. Nothing is repeated, and what is not certain is
// unknown.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused, for another reason")
	status := func(code int, body string) func(*http.Request, string) (*http.Response, error) {
		return func(*http.Request, string) (*http.Response, error) { return failure(code, body), nil }
	}
	broken := func(err error) func(*http.Request, string) (*http.Response, error) {
		return func(*http.Request, string) (*http.Response, error) { return nil, err }
	}
	for name, c := range map[string]struct {
		answer func(*http.Request, string) (*http.Response, error)
		want   error
	}{
		"lost reply":         {broken(io.ErrUnexpectedEOF), table.ErrUnknownOutcome},
		"reset":              {broken(&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}), table.ErrUnknownOutcome},
		"never connected":    {broken(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), refused},
		"500":                {status(500, "OperationTimedOut"), table.ErrUnknownOutcome},
		"502 by a gateway":   {func(*http.Request, string) (*http.Response, error) { return reply(502, "<html>"), nil }, table.ErrUnknownOutcome},
		"503":                {status(503, "ServerBusy"), table.ErrUnknownOutcome},
		"408":                {status(408, ""), table.ErrUnknownOutcome},
		"429":                {status(429, ""), table.ErrUnknownOutcome},
		"404 row":            {status(404, "ResourceNotFound"), table.ErrNotFound},
		"404 table":          {status(404, "TableNotFound"), table.ErrTableNotFound},
		"412":                {status(412, "UpdateConditionNotSatisfied"), table.ErrChanged},
		"400":                {status(400, "InvalidInput"), refused},
		"403":                {status(403, "AuthenticationFailed"), refused},
		"413":                {status(413, "RequestBodyTooLarge"), refused},
		"409 being deleted":  {status(409, "TableBeingDeleted"), refused},
		"redirect to nobody": {func(*http.Request, string) (*http.Response, error) { return reply(307, ""), nil }, table.ErrUnknownOutcome},
	} {
		w := &wire{answer: c.answer}
		staff := newStaff(t, bare(w))
		for verb := range verbs(staff, &table.Entity[employee]{}) {
			e := stored(t, staff, w)
			before, value := e.ETag, e.Value
			err := verbs(staff, e)[verb](context.Background())
			var oe *table.OpError
			if !errors.As(err, &oe) || oe.Op != verb || oe.Table != "staff" {
				t.Errorf("%s, %s: %v", verb, name, err)
				continue
			}
			if unknown := errors.Is(err, table.ErrUnknownOutcome); unknown != (c.want == table.ErrUnknownOutcome) || c.want != refused && !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v", verb, name, err)
			}
			if n := len(w.sent); n != 1 {
				t.Errorf("%s, %s: %d requests", verb, name, n)
			}
			if e.ETag != before || e.Value != value {
				t.Errorf("%s, %s: the entity was changed: %+v", verb, name, e)
			}
			if strings.ContainsAny(err.Error(), "\n<") {
				t.Errorf("%s, %s: the error holds the reply: %v", verb, name, err)
			}
		}
	}
}

// TestInDoubt: after an unknown outcome the entity cannot be used until it is read again, and nothing is sent for it.
func TestInDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }}
	staff := newStaff(t, bare(w))
	e := stored(t, staff, w)
	if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	w.sent = nil
	w.answer = func(*http.Request, string) (*http.Response, error) { return done(), nil }
	for what, err := range map[string]error{"replace": staff.Replace(ctx, e), "merge": staff.Merge(ctx, e, last.Set("x")), "delete": staff.Delete(ctx, e), "replace any": staff.ReplaceAny(ctx, e)} {
		if !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if w.requests() != "" {
		t.Error(w.requests())
	}
	e = stored(t, staff, w)
	if err := staff.Replace(ctx, e); err != nil {
		t.Error(err)
	}
}

// TestCancelledOnTheWay: a call that ends while its request is on the way is in doubt, and says why it ended.
func TestCancelledOnTheWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}}
	_, err := newStaff(t, bare(w)).Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	if !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// noToken is a credential that has none to give.
type noToken struct{}

var errNoToken = errors.New("log in first")

func (noToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errNoToken
}

// TestNeverSent: a client with our options knows that a request which failed for want of a token was never sent; any other
// client leaves it in doubt.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{true, false} {
		w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return done(), nil }}
		o := azcore.ClientOptions{Transport: w}
		if ours {
			o = table.ClientOptions(o, nil)
		}
		s, err := aztables.NewServiceClient("https://account.table.invalid", noToken{}, &aztables.ClientOptions{ClientOptions: o})
		if err != nil {
			t.Fatal(err)
		}
		_, err = newStaff(t, s).Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
		if !errors.Is(err, errNoToken) || errors.Is(err, table.ErrUnknownOutcome) == ours || w.requests() != "" {
			t.Errorf("ours %v: %v", ours, err)
		}
	}
}

// counterService is a service with one row and one number in it, which loses the response of its first write.
type counterService struct {
	value, version int
	lose           bool
}

func (s *counterService) tag() string { return `W/"` + strconv.Itoa(s.version) + `"` }

func (s *counterService) Do(r *http.Request) (*http.Response, error) {
	resp := func() *http.Response {
		if r.Method == http.MethodGet {
			return reply(200, fmt.Sprintf(`{"odata.etag":%q,"PartitionKey":"Sales","RowKey":"empid_000223","LastName":"Jones","Age":%d}`, s.tag(), s.value), "ETag", s.tag())
		}
		b, _ := io.ReadAll(r.Body)
		if r.Header["If-Match"][0] != s.tag() {
			return failure(412, "UpdateConditionNotSatisfied")
		}
		s.value, _ = strconv.Atoi(regexp.MustCompile(`"Age":(\d+)`).FindStringSubmatch(string(b))[1])
		s.version++
		return reply(204, "", "ETag", s.tag())
	}()
	if r.Method != http.MethodGet && s.lose {
		s.lose = false
		return nil, io.ErrUnexpectedEOF
	}
	resp.Request = r
	return resp, nil
}

// TestLostReplyIsNotRepeated: with the SDK's retries, 'read, add one, replace by ETag, again on 412' adds two when one response
// is lost. Update adds one and says that it does not know.
func TestLostReplyIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &counterService{value: 10, lose: true}
	sdk := bare(s).NewClient("staff")
	for {
		got, err := sdk.GetEntity(ctx, "Sales", "empid_000223", nil)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":"empid_000223","Age":%d}`, s.value+1)
		_, err = sdk.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &got.ETag, UpdateMode: aztables.UpdateModeReplace})
		var re *azcore.ResponseError
		if errors.As(err, &re) && re.StatusCode == http.StatusPreconditionFailed {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if s.value != 12 {
		t.Errorf("the SDK adds once now: %d", s.value)
	}
	s = &counterService{value: 10, lose: true}
	_, err := newStaff(t, bare(s)).Update(ctx, at("Sales", 223), func(e *employee) error { e.Age++; return nil })
	if s.value != 11 || !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("%d, %v", s.value, err)
	}
}

// TestBadReplies: a response that cannot be read is an error, never half an answer and never a panic.
func TestBadReplies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	page := `{"odata.metadata":"x","value":[` + row + `,` + strings.Replace(row, "000223", "000224", 1) + `]}`
	w := &wire{}
	staff := newStaff(t, bare(w))
	for cut := range len(row) {
		w.answer = func(*http.Request, string) (*http.Response, error) { return reply(200, row[:cut]), nil }
		if e, err := staff.Get(ctx, at("Sales", 223)); err == nil {
			t.Fatalf("get, cut at %d: %+v", cut, e)
		}
	}
	for cut := range len(page) {
		w.answer = func(*http.Request, string) (*http.Response, error) { return reply(200, page[:cut]), nil }
		var last error
		for _, last = range staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales")}) {
		}
		if last == nil {
			t.Fatalf("list, cut at %d", cut)
		}
	}
	for _, bad := range []string{strings.Replace(row, "44", `"old"`, 1), strings.Replace(row, "44", "2147483648", 1), strings.Replace(row, `"empid_000223"`, "5", 1)} {
		w.answer = func(*http.Request, string) (*http.Response, error) { return reply(200, bad, "ETag", etag), nil }
		var de *table.DecodeError
		if _, err := staff.Get(ctx, at("Sales", 223)); !errors.As(err, &de) || de.Field == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestEmptyPages: pages that are empty or short, and tokens without a RowKey, are followed to the end.
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	one := func(id int) string {
		return strings.Replace(strings.Replace(row, "000223", fmt.Sprintf("%06d", id), 1), "44", strconv.Itoa(id), 1)
	}
	pages := []struct{ body, nextPK, nextRK string }{
		{`{"value":[]}`, "1!8!U2FsZXM-", ""},
		{`{"value":[` + one(1) + `]}`, "1!8!U2FsZXM-", "1!4!Mg--"},
		{`{"value":[]}`, "1!8!U2FsZXM-", "1!4!Mw--"},
		{`{"value":[` + one(2) + `,` + one(3) + `]}`, "", ""},
	}
	n := 0
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		q := r.URL.Query()
		if n > 0 && (q.Get("NextPartitionKey") != pages[n-1].nextPK || q.Has("NextRowKey") != (pages[n-1].nextRK != "") || q.Get("NextRowKey") != pages[n-1].nextRK) {
			t.Errorf("page %d was asked for by %v", n, q)
		}
		p := pages[n]
		n++
		return reply(200, p.body, "x-ms-continuation-NextPartitionKey", p.nextPK, "x-ms-continuation-NextRowKey", p.nextRK), nil
	}}
	var got []int
	for e, err := range newStaff(t, bare(w)).List(context.Background(), table.Query[employee]{Partition: dept.Of("Sales")}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Value.ID)
	}
	if fmt.Sprint(got) != "[1 2 3]" || n != 4 {
		t.Error(got, n)
	}
}

// TestWithoutLimits: negative options switch bounds off.
func TestWithoutLimits(t *testing.T) {
	t.Parallel()
	o := once()
	o.WriteTimeout, o.ReadTimeout, o.Retry.AttemptTimeout = -1, -1, -1
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if deadline, ok := r.Context().Deadline(); ok {
			t.Errorf("a deadline: %v", time.Until(deadline))
		}
		if r.Method == http.MethodGet {
			return reply(200, row, "ETag", etag), nil
		}
		return done(), nil
	}}
	staff, err := table.New(bare(w), "staff", staffSchema, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44}); err != nil {
		t.Error(err)
	}
	if _, err := staff.Get(context.Background(), at("Sales", 223)); err != nil {
		t.Error(err)
	}
}
