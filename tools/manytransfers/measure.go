package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/tools/workers"
	"github.com/aztablekit/aztablekit/transfer"
)

const jobName = "1"

// measurement is what is measured.
type measurement struct {
	workers, kills, partitions, each, rate int
	delay                                  time.Duration
}

// run exports a table, imports it into another one, and compares the two.
func (m measurement) run(ctx context.Context) error {
	debug.SetGCPercent(400) // the service is elsewhere, so the workers should have the processors
	folder, err := os.MkdirTemp("", "manytransfers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	service := storagetest.New(&storagetest.Options{RequestLogSize: -1})
	store, staff, backup := open(service, folder, &aztablekit.Options{})
	if err := store.Ensure(ctx); err != nil {
		return err
	}
	if err := m.load(ctx, staff); err != nil {
		return err
	}
	connection, err := service.Listen()
	if err != nil {
		return err
	}
	defer service.Close()
	to, err := target(service)
	if err != nil {
		return err
	}
	service.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Slow(m.delay) })
	env := []string{connectionEnv + "=" + connection, folderEnv + "=" + folder}

	service.Count()
	began := time.Now()
	if err := backup.Start(ctx, staff, jobName, struct{}{}, &jobs.Options{Pass: table.Pass{Rate: m.rate}}); err != nil {
		return err
	}
	c := crew{Crew: workers.Crew{Env: env}, kills: m.kills / 2}
	status, err := c.export(ctx, m.workers, staff, backup)
	if err != nil {
		return err
	}
	m.print("export", time.Since(began), service, &c)
	manifest, err := os.ReadFile(filepath.Join(folder, jobName, transfer.ManifestName))
	if err != nil {
		return err
	}
	fmt.Printf("  %d ranges, %d chunks\n", status.Ranges, strings.Count(string(manifest), `"chunk":`))

	began = time.Now()
	c = crew{Crew: workers.Crew{Env: env}, kills: m.kills - m.kills/2}
	if err := c.importAll(ctx, m.workers); err != nil {
		return err
	}
	m.print("import", time.Since(began), service, &c)
	service.SetFaults(nil)
	return compare(ctx, service, connection, staff, to)
}

func (m measurement) print(what string, took time.Duration, service *storagetest.Service, c *crew) {
	n, rows := service.Count().Total(), m.partitions*m.each
	fmt.Printf("%s of %d rows, %d workers, %d kills: %.1f s, %.0f rows/s, %d requests, %.1f for 1,000 rows; workers: %.1f s of processor, at most %d MiB\n",
		what, rows, m.workers, c.killed, took.Seconds(), float64(rows)/took.Seconds(), n, 1000*float64(n)/float64(rows), c.Processor.Seconds(), c.MostKiB>>10)
}

// load stores the entities.
func (m *measurement) load(ctx context.Context, staff *table.Table[employee]) error {
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for d := range m.partitions {
			for i := range m.each {
				n := d*m.each + i
				e := &employee{d, i, fmt.Sprint("Name", n%5000), fmt.Sprintf("name%d@contoso.com", n), int32(n % 60), int64(n) << 33, float64(n) / 7, time.Unix(int64(n)*3600, int64(n%10_000_000)*100).UTC(), n%2 == 0}
				if !yield(staff.InsertOp(e), nil) {
					return
				}
			}
		}
	}, nil)
	return err
}

// crew is the worker processes of an export or import, some of which are killed.
type crew struct {
	workers.Crew
	kills, killed int
}

const pause = 300 * time.Millisecond

// export runs workers until a job is finished. Some are killed, and replaced.
func (c *crew) export(ctx context.Context, n int, staff *table.Table[employee], job *jobs.Job[employee, struct{}]) (status jobs.Status, err error) {
	for i := range n {
		if err := c.Start(i); err != nil {
			return status, err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return status, ctx.Err()
		case <-time.After(pause):
		}
		status, err = job.Status(ctx, staff, jobName)
		if err != nil || status.State != jobs.Running {
			break
		}
		if c.killed < c.kills {
			c.killed++
			if err := c.Replace(rand.IntN(n)); err != nil {
				return status, err
			}
		}
	}
	for i := range n {
		_ = c.End(i, os.Interrupt) // it may have ended
	}
	return status, cmp.Or(err, c.enough())
}

// importAll runs a worker for each share until all have ended. Some are killed, and replaced.
func (c *crew) importAll(ctx context.Context, n int) error {
	share := func(i int) string { return fmt.Sprintf("%s=%d", shareEnv, i) }
	for i := range n {
		if err := c.Start(i, share(i)); err != nil {
			return err
		}
	}
	for len(c.Running()) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		for _, i := range c.Running() {
			if !c.HasEnded(i) {
				continue
			}
			if err := c.End(i, nil); err != nil {
				return fmt.Errorf("worker %d: %w", i, err)
			}
		}
		if left := c.Running(); c.killed < c.kills && len(left) > 0 {
			c.killed++
			i := left[rand.IntN(len(left))]
			if err := c.Replace(i, share(i)); err != nil {
				return err
			}
		}
	}
	return c.enough()
}

// enough returns an error if fewer workers were killed than were to be.
func (c *crew) enough() error {
	if c.killed < c.kills {
		return fmt.Errorf("only %d workers were killed before the end", c.killed)
	}
	return nil
}
