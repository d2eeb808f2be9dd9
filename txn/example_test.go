package txn_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// Account is an account in a city.
type Account struct {
	City  string
	No    int
	Owner string
	Cents int
}

var (
	accountCity = keys.Partition(keys.Text(), func(a *Account) *string { return &a.City })
	accountNo   = keys.Row(keys.Digits[int](4), func(a *Account) *int { return &a.No })
	errTooLow   = errors.New("there is not enough on the account")
)

func accountAt(in string, no int) keys.Key { return keys.At(accountCity.Of(in), accountNo.Of(no)) }

func ExampleRun() {
	ctx := context.Background()
	bank := aztablekit.Open(storagetest.New(nil), "bank", nil)
	accounts := aztablekit.Table(bank, "accounts", accountCity, accountNo)
	if err := bank.Ensure(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range []Account{{"Zug", 1, "Jones", 100}, {"Bern", 7, "Cao", 0}} {
		if _, err := accounts.Insert(ctx, &a); err != nil {
			fmt.Println(err)
			return
		}
	}
	move := func(cents int) error {
		return txn.Run(ctx, bank, func(tx *txn.Tx) error {
			from, err := txn.Get(tx, accounts, accountAt("Zug", 1))
			if err != nil {
				return err
			}
			to, err := txn.Get(tx, accounts, accountAt("Bern", 7))
			if err != nil {
				return err
			}
			if from.Value.Cents < cents {
				return errTooLow
			}
			from.Value.Cents -= cents
			to.Value.Cents += cents
			tx.Do(accounts.ReplaceOp(from), accounts.ReplaceOp(to))
			return nil
		})
	}
	fmt.Println(move(70))
	fmt.Println(move(70))
	for e, err := range accounts.List(ctx, table.Query[Account]{TableScan: true}) {
		fmt.Println(e.Value, err)
	}
	// Output:
	// <nil>
	// there is not enough on the account
	// {Bern 7 Cao 70} <nil>
	// {Zug 1 Jones 30} <nil>
}

func ExampleGet() {
	ctx := context.Background()
	bank := aztablekit.Open(storagetest.New(nil), "bank", nil)
	accounts := aztablekit.Table(bank, "accounts", accountCity, accountNo)
	if err := bank.Ensure(ctx); err != nil {
		fmt.Println(err)
		return
	}
	// An account of the head office, once for all cities.
	open := func(a Account) error {
		return txn.Run(ctx, bank, func(tx *txn.Tx) error {
			_, err := txn.Get(tx, accounts, accountAt("head office", a.No))
			switch {
			case err == nil:
				return fmt.Errorf("%d is an account of the head office", a.No)
			case !errors.Is(err, table.ErrNotFound):
				return err
			}
			tx.Do(accounts.InsertOp(&a)) // only if there is no such account of the head office when it is inserted
			return nil
		})
	}
	fmt.Println(open(Account{"head office", 1, "Jones", 0}))
	fmt.Println(open(Account{"Bern", 1, "Cao", 0}))
	fmt.Println(open(Account{"Bern", 2, "Cao", 0}))
	// Output:
	// <nil>
	// 1 is an account of the head office
	// <nil>
}

func ExampleFind() {
	ctx := context.Background()
	byOwner := index.NewUnique("owner", keys.Fold(keys.Text()), func(a *Account) (string, bool) { return a.Owner, true }, nil)
	bank := aztablekit.Open(storagetest.New(nil), "bank", nil)
	accounts := aztablekit.Table(bank, "accounts", accountCity, accountNo, byOwner)
	if err := bank.Ensure(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range []Account{{"Zug", 1, "Jones", 100}, {"Bern", 7, "Cao", 0}} {
		if _, err := accounts.Insert(ctx, &a); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Jones and Cao exchange their names: neither name is free, and none is anybody else's in between.
	err := txn.Run(ctx, bank, func(tx *txn.Tx) error {
		find := func(owner string) (*table.Entity[Account], error) {
			return txn.Find(tx, accounts, func(ctx context.Context) (*table.Entity[Account], error) {
				return byOwner.Get(ctx, accounts, owner)
			})
		}
		jones, err := find("jones")
		if err != nil {
			return err
		}
		cao, err := find("cao")
		if err != nil {
			return err
		}
		jones.Value.Owner, cao.Value.Owner = cao.Value.Owner, jones.Value.Owner
		tx.Do(accounts.ReplaceOp(jones), accounts.ReplaceOp(cao))
		return nil
	})
	fmt.Println(err)
	for e, err := range accounts.List(ctx, table.Query[Account]{TableScan: true}) {
		fmt.Println(e.Value, err)
	}
	// Output:
	// <nil>
	// {Bern 7 Jones 0} <nil>
	// {Zug 1 Cao 100} <nil>
}
