// Command install downloads the npm packages of Azurite ahead of time. The tests need nothing else
// apart from Go and Node.js.
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
