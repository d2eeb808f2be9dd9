package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/patterns/dispatch"
)

var leader = recipe{
	name:        "leader",
	title:       "Let one of several programs lead",
	guide:       []string{"G10"},
	related:     []string{"one-at-a-time", "workers", "many-workers"},
	consistency: "strong",
	measured:    []string{"programs 2 and 3"},
	problem: `Three programs stand by, and one of them gives tasks to workers. When it ends, or crashes, another one takes over. The leader renews its lease while its
		function runs, and the context of the function ends before another program can lead. Those who wait send one request for each time to live. What a
		program gives out that leads no more is refused.`,
	kept: "dispatch",
	run: func(ctx context.Context, r *Run) error {
		var all []*dispatch.Program
		for i := range 3 {
			p := dispatch.Open(r.Account(), fmt.Sprint("program ", i+1), r.StoreOptions("dispatch", "tasks", "leases"))
			if err := r.Ensure(ctx, p); err != nil {
				return err
			}
			all = append(all, p)
		}
		running, end := context.WithCancel(ctx)
		defer end()
		leads, ended := make(chan *dispatch.Leader, 1), make(chan error, 1)
		var first *dispatch.Leader
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"program 1 leads: it takes the lease, and enters the partition of the tasks", func() error {
				go func() {
					ended <- all[0].Lead(running, "mail", func(ctx context.Context, l *dispatch.Leader) error {
						leads <- l
						<-ctx.Done()
						return ctx.Err()
					})
				}()
				select {
				case first = <-leads:
					return nil
				case err := <-ended:
					return err
				}
			}},
			{"program 1 gives a task to a worker", func() error { return first.Give(ctx, "mail", "letter", "Jones") }},
			{"programs 2 and 3 stand for election, here for a second", func() error {
				for i, p := range all[1:] {
					waiting, cancel := context.WithTimeout(ctx, time.Second)
					err := p.Lead(waiting, "mail", func(context.Context, *dispatch.Leader) error { return errors.New("it leads beside program 1") })
					cancel()
					if !errors.Is(err, context.DeadlineExceeded) {
						return err
					}
					r.Answer("program %d waits", i+2)
				}
				return nil
			}},
			{"program 1 ends: the context of its function has ended, and it releases the lease", func() error {
				end()
				err := <-ended
				if !errors.Is(err, context.Canceled) {
					return err
				}
				r.Answer("its function has returned: %v", err)
				return nil
			}},
			{"program 2 leads, and gives the task to another worker", func() error {
				return all[1].Lead(ctx, "mail", func(ctx context.Context, l *dispatch.Leader) error { return l.Give(ctx, "mail", "letter", "Cao") })
			}},
			{"what is left of program 1 gives out the task again: it leads no more, so nothing is sent", func() error {
				return r.Refused(first.Give(ctx, "mail", "letter", "Jones"), lease.ErrLost)
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := errors.Join(r.Stored(ctx, "tasks"), r.Stored(ctx, "leases")); err != nil {
			return err
		}
		return r.Naive("without a lease each of three programs looks once a second whether it is to lead: 30 reads in ten seconds", func() error {
			for range 30 {
				for _, err := range all[0].Given(ctx, "mail") {
					if err != nil {
						return err
					}
				}
			}
			return nil
		})
	},
}
