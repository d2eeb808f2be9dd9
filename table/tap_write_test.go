package table_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// written is an entity with a property of each kind, and with texts that JSON or addresses escape.
type written struct {
	PK, RK  string
	Text    string
	Int     int64
	Small   int32
	Whole   float64
	Large   float64
	Tiny    float64
	Endless float64
	Yes     bool
	Data    []byte
}

func newWritten(rk string) *written {
	return &written{PK: "p", RK: rk, Text: "<a href='x'>\"\\\n\u2028&é😀", Int: 1 << 60, Small: -1, Whole: 5, Large: 1e6, Tiny: 1.5e-9, Endless: math.Inf(1), Yes: true, Data: []byte{0, 255}}
}

func writtenTable(t testing.TB, s engine.Service) *table.Table[written] {
	t.Helper()
	tab, err := bare.NewTable(s, "written", table.Schema[written]{
		Partition: keys.RawPartitionOf(func(e *written) *string { return &e.PK }),
		Row:       keys.RawRowOf(func(e *written) *string { return &e.RK }),
	}, singleAttempt())
	noError(t, err)
	return tab
}

// parts splits the body of a transaction: the entities, as maps, and all the rest, without boundaries and lengths.
func entityFields(t *testing.T, body string) (rest string, entities []map[string]any) {
	t.Helper()
	body = regexp.MustCompile(`(batch|changeset)_[0-9a-f-]{36}`).ReplaceAllString(body, "$1")
	var lines []string
	lengths := regexp.MustCompile(`^Content-Length: ([0-9]+)$`)
	length := ""
	for _, line := range strings.SplitAfter(body, "\r\n") {
		text := strings.TrimSuffix(line, "\r\n")
		switch m := lengths.FindStringSubmatch(text); {
		case m != nil:
			length = m[1]
		case strings.HasPrefix(text, "{"):
			if length != fmt.Sprint(len(text)) {
				t.Errorf("got the length %s of %s; want %d", length, text, len(text))
			}
			d := json.NewDecoder(bytes.NewReader([]byte(text)))
			d.UseNumber()
			var e map[string]any
			noError(t, d.Decode(&e))
			entities = append(entities, e)
		default:
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ""), entities
}

// TestTapWritesTransactions: a transaction that the library writes is the SDK's byte by byte, but for the boundaries and the order
// and escapes in the JSON. Each number is written alike.
func TestTapWritesTransactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, endpoint := range []string{"http://127.0.0.1:1/account", "https://account.table.core.windows.net/", "https://account.table.core.windows.net/?sv=2019-02-02&sig=a%2Fb%2Bc%3D&se=2026-11-21T01%3A02%3A03Z&spk=O%27B"} {
		var bodies [2]sentRequest
		var etags [2]string
		for i := range bodies {
			w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
				return batchResponse(batchBody(donePart(1), donePart(2), donePart(3), donePart(4), donePart(5), donePart(0), donePart(0)))
			}}
			options := azcore.ClientOptions{Transport: w}
			if i == 1 {
				withTap(&options)
			}
			s, err := aztables.NewServiceClientWithNoCredential(endpoint, &aztables.ClientOptions{ClientOptions: options})
			noError(t, err)
			tab := writtenTable(t, s)
			key := func(rk string) keys.Key { return keys.Raw("p", rk) }
			for range 2 { // the second goes past the SDK
				w.sent = nil
				got, err := table.Transact(ctx, tab.InsertOp(newWritten("O'Brien")), tab.UpsertOp(newWritten("a b%é:&=+$,;@!*()~"), table.ReplaceExisting), tab.UpsertOp(newWritten("3"), table.MergeExisting),
					baretest.MergeAnyOp(tab, key("4"), table.FieldOf(func(e *written) *float64 { return &e.Whole }).Set(1e21)), tab.UpsertOp(newWritten("5''"), table.MergeExisting), tab.DeleteAnyOp(key("'")), tab.DeleteAnyOp(key("7")))
				noError(t, err)
				etags[i] = fmt.Sprint(got)
			}
			bodies[i] = w.last()
		}
		want, wantEntities := entityFields(t, bodies[0].body)
		got, gotEntities := entityFields(t, bodies[1].body)
		if got != want {
			t.Errorf("%s: got\n%s\nwant, as the SDK writes it,\n%s", endpoint, got, want)
		}
		for i := range wantEntities {
			if e := wantEntities[i]; i > 0 { // the SDK takes the address from the keys, so that the plain path doubles the quotes there, too
				e["RowKey"] = strings.ReplaceAll(e["RowKey"].(string), "''", "'")
			}
			if g, w := fmt.Sprint(gotEntities[i]), fmt.Sprint(wantEntities[i]); g != w {
				t.Errorf("%s: got %s; want %s", endpoint, g, w)
			}
		}
		if etags[0] != etags[1] || parsed(t, bodies[0].query) != parsed(t, bodies[1].query) || bodies[0].path != bodies[1].path || len(bodies[0].header) != len(bodies[1].header) {
			t.Errorf("%s: got %s for %s; want %s for %s", endpoint, etags[1], bodies[1].query, etags[0], bodies[0].query)
		}
	}
}

