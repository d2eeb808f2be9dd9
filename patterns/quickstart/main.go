// Command quickstart is the program of the README: employees in departments, each with an e-mail address of its own in the whole table. It
// can run as often as you like on the same account, whose connection string is in AZURE_STORAGE_CONNECTION_STRING.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

type Employee struct {
	Department, Name, Email string
	ID                      int
}

var dept = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
var empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
var byEmail = index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, nil)

func main() {
	ctx := context.Background()
	acc, err := account.FromEnvironment(nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	company := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, byEmail)
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := staff.Upsert(ctx, &Employee{"Sales", "Jones", "JonesJ@contoso.com", 223}, table.ReplaceExisting); err != nil {
		log.Fatal(err)
	}
	found, err := byEmail.Get(ctx, staff, "jonesj@CONTOSO.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Key, found.Value.Name) // ('Sales','empid_000223') Jones
}
