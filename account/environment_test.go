package account_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/table"
)

// TestFromEnvironment: the first variable that is set names the account. Without one, no emulator is assumed. The test changes the
// environment, so it does not run beside others.
func TestFromEnvironment(t *testing.T) {
	const (
		text    = "AZURE_STORAGE_CONNECTION_STRING"
		tables  = "AZURE_STORAGETABLE_RESOURCEENDPOINT"
		queues  = "AZURE_STORAGEQUEUE_RESOURCEENDPOINT"
		name    = "AZURE_STORAGE_ACCOUNT"
		contoso = "https://contoso.table.core.windows.net"
	)
	for _, v := range []string{text, tables, queues, "AZURE_STORAGEBLOB_RESOURCEENDPOINT", name} {
		t.Setenv(v, "")
	}
	for what, c := range map[string]struct {
		set   map[string]string
		cred  azcore.TokenCredential
		opens string // the endpoint of tables
		field string // of the error
		says  string
	}{
		"nothing":                  {says: "serve", field: text},
		"nothing, with credential": {cred: token{}, says: name, field: text},
		"an emulator":              {set: map[string]string{text: "UseDevelopmentStorage=true"}, opens: "http://127.0.0.1:10002/devstoreaccount1"},
		"a connection string":      {set: map[string]string{text: "AccountName=contoso;AccountKey=a2V5", name: "other"}, cred: token{}, opens: contoso},
		"a bad connection string":  {set: map[string]string{text: "AccountName=contoso", name: "other"}, cred: token{}, field: "the connection string", says: "AccountKey"},
		"endpoints":                {set: map[string]string{tables: contoso, queues: "https://contoso.queue.core.windows.net", name: "other"}, cred: token{}, opens: contoso},
		"endpoints, no credential": {set: map[string]string{tables: contoso}, field: "cred", says: tables},
		"a name":                   {set: map[string]string{name: "contoso"}, cred: token{}, opens: contoso},
		"a name, no credential":    {set: map[string]string{name: "contoso"}, field: "cred", says: name},
		"a name of another host":   {set: map[string]string{name: "evil.example/"}, cred: token{}, field: name, says: "small letters"},
		"a short name":             {set: map[string]string{name: "co"}, cred: token{}, field: name, says: "3 to 24"},
	} {
		t.Run(what, func(t *testing.T) {
			for k, v := range c.set {
				t.Setenv(k, v)
			}
			acc, err := account.FromEnvironment(c.cred, nil)
			var ve *table.ValueError
			switch {
			case c.field != "":
				if !errors.As(err, &ve) || ve.Field != c.field || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got error %v; want a *table.ValueError of %s that says %q", err, c.field, c.says)
				}
			case err != nil:
				t.Errorf("got error %v; want an account", err)
			case strings.TrimSuffix(acc.String(), "/") != c.opens:
				t.Errorf("got the account at %v; want %s", acc, c.opens)
			}
		})
	}
}
