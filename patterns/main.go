// Command patterns is the catalogue: one recipe for each pattern of the Azure Table storage design guide, each a file to
// copy, and this program to run them.
//
//	go run ./patterns                        every recipe
//	go run ./patterns list                   their names, and the requirements of the guide that they show
//	go run ./patterns run NAME…              some of them
//	go run ./patterns -on azurite            on an emulator instead of a service in memory
//	go run ./patterns -on env                on the account of AZURE_STORAGE_CONNECTION_STRING
//	go run ./patterns -json                  for programs
//	go run ./patterns -on env poison list QUEUE, poison replay QUEUE HINTS [OP…], poison drop QUEUE [OP…]
//
// The service in memory is package storagetest, and needs nothing but this program. Azurite is started by itself, from npm or
// Docker, and ends with this program. On an account, tables get a random prefix and are deleted at the end.
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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if was, err := other(ctx); was {
		if err != nil {
			fmt.Fprintln(os.Stderr, "patterns:", err)
			stop()
			os.Exit(1)
		}
		return
	}
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "patterns:", err)
		stop()
		os.Exit(1)
	}
}

// command is the program: what its arguments ask for, printed to out.
func command(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("patterns", flag.ContinueOnError)
	on := flags.String("on", "memory", "the service: memory, azurite (started by itself) or env (AZURE_STORAGE_CONNECTION_STRING)")
	asJSON := flags.Bool("json", false, "print JSON")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: patterns [-on memory|azurite|env] [-json] [list | run NAME… | poison list|replay|drop QUEUE …]")
		flags.PrintDefaults()
	}
	var words []string
	for rest := args; ; { // flags may stand before, between and behind words
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
	case words[0] == "poison":
		s, err := open(ctx, *on)
		if err != nil {
			return err
		}
		defer s.close()
		return poison(ctx, s, words[1:], out)
	case words[0] == "list" && len(words) == 1:
		return list(out, *asJSON)
	case words[0] == "run" && len(words) > 1:
		chosen = nil
		for _, name := range words[1:] {
			r, ok := find(name)
			if !ok {
				return fmt.Errorf("no recipe is called %q; `list` shows their names", name)
			}
			chosen = append(chosen, r)
		}
	default:
		return fmt.Errorf("unknown words %q: list, run and names, or poison", strings.Join(words, " "))
	}
	s, err := open(ctx, *on)
	if err != nil {
		return err
	}
	defer s.close()
	if !*asJSON {
		fmt.Fprint(out, "Rows are shown as they are stored, but for _op, which names the write that a row is from, and names made by chance and times: OP1, LIFE1, TIME. _ix says which rows were derived from an entity, and _sys whose copy a row is.\n\n")
	}
	start := time.Now()
	reports, err := s.runAll(ctx, chosen, func(r report) {
		if !*asJSON {
			r.print(out)
		}
	})
	if *asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return errors.Join(err, enc.Encode(reports))
	}
	if err == nil {
		fmt.Fprintf(out, "recipes run on %s: %d, in %.1f s\n", s.name, len(reports), time.Since(start).Seconds())
	}
	return err
}

func find(name string) (recipe, bool) {
	for _, r := range catalogue {
		if r.name == name {
			return r, true
		}
	}
	return recipe{}, false
}

// list prints the catalogue.
func list(out io.Writer, asJSON bool) error {
	if asJSON {
		var all []report
		for _, r := range catalogue {
			all = append(all, r.head())
		}
		return json.NewEncoder(out).Encode(all)
	}
	for _, r := range catalogue {
		fmt.Fprintf(out, "%-14s %-48s %s\n", r.name, r.title, strings.Join(r.guide, " "))
	}
	return nil
}
