package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"

	"github.com/aztablekit/aztablekit/eventual"
)

// poison lists, replays or drops poison messages: all messages of a queue, or the messages of the writes whose operation IDs are
// given.
func poison(ctx context.Context, s *service, words []string, out io.Writer) error {
	if len(words) < 2 {
		return errPoisonUsage
	}
	command, queue, rest := words[0], words[1], words[2:]
	q, err := eventual.NewPoisonQueue(s.acc.Queue(queue), nil)
	if err != nil {
		return err
	}
	ofWrites := func(ids []string) func(eventual.PoisonMessage) bool {
		return func(p eventual.PoisonMessage) bool { return len(ids) == 0 || slices.Contains(ids, p.OperationID) }
	}
	switch {
	case command == "list" && len(rest) == 0:
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
	case command == "replay" && len(rest) > 0:
		n, err := q.Replay(ctx, s.acc.Queue(rest[0]), ofWrites(rest[1:]))
		fmt.Fprintf(out, "%d messages replayed from %s to %s\n", n, quoted(queue), quoted(rest[0]))
		return err
	case command == "drop":
		n, err := q.Drop(ctx, ofWrites(rest))
		fmt.Fprintf(out, "%d messages dropped from %s\n", n, quoted(queue))
		if n > 0 {
			fmt.Fprintln(os.Stderr, "The commit records of these writes are still pending. Store.NotifyPending notifies the workers of them again.")
		}
		return err
	}
	return errPoisonUsage
}

var errPoisonUsage = errors.New("poison: want list POISON_QUEUE, replay POISON_QUEUE QUEUE [OPERATION_ID…], or drop POISON_QUEUE [OPERATION_ID…]")

// describe returns the operation ID or the beginning of the text of a message, its kind, and the class of its error.
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

// harmless matches texts that a terminal shows as they are and that are one word.
var harmless = regexp.MustCompile(`^[A-Za-z0-9@._+/-]{1,100}$`)

// quoted returns a text of a message in a form that is safe to print. Messages are not trusted: a text could move the cursor, or
// imitate a line of this program.
func quoted(s string) string {
	if s == "" || harmless.MatchString(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
