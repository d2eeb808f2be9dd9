package materialized_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// employee is an entity: departments are partitions.
type employee struct {
	Department string
	ID         int
	Last       string
	Salary     int64
	Notes      string
}

// member is what an employee contributes to the company.
type member struct {
	ID         int
	Department string
	Salary     int64
}

var (
	dept        = keys.Text()
	empid       = keys.Digits[int](6).Named("empid")
	memberID    = keys.Row(keys.Digits[int](6).Named("member"), func(m *member) *int { return &m.ID })
	perDept     = keys.Text().Named("sum")
	staffSchema = table.Schema[employee]{
		Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *employee) *int { return &e.ID }),
	}
	companySchema = table.Schema[member]{
		Partition: keys.OnePartition[member]("company"),
		Row:       memberID,
	}
	companyPartition = keys.RawPartition("company")
	salary           = table.FieldOf(func(e *employee) *int64 { return &e.Salary })
)

// memberOf is the view of all employees with a salary.
func memberOf(e *employee, k keys.Key) (member, bool) {
	return member{e.ID, e.Department, e.Salary}, e.Salary > 0
}

// setting is how a program attaches the view.
type setting struct {
	summary bool                                     // of the view, by department
	derive  func(*employee, keys.Key) (member, bool) // defaults to memberOf
}

// program is what a program has: employees with a view.
type program struct {
	account *account.Account
	base    *table.Table[employee]
	staff   *table.Table[employee]
	company *table.Table[member]
	heads   *index.Summary[member, string] // nil without a summary
	view    *materialized.View[employee, member]
	outbox  bareworker.Outbox
	options table.Options
	drainer bareworker.Worker
}

func open(connection string, transport policy.Transporter, o table.Options, is setting) (p *program, err error) {
	p = &program{options: o}
	if is.derive == nil {
		is.derive = memberOf
	}
	if p.account, err = account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: transport}}); err != nil {
		return nil, err
	}
	if p.base, err = bare.NewTable(p.account.Tables(), "staff", staffSchema, &o); err != nil {
		return nil, err
	}
	if p.company, err = bare.NewTable(p.account.Tables(), "company", companySchema, &o); err != nil {
		return nil, err
	}
	if is.summary {
		p.heads = index.NewSummary("heads", perDept, func(m *member) (string, bool) { return m.Department, true },
			nil, index.Measure[member]{Name: "Salary", Of: func(m *member) (int64, bool) { return m.Salary, true }, ExactUpTo: -1})
		if p.company, err = baretest.Attach(p.company, p.heads); err != nil {
			return nil, err
		}
	}
	if p.outbox, err = bareworker.NewOutbox(p.account.Queues().NewQueueClient("effects"), &o.Common); err != nil {
		return nil, err
	}
	p.view = materialized.New("company", p.company, is.derive)
	if p.staff, err = baretest.WithOutbox(p.base, p.outbox); err != nil {
		return nil, err
	}
	p.staff, err = baretest.Attach(p.staff, p.view)
	return p, err
}

// worker returns a worker that takes one message at a time.
func (p *program) worker() (bareworker.Worker, error) {
	return bareworker.New(p.account.Queues().NewQueueClient("effects"), p.account.Queues().NewQueueClient("poison"), baretest.Handlers(p.staff),
		&eventual.WorkerOptions{Common: p.options.Common, Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second})
}

func (p *program) ensure(ctx context.Context) error {
	w, err := p.worker()
	if err != nil {
		return err
	}
	return errors.Join(tabledoor.Ensure(ctx, p.base), tabledoor.Ensure(ctx, p.company), w.Ensure(ctx))
}

// scene is a program on a service of its own.
type scene struct {
	*storagetest.Service
	*program
	summary bool
}

func newScene(t testing.TB, is setting) *scene {
	t.Helper()
	s := &scene{Service: storagetest.New(nil), summary: is.summary}
	s.program = s.open(t, is)
	testkit.NoError(t, s.ensure(context.Background()))
	s.Count()
	return s
}

// open returns another program on the service.
func (s *scene) open(t testing.TB, is setting) *program {
	t.Helper()
	var o table.Options
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	options.SetNow(&o.Common, s.Now)
	p, err := open(s.ConnectionString(), s.Service, o, is)
	testkit.NoError(t, err)
	return p
}

