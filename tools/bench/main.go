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
	"regexp"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// command runs the program with its arguments, and prints to out.
func command(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	run := flags.String("run", "", "measure the lines whose number or name matches this regular expression")
	list := flags.Bool("list", false, "print the numbers and names of the lines, and measure nothing")
	asJSON := flags.Bool("json", false, "print JSON")
	emulator := flags.Bool("azurite", false, "also measure the lines of the emulator Azurite, which the program starts")
	entities := flags.Int("entities", 20_000, "the entities of the lines of package verify; the goal of the heap is for 100,000, which take a minute")
	var s settings
	flags.IntVar(&s.slices, "slices", 21, "pairs of slices of each ratio")
	flags.DurationVar(&s.slice, "slice", 20*time.Millisecond, "the least time of one slice")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; the options are those of -help", flags.Arg(0))
	}
	if s.slices < 1 {
		return fmt.Errorf("-slices is %d; it must be at least 1", s.slices)
	}
	if *entities < 100 {
		return fmt.Errorf("-entities is %d; it must be at least 100", *entities)
	}
	chosen, err := regexp.Compile(*run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	lines, stop := all(*emulator, *entities)
	defer stop()
	if *list {
		for _, l := range lines {
			fmt.Fprintf(out, "%-6s %s\n", l.id, l.what)
		}
		return nil
	}
	if !*asJSON {
		printHead(out)
	}
	results := []result{}
	for _, l := range lines {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !chosen.MatchString(l.id) && !chosen.MatchString(l.what) {
			continue
		}
		r, err := l.run(ctx, s)
		if err != nil {
			return err
		}
		results = append(results, r)
		if !*asJSON {
			r.print(out)
		}
		runtime.GC() // the garbage of a line does not slow the next line
	}
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	printFoot(out, results)
	return nil
}
