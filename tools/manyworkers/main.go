// Command manyworkers measures how long worker processes take to fill indexes of a large table:
// one, and several of them, some of which are killed.
//
//	go -C tools run ./manyworkers -workers 4 -kill 20
//
// It serves an account in memory on loopback, which takes some time for each request, and prints
// requests, time, and the memory of each worker.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// connectionEnv is the account of a worker process.
const connectionEnv = "AZTABLEKIT_MANYWORKERS"

type employee struct {
	Department, ID int
	Last           string
}

var (
	dept  = keys.Partition(keys.Digits[int](6), func(e *employee) *int { return &e.Department })
	empid = keys.Row(keys.Digits[int](9), func(e *employee) *int { return &e.ID })
)

// open opens the store of a release with an index, or of the one before.
func open(acc aztablekit.Account, kind string, o *aztablekit.Options) (*aztablekit.Store, *table.Table[employee]) {
	o.Daily, o.CatalogueAge = -1, 4*time.Second
	s := aztablekit.Open(acc, "staff", o)
	of := []aztablekit.Definition[employee]{jobs.Repair[employee]("check")}
	last := func(e *employee) (string, bool) { return e.Last, true }
	switch kind {
	case "partition":
		of = append(of, index.New("last", keys.Text(), last, nil).Only())
	case "elsewhere":
		of = append(of, index.NewGlobal("last", keys.Text(), last, nil))
	}
	return s, aztablekit.Table(s, "staff", dept, empid, of...)
}

// work is a worker process.
func work(ctx context.Context, connection string, m measurement) error {
	acc, err := account.FromConnectionString(connection, nil)
	if err != nil {
		return err
	}
	s, _ := open(acc, m.index, &aztablekit.Options{Worker: eventual.WorkerOptions{Concurrency: m.ranges, PerPartition: m.ranges, Idle: time.Second, Visibility: 5 * time.Second}})
	return s.Run(ctx)
}

func main() {
	var m measurement
	flag.IntVar(&m.workers, "workers", 1, "worker processes")
	flag.IntVar(&m.kills, "kill", 0, "how often a worker is killed and replaced")
	flag.IntVar(&m.partitions, "partitions", 10_000, "partitions")
	flag.IntVar(&m.each, "each", 100, "entities of a partition")
	flag.IntVar(&m.ranges, "ranges", 1, "ranges that a worker works on at a time")
	flag.DurationVar(&m.delay, "delay", 5*time.Millisecond, "what the service takes for a request")
	flag.StringVar(&m.index, "index", "partition", "where the rows of the index are: partition or elsewhere")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := m.run
	if connection := os.Getenv(connectionEnv); connection != "" {
		run = func(ctx context.Context) error { return work(ctx, connection, m) }
	}
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}
