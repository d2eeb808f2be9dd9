package account_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

const key = "c2VjcmV0LWtleQ==" // "secret-key"

// recorder is a Transporter that records requests and fails.
type recorder struct {
	requests []*http.Request
	limited  []bool
}

func (s *recorder) Do(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	_, limited := r.Context().Deadline()
	s.limited = append(s.limited, limited)
	return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: errors.New("no network")}
}

func (s *recorder) options(c *requests.Counter) *account.Options {
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}, Counter: c}
	o.Client.Retry.MaxRetries = -1
	return o
}

// request sends one request to each service and returns the errors.
func request(a *account.Account) [3]error {
	ctx := context.Background()
	_, err1 := a.Tables().NewClient("staff").GetEntity(ctx, "p", "r", nil)
	_, err2 := a.Queues().NewQueueClient("notifications").GetProperties(ctx, nil)
	_, err3 := a.Blobs().NewContainerClient("photos").GetProperties(ctx, nil)
	return [3]error{err1, err2, err3}
}

func TestConnectionStrings(t *testing.T) {
	t.Parallel()
	for cs, want := range map[string]string{
		"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + key + ";EndpointSuffix=core.windows.net": "https://acct.table.core.windows.net/staff https://acct.queue.core.windows.net/notifications https://acct.blob.core.windows.net/photos",
		"accountname=acct;accountkey=" + key: "https://acct.table.core.windows.net/staff https://acct.queue.core.windows.net/notifications https://acct.blob.core.windows.net/photos",
		"DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" + key + ";EndpointSuffix=example.invalid;QueueEndpoint=http://q.invalid:1/acct;": "http://acct.table.example.invalid/staff http://q.invalid:1/acct/notifications http://acct.blob.example.invalid/photos",
		"UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://emulator.invalid/":                                                              "http://emulator.invalid:10002/devstoreaccount1/staff http://emulator.invalid:10001/devstoreaccount1/notifications http://emulator.invalid:10000/devstoreaccount1/photos",
		"UseDevelopmentStorage=true": "http://127.0.0.1:10002/devstoreaccount1/staff http://127.0.0.1:10001/devstoreaccount1/notifications http://127.0.0.1:10000/devstoreaccount1/photos",
		"TableEndpoint=https://t.invalid/;QueueEndpoint=https://q.invalid;BlobEndpoint=https://b.invalid/;SharedAccessSignature=sv=1&sig=c2ln":          "https://t.invalid/staff?sig https://q.invalid/notifications?sig https://b.invalid/photos?sig",
		" AccountName = acct ;\tAccountKey =\u00a0" + key + " ;\n EndpointSuffix = .core.example.invalid ; ":                                            "https://acct.table.core.example.invalid/staff https://acct.queue.core.example.invalid/notifications https://acct.blob.core.example.invalid/photos",
		"TableEndpoint=https://t.invalid/?sv=1&sig=c2ln;QueueEndpoint=https://q.invalid?sig=c2ln;BlobEndpoint=https://b.invalid/?sig=c2ln":              "https://t.invalid/staff?sig https://q.invalid/notifications?sig https://b.invalid/photos?sig",
		"TableEndpoint=https://t.invalid/?sig=c2ln;QueueEndpoint=https://q.invalid;BlobEndpoint=https://b.invalid/;SharedAccessSignature=sv=1&sig=c2ln": "https://t.invalid/staff?sig https://q.invalid/notifications?sig https://b.invalid/photos?sig",
		"AccountName=acct;SharedAccessSignature=?sv=1&sig=c2ln":                                                                                         "https://acct.table.core.windows.net/staff?sig https://acct.queue.core.windows.net/notifications?sig https://acct.blob.core.windows.net/photos?sig",
	} {
		var s recorder
		var c requests.Counter
		a, err := account.FromConnectionString(cs, s.options(&c))
		if err != nil {
			t.Errorf("%s: got %v, want an account", cs, err)
			continue
		}
		for _, err := range request(a) {
			if err == nil || strings.Contains(err.Error(), "c2ln") || strings.Contains(err.Error(), key) {
				t.Errorf("%s: got %v, want an error without secrets", cs, err)
			}
		}
		var got []string
		for _, r := range s.requests {
			path, _, _ := strings.Cut(r.URL.Path, "(")
			u := r.URL.Scheme + "://" + r.URL.Host + path
			if r.URL.Query().Get("sig") == "c2ln" {
				u += "?sig"
			} else if r.Header.Get("Authorization") == "" {
				t.Errorf("%s: got no signature for %s, want one", cs, u)
			}
			got = append(got, u)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %s\nwant %s", cs, strings.Join(got, " "), want)
		}
		if n := c.Take(); n[requests.Get] != 1 || n[kinds.Other] != 1 || n[kinds.ContainerGet] != 1 {
			t.Errorf("got %v, want one get, one container-get and one other", n)
		}
		// An attempt of a blob request has no time limit, since its body is a stream.
		if fmt.Sprint(s.limited) != "[true true false]" {
			t.Errorf("got time limits %v, want them for tables and queues only", s.limited)
		}
	}
}

