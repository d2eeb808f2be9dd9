package integration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// badge is the payload of the effects of this suite.
type badge struct {
	ID   int
	Name string
}

// effects: a worker executes the effects of writes. Messages that it cannot execute become poison, and can be replayed. Foreign
// messages become poison, too.
func effects(e *env) {
	ctx := context.Background()
	base := newTable(e, staffSchema, nil)
	notifications, poison := e.acc.Queues().NewQueueClient(base.Name()+"h"), e.acc.Queues().NewQueueClient(base.Name()+"p")
	out, err := bareworker.NewOutbox(notifications, nil)
	e.must(err)
	staff, err := baretest.WithOutbox(base, out, bare.OnChange("badge", func(c *extend.Change[employee]) (badge, bool) {
		if c.New == nil {
			return badge{}, false
		}
		return badge{c.New.ID, c.New.Last}, c.Old == nil || c.Old.Last != c.New.Last
	}))
	e.must(err)
	var printed []string
	worker := func(handle func(badge) error) bareworker.Worker {
		w, err := bareworker.New(notifications, poison, []host.Handler{bare.NewHandler("badge", base, func(_ context.Context, _ eventual.Job, b badge) error { return handle(b) })},
			&eventual.WorkerOptions{Concurrency: 1})
		e.must(err)
		return w
	}
	prints := worker(func(b badge) error { printed = append(printed, fmt.Sprint(b.ID, b.Name)); return nil })
	e.must(prints.Ensure(ctx))
	e.counter.Take()
	for _, d := range []string{"Sales", "Größe & <more> 'quoted'"} {
		printed = nil
		who := jones
		who.Department = d
		e.must(tabledoor.Ensure(ctx, base))
		e.counter.Take()
		k := keys.Raw(d, "empid_000223")
		if d == "Sales" {
			_, err := staff.Insert(ctx, &who)
			e.must(err)
			e.wantRequests("1 message-put, 1 message-update, 1 transaction")
		} else {
			// The row has a key of another program.
			_, err := e.acc.Tables().NewClient(base.Name()).AddEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"empid_000223","LastName":"x"}`, d)), nil)
			e.must(err)
			raw, err := bare.NewTable(e.tables, base.Name(), table.Schema[table.Row]{}, nil)
			e.must(err)
			raw, err = baretest.WithOutbox(raw, out, bare.OnChange("badge", func(*extend.Change[table.Row]) (badge, bool) { return badge{223, "Jones"}, true }))
			e.must(err)
			x, err := raw.Get(ctx, k)
			e.must(err)
			e.must(baretest.Touch(ctx, raw, x))
		}
		e.must(prints.Drain(ctx))
		if joined(printed) != "223Jones" {
			e.Errorf("executed effects: got %q; want 223Jones", printed)
		}
		e.counter.Take()
	}
	_, err = staff.Insert(ctx, &jones)
	if !errors.Is(err, table.ErrExists) {
		e.Errorf("Insert of an existing entity: got error %v; want ErrExists", err)
	}
	n, err := prints.Backlog(ctx)
	e.must(err)
	if n != 0 {
		e.Errorf("messages after a refused Insert: got %d; want none", n)
	}

	// A handler refuses an effect, and the queue contains junk and a message in base64.
	_, err = staff.Update(ctx, at("Sales", 223), func(w *employee) error { w.Last = "Brown"; return nil })
	e.must(err)
	peeked, err := notifications.PeekMessage(ctx, nil)
	e.must(err)
	text := *peeked.Messages[0].MessageText
	never := worker(func(badge) error { return eventual.Poison(errors.New("no ink")) })
	if err := never.Drain(ctx); err == nil || !strings.Contains(err.Error(), "no ink") {
		e.Errorf("Drain with a handler that fails: got error %v; want that of the handler", err)
	}
	for _, s := range []string{"junk", `{"order":17}`, base64.StdEncoding.EncodeToString([]byte(text))} {
		_, err := notifications.EnqueueMessage(ctx, s, nil)
		e.must(err)
	}
	printed = nil
	e.must(prints.Drain(ctx))
	if joined(printed) != "223Brown" { // by the message in base64
		e.Errorf("executed effects: got %q; want 223Brown", printed)
	}
	q, err := bareworker.NewPoisonQueue(notifications, poison, nil)
	e.must(err)
	classes := map[string]int{}
	for p, err := range q.List(ctx) {
		e.must(err)
		classes[p.Class]++
	}
	if classes["handler"] != 1 || classes["undecodable"] != 2 {
		e.Errorf("classes of poison messages: got %v; want 1 %s and 2 %s", classes, "handler", "undecodable")
	}
	if n, err := q.Drop(ctx, func(p eventual.PoisonMessage) bool { return p.OperationID == "" }); n != 2 || err != nil {
		e.Errorf("Drop: got %d, error %v; want 2", n, err)
	}
	if n, err := q.Replay(ctx, func(eventual.PoisonMessage) bool { return true }); n != 1 || err != nil {
		e.Errorf("Replay: got %d, error %v; want 1", n, err)
	}
	printed = nil
	e.must(prints.Drain(ctx))
	if len(printed) != 0 { // the message in base64 has completed the effect
		e.Errorf("effects executed after Replay: got %q; want none, since the effect is complete", printed)
	}
	if n, err := prints.Backlog(ctx); n != 0 || err != nil {
		e.Errorf("Backlog: got %d, error %v; want 0", n, err)
	}
}
