package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/aztablekit/aztablekit/storagetest"
)

// serve runs an account in memory until ctx ends, for programs of which the user has no account or emulator.
func serve(ctx context.Context, o *storagetest.Options, out io.Writer) error {
	server := storagetest.New(o)
	connection, err := server.Listen()
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("serve: %w; if an emulator is running, use that, or stop it", err)
	} else if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if o.Account == "devstoreaccount1" {
		connection = "UseDevelopmentStorage=true"
	}
	fmt.Fprintf(out, "The Table, Queue and Blob services are in memory until this program ends (Ctrl+C). In another terminal:\n\n\texport AZURE_STORAGE_CONNECTION_STRING='%s'\n", connection)
	<-ctx.Done()
	return server.Close()
}
