package extend_test

import (
	"context"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	Last       string `table:"LastName"`
	Age        int32
}

var (
	dept        = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid       = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	staffSchema = table.Schema[employee]{Partition: dept, Row: empid}
	age         = table.FieldOf(func(e *employee) *int32 { return &e.Age })
)

// openStaff creates the table of employees in a service in memory.
func openStaff() (*table.Table[employee], *storagetest.Service) {
	memory := storagetest.New(nil)
	staff, err := bare.NewTable(memory.Tables(), "staff", staffSchema, nil)
	check(err)
	check(tabledoor.Ensure(context.Background(), staff))
	return staff, memory
}

// maintained is a definition that consists of a maintainer.
type maintained struct{ extend.Maintainer[employee] }

func (m maintained) Define(d *extend.Declaration[employee]) error { return d.Maintain(m.Maintainer) }

// staffWith returns a table of a store in memory, with maintainers.
func staffWith(maintainers ...extend.Maintainer[employee]) (*table.Table[employee], *storagetest.Service) {
	memory := storagetest.New(nil)
	company := aztablekit.Open(memory, "company", nil)
	var all []extend.Definition[employee]
	for _, m := range maintainers {
		all = append(all, maintained{m})
	}
	staff := aztablekit.Table(company, "staff", dept, empid, all...)
	check(company.Ensure(context.Background()))
	return staff, memory
}

// entitiesOf returns the rows of the table but those of the library.
func entitiesOf(memory *storagetest.Service) []storagetest.Row {
	return slices.DeleteFunc(memory.Rows("staff"), func(r storagetest.Row) bool { return strings.HasPrefix(r.RowKey, "~") })
}

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// memoryOutbox is an outbox in memory.
type memoryOutbox struct{}

func (*memoryOutbox) Notify(context.Context, commit.Notification) (commit.SentNotification, error) {
	return memoryOutbox{}, nil
}

func (memoryOutbox) Show(context.Context) error     { return nil }
func (memoryOutbox) Withdraw(context.Context) error { return nil }
