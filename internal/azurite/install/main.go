// Command install fetches what the tests need of npm ahead of time: the one step that a machine needs beside Go.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aztablekit/aztablekit/internal/azurite"
)

func main() {
	dir, err := azurite.Install(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(dir)
}
