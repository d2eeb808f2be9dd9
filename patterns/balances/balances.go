// Package balances keeps accounts that several programs change at the same time, so that no program undoes the change of another one.
package balances

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Account is the money of an owner.
type Account struct {
	Owner   string
	Balance int64
	Note    string
}

var (
	owner = keys.Partition(keys.Text(), func(a *Account) *string { return &a.Owner })
	row   = keys.OneRow[Account]("account") // an owner has one account

	note = table.FieldOf(func(a *Account) *string { return &a.Note })
)

// Bank is the accounts of all owners.
type Bank struct {
	*aztablekit.Store
	Accounts *table.Table[Account]
}

// Open declares the table of the accounts. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Bank {
	s := aztablekit.Open(acc, "bank", o)
	return &Bank{s, aztablekit.Table(s, "accounts", owner, row)}
}

// Create stores a new account and returns it with its ETag, table.ErrExists if the owner has an account. 1 request.
func (b *Bank) Create(ctx context.Context, a Account) (*table.Entity[Account], error) {
	return b.Accounts.Insert(ctx, &a)
}

// Get returns an account with the ETag of the version that was read, table.ErrNotFound for none. 1 request.
func (b *Bank) Get(ctx context.Context, owner string) (*table.Entity[Account], error) {
	return b.Accounts.Get(ctx, b.key(owner))
}

// Save stores a changed account. It fails with table.ErrChanged if another program has changed the account since Get. Use Save for changes by
// a person: after table.ErrChanged, show the new version and ask again. 1 request, 2 for a refusal.
func (b *Bank) Save(ctx context.Context, a *table.Entity[Account]) error {
	return b.Accounts.Replace(ctx, a)
}

// Update reads an account, lets change change it, and stores it. After a conflict with another program, it begins again with the new
// version, so change may be called several times. An error of change is returned, and nothing is stored. 2 requests, 2 or 3 more after each
// conflict.
func (b *Bank) Update(ctx context.Context, owner string, change func(*Account) error) (*table.Entity[Account], error) {
	return b.Accounts.Update(ctx, b.key(owner), change)
}

// Annotate sets the note, and leaves the balance as it is, whichever version is stored. 2 requests.
func (b *Bank) Annotate(ctx context.Context, owner, text string) error {
	return b.Accounts.MergeAny(ctx, b.key(owner), note.Set(text))
}

func (b *Bank) key(owner string) keys.Key {
	return b.Accounts.Key(Account{Owner: owner})
}
