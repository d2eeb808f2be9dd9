package peers

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

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
