package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
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

func at(d string, id int) keys.Key { return keys.At(dept.Of(d), cid.Of(id)) }

// letter is the payload of the effects: a letter to everybody whose last name is new, in another table, under its write's name, so
// that one that is sent again is no second one.
type letter struct {
	ID   int
	Last string
}

func letters() table.Maintainer[clerk] {
	return eventual.OnChange("letter", func(c *table.Change[clerk]) (letter, bool) {
		if c.New == nil || c.Old != nil && c.Old.Last == c.New.Last {
			return letter{}, false
		}
		return letter{c.New.ID, c.New.Last}, true
	})
}

// office is what a program has: a table whose writes have letters, the table of sent letters, and queues.
type office struct {
	acc   *account.Account
	plain *table.Table[clerk]
	staff *table.Table[clerk]
	sent  *table.Table[table.Row]
	out   *eventual.Outbox
}

// quick are options for tests: no pauses.
func quick() table.Common {
	var c table.Common
	c.Retry.Wait, c.Retry.ConflictWait = -1, -1
	return c
}

func openOffice(connection string, tr policy.Transporter, c table.Common) *office {
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: tr}})
	check(err)
	o := &office{acc: acc}
	o.plain, err = table.New(acc.Tables(), "staff", schema, &table.Options{Common: c, BlindWrites: true})
	check(err)
	o.sent, err = table.New(acc.Tables(), "sent", table.Schema[table.Row]{}, &table.Options{Common: c, BlindWrites: true})
	check(err)
	o.out, err = eventual.NewOutbox(acc.Queue("hints"), &eventual.OutboxOptions{Common: c})
	check(err)
	o.staff, err = o.plain.With(o.out, letters())
	check(err)
	return o
}

// send is the handler of letters.
func (o *office) send(ctx context.Context, j eventual.Job, l letter) error {
	r := &table.Row{Key: keys.At(keys.Raw(fmt.Sprint(l.ID)), keys.Raw(j.OperationID))}
	check(r.Set("Last", l.Last))
	_, err := o.sent.Upsert(ctx, r, table.ReplaceExisting)
	return err
}

func (o *office) handler() eventual.Handler { return eventual.NewHandler("letter", o.plain, o.send) }

func (o *office) worker(opt eventual.WorkerOptions, more ...eventual.Handler) *eventual.Worker {
	w, err := eventual.NewWorker(o.acc.Queue("hints"), o.acc.Queue("poison"), append(more, o.handler()), &opt)
	check(err)
	return w
}

func (o *office) ensure(ctx context.Context) error {
	return errors.Join(o.plain.Ensure(ctx), o.sent.Ensure(ctx), o.worker(eventual.WorkerOptions{CleanUp: o.acc.Queue("cleanups")}).Ensure(ctx))
}

// opened is an office on a service of its own.
func opened(t *testing.T, c table.Common) (*office, *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	o := openOffice(s.ConnectionString(), s, c)
	check(o.ensure(context.Background()))
	s.Count()
	return o, s
}

// hire inserts the clerks with the IDs from from to to-1, who are spread over so many partitions.
func (o *office) hire(ctx context.Context, from, to, partitions int) {
	for i := from; i < to; i++ {
		_, err := o.staff.Insert(ctx, &clerk{fmt.Sprint("S", i%partitions), i, "Jones"})
		check(err)
	}
}

func options() eventual.WorkerOptions {
	return eventual.WorkerOptions{Common: quick(), Idle: 16 * time.Millisecond}
}

func rawKey(partition string) keys.Key { return keys.Stored(partition, "r") }

// lines joins words.
func lines(words []string) string { slices.Sort(words); return strings.Join(words, " ") }