// parsed returns a query in the order of its names: the SDK leaves that of an endpoint as it is.
func parsed(t *testing.T, query string) string {
	t.Helper()
	q, err := url.ParseQuery(query)
	noError(t, err)
	return q.Encode()
}

// TestPathsTransactAlike: the tap changes no result of a transaction.
func TestPathsTransactAlike(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	whole := batchBody(donePart(1), donePart(0))
	answers := map[string]func() (*http.Response, error){
		"success":          func() (*http.Response, error) { return batchResponse(whole) },
		"a success of one": func() (*http.Response, error) { return batchResponse(batchBody(donePart(1))) },
		"no ETag":          func() (*http.Response, error) { return batchResponse(batchBody(donePart(0), donePart(0))) },
		"a refusal": func() (*http.Response, error) {
			return batchResponse(batchBody(failedPart(409, "EntityAlreadyExists", "0:x")))
		},
		"a second refusal": func() (*http.Response, error) {
			return batchResponse(batchBody(failedPart(404, "ResourceNotFound", "1:x")))
		},
		"busy":              func() (*http.Response, error) { return batchResponse(batchBody(failedPart(503, "ServerBusy", "0:x"))) },
		"an empty response": func() (*http.Response, error) { return batchResponse("") },
		"nothing said":      func() (*http.Response, error) { return jsonResponse(204, ""), nil },
		"too large":         func() (*http.Response, error) { return errorResponse(413, "RequestBodyTooLarge"), nil },
		"bad request":       func() (*http.Response, error) { return errorResponse(400, "InvalidInput"), nil },
		"an error":          func() (*http.Response, error) { return errorResponse(500, "InternalError"), nil },
		"a whole break":     func() (*http.Response, error) { return cutResponse(whole, len(whole)), nil },
	}
	for cut := 0; cut < len(whole); cut += 11 {
		answers[fmt.Sprint("cut at ", cut)] = func() (*http.Response, error) { return batchResponse(whole[:cut]) }
		answers[fmt.Sprint("broken at ", cut)] = func() (*http.Response, error) { return cutResponse(whole, cut), nil }
	}
	for what, answer := range answers {
		respond := func(*http.Request, string) (*http.Response, error) { return answer() }
		plain, tapped := bothPaths(t, respond, func(staff *table.Table[employee]) string {
			etags, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "x", 1}), staff.DeleteAnyOp(employeeKey("Sales", 2)))
			return fmt.Sprint(etags, visible(err))
		})
		if tapped != plain {
			t.Errorf("%s: got %s with the tap; want %s, as without it", what, tapped, plain)
		}
	}
}

