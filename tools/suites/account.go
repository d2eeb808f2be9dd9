package suites

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
)

// Account is an account in memory or of an emulator.
type Account struct {
	Name, Key  string
	Connection string       // to the account's ports
	services   http.Handler // answers to the host names of the live services
}

// Blobs returns a client of the Blob service.
func (a *Account) Blobs(t *testing.T) *service.Client {
	t.Helper()
	c, err := service.NewClientFromConnectionString(a.Connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// InMemory starts an account of storagetest.
func InMemory(t *testing.T) *Account {
	t.Helper()
	s := storagetest.New(&storagetest.Options{Account: "peers", GeoRedundant: true})
	connection, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	services := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = strings.TrimSuffix(r.Host, publicHost) + ".storagetest.test"
		s.ServeHTTP(w, r)
	})
	return &Account{s.Account(), s.Key(), connection, services}
}

// Compared reports whether the environment asks for a comparison with the emulator.
func Compared() bool { return os.Getenv("AZTABLEKIT_PEERS") == "azurite" }

// Emulator starts an emulator.
func Emulator(t *testing.T) *Account {
	t.Helper()
	emulator, err := azurite.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(emulator.Stop)
	settings := settingsOf(emulator.ConnectionString)
	return &Account{settings["AccountName"], settings["AccountKey"], emulator.ConnectionString, emulated(t, settings)}
}

// emulated returns the emulator as a handler for the host names of the live services.
func emulated(t *testing.T, settings map[string]string) http.Handler {
	t.Helper()
	hosts := map[string]string{}
	for service, setting := range map[string]string{"table": "TableEndpoint", "queue": "QueueEndpoint", "blob": "BlobEndpoint"} {
		u, err := url.Parse(settings[setting])
		if err != nil {
			t.Fatal(err)
		}
		hosts[service] = u.Host
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			service := strings.Split(r.In.Host, ".")[1]
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", hosts[service], r.In.Host
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// settingsOf returns the settings of a connection string.
func settingsOf(connection string) map[string]string {
	settings := map[string]string{}
	for setting := range strings.SplitSeq(connection, ";") {
		if name, value, ok := strings.Cut(setting, "="); ok {
			settings[name] = value
		}
	}
	return settings
}
