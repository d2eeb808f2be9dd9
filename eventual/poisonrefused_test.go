package eventual_test

import (
	"context"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPoisonQueueRefused: if the service refuses any one request, a method of the poison queue returns the error, and each message is
// still in one of the two queues.
func TestPoisonQueueRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var s *storagetest.Service
	var acc *account.Account
	var q *eventual.PoisonQueue
	texts := []string{"a", "b", "c"}
	prepare := func() {
		acc.Queues().NewQueueClient("poison").ClearMessages(ctx, nil)
		acc.Queues().NewQueueClient("moves").ClearMessages(ctx, nil)
		for _, text := range texts {
			_, err := acc.Queues().NewQueueClient("poison").EnqueueMessage(ctx, text, nil)
			testkit.NoError(t, err)
		}
	}
	for name, op := range map[string]func() error{
		"List": func() error {
			for _, err := range q.List(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Replay": func() error { _, err := q.Replay(ctx, nil); return err },
		"Drop": func() error {
			_, err := q.Drop(ctx, func(m eventual.PoisonMessage) bool { return m.Text == "b" })
			return err
		},
	} {
		s = storagetest.New(nil)
		var err error
		acc, err = account.FromTransport(s, nil)
		testkit.NoError(t, err)
		for _, queue := range []string{"poison", "moves"} {
			_, err := acc.Queues().NewQueueClient(queue).Create(ctx, nil)
			testkit.NoError(t, err)
		}
		q, err = bareworker.NewPoisonQueue(acc.Queues().NewQueueClient("moves"), acc.Queues().NewQueueClient("poison"), nil)
		testkit.NoError(t, err)
		errs := testkit.EachRefused(t, s, name, prepare, func() error {
			err := op()
			var re *azcore.ResponseError
			if err != nil && (!errors.As(err, &re) || re.StatusCode != 403) {
				t.Errorf("%s: got error %v; want an *azcore.ResponseError with status 403", name, err)
			}
			left := map[string]bool{}
			for _, queue := range []string{"poison", "moves"} {
				for _, m := range s.Messages(queue) {
					left[m.Text] = true
				}
			}
			for _, text := range texts {
				if !left[text] && (name != "Drop" || text != "b") {
					t.Errorf("%s, error %v: got messages %v in the queues; want also %q", name, err, left, text)
				}
			}
			return err
		})
		if len(errs) == 0 {
			t.Errorf("%s: got no requests, want some", name)
		}
		for i, err := range errs {
			if err == nil {
				t.Errorf("%s, request %d: got no error, want one", name, i+1)
			}
		}
	}
}
