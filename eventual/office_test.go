package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// clerk is the entity of the tests.
type clerk struct {
	Dept string
	ID   int
	Last string
}

var (
	dept   = keys.Partition(keys.Text(), func(c *clerk) *string { return &c.Dept })
	cid    = keys.Row(keys.Digits[int](6).Named("c"), func(c *clerk) *int { return &c.ID })
	schema = table.Schema[clerk]{Partition: dept, Row: cid}
)

func at(d string, id int) keys.Key { return keys.At(dept.Of(d), cid.Of(id)) }

func rawKey(partition string) keys.Key { return keys.Raw(partition, "r") }

// letter is the payload of the effects: each clerk with a new last name gets a letter, which is stored in another table under the
// operation ID of the write. So a letter that is sent twice is stored once.
type letter struct {
	ID   int
	Last string
}

// lettersOnNewName adds an effect of kind letter to each write of a new last name.
func lettersOnNewName() extend.Maintainer[clerk] {
	return bare.OnChange("letter", func(c *extend.Change[clerk]) (letter, bool) {
		if c.New == nil || c.Old != nil && c.Old.Last == c.New.Last {
			return letter{}, false
		}
		return letter{c.New.ID, c.New.Last}, true
	})
}

// office is the handles of one process: the table of clerks, without and with effects, the table of sent letters, and the outbox.
type office struct {
	acc   *account.Account
	base  *table.Table[clerk]
	staff *table.Table[clerk]
	sent  *table.Table[table.Row]
	out   bareworker.Outbox
}

// noPauses returns options without pauses between attempts.
func noPauses() (c table.Common) {
	c.Retry.Wait, c.Retry.ConflictWait = -1, -1
	return c
}

// fastPolling are options for workers that ask an empty queue often.
func fastPolling() eventual.WorkerOptions {
	return eventual.WorkerOptions{Common: noPauses(), Idle: 16 * time.Millisecond}
}

// openOffice returns the handles of a process with its own transport.
func openOffice(connection string, tr policy.Transporter, c table.Common) (*office, error) {
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: tr}})
	if err != nil {
		return nil, err
	}
	o := &office{acc: acc}
	var errs [3]error
	o.base, errs[0] = bare.NewTable(acc.Tables(), "staff", schema, &table.Options{Common: c, BlindWrites: true})
	o.sent, errs[1] = bare.NewTable(acc.Tables(), "sent", table.Schema[table.Row]{}, &table.Options{Common: c, BlindWrites: true})
	o.out, errs[2] = bareworker.NewOutbox(acc.Queues().NewQueueClient("notifications"), &c)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	o.staff, err = baretest.WithOutbox(o.base, o.out, lettersOnNewName())
	return o, err
}

// newOffice returns an office on its own service.
func newOffice(t testing.TB, c table.Common) (*office, *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	return officeOn(t, s, s, c), s
}

// officeOn returns an office on a service, with its own transport.
func officeOn(t testing.TB, s *storagetest.Service, tr policy.Transporter, c table.Common) *office {
	t.Helper()
	o, err := openOffice(s.ConnectionString(), tr, c)
	noError(t, err)
	if len(s.TableNames()) == 0 {
		noError(t, o.ensure(context.Background()))
		s.Count()
	}
	return o
}

// ensure creates the tables and queues.
func (o *office) ensure(ctx context.Context) error {
	w, err := o.newWorker(eventual.WorkerOptions{}, o.handler())
	if err != nil {
		return err
	}
	return errors.Join(tabledoor.Ensure(ctx, o.base), tabledoor.Ensure(ctx, o.sent), w.Ensure(ctx))
}

// send is the handler of letters.
func (o *office) send(ctx context.Context, j eventual.Job, l letter) error {
	r := &table.Row{Key: keys.At(keys.RawPartition(fmt.Sprint(l.ID)), keys.RawRow(j.OperationID))}
	if err := r.Set("Last", l.Last); err != nil {
		return err
	}
	_, err := o.sent.Upsert(ctx, r, table.ReplaceExisting)
	return err
}

