package archive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// clerk is the entity of these tests.
type clerk struct {
	Dept string
	ID   int
	Last string
}

var (
	dept   = keys.Tuple1(keys.Text())
	cid    = keys.Tuple1(keys.Digits[int](6)).Named("c")
	schema = table.Schema[clerk]{
		Partition: keys.Bind1(dept, func(c *clerk) *string { return &c.Dept }),
		Row:       keys.Bind1(cid, func(c *clerk) *int { return &c.ID }),
	}
)

func at(id int) keys.Key { return keys.At(dept.Of("S"), cid.Of(id)) }

// house is what a program has: the tables, the mover, and the queues.
type house struct {
	acc     *account.Account
	current *table.Table[clerk]
	old     *archive.TableDestination
	out     *eventual.Outbox
	mover   *archive.Mover[clerk]
	opt     table.Common
	more    []eventual.Handler
}

// quick are options for tests: no pauses.
func quick() table.Common {
	var c table.Common
	c.Retry.Wait, c.Retry.ConflictWait = -1, -1
	return c
}

// open is the house with the maintainers that attach gives it, if any.
func open(connection string, tr policy.Transporter, c table.Common, attach func(*house)) *house {
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: tr}})
	check(err)
	h := &house{acc: acc, opt: c}
	h.current, err = table.New(acc.Tables(), "current", schema, &table.Options{Common: c})
	check(err)
	h.old, err = archive.ToTable(acc.Tables(), "old", &table.Options{Common: c})
	check(err)
	h.out, err = eventual.NewOutbox(acc.Queue("moves"), &eventual.OutboxOptions{Common: c})
	check(err)
	if attach != nil {
		attach(h)
	}
	h.mover, err = archive.New("current/old", h.current, h.old, h.out)
	check(err)
	return h
}

func (h *house) worker(opt eventual.WorkerOptions) *eventual.Worker {
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), append(h.more, h.mover.Handler()), &opt)
	check(err)
	return w
}

func (h *house) ensure(ctx context.Context) error {
	opt := h.options()
	opt.CleanUp = h.acc.Queue("cleanups")
	return errors.Join(h.current.Ensure(ctx), h.old.Ensure(ctx), h.worker(opt).Ensure(ctx))
}

func (h *house) options() eventual.WorkerOptions {
	return eventual.WorkerOptions{Common: h.opt, Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second}
}

// work is what a worker does until it sees nothing more.
func (h *house) work(ctx context.Context) error { return h.worker(h.options()).Drain(ctx) }

// opened is a house on a service of its own.
func opened(t *testing.T, attach func(*house)) (*house, *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	h := open(s.ConnectionString(), s, quick(), attach)
	check(h.ensure(context.Background()))
	s.Count()
	return h, s
}

func hire(h *house, s *storagetest.Service, id int) *table.Entity[clerk] {
	e, err := h.current.Insert(context.Background(), &clerk{"S", id, fmt.Sprint("Name", id)})
	check(err)
	s.Count()
	return e
}

// places are the entities of both tables, by their keys: "c_000001=Name1".
func places(s *storagetest.Service) (current, old []string) {
	for _, r := range s.Rows("current") {
		if r.RowKey[0] != '~' {
			current = append(current, fmt.Sprint(r.RowKey, "=", r.Get("Last")))
		}
	}
	for _, r := range s.Rows("old") {
		if r.RowKey[0] != '~' && r.Get("Last") != nil {
			old = append(old, fmt.Sprint(r.RowKey[:8], "=", r.Get("Last")))
		}
	}
	return current, old
}

func expect[X any](t *testing.T, what string, got, want X) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}
