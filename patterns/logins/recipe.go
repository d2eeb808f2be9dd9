package logins

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "sessions",
	Title:       "Sessions that end, and a code that works once",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"rate-limit", "unique-email", "optimistic"},
	Consistency: "strong",
	Measured:    []string{"check the session"},
	Problem: `A session must not be accepted after its end, and a code that was sent by mail must work once. The service deletes nothing by itself, and a job that
		deletes what is over is late. If each read compares the time, one that does not is a hole; clocks of programs differ; and a session that one program has called over may be extended by another.
		With an end in the definition of the table, no read returns what is over, by the service's clock, and Take gives the code to one caller only.`,
	Kept: "logins",
	Run: func(ctx context.Context, r *recipe.Run) error {
		l := Open(r.Account(), r.StoreOptions("logins", "sessions", "codes"))
		if err := r.Ensure(ctx, l); err != nil {
			return err
		}
		check := func() error {
			s, err := l.Check(ctx, "ann", "s1")
			switch {
			case errors.Is(err, ErrNone):
				r.Answer("there is no such session")
				return nil
			case err != nil:
				return err
			}
			r.Answer("session of %s", s.User)
			return nil
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"send a code: one transaction, with the row of its hour and a commit record", func() error { return l.Send(ctx, "ann", "123456", time.Minute) }},
			{"begin a session: get the code and delete it, and store the session", func() error { return l.Begin(ctx, "ann", "123456", "s1", 2*time.Hour) }},
			{"use the code again", func() error {
				return r.Refused(l.Begin(ctx, "ann", "123456", "s2", time.Second), ErrNone)
			}},
			{"check the session", check},
			{"let the session last two seconds from now: get it, and store it with the row of its new hour", func() error { return l.Extend(ctx, "ann", "s1", 2*time.Second) }},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := errors.Join(r.Stored(ctx, "sessions"), r.Library(ctx, "sessions", "ann")); err != nil {
			return err
		}
		time.Sleep(3500 * time.Millisecond)
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"3 seconds later: count the sessions, without the row that is still there", func() error {
				n, err := l.Count(ctx, "ann")
				r.Answer("sessions: %d", n)
				return err
			}},
			{"extend it: the row is read, found over, and deleted before the answer", func() error {
				return r.Refused(l.Extend(ctx, "ann", "s1", time.Minute), ErrNone)
			}},
			{"look for it again", check},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("check a session without an end in the definition: the program reads the row and compares the time itself, at each place", func() error {
			_, err := l.Check(ctx, "ann", "s1")
			if errors.Is(err, ErrNone) {
				return nil
			}
			return err
		})
	},
}
