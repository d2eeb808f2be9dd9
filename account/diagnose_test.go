package account_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// lines returns the findings as lines.
func lines(all []account.Finding) string {
	var text []string
	for _, f := range all {
		text = append(text, f.String())
	}
	return strings.Join(text, "\n")
}

const allRights = `tables, list tables: ok
tables, read rows: ok
tables, write rows: ok
tables, delete rows: ok
queues, see messages: ok
queues, change messages: ok
blobs, read blobs: ok
blobs, write blobs: ok
clock, agree with the service: ok`

// TestDiagnose: a caller with all rights has them, whether what is named exists or not, and nothing is changed.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	testkit.NoError(t, err)
	if got := lines(account.Diagnose(ctx, acc, nil)); got != allRights {
		t.Errorf("got\n%s\nwant\n%s", got, allRights)
	}
	if n := s.Count().Total(); n != 8 || len(s.ContainerNames()) != 0 || len(s.TableNames()) != 0 {
		t.Errorf("got %d requests, containers %v, tables %v; want 8, and none", n, s.ContainerNames(), s.TableNames())
	}
	o := &account.DiagnoseOptions{Table: "staff", Queue: "work", Container: "photos"}
	for _, f := range account.Diagnose(ctx, acc, o)[1:8] {
		if f.Err == nil || !strings.Contains(f.Advice, "Store.Ensure creates it") {
			t.Errorf("nothing exists: got %v; want that Store.Ensure creates it", f)
		}
	}
	_, err = acc.Tables().NewClient("staff").CreateTable(ctx, nil)
	testkit.NoError(t, err)
	_, err = acc.Queues().NewQueueClient("work").Create(ctx, nil)
	testkit.NoError(t, err)
	_, err = acc.Blobs().NewContainerClient("photos").Create(ctx, nil)
	testkit.NoError(t, err)
	if got := lines(account.Diagnose(ctx, acc, o)); got != allRights {
		t.Errorf("with all that is named: got\n%s\nwant\n%s", got, allRights)
	}
	if n := len(s.Rows("staff")); n != 0 {
		t.Errorf("got %d rows; want none", n)
	}
}

// TestDiagnoseReader: a signature to read a table has no right to write it; services without an endpoint are left out.
func TestDiagnoseReader(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(nil)
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	acc, err := account.FromConnectionString(s.ConnectionString(), o)
	testkit.NoError(t, err)
	_, err = acc.Tables().NewClient("staff").CreateTable(ctx, nil)
	testkit.NoError(t, err)
	u, err := acc.TableSAS(account.Grant{Table: "staff", Expiry: time.Now().Add(time.Hour), AllowHTTP: true, Read: true})
	testkit.NoError(t, err)
	reader, err := account.FromSAS(account.Endpoints{Table: u}, o)
	testkit.NoError(t, err)
	all := account.Diagnose(ctx, reader, &account.DiagnoseOptions{Table: "staff"})
	if len(all) != 5 || all[0].Err == nil || all[1].Err != nil || all[2].Err == nil || all[3].Err == nil || !strings.Contains(all[2].Advice, "Storage Table Data Contributor") {
		t.Errorf("got\n%s\nwant a right to read rows alone", lines(all))
	}
	if text := fmt.Sprint(all, all[2].Err); strings.Contains(text, "sig=") && !strings.Contains(text, "sig=REDACTED") {
		t.Errorf("got the signature in %s", text)
	}
}

// answering answers each request in the same way.
type answering struct {
	status int
	header http.Header
	err    error
}

