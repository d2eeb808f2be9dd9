package storagetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Listen opens the services at free ports of the loopback interface, each at its own, for other processes and other languages,
// and returns a connection string for them. Close ends it.
func (s *Service) Listen() (connectionString string, err error) {
	table, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("storagetest: %w", err)
	}
	queue, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		table.Close()
		return "", fmt.Errorf("storagetest: %w", err)
	}
	s.mu.Lock()
	if s.ports == nil {
		s.ports = map[string]bool{}
	}
	s.ports[queue.Addr().String()] = true
	s.mu.Unlock()
	for _, l := range []net.Listener{table, queue} {
		server := &http.Server{Handler: s}
		s.mu.Lock()
		s.servers = append(s.servers, server)
		s.mu.Unlock()
		go server.Serve(l)
	}
	return s.connection("http://"+table.Addr().String()+"/"+s.account, "http://"+queue.Addr().String()+"/"+s.account), nil
}

// forQueues tells whether a request is for the Queue service: by its host, or the port that it came to.
func (s *Service) forQueues(r *http.Request) bool {
	host := r.URL.Host
	if host == "" {
		host = r.Host
	}
	if strings.HasSuffix(host, tableHost) || strings.HasSuffix(host, queueHost) {
		return strings.HasSuffix(host, queueHost)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return s.ports[host] || ok && s.ports[at.String()]
}

// Close closes all ports. What the service holds stays.
func (s *Service) Close() error {
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	var err error
	for _, server := range servers {
		err = server.Close()
	}
	return err
}

// ServeHTTP answers a request that came over a port. A connection that a fault breaks is closed without an answer, as is
// one that should never have been made; Go's own client then repeats a GET by itself. Go's server leaves out the
// Content-Length of an answer without content.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	o := s.answer(r, body)
	if err := o.wait(r.Context()); err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range o.head {
		w.Header()[name] = values
	}
	w.WriteHeader(o.reply.status)
	w.Write(o.reply.body)
	if o.broken != nil {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	if o.head.Get("Content-Length") == "" {
		http.NewResponseController(w).Flush() // chunked, as the service's answers are
	}
}
