package storagetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

// Listen opens the service at a free port of the loopback interface, for other processes and other languages, and returns a
// connection string for it. Close ends it.
func (s *Service) Listen() (connectionString string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("storagetest: %w", err)
	}
	server := &http.Server{Handler: s}
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	go server.Serve(l)
	return s.connection("http://" + l.Addr().String() + "/" + s.account), nil
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
