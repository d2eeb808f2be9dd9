package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestServe: the printed connection string leads to an account, until the program is told to end; also if the ports are taken.
func TestServe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for what, o := range map[string]storagetest.Options{
		"free ports":   {},
		"a taken port": {Account: "devstoreaccount1", Addresses: storagetest.Addresses{Table: taken.Addr().String()}},
	} {
		t.Run(what, func(t *testing.T) { expectServed(t, &o) })
	}
}

func expectServed(t *testing.T, o *storagetest.Options) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, o, w) }()
	connection := ""
	for lines := bufio.NewScanner(r); connection == "" && lines.Scan(); {
		if _, after, ok := strings.Cut(lines.Text(), "AZURE_STORAGE_CONNECTION_STRING="); ok {
			connection = strings.Trim(after, "'")
		}
	}
	acc, err := account.FromConnectionString(connection, nil)
	if err != nil {
		t.Fatalf("connection string %q: got error %v", connection, err)
	}
	if _, err := acc.Tables().CreateTable(ctx, "staff", nil); err != nil {
		t.Errorf("create a table: got error %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve: got error %v", err)
	}
}

// TestDevelopmentStorage: the account of serve has the name for which serve prints the short connection string.
func TestDevelopmentStorage(t *testing.T) {
	t.Parallel()
	if got := storagetest.DevelopmentStorage().Account; got != "devstoreaccount1" {
		t.Errorf("got account %q, want devstoreaccount1", got)
	}
}
