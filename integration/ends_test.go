package integration

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ends: an entity is not there from its end on, by the service's clock, a new one takes its place, and a code is for one caller.
func ends(e *env) {
	type code struct {
		User, Text string
		Ends       time.Time
	}
	ctx := context.Background()
	user := keys.Partition(keys.Text(), func(c *code) *string { return &c.User })
	text := keys.Row(keys.Text().Named("code"), func(c *code) *string { return &c.Text })
	plain, err := bare.NewTable(e.tables, freshName(), table.Schema[code]{Partition: user, Row: text}, nil)
	e.must(err)
	definition := expire.At(func(c *code) time.Time { return c.Ends }, nil)
	codes, err := baretest.Attach(plain, definition)
	e.must(err)
	e.must(tabledoor.Ensure(ctx, codes))
	key := keys.At(user.Of("ann"), text.Of("1"))
	store := func(lasts time.Duration) error {
		_, err := codes.Insert(ctx, &code{"ann", "1", time.Now().Add(lasts)})
		return err
	}
	missing := func(what string, err error) {
		e.Helper()
		if !errors.Is(err, table.ErrNotFound) {
			e.Errorf("%s: got error %v; want ErrNotFound", what, err)
		}
	}
	e.must(store(time.Hour))
	if err := store(time.Hour); !errors.Is(err, table.ErrExists) {
		e.Errorf("a second insert: got error %v; want ErrExists", err)
	}
	_, err = definition.Extend(ctx, codes, key, func(c *code) error { c.Ends = time.Now().Add(-time.Minute); return nil }) // as if it had ended
	e.must(err)
	for _, err := range codes.List(ctx, table.Query[code]{Partition: user.Of("ann")}) {
		e.Errorf("got a code in a list, and error %v; want none: it is over", err)
	}
	e.must(store(time.Hour)) // in its place
	taken, err := definition.Take(ctx, codes, key)
	e.must(err)
	if taken.Value.Text != "1" {
		e.Errorf("got %+v; want the code", taken.Value)
	}
	_, err = definition.Take(ctx, codes, key)
	missing("a second Take", err)
	e.must(store(-time.Hour)) // over already
	_, err = codes.Get(ctx, key)
	missing("Get of a code that is over", err)
}
