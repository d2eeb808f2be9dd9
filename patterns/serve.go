package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/aztablekit/aztablekit/storagetest"
)

// serve runs an account in memory until ctx ends, for users without an account or an emulator. If
// the ports of o are taken, it is at free ports.
func serve(ctx context.Context, o *storagetest.Options, out io.Writer) error {
	server := storagetest.New(o)
	connection, err := server.Listen()
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		fmt.Fprint(out, "Another program has the ports of UseDevelopmentStorage=true, an emulator or another serve: do not use that account.\n\n")
		server = storagetest.New(nil)
		if connection, err = server.Listen(); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	case err != nil:
		return fmt.Errorf("serve: %w", err)
	case o.Account == "devstoreaccount1":
		connection = "UseDevelopmentStorage=true"
	}
	fmt.Fprintf(out, "The Table, Queue and Blob services are in memory until this program ends (Ctrl+C). In another terminal:\n\n\texport AZURE_STORAGE_CONNECTION_STRING='%s'\n", connection)
	<-ctx.Done()
	return server.Close()
}