// drain executes all messages.
func (p *program) drain(t testing.TB) {
	t.Helper()
	if p.drainer == nil {
		var err error
		p.drainer, err = p.worker()
		testkit.NoError(t, err)
	}
	testkit.NoError(t, p.drainer.Drain(context.Background()))
}

// failsToDrain runs a worker whose handler fails.
func (p *program) failsToDrain(t testing.TB) {
	t.Helper()
	if p.drainer == nil {
		var err error
		p.drainer, err = p.worker()
		testkit.NoError(t, err)
	}
	testkit.Failed(t, p.drainer.Drain(context.Background()))
}

// clean deletes what is old.
func (p *program) clean(t testing.TB) {
	t.Helper()
	w, err := p.worker()
	testkit.NoError(t, err)
	testkit.NoError(t, workertest.CleanAll(context.Background(), w, p.staff))
}

// members returns the stored view as text, with the tombstones.
func (s *scene) members() string {
	var all []string
	for _, r := range s.Rows("company") {
		switch {
		case strings.HasPrefix(r.RowKey, "member_"):
			all = append(all, fmt.Sprintf("%s:%v:%v", number(r.RowKey), r.Get("Department"), r.Get("Salary")))
		case r.Get("Gone") == true:
			all = append(all, "gone:"+number(r.RowKey))
		}
	}
	return strings.Join(all, " ")
}

// number returns the number of an employee in a RowKey.
func number(rowKey string) string {
	return strings.TrimLeft(rowKey[strings.LastIndex(rowKey, "_")+1:], "0")
}

func (s *scene) expectConsistent(t testing.TB) {
	t.Helper()
	if err := errors.Join(consistent(s.Service), always(s.Service)); err != nil {
		t.Error(err)
	}
}

// consistent returns an error if the view does not follow from the entities.
func consistent(s *storagetest.Service) error {
	want, got := map[string]string{}, map[string]string{}
	for _, r := range s.Rows("staff") {
		if salary, _ := r.Get("Salary").(int64); strings.HasPrefix(r.RowKey, "empid_") && salary > 0 {
			want[number(r.RowKey)] = fmt.Sprint(r.PartitionKey, " ", salary)
		}
	}
	for _, r := range s.Rows("company") {
		if strings.HasPrefix(r.RowKey, "member_") {
			got[number(r.RowKey)] = fmt.Sprint(r.Get("Department"), " ", r.Get("Salary"))
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("view: got %v, want %v", got, want)
	}
	return nil
}

// always returns an error if the notes and the summary, if there is one, do not follow from the derived entities: they do at every
// instant.
func always(s *storagetest.Service) error {
	derived, noted, sums, want := map[string]bool{}, map[string]bool{}, map[string]string{}, map[string]string{}
	count, sum := map[string]int{}, map[string]int64{}
	for _, r := range s.Rows("company") {
		switch {
		case strings.HasPrefix(r.RowKey, "member_"):
			d, _ := r.Get("Department").(string)
			n, _ := r.Get("Salary").(int64)
			derived[number(r.RowKey)] = true
			count[d]++
			sum[d] += n
			want[d] = fmt.Sprint(count[d], " ", sum[d])
		case strings.HasPrefix(r.RowKey, "sum_"):
			sums[strings.TrimPrefix(r.RowKey, "sum_")] = fmt.Sprint(r.Get("Count"), " ", r.Get("SalarySum"))
		case r.Get("Gone") != true:
			noted[number(r.RowKey)] = true
		}
	}
	switch {
	case !maps.Equal(derived, noted):
		return fmt.Errorf("notes: got %v, want %v", noted, derived)
	case len(sums) > 0 && !maps.Equal(sums, want):
		return fmt.Errorf("summary: got %v, want %v", sums, want)
	}
	return nil
}

func (s *scene) insert(t testing.TB, department string, id int, salary int64) *table.Entity[employee] {
	t.Helper()
	e, err := s.staff.Insert(context.Background(), &employee{Department: department, ID: id, Salary: salary})
	testkit.NoError(t, err)
	return e
}

// faults returns the faults of a report as text.
func faults(r table.Progress) string {
	var all []string
	for _, k := range []string{verify.Missing, verify.Dangling, verify.Stale, verify.StateMismatch, verify.DuplicateValue, verify.Unreadable} {
		if n := r.Counts[k]; n > 0 {
			all = append(all, fmt.Sprintf("%d %v", n, k))
		}
	}
	return strings.Join(all, ", ")
}
