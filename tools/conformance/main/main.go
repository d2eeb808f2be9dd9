package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/tools/conformance"
)

func main() {
	switch err := run(os.Args[1:], os.Stdout); {
	case errors.Is(err, errMisses):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

var errMisses = errors.New("the service differs from the recordings")

// run measures a service and prints the score. The error is errMisses if a case is not answered as
// recorded.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "", "the connection `string` of the account; by default, an account of storagetest")
	modules := flags.Bool("modules", false, "send the recorded requests of modules, too, which are downloaded")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := client(*endpoint)
	if err != nil {
		return err
	}
	score, err := conformance.Measure(c)
	if err != nil {
		return err
	}
	if *modules {
		open := func() (*conformance.Client, func(time.Time), error) { return c, nil, nil }
		if *endpoint == "" {
			open = newAccount
		}
		if err := score.MeasureModules(context.Background(), open); err != nil {
			return err
		}
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "\t")
		err = encoder.Encode(score)
	} else {
		err = score.Print(out)
	}
	if err == nil && len(score.Misses) > 0 {
		err = errMisses
	}
	return err
}

// newAccount returns a client of a new account of storagetest, and sets its clock.
func newAccount() (*conformance.Client, func(time.Time), error) {
	var now time.Time
	s := storagetest.New(&storagetest.Options{GeoRedundant: true, Now: func() time.Time { return now }})
	c, err := conformance.NewClient(s.ConnectionString(), s)
	return c, func(at time.Time) { now = at }, err
}

func client(connection string) (*conformance.Client, error) {
	if connection == "" {
		s := storagetest.New(nil)
		return conformance.NewClient(s.ConnectionString(), s)
	}
	return conformance.NewClient(connection, &http.Client{Timeout: time.Minute})
}
