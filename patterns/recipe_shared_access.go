package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var sharedAccess = recipe{
	name:  "shared-access",
	title: "Each user sees her own rows, and no others",
	guide: []string{"G48"},
	problem: `A client that talks to the table itself needs no server in between, but must not get the account key. A shared access
		signature allows some operations on a range of keys for some time. The SDK signs ranges that it then leaves out of the
		URL, so that such signatures work nowhere, and writes local times as if they were UTC.`,
	run: func(ctx context.Context, r *Run) error {
		type Setting struct {
			User, Name string
			Value      string
		}
		user := keys.Tuple1(keys.Text())
		schema := table.Schema[Setting]{
			Partition: keys.Bind1(user, func(s *Setting) *string { return &s.User }),
			Row:       keys.Bind1(user, func(s *Setting) *string { return &s.Name }),
		}
		settings, err := table.New(r.Tables(), r.Table("settings"), schema, nil)
		if err != nil {
			return err
		}
		if err := settings.Ensure(ctx); err != nil {
			return err
		}
		for _, s := range []Setting{{"jonesj", "color", "blue"}, {"jonesj", "size", "12"}, {"smithk", "color", "red"}} {
			if err := insert(ctx, settings, &s); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "settings"); err != nil {
			return err
		}
		var held *table.Table[Setting] // by somebody who has the URL and nothing else
		if err := r.Do("a URL for jonesj: to read and add her own settings for an hour", func() error {
			address, err := r.Account().TableSAS(table.Grant{
				Table:      settings.Name(),
				Read:       true,
				Add:        true,
				Partitions: keys.Point(user.Of("jonesj")),
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
			r.Answer("sp=%s spk=%s epk=%s, and a signature", u.Query().Get("sp"), u.Query().Get("spk"), u.Query().Get("epk"))
			acc, err := account.FromSAS(account.Endpoints{Table: address}, &account.Options{Counter: r.Counter()})
			if err != nil {
				return err
			}
			held, err = table.New(acc.Tables(), settings.Name(), schema, nil)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("inside: her rows", func() error {
			for e, err := range held.List(ctx, table.Query[Setting]{Partition: user.Of("jonesj")}) {
				if err != nil {
					return err
				}
				r.Answer("%s = %s", e.Value.Name, e.Value.Value)
			}
			return insert(ctx, held, &Setting{"jonesj", "font", "serif"})
		}); err != nil {
			return err
		}
		if err := r.Do("what she may not do: delete", func() error {
			err := held.DeleteAny(ctx, keys.At(user.Of("jonesj"), user.Of("color")))
			var refused *table.OpError
			if !errors.As(err, &refused) {
				return errors.New("it was done")
			}
			r.Answer("refused: %s", refused.Code)
			return nil
		}); err != nil {
			return err
		}
		return r.Do("outside: somebody else's", func() error {
			_, err := held.Get(ctx, keys.At(user.Of("smithk"), user.Of("color")))
			switch {
			case errors.Is(err, table.ErrNotFound):
				r.Answer("not found")
				return nil
			case err == nil && r.Emulated():
				r.Answer("Azurite checks the signature but not the range; the service finds nothing")
				return nil
			}
			return errors.Join(errors.New("it was found, or something else is wrong"), err)
		})
	},
}
