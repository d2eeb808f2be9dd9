package suites

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// publicHost ends the host names of the live services.
const publicHost = ".core.windows.net"

// live starts services that answer to the host names of the live services, behind a proxy. It
// returns the variables of the environment that lead a program there, and let it trust the
// certificate. Requests to other hosts are refused.
func live(t *testing.T, services http.Handler) (environment []string) {
	t.Helper()
	certificate, file := certificate(t)
	behind := httptest.NewUnstartedServer(services)
	behind.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	behind.StartTLS()
	t.Cleanup(behind.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Hostname(), publicHost):
			http.Error(w, "only hosts of the services", http.StatusForbidden)
		case r.Method == http.MethodConnect:
			tunnel(w, behind.Listener.Addr().String())
		default:
			services.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "HTTP_PROXY=" + proxy.URL, "NO_PROXY=", "SSL_CERT_FILE=" + file}
}

// tunnel carries the bytes of a connection to an address and back.
func tunnel(w http.ResponseWriter, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, from); to.Close() }()
	_, _ = io.Copy(from, to)
}

// certificate makes a certificate for the host names of the live services. file holds it for
// programs that are to trust it.
func certificate(t *testing.T) (_ tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"*.table" + publicHost, "*.queue" + publicHost, "*.blob" + publicHost},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "certificate.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