// TestTapWritesEntities: a single write of the library is the SDK's, but for the order and escapes in the JSON, once a write was found
// to be tapped; and the results are alike.
func TestTapWritesEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	raw := keys.Raw("p", "O'Brien")
	old := func(tab *table.Table[written]) *table.Entity[written] {
		return &table.Entity[written]{Value: *newWritten("O'Brien"), Key: raw, ETag: etag}
	}
	for name, write := range map[string]func(tab *table.Table[written]) (*table.Entity[written], error){
		"Insert": func(tab *table.Table[written]) (*table.Entity[written], error) {
			return tab.Insert(ctx, newWritten("O'Brien"))
		},
		"UpsertReplace": func(tab *table.Table[written]) (*table.Entity[written], error) {
			return tab.Upsert(ctx, newWritten("O'Brien"), table.ReplaceExisting)
		},
		"UpsertMerge": func(tab *table.Table[written]) (*table.Entity[written], error) {
			return tab.Upsert(ctx, newWritten("O'Brien"), table.MergeExisting)
		},
		"MergeAny": func(tab *table.Table[written]) (*table.Entity[written], error) {
			return nil, tab.MergeAny(ctx, raw, table.FieldOf(func(e *written) *float64 { return &e.Large }).Set(1e6))
		},
		"Merge": func(tab *table.Table[written]) (*table.Entity[written], error) {
			e := old(tab)
			return e, tab.Merge(ctx, e, table.FieldOf(func(e *written) *float64 { return &e.Large }).Set(1e6))
		},
		"DeleteAny": func(tab *table.Table[written]) (*table.Entity[written], error) { return nil, tab.DeleteAny(ctx, raw) },
	} {
		for what, answer := range map[string]func() (*http.Response, error){
			"success": func() (*http.Response, error) { return noContent(), nil },
			"an echo": func() (*http.Response, error) {
				return jsonResponse(201, `{"PartitionKey":"p","RowKey":"O'Brien"}`, "ETag", etag), nil
			},
			"no ETag":   func() (*http.Response, error) { return jsonResponse(204, ""), nil },
			"exists":    func() (*http.Response, error) { return errorResponse(409, "EntityAlreadyExists"), nil },
			"changed":   func() (*http.Response, error) { return errorResponse(412, "UpdateConditionNotSatisfied"), nil },
			"not found": func() (*http.Response, error) { return errorResponse(404, "ResourceNotFound"), nil },
			"too large": func() (*http.Response, error) { return errorResponse(413, "RequestBodyTooLarge"), nil },
			"busy":      func() (*http.Response, error) { return errorResponse(503, "ServerBusy"), nil },
			"a break":   func() (*http.Response, error) { return broken("abc", 2), nil },
			"no answer": func() (*http.Response, error) { return nil, errors.New("the connection was lost") },
		} {
			var results [2]string
			var last [2]sentRequest
			for i := range results {
				var with []func(*azcore.ClientOptions)
				if i == 1 {
					with = append(with, withTap)
				}
				w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
				tab := writtenTable(t, sdkClient(t, w, with...))
				_, err := tab.Insert(ctx, newWritten("first"))
				noError(t, err)
				w.sent, w.respond = nil, func(r *http.Request, _ string) (*http.Response, error) {
					if r.Method == "GET" {
						return errorResponse(404, "ResourceNotFound"), nil
					}
					return answer()
				}
				e, err := write(tab)
				results[i] = fmt.Sprint(visible(err), " after ", w.requests())
				if e != nil {
					results[i] += string(e.ETag)
				}
				for _, r := range w.sent {
					if r.method != "GET" {
						last[i] = r
					}
				}
			}
			if results[0] != results[1] {
				t.Errorf("%s, %s: got %s with the tap; want %s, as without it", name, what, results[1], results[0])
			}
			a, b := last[0], last[1]
			a.header.Del("Content-Length")
			b.header.Del("Content-Length")
			if a.method != b.method || a.path != b.path || a.query != b.query || fmt.Sprint(a.header) != fmt.Sprint(b.header) {
				t.Errorf("%s: got %s %s?%s %v; want %s %s?%s %v", name, b.method, b.path, b.query, b.header, a.method, a.path, a.query, a.header)
			}
			if name == "DeleteAny" {
				continue
			}
			var want, got map[string]any
			for body, to := range map[string]*map[string]any{a.body: &want, b.body: &got} {
				d := json.NewDecoder(strings.NewReader(body))
				d.UseNumber()
				noError(t, d.Decode(to))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %v; want %v", name, got, want)
			}
		}
	}
}

// forgetful is a per-call policy that removes the values of the context.
type forgetful struct{ on bool }

func (f *forgetful) Do(r *policy.Request) (*http.Response, error) {
	if f.on {
		r = r.Clone(context.Background())
	}
	return r.Next()
}