func (a answering) Do(r *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Request: r, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (answering) ConnectionString() string { return storagetest.New(nil).ConnectionString() }

// ofService is the header of a response of the service, with an error code.
func ofService(code string) http.Header {
	return http.Header{"X-Ms-Request-Id": {"1"}, "X-Ms-Error-Code": {code}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
}

// TestDiagnoseRefusals: each refusal has a sentence that says what to do.
func TestDiagnoseRefusals(t *testing.T) {
	t.Parallel()
	late := ofService("AuthenticationFailed")
	late.Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	early := ofService("AuthenticationFailed")
	early.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
	for what, c := range map[string]struct {
		with answering
		want string
	}{
		"role":           {answering{status: 403, header: ofService("AuthorizationPermissionMismatch")}, "assign the role Storage Table Data"},
		"firewall":       {answering{status: 403, header: ofService("AuthorizationFailure")}, "network rules"},
		"key":            {answering{status: 403, header: ofService("AuthenticationFailed")}, "The key or the signature is wrong"},
		"no keys":        {answering{status: 403, header: ofService("KeyBasedAuthenticationNotPermitted")}, "use FromCredential"},
		"signature":      {answering{status: 403, header: ofService("AuthorizationResourceTypeMismatch")}, "The signature is not for this kind"},
		"clock":          {answering{status: 403, header: late}, "The clock of this machine is 1h0m"},
		"clock behind":   {answering{status: 403, header: early}, "The clock of this machine is -"},
		"audience":       {answering{status: 401, header: ofService("InvalidAuthenticationInfo")}, "its audience must be https://storage.azure.com"},
		"kind":           {answering{status: 409, header: ofService("FeatureNotSupportedForAccount")}, "This kind of account has no tables"},
		"disabled":       {answering{status: 403, header: ofService("AccountIsDisabled")}, "The account is disabled"},
		"busy":           {answering{status: 503, header: ofService("ServerBusy")}, "try again in a moment"},
		"unknown":        {answering{status: 418, header: ofService("Teapot")}, "its code says why"},
		"proxy":          {answering{status: 403, header: http.Header{}}, "a proxy, a portal or another program"},
		"proxy's login":  {answering{status: 401, header: http.Header{}}, "a proxy, a portal or another program"},
		"no table":       {answering{status: 404, header: http.Header{"X-Ms-Error-Code": {"TableNotFound"}}}, "a proxy, a portal or another program"},
		"canceled":       {answering{err: context.Canceled}, "The caller has ended the request"},
		"proxy finds":    {answering{status: 404, header: http.Header{}}, "a proxy, a portal or another program"},
		"name":           {answering{err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}}, "The address has no entry"},
		"port":           {answering{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, "does not take connections"},
		"no answer":      {answering{err: context.DeadlineExceeded}, "a firewall drops the requests"},
		"another reason": {answering{err: errors.New("odd")}, "see the error"},
	} {
		acc, err := account.FromTransport(c.with, nil)
		testkit.NoError(t, err)
		all := account.Diagnose(t.Context(), acc, nil)
		if f := all[1]; f.Err == nil || !strings.Contains(f.Advice, c.want) || !strings.HasPrefix(f.String(), "tables, read rows: ") {
			t.Errorf("%s: got %v; want a finding with %q", what, f, c.want)
		}
		if clock := all[len(all)-1]; strings.HasPrefix(what, "clock") && clock.Err == nil {
			t.Errorf("%s: got %v; want a finding about the clock", what, clock)
		}
	}
	if all := account.Diagnose(t.Context(), nil, nil); len(all) != 1 || all[0].Err == nil {
		t.Errorf("no account: got %v; want a finding", all)
	}
}

// noToken is a credential that gives no token.
type noToken struct{}

type noTokenError struct{}

func (noTokenError) Error() string { return "no token" }
func (noTokenError) NonRetriable() {}

func (noToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, noTokenError{}
}

// TestDiagnoseCredential: a credential without a token is told apart from the service.
func TestDiagnoseCredential(t *testing.T) {
	t.Parallel()
	acc, err := account.FromCredential(account.Endpoints{Table: "https://company.table.core.windows.net"}, noToken{}, nil)
	testkit.NoError(t, err)
	for _, f := range account.Diagnose(t.Context(), acc, nil) {
		if f.Err == nil || !strings.Contains(f.Advice, "The credential gave no token") {
			t.Errorf("got %v; want a finding about the credential", f)
		}
	}
}
