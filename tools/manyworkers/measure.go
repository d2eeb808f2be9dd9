package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/tools/workers"
)

// measurement is what is measured.
type measurement struct {
	workers, kills, partitions, each, ranges int
	delay                                    time.Duration
	index                                    string

	crew workers.Crew
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
	connection, err := service.Listen()
	if err != nil {
		return err
	}
	defer service.Close()
	service.Count()
	service.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Slow(m.delay) })
	var fills time.Time
	o := &aztablekit.FillOptions{Workers: true, Pass: table.Pass{Progress: func(p table.Progress) {
		if p.Wait == 0 && fills.IsZero() {
			fills = time.Now().Add(-time.Second / 4) // the first look
		}
	}}}
	m.crew.Env = []string{connectionEnv + "=" + connection}
	for i := range m.workers {
		if err := m.crew.Start(i); err != nil {
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
	for _, i := range m.crew.Running() {
		_ = m.crew.End(i, os.Interrupt) // it may have ended
	}
	if err != nil {
		return err
	}
	sent := service.Count()
	service.SetFaults(nil)
	fmt.Printf("%s, %d workers, %d kills: %v, %d requests, %.3f an entity; most memory of a worker %d MiB; %d entities compared, %d repaired\n",
		m.index, m.workers, m.kills, took.Round(100*time.Millisecond), sent.Total(), float64(sent.Total())/float64(m.partitions*m.each), m.crew.MostKiB>>10, report.Rows, report.Changed)
	sound, err := store.Verify(ctx, nil)
	if err == nil && (sound.Faults > 0 || sound.Counts["derived rows"] < m.partitions*m.each) {
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
		if err := m.crew.Replace(rand.IntN(m.workers)); err != nil {
			return err
		}
	}
	return nil
}
