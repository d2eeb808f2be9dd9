package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/storagetest"
)

// service is where recipes run: each on an account in memory of its own, or all on one.
type service struct {
	name       string
	connection string // "" in memory
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
		return &service{name: on, connection: cs, close: stop}, nil
	case "env":
		cs := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
		if cs == "" {
			return nil, errors.New("-on env: the environment variable AZURE_STORAGE_CONNECTION_STRING is not set")
		}
		return &service{name: on, connection: cs, close: func() {}}, nil
	}
	return nil, fmt.Errorf("-on %s: unknown service; want memory, adverse, azurite or env", on)
}

// forRecipe returns the service for one recipe, and what closes it. Each recipe has an account in
// memory of its own.
func (s *service) forRecipe(number uint64) (own *recipe.Service, stop func(), err error) {
	if s.connection != "" {
		own, err = connect(s.name, s.connection)
		return own, func() {}, err
	}
	o := &storagetest.Options{}
	if s.name == "adverse" {
		o.Faults = storagetest.Adverse(storagetest.Adversity{Seed: number, Move: -1})
	}
	server := storagetest.New(o)
	stop = func() { _ = server.Close() }
	cs, err := server.Listen() // at a port, for recipes with a child process
	if err == nil {
		own, err = connect(s.name, cs)
	}
	return own, stop, err
}

// connect returns the service of a connection string.
func connect(name, cs string) (*recipe.Service, error) {
	emulator := name == "azurite" || strings.Contains(cs, "devstoreaccount1") || strings.Contains(strings.ToLower(cs), "usedevelopmentstorage=true")
	var policies []policy.Policy
	if emulator {
		policies = emulatorPolicies()
	}
	return recipe.Connect(name, cs, emulator || name == "memory" || name == "adverse", policies...)
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
