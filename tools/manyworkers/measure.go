package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// measurement is what is measured.
type measurement struct {
	workers, kills, partitions, each, ranges int
	delay                                    time.Duration
	index                                    string

	connection string
	running    []*exec.Cmd
	most       int64 // memory of a worker that has ended, in KiB
}

// run fills an index of a table by worker processes, and verifies it.
func (m measurement) run(ctx context.Context) error {
	debug.SetGCPercent(400) // the service is elsewhere, so the workers should have the processors
	service := storagetest.New(&storagetest.Options{RequestLogSize: -1})
	old, staff := open(service, "", &aztablekit.Options{})
	if err := old.Ensure(ctx); err != nil {
		return err
	}
	if err := m.load(ctx, staff); err != nil {
		return err
	}
	store, _ := open(service, m.index, &aztablekit.Options{})
	if err := store.Ensure(ctx); err != nil {
		return err
	}
	var err error
	if m.connection, err = service.Listen(); err != nil {
		return err
	}
	defer service.Close()
	service.Count()
	service.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Slow(m.delay) })
	var fills time.Time
	o := &aztablekit.FillOptions{Workers: true, Progress: func(p aztablekit.Progress) {
		if p.Wait == 0 && fills.IsZero() {
			fills = time.Now().Add(-time.Second / 4) // the first look
		}
	}}
	for range m.workers {
		if err := m.start(); err != nil {
			return err
		}
	}
	killed := make(chan error, 1)
	fillCtx, cancel := context.WithCancel(ctx)
	go func() { killed <- m.kill(fillCtx, &fills) }()
	report, err := store.Fill(ctx, o)
	took := time.Since(fills)
	cancel()
	if failed := <-killed; err == nil {
		err = failed
	}
	for len(m.running) > 0 {
		m.end(0, os.Interrupt)
	}
	if err != nil {
		return err
	}
	sent := service.Count()
	service.SetFaults(nil)
	fmt.Printf("%s, %d workers, %d kills: %v, %d requests, %.3f an entity; most memory of a worker %d MiB; %d entities compared, %d repaired\n",
		m.index, m.workers, m.kills, took.Round(100*time.Millisecond), sent.Total(), float64(sent.Total())/float64(m.partitions*m.each), m.most>>10, report.Entities, report.Repaired)
	sound, err := store.Verify(ctx, nil)
	if err == nil && (!sound.Sound() || sound.Rows < m.partitions*m.each) {
		err = fmt.Errorf("the index is not sound: %+v", sound)
	}
	return err
}

// load stores the entities.
func (m *measurement) load(ctx context.Context, staff *table.Table[employee]) error {
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for d := range m.partitions {
			for i := range m.each {
				if !yield(staff.InsertOp(&employee{d, i, fmt.Sprint("Name", i%50)}), nil) {
					return
				}
			}
		}
	}, nil)
	return err
}

// start starts a worker process.
func (m *measurement) start() error {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), connectionEnv+"="+m.connection)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	m.running = append(m.running, cmd)
	return nil
}

// kill kills workers from time to time, and replaces them.
func (m *measurement) kill(ctx context.Context, began *time.Time) error {
	const pause = 3 * time.Second
	for n := 0; n < m.kills; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("only %d workers were killed before the end", n)
		case <-time.After(pause):
		}
		if began.IsZero() {
			continue
		}
		n++
		m.end(rand.IntN(len(m.running)), os.Kill)
		if err := m.start(); err != nil {
			return err
		}
	}
	return nil
}

// end sends a signal to a worker, and waits for it. Before, it notes the worker's memory, as Linux shows it.
func (m *measurement) end(i int, signal os.Signal) {
	cmd := m.running[i]
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil {
		_, line, _ := strings.Cut(string(status), "VmHWM:")
		var kib int64
		if _, err := fmt.Sscan(line, &kib); err == nil {
			m.most = max(m.most, kib)
		}
	}
	_ = cmd.Process.Signal(signal) // it may have ended
	_ = cmd.Wait()                 // a killed process is no error
	m.running = append(m.running[:i], m.running[i+1:]...)
}