func TestBadConnectionStrings(t *testing.T) {
	t.Parallel()
	for _, cs := range []string{"", "nonsense", "AccountName=acct", "AccountKey=" + key, "AccountName=acct;AccountKey=not-base64!secret",
		"AccountName=a;AccountName=b;AccountKey=" + key, "AccountName=a;c2VjcmV0==;c2VjcmV0==", "SharedAccessSignature=sig=c2VjcmV0", "=x;AccountKey=" + key,
		"AccountName=acct;AccountKey=" + key + ";TableEndpoint=ftp://x/?sig=c2VjcmV0", "AccountName=acct;AccountKey=" + key + ";TableEndpoint=https://%zz"} {
		_, err := account.FromConnectionString(cs, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "account: ") || strings.Contains(err.Error(), "c2Vj") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error of this package without secrets", cs, err)
		}
	}
	if _, err := account.FromCredential(account.Endpoints{Table: "https://t.invalid"}, nil, nil); err == nil {
		t.Error("a nil credential: got no error, want one")
	}
	if _, err := account.FromCredential(account.Endpoints{}, token{}, nil); err == nil {
		t.Error("empty Endpoints: got no error, want one")
	}
	if _, err := account.FromTransport(nil, nil); err == nil {
		t.Error("a nil transport: got no error, want one")
	}
}

type token struct{}

func (token) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token-for-" + strings.Join(o.Scopes, ","), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// TestCredential: each request has a token, and the calls of a service without an endpoint fail.
func TestCredential(t *testing.T) {
	t.Parallel()
	var s recorder
	a, err := account.FromCredential(account.Endpoints{Table: "https://acct.table.invalid", Blob: "https://acct.blob.invalid/"}, token{}, s.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	errs := request(a)
	if !errors.Is(errs[1], account.ErrNoEndpoint) || errors.Is(errs[0], account.ErrNoEndpoint) || errors.Is(errs[2], account.ErrNoEndpoint) {
		t.Errorf("got %v, want ErrNoEndpoint of the queue only", errs)
	}
	if len(s.requests) != 2 {
		t.Fatalf("got %d requests, want 2", len(s.requests))
	}
	for _, r := range s.requests {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-for-https://storage.azure.com/") {
			t.Errorf("%s: got Authorization %q, want a token", r.URL, r.Header.Get("Authorization"))
		}
	}
	if a.Queues() == nil || a.Blobs() == nil {
		t.Errorf("got clients %v and %v, want both", a.Queues(), a.Blobs())
	}
}

// queuesOnly returns an account without a Table endpoint.
// calls is a policy that counts the calls of the clients.
type calls struct{ n int }

func (c *calls) Do(r *policy.Request) (*http.Response, error) {
	c.n++
	return r.Next()
}

// TestNoEndpoint: nothing is sent to a service without an endpoint, nothing is repeated, and the outcome of a write is known.
func TestNoEndpoint(t *testing.T) {
	t.Parallel()
	k := keys.Raw("p", "r")
	for name, method := range map[string]func(context.Context, *table.Table[table.Row]) error{
		"Get": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := rows.Get(ctx, k)
			return err
		},
		"Insert": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := rows.Insert(ctx, &table.Row{Key: k})
			return err
		},
		"DeleteAny": func(ctx context.Context, rows *table.Table[table.Row]) error { return rows.DeleteAny(ctx, k) },
		"Transact": func(ctx context.Context, rows *table.Table[table.Row]) error {
			_, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: k}), rows.DeleteAnyOp(keys.Raw("p", "s")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s recorder
			var c calls
			o := s.options(nil)
			o.Client.PerCallPolicies = []policy.Policy{&c}
			a, err := account.FromSAS(account.Endpoints{Queue: "https://acct.queue.invalid/?sig=c2ln"}, o)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := bare.NewTable(a.Tables(), "staff", table.Schema[table.Row]{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = method(t.Context(), rows)
			if !errors.Is(err, account.ErrNoEndpoint) || errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("got error %v; want ErrNoEndpoint and no ErrUnknownOutcome", err)
			}
			if c.n != 1 || len(s.requests) != 0 {
				t.Errorf("got %d calls and %d requests; want 1 call and no request", c.n, len(s.requests))
			}
		})
	}
}

