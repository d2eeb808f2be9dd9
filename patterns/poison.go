package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/aztablekit/aztablekit/eventual"
)

// poison looks after a queue of poison messages: list, replay into the queue of hints, or drop them, all or those of some writes.
func poison(ctx context.Context, s *service, words []string, out io.Writer) error {
	if len(words) < 2 {
		return errPoisonWords
	}
	verb, queue, rest := words[0], words[1], words[2:]
	q, err := eventual.NewPoisonQueue(s.acc.Queue(queue), nil)
	if err != nil {
		return err
	}
	chosen := func(ops []string) func(eventual.PoisonMessage) bool {
		return func(p eventual.PoisonMessage) bool { return len(ops) == 0 || slices.Contains(ops, p.Op) }
	}
	switch {
	case verb == "list" && len(rest) == 0:
		n := 0
		for p, err := range q.List(ctx) {
			if err != nil {
				return err
			}
			n++
			fmt.Fprintf(out, "%s %s  %s after %d attempts, %s\n", p.Table, p.Partition, describe(p), p.Attempts, p.Time.Format("2006-01-02 15:04:05"))
		}
		fmt.Fprintf(out, "%d messages in %s\n", n, queue)
		return nil
	case verb == "replay" && len(rest) > 0:
		n, err := q.Replay(ctx, s.acc.Queue(rest[0]), chosen(rest[1:]))
		fmt.Fprintf(out, "%d messages from %s to %s\n", n, queue, rest[0])
		return err
	case verb == "drop":
		n, err := q.Drop(ctx, chosen(rest))
		fmt.Fprintf(out, "%d messages dropped from %s\n", n, queue)
		return err
	}
	return errPoisonWords
}

var errPoisonWords = fmt.Errorf("poison: list QUEUE, replay QUEUE HINTS [OP…], or drop QUEUE [OP…]")

// describe is a message in a few words.
func describe(p eventual.PoisonMessage) string {
	s := p.Op
	if s == "" {
		s = fmt.Sprintf("%.40q", p.Text)
	}
	if p.Kind != "" {
		s += " " + p.Kind
	}
	if p.Class != "" {
		s += ": " + p.Class
	}
	return s
}
