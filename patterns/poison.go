package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"

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
		return func(p eventual.PoisonMessage) bool { return len(ops) == 0 || slices.Contains(ops, p.OperationID) }
	}
	switch {
	case verb == "list" && len(rest) == 0:
		n := 0
		for p, err := range q.List(ctx) {
			if err != nil {
				return err
			}
			n++
			fmt.Fprintf(out, "%s %s  %s after %d attempts, %s\n", quoted(p.Table), quoted(p.Partition), describe(p), p.Attempts, p.Time.Format("2006-01-02 15:04:05"))
		}
		fmt.Fprintf(out, "%d messages in %s\n", n, quoted(queue))
		return nil
	case verb == "replay" && len(rest) > 0:
		n, err := q.Replay(ctx, s.acc.Queue(rest[0]), chosen(rest[1:]))
		fmt.Fprintf(out, "%d messages from %s to %s\n", n, quoted(queue), quoted(rest[0]))
		return err
	case verb == "drop":
		n, err := q.Drop(ctx, chosen(rest))
		fmt.Fprintf(out, "%d messages dropped from %s\n", n, quoted(queue))
		if n > 0 {
			fmt.Fprintln(os.Stderr, "The commit records of these writes are still pending. To have their effects executed after all, see eventual.Outbox.NotifyPending.")
		}
		return err
	}
	return errPoisonWords
}

var errPoisonWords = fmt.Errorf("poison: list QUEUE, replay QUEUE HINTS [OP…], or drop QUEUE [OP…]")

// describe is a message in a few words.
func describe(p eventual.PoisonMessage) string {
	s := quoted(p.OperationID)
	if p.OperationID == "" {
		s = strconv.QuoteToASCII(fmt.Sprintf("%.40s", p.Text))
	}
	if p.Kind != "" {
		s += " " + quoted(p.Kind)
	}
	if p.Class != "" {
		s += ": " + quoted(p.Class)
	}
	return s
}

// plain is a text that does nothing to a terminal and cannot be taken for two.
var plain = regexp.MustCompile(`^[A-Za-z0-9@._+/-]{1,100}$`)

// quoted is a text that anybody may have put into a queue, as it can be printed: it may hold what moves the cursor, or looks like a
// line of this program.
func quoted(s string) string {
	if s == "" || plain.MatchString(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
