package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
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
	if err := backup.Start(ctx, jobName, struct{}{}, &jobs.Options{Rate: m.rate}); err != nil {
		return err
	}
	c := crew{env: env, kills: m.kills / 2}
	status, err := c.export(ctx, m.workers, backup)
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
	c = crew{env: env, kills: m.kills - m.kills/2}
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
		what, rows, m.workers, c.killed, took.Seconds(), float64(rows)/took.Seconds(), n, 1000*float64(n)/float64(rows), c.processor.Seconds(), c.most>>10)
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

// crew is the worker processes of an export or import.
type crew struct {
	env   []string
	kills int

	running   map[int]*exec.Cmd // by their shares
	killed    int
	most      int64         // memory of a worker, in KiB
	processor time.Duration // of workers that have ended
}

// start starts the worker of a share.
func (c *crew) start(share int, env ...string) error {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(append(os.Environ(), c.env...), env...)
	cmd.Stderr = os.Stderr
	if c.running == nil {
		c.running = map[int]*exec.Cmd{}
	}
	c.running[share] = cmd
	return cmd.Start()
}

// note notes the memory of a worker, as Linux shows it.
func (c *crew) note(cmd *exec.Cmd) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err == nil {
		c.most = max(c.most, kib)
	}
}

// end sends a signal to a worker, and waits for it.
func (c *crew) end(share int, signal os.Signal) error {
	cmd := c.running[share]
	c.note(cmd)
	if signal != nil {
		_ = cmd.Process.Signal(signal) // it may have ended
	}
	err := cmd.Wait()
	c.processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	delete(c.running, share)
	return err
}

const pause = 300 * time.Millisecond

// export runs workers until a job is finished. Some are killed, and replaced.
func (c *crew) export(ctx context.Context, workers int, job *jobs.Job[employee, struct{}]) (jobs.Status, error) {
	for i := range workers {
		if err := c.start(i); err != nil {
			return jobs.Status{}, err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return jobs.Status{}, ctx.Err()
		case <-time.After(pause):
		}
		status, err := job.Status(ctx, jobName)
		if err != nil || status.State != jobs.Running {
			for i := range workers {
				_ = c.end(i, os.Interrupt) // it may have ended
			}
			if err == nil && c.killed < c.kills {
				err = fmt.Errorf("only %d workers were killed before the end", c.killed)
			}
			return status, err
		}
		if c.killed < c.kills {
			c.killed++
			i := rand.IntN(workers)
			_ = c.end(i, os.Kill) // a killed process is no error
			if err := c.start(i); err != nil {
				return status, err
			}
		}
	}
}

// importAll runs a worker for each share until all have ended. Some are killed, and replaced.
func (c *crew) importAll(ctx context.Context, workers int) error {
	start := func(i int) error { return c.start(i, fmt.Sprintf("%s=%d", shareEnv, i)) }
	for i := range workers {
		if err := start(i); err != nil {
			return err
		}
	}
	for len(c.running) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		for i, cmd := range c.running {
			c.note(cmd)
			if !hasEnded(cmd) {
				continue
			}
			if err := c.end(i, nil); err != nil {
				return errors.Join(fmt.Errorf("worker %d", i), err)
			}
		}
		if c.killed < c.kills && len(c.running) > 0 {
			for i := range c.running { // any
				c.killed++
				_ = c.end(i, os.Kill) // a killed process is no error
				if err := start(i); err != nil {
					return err
				}
				break
			}
		}
	}
	if c.killed < c.kills {
		return fmt.Errorf("only %d workers were killed before the end", c.killed)
	}
	return nil
}

// hasEnded reports whether a process is a zombie: it has ended, and nothing has waited for it.
func hasEnded(cmd *exec.Cmd) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}
