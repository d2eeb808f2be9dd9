// Package sharedaccess keeps the settings of users. A user's program reads and adds her own settings, and no others, without a server in between.
package sharedaccess

import (
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Setting is stored by user and name.
type Setting struct {
	User, Name string
	Value      string
}

var (
	user = keys.Partition(keys.Text(), func(s *Setting) *string { return &s.User })
	name = keys.Row(keys.Text(), func(s *Setting) *string { return &s.Name })
)

// Company is the settings of its users.
type Company struct {
	*aztablekit.Store
	Settings *table.Table[Setting]
}

// Open declares the table of the settings. The server calls Ensure of the result when it starts. A user's program does not.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Company {
	s := aztablekit.Open(acc, "company", o)
	return &Company{s, aztablekit.Table(s, "settings", user, name)}
}

// Grant returns the right of a user to read and add her own settings until a time. The server, whose account has its key, makes a URL of the
// grant, and the user's program opens the table with the URL:
//
//	address, err := acc.TableSAS(company.Grant("jonesj", time.Now().Add(time.Hour)))
//
//	acc, err := account.FromSAS(account.Endpoints{Table: address}, nil)
//	own := sharedaccess.Open(acc, nil)
func (c *Company) Grant(userName string, until time.Time) account.Grant {
	return account.Grant{Table: c.Settings.Name(), Read: true, Add: true, Partitions: user.Of(userName).Point(), Expiry: until}
}

// Own is the query for the settings of a user. With the URL of another user, its list is empty. 1 request for each 1,000.
func Own(userName string) table.Query[Setting] {
	return table.Query[Setting]{Partition: user.Of(userName)}
}

// Key returns the key of a setting.
func Key(userName, setting string) keys.Key {
	return keys.At(user.Of(userName), name.Of(setting))
}
