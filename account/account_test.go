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
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

const key = "c2VjcmV0LWtleQ==" // "secret-key"

// seen is a Transporter that remembers requests and never answers.
type seen struct {
	requests  []*http.Request
	deadlines []bool
}

func (s *seen) Do(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	_, bounded := r.Context().Deadline()
	s.deadlines = append(s.deadlines, bounded)
	return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: errors.New("no network")}
}

func (s *seen) options(c *table.Counter) *account.Options {
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}, Counter: c}
	o.Client.Retry.MaxRetries = -1
	return o
}

// ask makes one request to each service and returns the errors.
func ask(a *account.Account) [3]error {
	ctx := context.Background()
	_, err1 := a.Tables().NewClient("staff").GetEntity(ctx, "p", "r", nil)
	_, err2 := a.Queue("hints").GetProperties(ctx, nil)
	_, err3 := a.Container("photos").GetProperties(ctx, nil)
	return [3]error{err1, err2, err3}
}

func TestConnectionStrings(t *testing.T) {
	t.Parallel()
	for cs, want := range map[string]string{
		"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + key + ";EndpointSuffix=core.windows.net": "https://acct.table.core.windows.net/staff https://acct.queue.core.windows.net/hints https://acct.blob.core.windows.net/photos",
		"accountname=acct;accountkey=" + key: "https://acct.table.core.windows.net/staff https://acct.queue.core.windows.net/hints https://acct.blob.core.windows.net/photos",
		"DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" + key + ";EndpointSuffix=example.invalid;QueueEndpoint=http://q.invalid:1/acct;": "http://acct.table.example.invalid/staff http://q.invalid:1/acct/hints http://acct.blob.example.invalid/photos",
		"UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://emulator.invalid/":                                                              "http://emulator.invalid:10002/devstoreaccount1/staff http://emulator.invalid:10001/devstoreaccount1/hints http://emulator.invalid:10000/devstoreaccount1/photos",
		"UseDevelopmentStorage=true": "http://127.0.0.1:10002/devstoreaccount1/staff http://127.0.0.1:10001/devstoreaccount1/hints http://127.0.0.1:10000/devstoreaccount1/photos",
		"TableEndpoint=https://t.invalid/;QueueEndpoint=https://q.invalid;BlobEndpoint=https://b.invalid/;SharedAccessSignature=sv=1&sig=c2ln": "https://t.invalid/staff?sig https://q.invalid/hints?sig https://b.invalid/photos?sig",
		"AccountName=acct;SharedAccessSignature=?sv=1&sig=c2ln":                                                                                "https://acct.table.core.windows.net/staff?sig https://acct.queue.core.windows.net/hints?sig https://acct.blob.core.windows.net/photos?sig",
	} {
		var s seen
		var c table.Counter
		a, err := account.FromConnectionString(cs, s.options(&c))
		if err != nil {
			t.Errorf("%s: %v", cs, err)
			continue
		}
		for _, err := range ask(a) {
			if err == nil || strings.Contains(err.Error(), "c2ln") || strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v", cs, err)
			}
		}
		var got []string
		for _, r := range s.requests {
			path, _, _ := strings.Cut(r.URL.Path, "(")
			u := r.URL.Scheme + "://" + r.URL.Host + path
			if r.URL.Query().Get("sig") == "c2ln" {
				u += "?sig"
			} else if r.Header.Get("Authorization") == "" {
				t.Errorf("%s: not signed: %s", cs, u)
			}
			got = append(got, u)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %s\nwant %s", cs, strings.Join(got, " "), want)
		}
		if n := c.Take(); n[table.KindGet] != 1 || n[table.KindOther] != 2 {
			t.Errorf("counted %v", n)
		}
		// A try of a blob request is not bounded, for its body is a stream.
		if fmt.Sprint(s.deadlines) != "[true true false]" {
			t.Errorf("bounded: %v", s.deadlines)
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
			t.Errorf("%q: %v", cs, err)
		}
	}
	if _, err := account.FromCredential(account.Endpoints{Table: "https://t.invalid"}, nil, nil); err == nil {
		t.Error("no credential")
	}
	if _, err := account.FromCredential(account.Endpoints{}, token{}, nil); err == nil {
		t.Error("no endpoint")
	}
}

type token struct{}

