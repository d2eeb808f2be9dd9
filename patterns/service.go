package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// service is where recipes run.
type service struct {
	name       string
	connection string
	emulated   bool
	acc        *account.Account
	counter    table.Counter
	close      func()
}

func open(ctx context.Context, on string) (*service, error) {
	switch on {
	case "memory":
		server := storagetest.New(nil)
		cs, err := server.Listen() // over a port, for recipes whose other half is another process
		if err != nil {
			return nil, err
		}
		s, err := connect(on, cs)
		if err != nil {
			return nil, errors.Join(err, server.Close())
		}
		s.close = func() { server.Close() }
		return s, nil
	case "azurite":
		server, err := azurite.Open(ctx)
		if err != nil {
			return nil, err
		}
		s, err := connect(on, server.ConnectionString)
		if err != nil {
			server.Stop()
			return nil, err
		}
		s.close = server.Stop
		return s, nil
	case "env":
		cs := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
		if cs == "" {
			return nil, errors.New("-on env: AZURE_STORAGE_CONNECTION_STRING is not set")
		}
		return connect(on, cs)
	}
	return nil, fmt.Errorf("-on %s: the services are memory, azurite and env", on)
}

// connect opens the account of a connection string.
func connect(name, cs string) (*service, error) {
	s := &service{name: name, connection: cs, close: func() {}}
	emulator := name == "azurite" || strings.Contains(cs, "devstoreaccount1") || strings.Contains(strings.ToLower(cs), "usedevelopmentstorage=true")
	s.emulated = emulator || name == "memory"
	o := account.Options{Counter: &s.counter}
	if emulator {
		o.Client = azcore.ClientOptions{PerCallPolicies: []policy.Policy{azurite.ASCII{}}}
	}
	var err error
	s.acc, err = account.FromConnectionString(cs, &o)
	return s, err
}

// runAll runs recipes one after the other and hands each report out as soon as it is there.
func (s *service) runAll(ctx context.Context, recipes []recipe, done func(report)) (reports []report, err error) {
	for _, rec := range recipes {
		r := &Run{service: s, report: rec.head(), prefix: "t" + strings.ToLower(rand.Text()[:8])}
		rerr := rec.run(ctx, r)
		rerr = errors.Join(rerr, r.cleanUp(ctx))
		if rerr != nil {
			r.report.Error = rerr.Error()
			err = errors.Join(err, fmt.Errorf("%s: %w", rec.name, rerr))
		}
		reports = append(reports, r.report)
		done(r.report)
	}
	return reports, err
}

// cleanUp deletes the recipe's tables and queues, also where its context is over.
func (r *Run) cleanUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	for _, name := range r.tables {
		if _, derr := r.service.acc.Tables().DeleteTable(ctx, name, nil); derr != nil {
			var re *azcore.ResponseError
			if errors.As(derr, &re) && re.StatusCode == 404 {
				continue // the recipe failed before it was created
			}
			err = errors.Join(err, fmt.Errorf("the table %s is left behind: %w", name, derr))
		}
	}
	for _, name := range r.queues {
		if _, derr := r.service.acc.Queue(name).Delete(ctx, nil); derr != nil && !queueerror.HasCode(derr, queueerror.QueueNotFound) {
			err = errors.Join(err, fmt.Errorf("the queue %s is left behind: %w", name, derr))
		}
	}
	return err
}
