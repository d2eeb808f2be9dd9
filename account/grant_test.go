package account_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// credential returns a key of the account.
func credential(t testing.TB) *aztables.SharedKeyCredential {
	t.Helper()
	cred, err := aztables.NewSharedKeyCredential("account", key)
	if err != nil {
		t.Fatal(err)
	}
	return cred
}

// signatureService checks signatures as the service does: it computes the signature of the URL's parameters, limits queries to
// the range, and refuses requests outside of the range. Its keys have the form partition/row.
type signatureService struct {
	now  time.Time
	keys []string
}

func (g *signatureService) Do(r *http.Request) (*http.Response, error) {
	resp := g.answer(r)
	resp.Request = r
	return resp, nil
}

func (g *signatureService) answer(r *http.Request) *http.Response {
	q := r.URL.Query()
	name, args, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/account/"), "(")
	resolved := []string{q.Get("sp"), q.Get("st"), q.Get("se"), "/table/account/" + strings.ToLower(name), q.Get("si"), q.Get("sip"), q.Get("spr"), q.Get("sv"), q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk")}
	mac := hmac.New(sha256.New, []byte("secret-key"))
	mac.Write([]byte(strings.Join(resolved, "\n")))
	moment := func(s string) time.Time { t, _ := time.Parse(time.RFC3339, q.Get(s)); return t }
	if q.Get("sig") != base64.StdEncoding.EncodeToString(mac.Sum(nil)) || q.Get("tn") != strings.ToLower(name) || !g.now.Before(moment("se")) || g.now.Before(moment("st")) {
		return errorResponse(403, "AuthenticationFailed")
	}
	need := map[string]string{"GET": "r", "POST": "a", "PUT": "u", "PATCH": "u", "DELETE": "d"}[r.Method]
	if !strings.Contains(q.Get("sp"), need) {
		return errorResponse(403, "AuthorizationPermissionMismatch")
	}
	inside := func(pk, rk string) bool {
		if s := q.Get("spk"); s != "" && (pk < s || pk == s && rk < q.Get("srk")) {
			return false
		}
		e := q.Get("epk")
		return e == "" || pk < e || pk == e && (q.Get("erk") == "" || rk <= q.Get("erk"))
	}
	entity := func(s string) string {
		pk, rk, _ := strings.Cut(s, "/")
		return fmt.Sprintf(`{"odata.etag":"e","PartitionKey":%q,"RowKey":%q}`, pk, rk)
	}
	if r.Method == http.MethodGet && args == ")" {
		var found []string
		for _, s := range g.keys {
			if pk, rk, _ := strings.Cut(s, "/"); inside(pk, rk) {
				found = append(found, entity(s))
			}
		}
		return jsonResponse(200, `{"value":[`+strings.Join(found, ",")+`]}`)
	}
	var pk, rk string
	if r.Method == http.MethodPost {
		body := make([]byte, r.ContentLength)
		r.Body.Read(body)
		_, rest, _ := strings.Cut(string(body), `"PartitionKey":"`)
		pk, rest, _ = strings.Cut(rest, `"`)
		_, rest, _ = strings.Cut(rest, `"RowKey":"`)
		rk, _, _ = strings.Cut(rest, `"`)
	} else {
		pk, rk, _ = strings.Cut(strings.TrimSuffix(strings.TrimPrefix(args, "PartitionKey='"), "')"), "',RowKey='")
	}
	known := slices.Contains(g.keys, pk+"/"+rk)
	switch {
	case r.Method == http.MethodGet && known && inside(pk, rk):
		return jsonResponse(200, entity(pk+"/"+rk))
	case r.Method == http.MethodGet:
		return errorResponse(404, "ResourceNotFound")
	case !inside(pk, rk):
		return errorResponse(403, "AuthorizationFailure")
	}
	return jsonResponse(204, "")
}

// tableBySignature opens a table for a caller that has nothing but a signature.
func tableBySignature(t testing.TB, g *signatureService, query string) *table.Table[struct{}] {
	t.Helper()
	s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account/?"+query, &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: g}})
	testkit.NoError(t, err)
	o := &table.Options{BlindWrites: true}
	o.OmitOperationID, o.Retry.Attempts = true, -1
	tab, err := bare.NewTable(s, "staff", table.Schema[struct{}]{}, o)
	testkit.NoError(t, err)
	return tab
}

// errorResponse is a response with an error of the service.
func errorResponse(status int, code string) *http.Response {
	return jsonResponse(status, fmt.Sprintf(`{"odata.error":{"code":%q,"message":{"lang":"en-US","value":"text"}}}`, code))
}

// jsonResponse is a response as the service sends it.
func jsonResponse(status int, body string) *http.Response {
	h := http.Header{"Content-Type": {"application/json;odata=minimalmetadata"}, "X-Ms-Version": {"2019-02-02"}, "Etag": {etag}}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

const etag = `W/"datetime'2026-11-21T01%3A02%3A03.1234567Z'"`

var empid = keys.Digits[int](6).Named("empid")

var year2030 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// TestGrants: a holder of a grant can read and write exactly the rows in the grant's range.
func TestGrants(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	empid := keys.Digits[int](3).Named("empid")
	g := &signatureService{now: year2030, keys: []string{"ann/a", "ann/z", "ano/a", "bob/empid_100", "bob/empid_199", "bob/empid_200", "bob/note", "cid/x", "~i/x", "Öst/x"}}
	for what, c := range map[string]struct {
		partitions keys.PartitionRange
		rows       keys.RowRange
		sees       string
	}{
		"everything":              {keys.PartitionRange{}, keys.RowRange{}, "ann/a ann/z ano/a bob/empid_100 bob/empid_199 bob/empid_200 bob/note cid/x ~i/x Öst/x"},
		"a partition":             {keys.RawPartition("bob").Point(), keys.RowRange{}, "bob/empid_100 bob/empid_199 bob/empid_200 bob/note"},
		"partitions up to one":    {keys.RawPartitions("ann", "ano"), keys.RowRange{}, "ann/a ann/z"},
		"partitions from one":     {keys.RawPartitions("b", "~"), keys.RowRange{}, "bob/empid_100 bob/empid_199 bob/empid_200 bob/note cid/x"},
		"partitions behind ~":     {keys.RawPartitions(reserved.FirstAbove, ""), keys.RowRange{}, "Öst/x"},
		"partitions up to Ü":      {keys.RawPartitions("Ö", "Ü"), keys.RowRange{}, "Öst/x"},
		"rows by number":          {keys.RawPartition("bob").Point(), empid.Rows().Between(100, 199), "bob/empid_100 bob/empid_199"},
		"rows of a layout":        {keys.RawPartition("bob").Point(), empid.Rows().All(), "bob/empid_100 bob/empid_199 bob/empid_200"},
		"one row":                 {keys.RawPartition("bob").Point(), keys.RawRow("note").Point(), "bob/note"},
		"rows up to one":          {keys.RawPartition("bob").Point(), empid.Rows().AtMost(150), "bob/empid_100"},
		"an empty partition":      {keys.RawPartition("empty").Point(), keys.RowRange{}, ""},
		"rows of another's range": {keys.RawPartition("ann").Point(), empid.Rows().All(), ""},
	} {
		query, err := account.Grant{Table: "staff", Read: true, Add: true, Partitions: c.partitions, Rows: c.rows, Expiry: year2030.Add(time.Hour)}.Sign(credential(t))
		if err != nil {
			t.Errorf("%s: got %v; want no error", what, err)
			continue
		}
		tab := tableBySignature(t, g, query)
		var sees []string
		for r, err := range tab.Rows(ctx, table.Query[struct{}]{TableScan: true}) {
			if err != nil {
				t.Fatalf("%s: got %v; want no error", what, err)
			}
			sees = append(sees, r.Key.PartitionKey()+"/"+r.Key.RowKey())
		}
		if got := strings.Join(sees, " "); got != c.sees {
			t.Errorf("%s: got %q; want %q", what, got, c.sees)
		}
		for _, row := range g.keys {
			pk, rk, _ := strings.Cut(row, "/")
			in := slices.Contains(sees, row)
			_, err := tab.Get(ctx, keys.Raw(pk, rk))
			if in != (err == nil) || !in && !errors.Is(err, table.ErrNotFound) {
				t.Errorf("%s: Get of %s: got %v; want it found: %v", what, row, err, in)
			}
			if pk[0] == '~' {
				continue
			}
			_, err = tab.InsertAt(ctx, keys.Raw(pk, rk), &struct{}{})
			var oe *table.OpError
			if in != (err == nil) || !in && (!errors.As(err, &oe) || oe.Code != "AuthorizationFailure") {
				t.Errorf("%s: Insert of %s: got %v; want it allowed: %v", what, row, err, in)
			}
			if err := tab.DeleteAny(ctx, keys.Raw(pk, rk)); !errors.As(err, &oe) || oe.Code != "AuthorizationPermissionMismatch" {
				t.Errorf("%s: Delete of %s: got %v; want AuthorizationPermissionMismatch", what, row, err)
			}
		}
	}
}

// TestGrantsToWrite: updates and deletes are allowed in the range only.
func TestGrantsToWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	query, err := account.Grant{
		Table: "staff", Update: true, Delete: true, Expiry: year2030.Add(time.Hour),
		Partitions: keys.RawPartition("bob").Point(), Rows: keys.Digits[int](3).Named("empid").Rows().Between(100, 199),
	}.Sign(credential(t))
	testkit.NoError(t, err)
	tab := tableBySignature(t, &signatureService{now: year2030}, query)
	for key, in := range map[keys.Key]bool{
		keys.Raw("bob", "empid_100"): true, keys.Raw("bob", "empid_199"): true,
		keys.Raw("bob", "empid_099"): false, keys.Raw("bob", "empid_200"): false, keys.Raw("ann", "empid_100"): false,
	} {
		e := &table.Entity[struct{}]{Key: key, ETag: etag}
		_, pinned := baretest.UpsertAt(ctx, tab, key, &struct{}{}, table.ReplaceExisting)
		for method, err := range map[string]error{"upsert": pinned, "delete": tab.Delete(ctx, e), "delete by key": tab.DeleteAny(ctx, key)} {
			var oe *table.OpError
			if in != (err == nil) || !in && (!errors.As(err, &oe) || oe.Code != "AuthorizationFailure") {
				t.Errorf(`%s of %v: got %v; want in == %v and (in or (a *OpError and oe.Code == "AuthorizationFailure"))`, method, key, err, err == nil)
			}
		}
	}
}

// TestGrantsInTime: a grant is valid from its first second to its last, in any time zone.
func TestGrantsInTime(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 5*3600)
	for what, c := range map[string]struct {
		grant account.Grant
		ok    bool
	}{
		"an hour from now":     {account.Grant{Expiry: year2030.Add(time.Hour)}, true},
		"another time zone":    {account.Grant{Expiry: year2030.Add(time.Hour).In(zone)}, true},
		"over":                 {account.Grant{Expiry: year2030.Add(-time.Hour)}, false},
		"over in another zone": {account.Grant{Expiry: year2030.Add(-time.Hour).In(zone)}, false},
		"not yet":              {account.Grant{Start: year2030.Add(time.Minute), Expiry: year2030.Add(time.Hour)}, false},
		"just begun":           {account.Grant{Start: year2030.In(zone), Expiry: year2030.Add(time.Hour)}, true},
		"fractions of seconds": {account.Grant{Start: year2030.Add(1), Expiry: year2030.Add(time.Second + 1)}, true},
	} {
		c.grant.Table, c.grant.Read = "staff", true
		query, err := c.grant.Sign(credential(t))
		testkit.NoError(t, err)
		_, err = tableBySignature(t, &signatureService{now: year2030, keys: []string{"p/r"}}, query).Get(context.Background(), keys.Raw("p", "r"))
		if (err == nil) != c.ok {
			t.Errorf("%s: got %v; want the read allowed: %v", what, err, c.ok)
		}
	}
}

// TestGrantsRefused: Sign refuses a grant that could not be used, or that would allow more than its fields say.
func TestGrantsRefused(t *testing.T) {
	t.Parallel()
	later := year2030
	for what, g := range map[string]account.Grant{
		"no table":               {Read: true, Expiry: later},
		"a bad table":            {Table: "a-b", Read: true, Expiry: later},
		"nothing":                {Table: "staff", Expiry: later},
		"no expiry":              {Table: "staff", Read: true},
		"over before it begins":  {Table: "staff", Read: true, Start: later, Expiry: later},
		"rows everywhere":        {Table: "staff", Read: true, Expiry: later, Rows: empid.Rows().All()},
		"rows of partitions":     {Table: "staff", Read: true, Expiry: later, Rows: empid.Rows().All(), Partitions: keys.RawPartitions("a", "b")},
		"swapped rows":           {Table: "staff", Read: true, Expiry: later, Rows: empid.Rows().Between(2, 1), Partitions: keys.RawPartition("a").Point()},
		"swapped partitions":     {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartitions("b", "a")},
		"a family":               {Table: "staff", Read: true, Expiry: later, Rows: empid.RowKey(1).Family(), Partitions: keys.RawPartition("a").Point()},
		"a key that cannot be":   {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartition("a/b").Point()},
		"the empty partition":    {Table: "staff", Read: true, Expiry: later, Partitions: keys.Raw("", "x").Partition().Point()},
		"the empty row":          {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartition("a").Point(), Rows: keys.Raw("a", "").Row().Point()},
		"no partition at all":    {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartitions("a", "a")},
		"nothing between":        {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartitions("ab\uffff!", "ac")},
		"no rows between":        {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartition("a").Point(), Rows: keys.RawRows("a!", "a!")},
		"around ~":               {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartitions("b", "")},
		"rows around ~":          {Table: "staff", Read: true, Expiry: later, Partitions: keys.RawPartition("a").Point(), Rows: keys.RawRows("b", "Ü")},
		"within a second":        {Table: "staff", Read: true, Start: later.Add(3e8), Expiry: later.Add(6e8)},
		"a key that was not set": {Table: "staff", Read: true, Expiry: later, Partitions: keys.PartitionKey{}.Point()},
	} {
		query, err := g.Sign(credential(t))
		var (
			ve *table.ValueError
			le *table.LimitError
			ke *keys.KeyError
		)
		if query != "" || !errors.As(err, &ve) && !errors.As(err, &le) && !errors.As(err, &ke) {
			t.Errorf(`%s: got %q, %v; want query == "" and (a *ValueError or a *LimitError or a *keys.KeyError)`, what, query, err)
		}
	}
	if _, err := (account.Grant{Table: "staff", Read: true, Expiry: later}).Sign(nil); err == nil {
		t.Error("got no error without a credential; want one")
	}
	// With a stored policy, the policy may contain the rest.
	query, err := account.Grant{Table: "Staff", Policy: "readers"}.Sign(credential(t))
	q, _ := url.ParseQuery(query)
	if err != nil || q.Get("si") != "readers" || q.Get("sp") != "" || q.Get("se") != "" || q.Get("tn") != "staff" || q.Get("spr") != "https" {
		t.Errorf(`got %v, %v; want no error and q.Get("si") == "readers" and q.Get("sp") == "" and q.Get("se") == "" and q.Get("tn") == "staff" and q.Get("spr") == "https"`, q, err)
	}
}

// TestTrapT13: the SDK signs a range but leaves it out of the URL, so that the signature is not valid.
func TestTrapT13(t *testing.T) {
	t.Parallel()
	g := &signatureService{now: year2030, keys: []string{"p/r"}}
	query, err := aztables.SASSignatureValues{TableName: "staff", Permissions: "r", ExpiryTime: year2030.Add(time.Hour), StartPartitionKey: "p", EndPartitionKey: "p"}.Sign(credential(t))
	if err != nil || strings.Contains(query, "spk") {
		t.Errorf(`the SDK's URL: got %s, %v; want no error and "spk" not in query`, query, err)
	}
	if _, err := tableBySignature(t, g, query).Get(context.Background(), keys.Raw("p", "r")); err == nil {
		t.Error("got no error with the SDK's signature; want one, unless the SDK was repaired")
	}
	query, err = account.Grant{Table: "staff", Read: true, Expiry: year2030.Add(time.Hour), Partitions: keys.RawPartition("p").Point()}.Sign(credential(t))
	testkit.NoError(t, err)
	if _, err := tableBySignature(t, g, query).Get(context.Background(), keys.Raw("p", "r")); err != nil {
		t.Error(err)
	}
	// The SDK also omits the slash behind an address without one, and writes local times as if they were UTC (T8).
	service, err := aztables.NewServiceClientWithSharedKey("https://account.table.invalid", credential(t), nil)
	testkit.NoError(t, err)
	u, err := service.NewClient("staff").GetTableSASURL(aztables.SASPermissions{Read: true}, time.Time{}, year2030.In(time.FixedZone("", 5*3600)))
	if err != nil || !strings.HasPrefix(u, "https://account.table.invalidstaff?") || !strings.Contains(u, "se=2030-01-01T05%3A00%3A00Z") {
		t.Errorf(`the SDK's URL: got %s, %v; want no error and strings.HasPrefix(u, "https://account.table.invalidstaff?") and "se=2030-01-01T05%%3A00%%3A00Z" in u`, u, err)
	}
	query, err = account.Grant{Table: "staff", Read: true, Expiry: year2030.In(time.FixedZone("", 5*3600))}.Sign(credential(t))
	if q, _ := url.ParseQuery(query); err != nil || q.Get("se") != "2030-01-01T00:00:00Z" {
		t.Errorf(`got %s, %v; want no error and q.Get("se") == "2030-01-01T00:00:00Z"`, query, err)
	}
}