func (token) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token-for-" + strings.Join(o.Scopes, ","), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// TestCredential: each service gets a token, and a service without an endpoint says so when it is used.
func TestCredential(t *testing.T) {
	t.Parallel()
	var s seen
	a, err := account.FromCredential(account.Endpoints{Table: "https://acct.table.invalid", Blob: "https://acct.blob.invalid/"}, token{}, s.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	errs := ask(a)
	if !errors.Is(errs[1], account.ErrNoEndpoint) || errors.Is(errs[0], account.ErrNoEndpoint) || errors.Is(errs[2], account.ErrNoEndpoint) {
		t.Errorf("%v", errs)
	}
	// Nothing was sent, so a write is not in doubt.
	staff, err := table.New(queuesOnly(t, &s).Tables(), "staff", table.Schema[struct{}]{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := staff.DeleteAny(context.Background(), keys.At(keys.Raw("p"), keys.Raw("r"))); !errors.Is(err, account.ErrNoEndpoint) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("a write without an endpoint: %v", err)
	}
	if len(s.requests) != 2 {
		t.Fatalf("%d requests", len(s.requests))
	}
	for _, r := range s.requests {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-for-https://storage.azure.com/") {
			t.Errorf("%s: %s", r.URL, r.Header.Get("Authorization"))
		}
	}
	if a.Queues() == nil || a.Blobs() == nil {
		t.Error("no client")
	}
}

// queuesOnly is an account without a Table endpoint.
func queuesOnly(t *testing.T, s *seen) *account.Account {
	t.Helper()
	a, err := account.FromSAS(account.Endpoints{Queue: "https://acct.queue.invalid/?sig=c2ln"}, s.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTableSAS: the URL opens an account that has nothing else.
func TestTableSAS(t *testing.T) {
	t.Parallel()
	grant := table.Grant{Table: "staff", Read: true, Partitions: keys.Point(keys.Raw("p")), Expiry: time.Now().Add(time.Hour)}
	for _, endpoint := range []string{"", ";TableEndpoint=https://t.invalid", ";TableEndpoint=https://t.invalid/acct/"} {
		a, err := account.FromConnectionString("AccountName=acct;AccountKey="+key+endpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := a.TableSAS(grant)
		if err != nil || !strings.Contains(u, "/?") || !strings.Contains(u, "spk=p") {
			t.Errorf("%q, %v", u, err)
		}
		var s seen
		holder, err := account.FromSAS(account.Endpoints{Table: u}, s.options(nil))
		if err != nil {
			t.Fatal(err)
		}
		ask(holder)
		if len(s.requests) != 1 || s.requests[0].URL.Query().Get("sig") == "" || !strings.Contains(s.requests[0].URL.Path, "/staff(") {
			t.Errorf("%v", s.requests)
		}
		if _, err := holder.TableSAS(grant); !errors.Is(err, account.ErrNoKey) {
			t.Error(err)
		}
		if _, err := a.TableSAS(table.Grant{}); err == nil || strings.Contains(err.Error(), key) {
			t.Error(err)
		}
	}
	var s seen
	if _, err := queuesOnly(t, &s).TableSAS(grant); !errors.Is(err, account.ErrNoEndpoint) {
		t.Error(err)
	}
}

// TestHelpfulRefusals: what is wrong with a connection string, or with a key, is said so that it can be mended.
func TestHelpfulRefusals(t *testing.T) {
	t.Parallel()
	for cs, want := range map[string]string{
		"":    "is empty",
		" \n": "is empty",
		`"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0"`: "quotation mark",
		`DefaultEndpointsProtocol=https;AccountName="a";AccountKey=c2VjcmV0`: "quotation mark",
		`“AccountName=a;AccountKey=c2VjcmV0”`:                                "quotation mark",
		`'UseDevelopmentStorage=true'`:                                       "quotation mark",
	} {
		if _, err := account.FromConnectionString(cs, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.3q: got %v, want an error that says %q", cs, err, want)
		}
	}
	s := storagetest.New(nil)
	wrong := regexp.MustCompile("AccountKey=[^;]*").ReplaceAllString(s.ConnectionString(), "AccountKey=d3Jvbmc=")
	acc, err := account.FromConnectionString(wrong, &account.Options{Client: azcore.ClientOptions{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	staff, err := table.New(acc.Tables(), "staff", table.Schema[struct{}]{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Get(context.Background(), keys.At(keys.Raw("p"), keys.Raw("r"))); err == nil || !strings.Contains(err.Error(), "Make sure the value of Authorization header") {
		t.Errorf("a wrong key: got %v, want what the service says about it", err)
	}
}
