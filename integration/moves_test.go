package integration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// badge is the payload of the effects of this suite.
type badge struct {
	ID   int
	Name string
}

// effects: a write that has effects is announced and carried out by a worker; what cannot be is given up, and can be replayed; messages
// of others are told from those of the library.
func effects(e *env) {
	ctx := context.Background()
	plain := open(e, staffSchema, nil)
	hints, poison := e.acc.Queue(plain.Name()+"h"), e.acc.Queue(plain.Name()+"p")
	out, err := eventual.NewOutbox(hints, nil)
	e.must(err)
	staff, err := plain.With(out, eventual.OnChange("badge", func(c *table.Change[employee]) (badge, bool) {
		if c.New == nil {
			return badge{}, false
		}
		return badge{c.New.ID, c.New.Last}, c.Old == nil || c.Old.Last != c.New.Last
	}))
	e.must(err)
	var printed []string
	worker := func(handle func(badge) error) *eventual.Worker {
		w, err := eventual.NewWorker(hints, poison, []eventual.Handler{eventual.NewHandler("badge", plain, func(_ context.Context, _ eventual.Job, b badge) error { return handle(b) })},
			&eventual.WorkerOptions{Concurrency: 1, CleanUp: e.acc.Queue(plain.Name() + "g")})
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
		e.must(plain.Ensure(ctx))
		e.counter.Take()
		k := keys.Stored(d, "empid_000223")
		if d == "Sales" {
			_, err := staff.Insert(ctx, &who)
			e.must(err)
			e.did("1 message-put, 1 message-update, 1 transaction")
		} else {
			// A key that others have made.
			_, err := e.acc.Tables().NewClient(plain.Name()).AddEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"empid_000223","LastName":"x"}`, d)), nil)
			e.must(err)
			raw, err := table.New(e.acc.Tables(), plain.Name(), table.Schema[table.Row]{}, nil)
			e.must(err)
			raw, err = raw.With(out, eventual.OnChange("badge", func(*table.Change[table.Row]) (badge, bool) { return badge{223, "Jones"}, true }))
			e.must(err)
			x, err := raw.Get(ctx, k)
			e.must(err)
			e.must(raw.Touch(ctx, x))
		}
		e.must(prints.Drain(ctx))
		if lines(printed) != "223Jones" {
			e.Errorf("%q", printed)
		}
		e.counter.Take()
	}
	_, err = staff.Insert(ctx, &jones)
	if !errors.Is(err, table.ErrExists) {
		e.Error(err)
	}
	n, err := prints.Backlog(ctx)
	e.must(err)
	if n != 0 {
		e.Error("what was refused is not withdrawn")
	}

	// Given up, and replayed; junk and base64.
	_, err = staff.Update(ctx, at("Sales", 223), func(w *employee) error { w.Last = "Brown"; return nil })
	e.must(err)
	peeked, err := hints.PeekMessage(ctx, nil)
	e.must(err)
	text := *peeked.Messages[0].MessageText
	never := worker(func(badge) error { return eventual.Poison(errors.New("no ink")) })
	e.must(never.Drain(ctx))
	for _, s := range []string{"junk", `{"order":17}`, base64.StdEncoding.EncodeToString([]byte(text))} {
		_, err := hints.EnqueueMessage(ctx, s, nil)
		e.must(err)
	}
	printed = nil
	e.must(prints.Drain(ctx))
	if lines(printed) != "223Brown" { // by the one in base64
		e.Errorf("%q", printed)
	}
	q, err := eventual.NewPoisonQueue(poison, nil)
	e.must(err)
	classes := map[string]int{}
	for p, err := range q.List(ctx) {
		e.must(err)
		classes[p.Class]++
	}
	if classes[eventual.ClassHandler] != 1 || classes[eventual.ClassUndecodable] != 2 {
		e.Error(classes)
	}
	if n, err := q.Drop(ctx, func(p eventual.PoisonMessage) bool { return p.OperationID == "" }); n != 2 || err != nil {
		e.Error(n, err)
	}
	if n, err := q.Replay(ctx, hints, func(eventual.PoisonMessage) bool { return true }); n != 1 || err != nil {
		e.Error(n, err)
	}
	printed = nil
	e.must(prints.Drain(ctx))
	if len(printed) != 0 { // it was done meanwhile
		e.Errorf("%q", printed)
	}
	if n, err := prints.Backlog(ctx); n != 0 || err != nil {
		e.Error(n, err)
	}
}

// moves: entities go to another table with what is derived from them, and come back.
func moves(e *env) {
	ctx := context.Background()
	sales := dept.Of("Sales")
	byMail := index.New("mail", keys.Tuple1(keys.Fold(keys.Text())), func(w *employee) (string, bool) { return w.Email, w.Email != "" },
		&index.Options[employee]{Unique: index.InPartition})
	names := index.NewLists("name", keys.Tuple1(keys.Text()), func(w *employee) (string, bool) { return w.Last, true }, nil)
	plain := open(e, staffSchema, nil)
	staff, err := index.Attach(plain, nil, byMail, names)
	e.must(err)
	old, err := archive.ToTable(e.acc.Tables(), e.fresh(), nil)
	e.must(err)
	hints, poison := e.acc.Queue(plain.Name()+"h"), e.acc.Queue(plain.Name()+"p")
	out, err := eventual.NewOutbox(hints, nil)
	e.must(err)
	mover, err := archive.New("staff/old", staff, old, out)
	e.must(err)
	w, err := eventual.NewWorker(hints, poison, []eventual.Handler{mover.Handler()}, &eventual.WorkerOptions{Concurrency: 1})
	e.must(err)
	e.must(errors.Join(old.Ensure(ctx), w.Ensure(ctx)))
	x, err := staff.Insert(ctx, &jones)
	e.must(err)
	e.counter.Take()
	e.must(mover.Archive(ctx, x))
	e.did("1 message-put, 1 message-update, 1 transaction")
	e.must(w.Drain(ctx))
	e.did("4 get, 1 message-delete, 2 message-get, 2 transaction") // a list is loaded besides
	if _, err := byMail.Get(ctx, staff, sales, jones.Email); !errors.Is(err, table.ErrNotFound) {
		e.Error("its index row is left:", err)
	}
	for x, err := range names.List(ctx, staff, sales, jones.Last) {
		e.Error("its list has it:", x, err)
	}
	e.counter.Take()
	found, archived, err := mover.Find(ctx, at("Sales", 223))
	if e.must(err); !archived || found.Value != jones {
		e.Error(found, archived)
	}
	e.did("1 get, 1 query")
	// Meanwhile another has her address.
	other := jones
	other.ID, other.Email = 224, "JonesJ@contoso.com"
	y, err := staff.Insert(ctx, &other)
	e.must(err)
	if _, err := mover.Restore(ctx, at("Sales", 223)); !errors.Is(err, index.ErrTaken) {
		e.Error(err)
	}
	e.must(staff.Delete(ctx, y))
	back, err := mover.Restore(ctx, at("Sales", 223))
	if e.must(err); back.Value != jones {
		e.Error(back)
	}
	e.must(w.Drain(ctx))
	if x, err := byMail.Get(ctx, staff, sales, jones.Email); err != nil || x.Value != jones {
		e.Error(x, err)
	}
	e.must(mover.Archive(ctx, back)) // and again, as another life
	e.must(w.Drain(ctx))
	n := 0
	for x, err := range mover.Archived(ctx, sales) {
		if e.must(err); x.Value != jones {
			e.Error(x)
		}
		n++
	}
	if n != 1 {
		e.Errorf("%d are archived", n)
	}
	if n, err := w.Backlog(ctx); n != 0 || err != nil {
		e.Error(n, err)
	}
}
