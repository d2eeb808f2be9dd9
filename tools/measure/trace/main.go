// Program trace calls methods on a service in memory, and writes the coverage counters of each call
// into a folder of the method's name. Program measure builds it with -cover, and counts what a
// method runs through.
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strconv"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

type employee struct {
	Department string
	ID         int
	LastName   string
	Age        int32
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	if err != nil {
		return err
	}
	dept := keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	staff, err := bare.NewTable(acc.Tables(), "staff", table.Schema[employee]{Partition: dept, Row: empid}, nil)
	if err != nil {
		return err
	}
	byName := index.New("last", keys.Fold(keys.Text()), func(e *employee) (string, bool) { return e.LastName, true }, nil)
	outbox, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("writes"), nil)
	if err != nil {
		return err
	}
	if staff, err = bare.WithOutbox(staff, outbox); err != nil {
		return err
	}
	if staff, err = bare.Attach(staff, byName); err != nil {
		return err
	}
	if err := tabledoor.Ensure(ctx, staff); err != nil {
		return err
	}
	if err := outbox.Ensure(ctx); err != nil {
		return err
	}
	// Each method is called twice, and the second call counts: the first call of a handle learns
	// what its client can do.
	at := func(id int) keys.Key { return keys.At(dept.Of("Sales"), empid.Of(id)) }
	methods := []struct {
		name string
		call func(n int) error
	}{
		{"Insert", func(n int) error {
			_, err := staff.Insert(ctx, &employee{"Sales", n, "Jones" + strconv.Itoa(n), 44})
			return err
		}},
		{"Get", func(n int) error {
			_, err := staff.Get(ctx, at(n))
			return err
		}},
		{"look-up", func(int) error {
			_, err := byName.Get(ctx, staff, dept.Of("Sales"), "Jones1")
			return err
		}},
		{"Transact", func(n int) error {
			a, b := &employee{"Sales", 10 + n, "Cao", 38}, &employee{"Sales", 20 + n, "Boe", 38}
			_, err := table.Transact(ctx, staff.InsertOp(a), staff.InsertOp(b))
			return err
		}},
		{"Move", func(n int) error {
			e, err := staff.Get(ctx, at(10+n))
			if err != nil {
				return err
			}
			e.Value.Department = "Research"
			if n == 2 {
				if err := coverage.ClearCounters(); err != nil {
					return err
				}
			}
			return staff.Move(ctx, e)
		}},
		{"Verify", func(int) error {
			_, err := verify.Check(ctx, staff, nil, byName)
			return err
		}},
	}
	for _, m := range methods {
		if err := m.call(1); err != nil {
			return err
		}
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if err := m.call(2); err != nil {
			return err
		}
		at := filepath.Join(dir, m.name)
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		if err := coverage.WriteMetaDir(at); err != nil {
			return err
		}
		if err := coverage.WriteCountersDir(at); err != nil {
			return err
		}
	}
	return nil
}
