package peers

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// publicHost ends the host names of the live services.
const publicHost = ".core.windows.net"

// live returns the address of an HTTPS proxy behind which services answer to the host names of the live services. Requests to other
// hosts are refused. Clients must not verify certificates.
func live(t *testing.T, services http.Handler) string {
	t.Helper()
	behind := httptest.NewTLSServer(services)
	t.Cleanup(behind.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || !strings.HasSuffix(r.URL.Hostname(), publicHost) {
			http.Error(w, "only hosts of the services", http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", behind.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			to.Close()
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); to.Close() }()
		_, _ = io.Copy(from, to)
		from.Close()
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// inMemory returns a service of storagetest as a handler for the host names of the live services.
func inMemory(s *storagetest.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = strings.TrimSuffix(r.Host, publicHost) + ".storagetest.test"
		s.ServeHTTP(w, r)
	})
}

// emulated returns the emulator as a handler for the host names of the live services. endpoints are the addresses of the services,
// whose path is the account.
func emulated(endpoints map[string]*url.URL) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		service := strings.Split(r.In.Host, ".")[1]
		r.Out.URL.Scheme, r.Out.URL.Host = "http", endpoints[service].Host
		r.Out.Host = r.In.Host
	}}
}
