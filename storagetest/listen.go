package storagetest

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// readTimeout is how long a port waits for a whole request.
const readTimeout = 5 * time.Minute

// Listen opens each service at a port, for other processes and other languages, and returns a connection string for the ports. By
// default, the ports are free ports of the loopback interface: see Options.Addresses. Close closes the ports.
func (s *Service) Listen() (connectionString string, err error) {
	listeners := map[string]net.Listener{}
	for _, e := range s.endpoints() {
		l, err := net.Listen("tcp", cmp.Or(e.address, "127.0.0.1:0"))
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return "", fmt.Errorf("storagetest: %w", err)
		}
		listeners[e.name] = l
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range listeners {
		server := &http.Server{Handler: s, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout}
		s.ports[l.Addr().String()] = name
		s.servers = append(s.servers, server)
		go server.Serve(l)
	}
	return s.connectionString(func(e endpoint) string { return "http://" + listeners[e.name].Addr().String() + "/" + s.account.Name }), nil
}

// Close closes all ports. The account keeps its contents.
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

// ServeHTTP executes a request that arrives at a port. If a fault breaks or prevents the connection, ServeHTTP closes the
// connection without a response; Go's client then repeats a GET by itself. Go's server omits the Content-Length of a response
// without content.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, err := s.receiveAt(w, r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if err := o.wait(r.Context()); err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range o.response.Header {
		if own := strings.ToLower(name); strings.HasPrefix(own, "x-ms-") {
			name = own // as the service writes it, and clients expect it that do not ignore cases
		}
		w.Header()[name] = values
	}
	w.WriteHeader(o.response.Status)
	w.Write(o.response.Body)
	if o.bodyErr != nil {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	if o.response.Header.Get("Content-Length") == "" {
		http.NewResponseController(w).Flush() // chunked, like the responses of the service
	}
}

// receiveAt reads a request at a port and executes it.
func (s *Service) receiveAt(w http.ResponseWriter, r *http.Request) (*outcome, error) {
	var (
		body []byte
		err  error = &http.MaxBytesError{Limit: maxBody}
	)
	if r.ContentLength <= maxBody {
		body, err = readBody(http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &outcome{response: s.fail(s.receive(r, nil), protocol.RequestBodyTooLarge)}, nil
	case err != nil:
		return nil, err
	}
	return s.handle(r, body), nil
}
