package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// service is the storage account on which recipes run.
type service struct {
	name       string
	connection string
	emulated   bool
	acc        *account.Account
	counter    requests.Counter
	recorder   recorder
	policies   []policy.Policy // that an emulator needs
	close      func()
}

// open returns the service that the flag -on names.
func open(ctx context.Context, on string) (*service, error) {
	switch on {
	case "memory", "adverse":
		return &service{name: on, close: func() {}}, nil
	case "azurite":
		cs, stop, err := startEmulator(ctx)
		if err != nil {
			return nil, err
		}
		s, err := connect(on, cs)
		if err != nil {
			stop()
			return nil, err
		}
		s.close = stop
		return s, nil
	case "env":
		cs := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
		if cs == "" {
			return nil, errors.New("-on env: the environment variable AZURE_STORAGE_CONNECTION_STRING is not set")
		}
		return connect(on, cs)
	}
	return nil, fmt.Errorf("-on %s: unknown service; want memory, adverse, azurite or env", on)
}

// forRecipe returns the service for one recipe, which counts its requests alone. Each recipe has a
// service in memory of its own.
func (s *service) forRecipe(number uint64) (*service, error) {
	if s.connection != "" {
		return connect(s.name, s.connection)
	}
	o := &storagetest.Options{}
	if s.name == "adverse" {
		o.Faults = storagetest.Adverse(storagetest.Adversity{Seed: number, Move: -1})
	}
	server := storagetest.New(o)
	cs, err := server.Listen() // at a port, for recipes with a child process
	if err != nil {
		return nil, err
	}
	own, err := connect(s.name, cs)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	own.close = func() { _ = server.Close() }
	return own, nil
}

// connect returns the service of a connection string.
func connect(name, cs string) (*service, error) {
	s := &service{name: name, connection: cs, close: func() {}}
	emulator := name == "azurite" || strings.Contains(cs, "devstoreaccount1") || strings.Contains(strings.ToLower(cs), "usedevelopmentstorage=true")
	s.emulated = emulator || name == "memory" || name == "adverse"
	if emulator {
		s.policies = emulatorPolicies()
	}
	var err error
	s.acc, err = s.open()
	return s, err
}

// open returns the account, for a program with further policies.
func (s *service) open(more ...policy.Policy) (*account.Account, error) {
	o := account.Options{Counter: &s.counter, Client: azcore.ClientOptions{
		PerCallPolicies:  append(more, s.policies...),
		PerRetryPolicies: []policy.Policy{&s.recorder},
	}}
	return account.FromConnectionString(s.connection, &o)
}

// startEmulator starts the emulator Azurite, from npm or Docker. It returns its connection string,
// and what stops it.
func startEmulator(ctx context.Context) (connection string, stop func(), err error) {
	server, err := azurite.Open(ctx)
	if err != nil {
		return "", nil, err
	}
	return server.ConnectionString, server.Stop, nil
}

// emulatorPolicies returns the policies that the emulator needs for texts beyond ASCII.
func emulatorPolicies() []policy.Policy { return []policy.Policy{azurite.ASCII{}} }
