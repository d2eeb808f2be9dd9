package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var sharedAccess = recipe{
	name:        "shared-access",
	title:       "Let each user read only her own rows",
	guide:       []string{"G48"},
	related:     []string{"compound-keys", "range-query"},
	consistency: "strong",
	measured:    []string{"list the settings"},
	problem: `A client can use the table directly, without a server in between, but must not get the account key. A shared
		access signature allows some operations on a range of keys until it expires. The SDK signs key ranges but leaves them
		out of the URL, so that such signatures do not work, and it writes local times as if they were UTC. Account.TableSAS
		avoids both errors.`,
	run: func(ctx context.Context, r *Run) error {
		type Setting struct {
			User, Name string
			Value      string
		}
		user := keys.Text()
		schema := table.Schema[Setting]{
			Partition: keys.Partition(user, func(s *Setting) *string { return &s.User }),
			Row:       keys.Row(user, func(s *Setting) *string { return &s.Name }),
		}
		settings, err := table.New(r.Tables(), r.TableName("settings"), schema, nil)
		if err != nil {
			return err
		}
		if err := settings.Ensure(ctx); err != nil {
			return err
		}
		for _, s := range []Setting{{"jonesj", "color", "blue"}, {"jonesj", "size", "12"}, {"smithk", "color", "red"}} {
			if _, err := settings.Insert(ctx, &s); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "settings"); err != nil {
			return err
		}
		var granted *table.Table[Setting] // the handle of a client that has only the URL
		if err := r.Do("create a URL with which jonesj can read and add her own settings for an hour", func() error {
			address, err := r.Account().TableSAS(account.Grant{
				Table:      settings.Name(),
				Read:       true,
				Add:        true,
				Partitions: user.PartitionKey("jonesj").Point(),
				Expiry:     time.Now().Add(time.Hour),
				AllowHTTP:  r.Emulated(),
			})
			if err != nil {
				return err
			}
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			r.Answer("the URL contains sp=%s, spk=%s, epk=%s and a signature", u.Query().Get("sp"), u.Query().Get("spk"), u.Query().Get("epk"))
			acc, err := account.FromSAS(account.Endpoints{Table: address}, &account.Options{Counter: r.Counter()})
			if err != nil {
				return err
			}
			granted, err = table.New(acc.Tables(), settings.Name(), schema, nil)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("list the settings of jonesj, and add one", func() error {
			for e, err := range granted.List(ctx, table.Query[Setting]{Partition: user.PartitionKey("jonesj")}) {
				if err != nil {
					return err
				}
				r.Answer("%s = %s", e.Value.Name, e.Value.Value)
			}
			_, err := granted.Insert(ctx, &Setting{"jonesj", "font", "serif"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("delete a setting, which the URL does not allow", func() error {
			err := granted.DeleteAny(ctx, keys.At(user.PartitionKey("jonesj"), user.RowKey("color")))
			var refused *table.OpError
			if !errors.As(err, &refused) {
				return fmt.Errorf("got error %v, want an OpError", err)
			}
			r.Answer("refused: %s", refused.Code)
			return nil
		}); err != nil {
			return err
		}
		return r.Do("get a setting of smithk, which is outside the range", func() error {
			_, err := granted.Get(ctx, keys.At(user.PartitionKey("smithk"), user.RowKey("color")))
			switch {
			case errors.Is(err, table.ErrNotFound):
				r.Answer("not found")
				return nil
			case err == nil && r.Emulated():
				r.Answer("found, because Azurite does not check the range; the service finds no row")
				return nil
			}
			return fmt.Errorf("got error %v, want: %w", err, table.ErrNotFound)
		})
	},
}