// TestTapIsLost: if a policy in front of those of ClientOptions hides the call from them, the service gets a request that changes
// nothing, and all later requests go through the SDK.
func TestTapIsLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	key := employeeKey("Sales", 3)
	for name, c := range map[string]struct {
		respond func() (*http.Response, error)
		call    func(*table.Table[employee]) error
		later   string // what is sent by the next call
	}{
		"Get": {func() (*http.Response, error) {
			return jsonResponse(200, strings.ReplaceAll(employeeJSON, "000223", "000003")), nil
		},
			func(s *table.Table[employee]) error { _, err := s.Get(ctx, key); return err }, "GET /account/staff(PartitionKey='Sales',RowKey='empid_000003')"},
		"Insert": {func() (*http.Response, error) { return noContent(), nil },
			func(s *table.Table[employee]) error {
				_, err := s.Insert(ctx, &employee{"Sales", 3, "Jones", 44})
				return err
			}, "POST /account/staff"},
		"Transact": {func() (*http.Response, error) { return batchResponse(batchBody(donePart(0))) },
			func(s *table.Table[employee]) error { _, err := table.Transact(ctx, s.DeleteAnyOp(key)); return err }, "POST /account/$batch"},
	} {
		for what, answer := range map[string]func() (*http.Response, error){
			"a refusal":  func() (*http.Response, error) { return errorResponse(404, "ResourceNotFound"), nil },
			"a success":  func() (*http.Response, error) { return jsonResponse(204, ""), nil },
			"no answer":  func() (*http.Response, error) { return nil, errors.New("the connection was lost") },
			"no service": func() (*http.Response, error) { return errorResponse(503, "ServerBusy"), nil },
		} {
			var f forgetful
			w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return c.respond() }}
			staff := newStaff(t, sdkClient(t, w, withTap, func(o *azcore.ClientOptions) { o.PerCallPolicies = append([]policy.Policy{&f}, o.PerCallPolicies...) }))
			noError(t, c.call(staff))
			noError(t, c.call(staff))
			f.on, w.respond = true, func(*http.Request, string) (*http.Response, error) { return answer() }
			w.sent = nil
			err := c.call(staff)
			if err == nil || errors.Is(err, table.ErrUnknownOutcome) || errors.Is(err, table.ErrNotFound) {
				t.Errorf("%s, %s: got %v; want an error that says that nothing was sent", name, what, err)
			}
			for _, r := range w.sent {
				if r.method+" "+r.path != smallCall || r.header.Get("If-Match") != `W/"none"` {
					t.Errorf("%s, %s: got the request %s %s; want the small call", name, what, r.method, r.path)
				}
			}
			if what == "no answer" {
				continue // it does not show that the tap is lost
			}
			w.respond, w.sent = func(*http.Request, string) (*http.Response, error) { return c.respond() }, nil
			noError(t, c.call(staff))
			if got := w.last(); got.method+" "+got.path != c.later {
				t.Errorf("%s, %s: got %s %s; want %s, by the SDK", name, what, got.method, got.path, c.later)
			}
		}
	}
}

// TestSeparatorsOnTheWire: no request contains U+2028 or U+2029 as they are, in whatever part of it they are sent: the emulator cannot
// read such a transaction. Both come back as they were written.
func TestSeparatorsOnTheWire(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const text = "a\u2028b\u2029"
	for client, plain := range map[string]bool{"a client of package account": false, "a plain client": true} {
		s := storagetest.New(nil)
		sent := 0
		hooked := &testkit.Hooked{Service: s, BeforeRequest: func(r *http.Request) {
			if r.Body == nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("got error %v of a body; want none", err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if sent++; bytes.Contains(body, []byte("\u2028")) || bytes.Contains(body, []byte("\u2029")) {
				t.Errorf("%s: got the body %q; want U+2028 and U+2029 escaped", client, body)
			}
		}}
		acc, err := account.FromTransport(hooked, nil)
		noError(t, err)
		service := acc.Tables()
		if plain {
			service, err = aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: hooked}})
			noError(t, err)
		}
		rows, err := bare.NewTable(service, "written", table.Schema[table.Row]{}, nil)
		noError(t, err)
		noError(t, tabledoor.Ensure(ctx, rows))
		tab := writtenTable(t, service)
		_, err = tab.Insert(ctx, &written{PK: text, RK: text + "1", Text: text})
		noError(t, err)
		_, err = table.Transact(ctx, tab.InsertOp(&written{PK: text, RK: text + "2", Text: text}), tab.UpsertOp(&written{PK: text, RK: text + "1", Text: text + text}, table.ReplaceExisting))
		noError(t, err)
		// A row with a column that the type does not have is written again with it.
		noError(t, rows.MergeAny(ctx, keys.Raw(text, text+"2"), table.PropertyOf[string]("Note").Set(text)))
		e, err := tab.Get(ctx, keys.Raw(text, text+"2"))
		noError(t, err)
		e.Value.Yes = true
		noError(t, tab.Replace(ctx, e))
		row, err := tabledoor.GetRow(ctx, rows, e.Key)
		noError(t, err)
		for _, property := range []string{"Text", "Note"} {
			if got, _ := row.Get(property); got != text {
				t.Errorf("%s: property %s: got %q; want %q", client, property, got, text)
			}
		}
		if sent < 5 {
			t.Errorf("%s: got %d requests with a body; want at least 5", client, sent)
		}
	}
}
