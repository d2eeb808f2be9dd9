// Program trace calls methods of a store on a service in memory, and writes the coverage counters
// of each call into a folder of the method's name. Program measure builds it with -cover, and
// counts what a method runs through.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

type employee struct {
	Department string
	ID         int
	LastName   string
	Age        int32
}

var (
	dept   = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid  = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	byName = index.New("last", keys.Fold(keys.Text()), func(e *employee) (string, bool) { return e.LastName, true }, nil)
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// method is a call that is traced. It is called twice, and the second call counts: the first call
// of a handle learns what its client can do. begin, if it is set, is not traced.
type method struct {
	name  string
	begin func(n int) error
	call  func(n int) error
}

func run(ctx context.Context, dir string) error {
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	if err != nil {
		return err
	}
	company := aztablekit.Open(acc, "company", &aztablekit.Options{CatalogueAge: time.Second}) // Fill waits for so long
	staff := aztablekit.Table(company, "staff", dept, empid, byName)
	if err := company.Ensure(ctx); err != nil {
		return err
	}
	at := func(in string, id int) keys.Key { return keys.At(dept.Of(in), empid.Of(id)) }
	var moved *table.Entity[employee]
	for _, m := range []method{
		{"Insert", nil, func(n int) error {
			_, err := staff.Insert(ctx, &employee{"Sales", n, "Jones" + strconv.Itoa(n), 44})
			return err
		}},
		{"Get", nil, func(n int) error {
			_, err := staff.Get(ctx, at("Sales", n))
			return err
		}},
		{"look-up", nil, func(int) error {
			_, err := byName.Get(ctx, staff, dept.Of("Sales"), "Jones1")
			return err
		}},
		{"Transact", nil, func(n int) error {
			a, b := &employee{"Sales", 10 + n, "Cao", 38}, &employee{"Sales", 20 + n, "Boe", 38}
			_, err := table.Transact(ctx, staff.InsertOp(a), staff.InsertOp(b))
			return err
		}},
		{"Move", func(n int) (err error) {
			moved, err = staff.Get(ctx, at("Sales", 10+n))
			return err
		}, func(int) error {
			moved.Value.Department = "Research"
			return staff.Move(ctx, moved)
		}},
		{"txn.Run", nil, func(n int) error {
			return txn.Run(ctx, company, func(tx *txn.Tx) error {
				a, err1 := txn.Get(tx, staff, at("Sales", n))
				b, err2 := txn.Get(tx, staff, at("Research", 10+n))
				if err := errors.Join(err1, err2); err != nil {
					return err
				}
				a.Value.Age, b.Value.Age = b.Value.Age, a.Value.Age
				tx.Do(staff.ReplaceOp(a), staff.ReplaceOp(b))
				return nil
			})
		}},
		{"Fill", func(int) error {
			_, err := s.Tables().NewClient("staff").DeleteEntity(ctx, "~c", "~c", nil)
			return errors.Join(err, company.Ensure(ctx))
		}, func(int) error {
			_, err := company.Fill(ctx, nil)
			return err
		}},
		{"Verify", nil, func(int) error {
			_, err := company.Verify(ctx, nil)
			return err
		}},
	} {
		if err := m.trace(filepath.Join(dir, m.name)); err != nil {
			return err
		}
	}
	return nil
}

// trace calls the method, and writes the counters of the second call into a folder.
func (m *method) trace(dir string) error {
	for n := 1; n <= 2; n++ {
		if m.begin != nil {
			if err := m.begin(n); err != nil {
				return err
			}
		}
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if err := m.call(n); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir(dir, 0o755), coverage.WriteMetaDir(dir), coverage.WriteCountersDir(dir))
}
