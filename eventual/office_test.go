package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

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
	o.out, err = eventual.NewOutbox(acc.Queue("notifications"), &eventual.OutboxOptions{Common: c})
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
	w, err := eventual.NewWorker(o.acc.Queue("notifications"), o.acc.Queue("poison"), append(more, o.handler()), &opt)
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

// put stores a message as somebody else might.
func put(o *office, text string) {
	_, err := o.acc.Queue("notifications").EnqueueMessage(context.Background(), text, nil)
	check(err)
}

func poisonOf(t *testing.T, o *office) (all []eventual.PoisonMessage) {
	t.Helper()
	q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
	check(err)
	for p, err := range q.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func workerOf(o *office, h eventual.Handler, opt eventual.WorkerOptions) *eventual.Worker {
	w, err := eventual.NewWorker(o.acc.Queue("notifications"), o.acc.Queue("poison"), []eventual.Handler{h}, &opt)
	check(err)
	return w
}

// rounds lets time pass until a worker has nothing left to do, for so long at most.
func rounds(w *eventual.Worker, s *storagetest.Service, most time.Duration) {
	for end := s.Now().Add(most); s.Now().Before(end); {
		check(w.Drain(context.Background()))
		left := s.Messages("notifications")
		if len(left) == 0 {
			return
		}
		first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(min(first.Visible.Sub(s.Now()), end.Sub(s.Now())))
	}
}

func when(is bool, errs ...error) error {
	if is {
		return errs[0]
	}
	if len(errs) > 1 {
		return errs[1]
	}
	return nil
}

// failing is a handler of letters that counts its calls and fails as it is told.
func failing(o *office, calls *atomic.Int64, how func(n int64) error) eventual.Handler {
	return eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return how(calls.Add(1)) }}
}

// slow is a handler of letters that takes a while, unless its context ends; it tells why.
func slow(o *office, d time.Duration, ended func(cause error)) eventual.Handler {
	return eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, _ eventual.Job) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			ended(context.Cause(ctx))
			return ctx.Err()
		}
	}}
}

// parcels gives an office's writes a second effect.
func parcels(o *office) {
	var err error
	o.staff, err = o.staff.With(nil, eventual.OnChange("parcel", func(*table.Change[clerk]) (letter, bool) { return letter{}, true }))
	check(err)
}

// running runs a worker until a condition holds, and returns how long that took.
func running(t *testing.T, w *eventual.Worker, most time.Duration, until func() bool) time.Duration {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	start := time.Now()
	go func() { defer close(ended); check(w.Run(ctx)) }()
	for synctest.Wait(); !until(); synctest.Wait() {
		if time.Since(start) > most {
			t.Errorf("not after %v: %+v", most, w.Stats())
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(start)
	stop()
	<-ended
	return took
}

// opAt is the operation ID of a write that was begun at a time.
func opAt(t time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := make([]byte, 10)
	ms := t.UnixMilli()
	for i := 9; i >= 0; i-- {
		b[i] = digits[ms&31]
		ms >>= 5
	}
	return string(b) + "ABCDEFGHJKMNPQRS"
}

// intentsOf are the states of the intents of staff, and the notes of clean-ups.
func intentsOf(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		switch {
		case strings.HasPrefix(r.RowKey, "~i|"):
			all = append(all, fmt.Sprint(r.Get("State")))
		case strings.HasPrefix(r.RowKey, "~g|"):
			all = append(all, "note")
		}
	}
	return lines(all)
}

// carried tells whether every write that was committed has had its letter, and no other has; and whether nothing is left to be done.
func carried(s *storagetest.Service) error {
	states, due := map[string]any{}, map[string]bool{}
	for _, r := range s.Rows("staff") {
		if name, is := strings.CutPrefix(r.RowKey, "~i|"); is {
			states[name] = r.Get("State")
			if _, due[name] = r.Get("Effects").(string); states[name] == "pending" {
				return fmt.Errorf("intent %s is live", name)
			}
		}
	}
	sent := map[string]bool{}
	for _, r := range s.Rows("sent") {
		sent[r.RowKey] = true
	}
	for name, is := range due {
		if is && !sent[name] {
			return fmt.Errorf("no letter was sent for %s", name)
		}
	}
	for _, q := range []string{"notifications", "poison"} {
		if left := s.Messages(q); len(left) > 0 {
			return fmt.Errorf("%d messages are left in %s: %v", len(left), q, left[0].Text)
		}
	}
	return nil
}

// lettersOnlyForCommitted: at every instant, a letter that was sent is for a write that was done.
func lettersOnlyForCommitted(s *storagetest.Service) error {
	committed := map[string]bool{}
	for _, r := range s.Rows("staff") {
		if name, is := strings.CutPrefix(r.RowKey, "~i|"); is && r.Get("State") != "aborted" {
			committed[name] = true
		}
	}
	for _, r := range s.Rows("sent") {
		if !committed[r.RowKey] {
			return fmt.Errorf("a letter was sent for %s, which was not done", r.RowKey)
		}
	}
	return nil
}
