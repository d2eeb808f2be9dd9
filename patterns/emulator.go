package main

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/azurite"
)

// startEmulator starts the emulator Azurite, from npm or Docker. It returns its connection string, and what stops it.
func startEmulator(ctx context.Context) (connection string, stop func(), err error) {
	server, err := azurite.Open(ctx)
	if err != nil {
		return "", nil, err
	}
	return server.ConnectionString, server.Stop, nil
}

// emulatorPolicies returns the policies that the emulator needs for texts beyond ASCII.
func emulatorPolicies() []policy.Policy { return []policy.Policy{azurite.ASCII{}} }
