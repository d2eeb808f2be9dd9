package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

//go:embed digest.js
var digestJS string

// compare compares the two tables by three readers: this library, package aztables, and
// @azure/data-tables of JavaScript.
func compare(ctx context.Context, service *storagetest.Service, connection string, from, to table.Handle) error {
	for d, err := range transfer.Compare(ctx, transfer.Of(from), transfer.Of(to), nil) {
		return fmt.Errorf("the tables differ, by this library: %+v, %v", d, err)
	}
	for reader, digest := range map[string]func(context.Context, string) (string, error){
		"aztables":           func(ctx context.Context, name string) (string, error) { return digestGo(ctx, service, name) },
		"@azure/data-tables": func(ctx context.Context, name string) (string, error) { return digestNode(ctx, connection, name) },
	} {
		one, err := digest(ctx, from.Name())
		if err != nil {
			return err
		}
		two, err := digest(ctx, to.Name())
		if err != nil {
			return err
		}
		if one != two {
			return fmt.Errorf("the tables differ, by %s: %s and %s", reader, one, two)
		}
		fmt.Printf("the same by %s: %s\n", reader, one)
	}
	fmt.Println("the same by this library")
	return nil
}

// digestGo returns the number of rows and a hash of the bytes of the responses, without times and
// ETags.
func digestGo(ctx context.Context, service *storagetest.Service, name string) (string, error) {
	h, n := sha256.New(), 0
	for p := service.Tables().NewClient(name).NewListEntitiesPager(nil); p.More(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, e := range page.Entities {
			var members map[string]json.RawMessage
			if err := json.Unmarshal(e, &members); err != nil {
				return "", err
			}
			delete(members, "Timestamp")
			delete(members, "odata.etag")
			b, err := json.Marshal(members) // sorted
			if err != nil {
				return "", err
			}
			h.Write(append(b, '\n'))
			n++
		}
	}
	return fmt.Sprintf("%d rows, %x", n, h.Sum(nil)), nil
}

// digestNode does the same in JavaScript.
func digestNode(ctx context.Context, connection, name string) (string, error) {
	dir, err := azurite.Install(ctx)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "node", "-e", digestJS)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CONNECTION="+connection, "TABLE="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(bytes.TrimSpace(out)), err
}
