package dispatch

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "leader",
	Title:       "Let one of several programs lead",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"one-at-a-time", "workers", "many-workers"},
	Consistency: "strong",
	Measured:    []string{"wait as programs 2 and 3 do"},
	Problem: `Three programs stand by, and one of them gives tasks to workers. When it ends, crashes or hangs, another one takes over. The leader renews its lease while
		its function runs, and the context of the function ends before another program can lead. Those who wait send one request for each time to live, here
		6 s. A program that hung, and goes on, leads no more: what it gives out is refused.`,
	Kept: "dispatch",
	Run: func(ctx context.Context, r *recipe.Run) error {
		p := Open(r.Account(), "this program", r.StoreOptions("dispatch", "tasks", "leases"))
		if err := r.Ensure(ctx, p); err != nil {
			return err
		}
		var programs []*recipe.Child
		stop := func() (err error) {
			for _, program := range programs {
				err = errors.Join(err, program.Resume(), program.Stop())
			}
			programs = nil
			return err
		}
		defer func() { _ = stop() }() // if a step has failed; otherwise they have stopped
		start := func(name, worker string) error {
			program, err := r.StartChild(ctx, r.Prefix(), name, worker)
			if err == nil {
				programs = append(programs, program)
			}
			return err
		}
		answer := func(programs ...*recipe.Child) error {
			line, err := firstAnswer(programs)
			r.Answer("%s", line)
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"start program 1, a process of its own, whose requests are not counted here: it leads, and gives a task to a worker", func() error {
				if err := start("program 1", "Jones"); err != nil {
					return err
				}
				return answer(programs...)
			}},
			{"start programs 2 and 3", func() error {
				return errors.Join(start("program 2 or 3", "Cao"), start("program 2 or 3", "Cao"))
			}},
			{"wait as programs 2 and 3 do, here for a second", func() error {
				waiting, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				err := p.Lead(waiting, "mail", func(context.Context, *Leader) error { return errors.New("it leads beside program 1") })
				if !errors.Is(err, context.DeadlineExceeded) {
					return err
				}
				return nil
			}},
			{"stop program 1 in the middle of its work (SIGSTOP): another one leads when the lease is over", func() error {
				if err := programs[0].Pause(); err != nil {
					return err
				}
				return answer(programs[1:]...)
			}},
			{"let program 1 go on (SIGCONT): it gives out the task again", func() error {
				if err := programs[0].Resume(); err != nil {
					return err
				}
				return answer(programs[0])
			}},
			{"look at what is stored", func() error { return errors.Join(r.Stored(ctx, "tasks"), r.Stored(ctx, "leases")) }},
			{"stop all three", stop},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("without a lease a program looks once a second whether it is to lead: 10 reads in ten seconds", func() error {
			for range 10 {
				for _, err := range p.Given(ctx, "mail") {
					if err != nil {
						return err
					}
				}
			}
			return nil
		})
	},
	// A program that stands for election. Its main function calls Lead.
	Child: func(ctx context.Context, r *recipe.Run, words []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
		prefix, name, worker := words[0], words[1], words[2]
		p := Open(r.Account(), name, &aztablekit.Options{Prefix: prefix})
		for ctx.Err() == nil {
			err := p.Lead(ctx, "mail", func(leads context.Context, l *Leader) error {
				if err := l.Give(leads, "mail", "letter", worker); err != nil {
					return err
				}
				r.Answer("%s leads, and has given the letter to %s", name, worker)
				<-leads.Done()
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return r.Refused(l.Give(ctx, "mail", "letter", worker), lease.ErrLost)
			})
			if err != nil && !errors.Is(err, lease.ErrLost) && ctx.Err() == nil {
				return err
			}
		}
		return nil
	},
}

// firstAnswer returns the answer of the child that answers first, or ends first.
func firstAnswer(children []*recipe.Child) (string, error) {
	type answer struct {
		of   *recipe.Child
		line string
		more bool
	}
	first := make(chan answer, len(children))
	for _, child := range children {
		go func() { // until the child answers or ends
			line, more := <-child.Answers()
			first <- answer{child, line, more}
		}()
	}
	a := <-first
	if !a.more {
		return a.of.Next() // says how it has ended
	}
	return a.line, nil
}
