// Command main reads a department with its manager.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/managers"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := managers.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err1 := company.Departments.Insert(ctx, &managers.Department{Name: "Sales", EmployeeCount: 1})
	_, err2 := company.Hire(ctx, managers.Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "jonesj@contoso.com", Manager: true})
	sales, err3 := company.Department(ctx, "Sales")
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sales.Value.Name, sales.Value.ManagerLastName, sales.Value.ManagerEmail)
}
