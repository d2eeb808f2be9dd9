package azt_test

import (
	"context"
	"fmt"
	"os"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/azt"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
)

type article struct {
	Section, ID string
	Words       int32
}

// openSite opens the store of a program, which all of its commands use.
func openSite(acc *account.Account) *aztablekit.Store {
	site := aztablekit.Open(acc, "site", nil)
	aztablekit.Table(site, "articles", keys.Partition(keys.Text(), func(a *article) *string { return &a.Section }), keys.Row(keys.Text(), func(a *article) *string { return &a.ID }))
	return site
}

// A program makes an azt of its own, so that verify, fill, retire and sweep know its definitions.
func ExampleMain() {
	main := func() {
		azt.Main(&azt.Program{Open: openSite})
	}
	_ = main // go run ./cmd/azt verify
	// Output:
}

// A test, or another program, runs a command.
func ExampleProgram_Run() {
	ctx := context.Background()
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := azt.Program{Account: acc, Open: openSite}
	if err := openSite(acc).Ensure(ctx); err != nil {
		fmt.Println(err)
		return
	}
	code := p.Run(ctx, []string{"ls"}, os.Stdout, os.Stderr)
	fmt.Println(code)
	// Output:
	// table
	// articles
	// sitework
	// 0
}
