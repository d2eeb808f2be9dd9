package azt_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/azt"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department          string
	ID                  int
	FirstName, LastName string
	Email               string
	Age                 int32
	Salary              int64
}

var (
	dept  = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
)

// company is the store of a program.
type company struct {
	*aztablekit.Store
	staff *table.Table[employee]
	raise *jobs.Job[employee, int]
}

// open declares the store. Effects of employees whose FirstName is Bad fail.
func open(acc aztablekit.Account) *company { return openWith(acc, 0, false) }

// openWith declares the store with a lease, of a release with an index of ages or of the one before.
func openWith(acc aztablekit.Account, lease time.Duration, ages bool) *company {
	s := aztablekit.Open(acc, "company", &aztablekit.Options{CatalogueAge: lease})
	email := index.NewUnique("email", keys.Fold(keys.Text()), func(e *employee) (string, bool) { return e.Email, e.Email != "" }, nil)
	name := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.LastName, true }, nil)
	payroll := eventual.On("payroll", func(c *eventual.Change[employee]) (bool, bool) { return c.New != nil && c.New.FirstName == "Bad", true },
		func(_ context.Context, _ eventual.Job, bad bool) error {
			if bad {
				return eventual.Poison(nil)
			}
			return nil
		})
	raise := jobs.Rows("raise", nil, func(context.Context, *jobs.Slice[employee], []*table.Entity[employee], int) error { return nil })
	all := []aztablekit.Definition[employee]{email, name, payroll, raise}
	if ages {
		all = append(all, index.New("age", keys.Digits[int32](3), func(e *employee) (int32, bool) { return e.Age, true }, nil))
	}
	return &company{s, aztablekit.Table(s, "staff", dept, empid, all...), raise}
}

// shell is an account in memory with a store of some employees, and azt on it.
type shell struct {
	t       *testing.T
	service *storagetest.Service
	acc     *account.Account
	company *company
	program azt.Program
	width   int
}

func newShell(t *testing.T, n int) *shell { return newShellOf(t, n, 0) }

// newShellOf is newShell with a lease of the catalogues.
func newShellOf(t *testing.T, n int, lease time.Duration) *shell {
	t.Helper()
	s := &shell{t: t, service: storagetest.New(nil), width: 140}
	acc, err := account.FromTransport(s.service, nil)
	testkit.NoError(t, err)
	s.acc = acc
	s.company = openWith(s.acc, lease, false)
	testkit.NoError(t, s.company.Ensure(t.Context()))
	for i := range n {
		_, err := s.company.staff.Insert(t.Context(), &employee{Department: []string{"Sales", "Marketing"}[i%2], ID: i, FirstName: "Ann", LastName: fmt.Sprintf("Jones%d", i%3), Email: fmt.Sprintf("a%d@contoso.com", i), Age: int32(20 + i), Salary: 1 << 60})
		testkit.NoError(t, err)
	}
	s.program = azt.Program{Account: acc, Open: func(acc *account.Account) *aztablekit.Store { return open(acc).Store }}
	return s
}

// run runs azt, and returns what it prints and its exit code.
func (s *shell) run(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = s.program.Run(s.t.Context(), args, &o, &e)
	return o.String(), e.String(), code
}
