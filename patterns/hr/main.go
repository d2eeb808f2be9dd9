// Command hr is a small HTTP service as an example: the employees of a company, with log-in by e-mail address, photos, moves between
// departments, summaries and a log of changes. docs/service.md describes it.
//
//	go run ./patterns/hr           # serves on 127.0.0.1:8080, until Ctrl-C
//	go run ./patterns/hr -daily    # runs the jobs of a day and ends, for cron
//
// The account is that of AZURE_STORAGE_CONNECTION_STRING. Without the variable, it is an account in memory, which is empty at each start.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
)

// stopTimeout bounds the wait for requests in progress at the end. The worker stops at the same time, within 30 s by default.
const stopTimeout = 30 * time.Second

func main() {
	address := flag.String("address", "127.0.0.1:8080", "where to serve")
	once := flag.Bool("daily", false, "run the jobs of a day and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, *once); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string, once bool) error {
	acc, err := openAccount()
	if err != nil {
		return err
	}
	s, err := newServer(ctx, acc, slog.Default())
	if err != nil {
		return err
	}
	if once {
		return s.company.RunDaily(ctx)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.logger.Info("serving", "address", listener.Addr())
	return s.serve(ctx, listener)
}

func openAccount() (aztablekit.Account, error) {
	if os.Getenv("AZURE_STORAGE_CONNECTION_STRING") == "" {
		return storagetest.New(nil), nil
	}
	return account.FromEnvironment(nil, nil)
}

// newServer opens the company, and creates its tables, queues and container unless they exist.
func newServer(ctx context.Context, acc aztablekit.Account, logger *slog.Logger) (*server, error) {
	c := open(acc, logger)
	if err := c.Ensure(ctx); err != nil {
		return nil, err
	}
	return &server{c, logger}, nil
}

// serve runs the HTTP server and the worker until ctx ends or one of them fails. Then it waits for requests and handlers in progress.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}

	workerEnded := make(chan error, 1)
	go func() {
		workerEnded <- s.company.Run(ctx)
		cancel()
	}()
	serverStopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer done()
		serverStopped <- server.Shutdown(stopping)
	}()

	err := server.Serve(listener) // returns when Shutdown begins
	cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-serverStopped, <-workerEnded)
}
