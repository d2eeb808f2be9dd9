package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

type person struct {
	Department, Name, Email string
	ID                      int
}

// insertByHand is the insert with an index row that the README shows, without the library.
func insertByHand(ctx context.Context, client *aztables.Client, e *person) error {
	entity := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: e.Department, RowKey: fmt.Sprintf("empid_%06d", e.ID)},
		Properties: map[string]any{"Name": e.Name, "Email": e.Email}}
	copied := entity
	copied.RowKey = "email_" + strings.ToLower(e.Email)
	row, err1 := json.Marshal(entity)
	indexRow, err2 := json.Marshal(copied)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err := client.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: row}, {ActionType: aztables.TransactionTypeAdd, Entity: indexRow}}, nil)
	return err
}

// TestByHand: what the README says of an insert with an index row: by hand and here it is 1 request for the same two rows, and by hand a
// lost response makes the caller's second attempt fail.
func TestByHand(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	byHand, here := storagetest.New(nil), storagetest.New(nil)
	client := byHand.Tables().NewClient("staff")
	if _, err := client.CreateTable(ctx, nil); err != nil {
		t.Fatal(err)
	}
	dept := keys.Partition(keys.Text(), func(e *person) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *person) *int { return &e.ID })
	company := aztablekit.Open(here, "company", nil)
	byEmail := index.New("email", keys.Fold(keys.Text()), func(e *person) (string, bool) { return e.Email, e.Email != "" }, &index.Options{Unique: true})
	staff := aztablekit.Table(company, "staff", dept, empid, byEmail)
	if err := company.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Insert(ctx, &person{"Sales", "Cao", "CaoJ@contoso.com", 1}); err != nil { // reads the catalogue, once a minute
		t.Fatal(err)
	}
	byHand.Count()
	here.Count()
	jones := &person{"Sales", "Jones", "JonesJ@contoso.com", 223}
	if err := insertByHand(ctx, client, jones); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Insert(ctx, jones); err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]*storagetest.Service{"by hand": byHand, "here": here} {
		if got, want := s.Count().String(), "1 transaction"; got != want {
			t.Errorf("%s: got requests %q; want %q", what, got, want)
		}
		var found []string
		for _, row := range s.Rows("staff") {
			if row.RowKey == "empid_000223" || row.RowKey == "email_jonesj@contoso.com" {
				found = append(found, row.RowKey)
			}
		}
		if len(found) != 2 {
			t.Errorf("%s: got rows %q; want the employee and the index row", what, found)
		}
	}
	byHand.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LostResponse())))
	smith := &person{"Sales", "Smith", "SmithJ@contoso.com", 224}
	if err := insertByHand(ctx, client, smith); err == nil {
		t.Error("by hand: got no error of the second attempt")
	}
	here.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LostResponse())))
	if _, err := staff.Insert(ctx, smith); err != nil {
		t.Errorf("here: got %v after a lost response; want none", err)
	}
}