func (o *office) handler() host.Handler { return bare.NewHandler("letter", o.base, o.send) }

func (o *office) newWorker(opt eventual.WorkerOptions, handlers ...host.Handler) (bareworker.Worker, error) {
	return bareworker.New(o.acc.Queues().NewQueueClient("notifications"), o.acc.Queues().NewQueueClient("poison"), handlers, &opt)
}

// worker returns a worker with the given handlers, or with the handler of letters if there are none.
func (o *office) worker(t testing.TB, opt eventual.WorkerOptions, handlers ...host.Handler) bareworker.Worker {
	t.Helper()
	if len(handlers) == 0 {
		handlers = []host.Handler{o.handler()}
	}
	w, err := o.newWorker(opt, handlers...)
	noError(t, err)
	return w
}

// poisonQueue returns the poison messages.
func (o *office) poisonQueue(t testing.TB) *eventual.PoisonQueue {
	t.Helper()
	q, err := bareworker.NewPoisonQueue(o.acc.Queues().NewQueueClient("notifications"), o.acc.Queues().NewQueueClient("poison"), nil)
	noError(t, err)
	return q
}

// insert inserts clerks, whose last names are new.
func (o *office) insert(t testing.TB, clerks ...clerk) {
	t.Helper()
	for _, c := range clerks {
		_, err := o.staff.Insert(context.Background(), &c)
		noError(t, err)
	}
}

// hire inserts the clerks with the IDs from from to to-1, spread over a number of partitions.
func (o *office) hire(t testing.TB, from, to, partitions int) {
	t.Helper()
	for i := from; i < to; i++ {
		o.insert(t, clerk{fmt.Sprint("S", i%partitions), i, "Jones"})
	}
}

// addParcels adds a second effect, of kind parcel, to each write.
func (o *office) addParcels(t testing.TB) {
	t.Helper()
	var err error
	o.staff, err = bare.With(o.staff, bare.OnChange("parcel", func(*extend.Change[clerk]) (letter, bool) { return letter{}, true }))
	noError(t, err)
}

// put stores a message as another program may.
func (o *office) put(t testing.TB, queue, text string) {
	t.Helper()
	_, err := o.acc.Queues().NewQueueClient(queue).EnqueueMessage(context.Background(), text, nil)
	noError(t, err)
}

// clear deletes all messages of a queue.
func (o *office) clear(t testing.TB, queue string) {
	t.Helper()
	_, err := o.acc.Queues().NewQueueClient(queue).ClearMessages(context.Background(), nil)
	noError(t, err)
}

// poison returns the messages of the poison queue.
func (o *office) poison(t testing.TB) (all []eventual.PoisonMessage) {
	t.Helper()
	for p, err := range o.poisonQueue(t).List(context.Background()) {
		noError(t, err)
		all = append(all, p)
	}
	return all
}

// handle returns a handler of letters.
func (o *office) handle(f func(context.Context, eventual.Job) error) host.Handler {
	return host.Handler{Kind: "letter", Table: o.base, Handle: f}
}

// expectPoison reports poison messages whose classes differ from the wanted classes.
func (o *office) expectPoison(t testing.TB, classes ...string) []eventual.PoisonMessage {
	t.Helper()
	all := o.poison(t)
	got := []string{}
	for _, p := range all {
		got = append(got, p.Class)
	}
	slices.Sort(got)
	if slices.Sort(classes); !slices.Equal(got, classes) {
		t.Fatalf("classes of poison: got %q, want %q: %+v", got, classes, all)
	}
	return all
}

// hireInto inserts n clerks into one partition.
func (o *office) hireInto(t testing.TB, partition string, n int) {
	t.Helper()
	for i := range n {
		o.insert(t, clerk{partition, i, "Jones"})
	}
}
