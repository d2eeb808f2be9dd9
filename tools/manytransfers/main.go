// Command manytransfers measures an export and an import of a large table by worker processes, some
// of which are killed, and compares the two tables by three readers.
//
//	go -C tools run ./manytransfers -partitions 10000 -each 100 -workers 3 -kill 100 -rate 20000
//
// It serves an account in memory on loopback, which takes some time for each request, and prints
// requests, times, and the memory and processor time of the workers.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// The environment of a worker process.
const (
	connectionEnv = "AZTABLEKIT_MANYTRANSFERS"
	folderEnv     = "AZTABLEKIT_MANYTRANSFERS_FOLDER"
	shareEnv      = "AZTABLEKIT_MANYTRANSFERS_SHARE" // of an import; not set for an export
)

type employee struct {
	Department, ID int
	Name, Email    string
	Age            int32
	Salary         int64
	Rating         float64
	Hired          time.Time
	Active         bool
}

var (
	dept  = keys.Partition(keys.Digits[int](6), func(e *employee) *int { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
)

// open opens the store of the source.
func open(acc aztablekit.Account, folder string, o *aztablekit.Options) (*aztablekit.Store, *table.Table[employee], *jobs.Job[employee, struct{}]) {
	o.Daily = -1
	s := aztablekit.Open(acc, "staff", o)
	backup := jobs.Export[employee]("backup", func(job string) transfer.Place { return transfer.Folder(filepath.Join(folder, job)) })
	return s, aztablekit.Table(s, "staff", dept, empid, backup), backup
}

// target returns the table of the import.
func target(acc aztablekit.Account) (*table.Table[table.Row], error) {
	return bare.NewTable(acc.Tables(), "restored", table.Schema[table.Row]{}, nil)
}

// work is a worker process: of the export, or of a share of the import.
func work(ctx context.Context, connection string, m measurement) error {
	acc, err := account.FromConnectionString(connection, nil)
	if err != nil {
		return err
	}
	folder := os.Getenv(folderEnv)
	share := 0
	if _, err := fmt.Sscan(os.Getenv(shareEnv), &share); err != nil {
		s, _, _ := open(acc, folder, &aztablekit.Options{Worker: eventual.WorkerOptions{Concurrency: 2, PerPartition: 2, Idle: time.Second, Visibility: 2 * time.Second}})
		return s.Run(ctx)
	}
	to, err := target(acc)
	if err != nil {
		return err
	}
	o := &transfer.ImportOptions{Pass: table.Pass{Rate: m.rate / m.workers, Partitions: m.share(share)}}
	_, err = transfer.Import(ctx, transfer.Exported(transfer.Folder(filepath.Join(folder, jobName))), to, o)
	return err
}

// share returns the partitions of a worker of the import.
func (m measurement) share(i int) keys.PartitionRange {
	from, to := "", ""
	if i > 0 {
		from = dept.Of(m.partitions * i / m.workers).String()
	}
	if i < m.workers-1 {
		to = dept.Of(m.partitions * (i + 1) / m.workers).String()
	}
	return keys.RawPartitions(from, to)
}

func main() {
	var m measurement
	flag.IntVar(&m.workers, "workers", 3, "worker processes")
	flag.IntVar(&m.kills, "kill", 0, "how often a worker is killed and replaced, half of them in the export")
	flag.IntVar(&m.partitions, "partitions", 10_000, "partitions")
	flag.IntVar(&m.each, "each", 100, "entities of a partition")
	flag.IntVar(&m.rate, "rate", 0, "rows in a second, of all workers; 0 means no limit")
	flag.DurationVar(&m.delay, "delay", time.Millisecond, "what the service takes for a request")
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