func queuesOnly(t testing.TB, s *recorder) *account.Account {
	t.Helper()
	a, err := account.FromSAS(account.Endpoints{Queue: "https://acct.queue.invalid/?sig=c2ln"}, s.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTableSAS: the URL opens an account with no other credential.
func TestTableSAS(t *testing.T) {
	t.Parallel()
	grant := account.Grant{Table: "staff", Read: true, Partitions: keys.RawPartition("p").Point(), Expiry: time.Now().Add(time.Hour)}
	for _, endpoint := range []string{"", ";TableEndpoint=https://t.invalid", ";TableEndpoint=https://t.invalid/acct/"} {
		a, err := account.FromConnectionString("AccountName=acct;AccountKey="+key+endpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := a.TableSAS(grant)
		if err != nil || !strings.Contains(u, "/?") || !strings.Contains(u, "spk=p") {
			t.Errorf("got %q, %v, want a URL for the partition p", u, err)
		}
		var s recorder
		holder, err := account.FromSAS(account.Endpoints{Table: u}, s.options(nil))
		if err != nil {
			t.Fatal(err)
		}
		request(holder)
		if len(s.requests) != 1 || s.requests[0].URL.Query().Get("sig") == "" || !strings.Contains(s.requests[0].URL.Path, "/staff(") {
			t.Errorf("got requests %v, want one signed request to staff", s.requests)
		}
		var ve *table.ValueError
		if _, err := holder.TableSAS(grant); !errors.As(err, &ve) || ve.Field != "the account" {
			t.Errorf("a holder of a signature: got %v, want a *table.ValueError about the account", err)
		}
		if _, err := a.TableSAS(account.Grant{}); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("an empty grant: got %v, want an error without the key", err)
		}
	}
	var s recorder
	if _, err := queuesOnly(t, &s).TableSAS(grant); !errors.Is(err, account.ErrNoEndpoint) {
		t.Errorf("no endpoint: got %v, want ErrNoEndpoint", err)
	}
}

// TestErrorTexts: the error of a connection string or of a key says how to correct it.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for cs, want := range map[string]string{
		"":    "is empty",
		" \n": "is empty",
		`"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0"`:                 "quotation mark",
		`DefaultEndpointsProtocol=https;AccountName="a";AccountKey=c2VjcmV0`:                 "quotation mark",
		`“AccountName=a;AccountKey=c2VjcmV0”`:                                                "quotation mark",
		`'UseDevelopmentStorage=true'`:                                                       "quotation mark",
		"AccountName=a":                                                                      "has neither AccountKey nor SharedAccessSignature, and no endpoint has a signature (sig=); it needs one of them",
		"AccountName=a;AccountKey=c2VjcmV0;TableEndpoint=https://t.invalid/?sig=c2VjcmV0":    "has an AccountKey and a signature (sig=) in TableEndpoint; remove one of them",
		"TableEndpoint=https://t.invalid/?sig=c2VjcmV0;QueueEndpoint=https://q.invalid?sv=1": "has a signature (sig=) in TableEndpoint and none in QueueEndpoint; give each endpoint one, or set SharedAccessSignature",
	} {
		if _, err := account.FromConnectionString(cs, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c2Vj") {
			t.Errorf("%.3q: got %v, want an error that says %q, without secrets", cs, err, want)
		}
	}
	s := storagetest.New(nil)
	wrong := regexp.MustCompile("AccountKey=[^;]*").ReplaceAllString(s.ConnectionString(), "AccountKey=d3Jvbmc=")
	acc, err := account.FromConnectionString(wrong, &account.Options{Client: azcore.ClientOptions{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	staff, err := bare.NewTable(acc.Tables(), "staff", table.Schema[struct{}]{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Get(context.Background(), keys.At(keys.RawPartition("p"), keys.RawRow("r"))); err == nil || !strings.Contains(err.Error(), "Make sure the value of Authorization header") {
		t.Errorf("a wrong key: got %v, want the message of the service", err)
	}
}

// TestAccountPrinted: an account is printed without its key and without signatures.
func TestAccountPrinted(t *testing.T) {
	t.Parallel()
	keyed, err := account.FromConnectionString("AccountName=contoso;AccountKey="+key, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := account.FromSAS(account.Endpoints{Table: "https://contoso.table.core.windows.net/?sv=2019-02-02&sig=c2VjcmV0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*account.Account{keyed, signed} {
		for _, format := range []string{"%v", "%+v", "%s", "%d"} {
			for _, x := range []any{a, *a} {
				if got := fmt.Sprintf(format, x); strings.Contains(got, "sig=") || strings.Contains(got, key) || strings.Contains(got, "115 101 99 114 101 116") {
					t.Errorf("%s of %T: got %s; want no secret", format, x, got)
				}
			}
		}
		if got, want := fmt.Sprint(a), "https://contoso.table.core.windows.net"; strings.TrimSuffix(got, "/") != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}
