// Command patterns is the catalogue: one recipe for each pattern of the Azure Table storage design
// guide. Each recipe is a package to keep, in a folder here; its file recipe.go tells the story, and
// this program runs it.
//
//	go run ./patterns                        run all recipes
//	go run ./patterns list                   list the recipes, with the requirements of the guide that they show
//	go run ./patterns run NAME…              run some recipes
//	go run ./patterns -on azurite            use an emulator instead of the service in memory
//	go run ./patterns -on adverse            use a service in memory that throttles, shortens pages and is late
//	go run ./patterns -on env                use the account of AZURE_STORAGE_CONNECTION_STRING
//	go run ./patterns -json                  print JSON
//	go run ./patterns -html FILE             write a page: the recipes with their requests and their code
//	go run ./patterns copy NAME DIR          write a recipe as a program of its own
//	go run ./patterns serve                  run an account in memory, at UseDevelopmentStorage=true, for other programs
//
// The service in memory is package storagetest; it needs nothing but this program. With -on
// azurite, the program starts the emulator Azurite from npm or Docker, and stops it at the end. On
// an account, the names of tables and queues begin with a random prefix, and the program deletes
// them at the end.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	child, err := catalogue.RunAsChild(ctx, connect)
	if !child {
		err = command(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "patterns:", err)
		stop()
		os.Exit(1)
	}
}

// command runs the program with its arguments, and prints to out.
func command(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("patterns", flag.ContinueOnError)
	on := flags.String("on", "memory", "the service: memory, adverse (in memory, with faults), azurite (started by this program) or env (AZURE_STORAGE_CONNECTION_STRING)")
	asJSON := flags.Bool("json", false, "print JSON")
	page := flags.String("html", "", "write the page to this `file`")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: patterns [-on memory|adverse|azurite|env] [-json | -html FILE] [list | run NAME… | copy NAME DIR | serve | help]")
		flags.PrintDefaults()
	}
	var words []string
	for rest := args; ; { // flags may stand before, between and after words
		if err := flags.Parse(rest); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			break
		}
		words, rest = append(words, flags.Arg(0)), flags.Args()[1:]
	}
	chosen := catalogue
	switch {
	case len(words) == 0:
	case words[0] == "serve" && len(words) == 1:
		return serve(ctx, storagetest.DevelopmentStorage(), out)
	case words[0] == "help":
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case words[0] == "list" && len(words) == 1:
		return list(out, *asJSON)
	case words[0] == "copy" && len(words) == 3:
		return copyRecipe(ctx, words[1], words[2], out)
	case words[0] == "run" && len(words) > 1:
		chosen = nil
		for _, name := range words[1:] {
			r, err := catalogue.Find(name)
			if err != nil {
				return fmt.Errorf("run: %w", err)
			}
			chosen = append(chosen, r)
		}
	default:
		return fmt.Errorf("unknown command %q; want list, run NAME…, copy NAME DIR, serve, or help", strings.Join(words, " "))
	}
	s, err := open(ctx, *on)
	if err != nil {
		return err
	}
	defer s.close()
	switch {
	case *asJSON:
		reports, err := runRecipes(ctx, s, chosen, nil)
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return errors.Join(err, enc.Encode(reports))
	case *page != "":
		reports, err := runRecipes(ctx, s, chosen, func(r recipe.Report) { fmt.Fprintf(out, "%s: %s\n", r.Progress(), r.Name) })
		if err != nil {
			return err
		}
		return writePage(*page, s.name, reports)
	}
	if len(words) == 0 {
		printOverview(out)
	}
	fmt.Fprint(out, intro)
	start := time.Now()
	reports, err := runRecipes(ctx, s, chosen, func(r recipe.Report) { r.Print(out) })
	if err != nil {
		return err
	}
	printTable(out, reports)
	fmt.Fprintf(out, "recipes run on %s: %d, in %.1f s\n", s.name, len(reports), time.Since(start).Seconds())
	return nil
}

// list prints the catalogue without running it.
func list(out io.Writer, asJSON bool) error {
	if asJSON {
		var all []recipe.Report
		for _, r := range catalogue {
			all = append(all, r.Head())
		}
		return json.NewEncoder(out).Encode(all)
	}
	for _, r := range catalogue {
		fmt.Fprintf(out, "%-21s  %-63s  %s\n", r.Name, r.Title, strings.Join(r.Guide, " "))
	}
	return nil
}
