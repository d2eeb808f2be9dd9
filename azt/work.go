package azt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/table"
)

// poison lists, replays or drops the poison messages of a store: all, or those of the writes whose
// operation IDs are given.
func poison(ctx context.Context, c *call) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	what, store, ids := c.args[0], c.args[1], c.args[2:]
	messages := acc.Queues().NewQueueClient(store + "-poison")
	q, err := bareworker.NewPoisonQueue(acc.Queues().NewQueueClient(store+"-writes"), messages, nil)
	if err != nil {
		return usage("%v", err)
	}
	p := poisoned{c, q, store, ids}
	switch what {
	case "list":
		return p.list(ctx)
	case "replay":
		return p.replay(ctx)
	case "drop":
		return p.drop(ctx)
	}
	return usage("poison %s: want list, replay or drop", shown(what))
}

// poisoned is the poison queue of a store, for a call.
type poisoned struct {
	*call
	queue *eventual.PoisonQueue
	store string
	ids   []string // of the writes whose messages are meant; none for all
}

func (p *poisoned) isChosen(m eventual.PoisonMessage) bool {
	return len(p.ids) == 0 || slices.Contains(p.ids, m.OperationID)
}

func (p *poisoned) list(ctx context.Context) error {
	columns := []string{"poisoned", "table", "PartitionKey", "write", "kind", "class", "attempts"}
	if p.out.json {
		columns = append(columns, "text")
	}
	p.out.columns(columns...)
	n := 0
	for m, err := range p.queue.List(ctx) {
		if err != nil {
			return err
		}
		if !p.isChosen(m) {
			continue
		}
		n++
		cells := []any{m.Time, key(m.Table), key(m.Partition), m.OperationID, m.Kind, m.Class, m.Attempts}
		switch {
		case p.out.json:
			cells = append(cells, m.Text)
		case m.OperationID == "":
			cells[1], cells[2] = "(no message of the library)", fmt.Sprintf("%.40q", m.Text)
		}
		p.out.add(cells...)
	}
	p.out.say("%s in %s-poison", counted(n, "message"), p.store)
	return nil
}

func (p *poisoned) replay(ctx context.Context) error {
	if err := p.willWrite("give the messages to the workers again"); err != nil {
		return err
	}
	n, err := p.queue.Replay(ctx, p.isChosen)
	p.out.columns("replayed")
	p.outcome(n, "%s replayed from %s-poison to %s-writes", counted(n, "message"), p.store, p.store)
	return err
}

func (p *poisoned) drop(ctx context.Context) error {
	if len(p.ids) == 0 && !p.flags.all {
		return usage("poison drop needs the operation IDs of the writes, as poison list shows them, or --all")
	}
	if err := p.willWrite("delete the messages"); err != nil {
		return err
	}
	dropped := map[string]bool{}
	n, err := p.queue.Drop(ctx, func(m eventual.PoisonMessage) bool {
		dropped[m.OperationID] = true
		return p.isChosen(m)
	})
	for _, id := range p.ids {
		if !dropped[id] {
			p.notes.line("no message is of the write %s", shown(id))
		}
	}
	p.out.columns("dropped")
	p.outcome(n, "%s dropped from %s-poison", counted(n, "message"), p.store)
	if n > 0 {
		p.notes.line("The effects of these writes are still due: "+
			"azt pending TABLE --notify %s --grace -1s --write gives them to the workers again; "+
			"the work of a day does so 7 days after the message became poison.", p.store)
	}
	return err
}

// dueState says whether the effects of a record are due, wait for a time, or are left alone.
func dueState(r *commit.Record) string {
	w, now := commit.WaitOf(r), commit.NowBy(r, time.Now())
	switch {
	case w.NotBefore.After(now):
		return "due " + w.NotBefore.UTC().Format(time.DateTime)
	case w.NotBefore.IsZero() && w.Until.After(now):
		return "waits " + w.Until.UTC().Format(time.DateTime)
	}
	return "effects are due"
}

// outcome prints a number: as JSON, or as a sentence.
func (c *call) outcome(n int, format string, args ...any) {
	if c.out.json {
		c.out.add(n)
		return
	}
	c.out.say(format, args...)
}

// pending lists the writes of a table whose effects are not executed, and the rows of writes over
// several partitions that are not finished.
func pending(ctx context.Context, c *call) error {
	c.flags.scan = true
	if c.flags.store != "" {
		if c.flags.explain {
			return usage("--explain is for a list; --notify sends notifications")
		}
		return c.notify(ctx)
	}
	if c.flags.grace != 0 || c.flags.write {
		return usage("--grace and --write are for --notify STORE")
	}
	c.flags.also = due()
	t, r, err := c.reads(true)
	if err != nil || t == nil {
		return err
	}
	c.out.columns("PartitionKey", "write", "began", "state", "effects")
	n := 0
	for row, err := range rowsOf(ctx, t, r.filter, "") {
		if err != nil {
			return err
		}
		if mark, marked := stored.MarkIn(row.Columns()); marked {
			n++
			at, _ := commit.TimeOf(mark.ID)
			c.out.add(key(row.Key.PartitionKey()), mark.ID, at, "prepared", "row "+shown(row.Key.RowKey()))
		}
		if !strings.HasPrefix(row.Key.RowKey(), reserved.CommitRecord) {
			continue
		}
		n++
		r, err := engine.RecordOf(row)
		if err != nil {
			c.out.add(key(row.Key.PartitionKey()), key(row.Key.RowKey()), nil, "unreadable", err.Error())
			continue
		}
		c.out.add(key(row.Key.PartitionKey()), r.OperationID, r.Time(), dueState(r), kindsOf(r))
	}
	if n == 0 {
		c.out.say("nothing is pending")
		return nil
	}
	c.out.say("%s. Workers execute effects within seconds. "+
		"What is due and older than some minutes waits for a worker; --notify STORE wakes one.", counted(n, "line"))
	return nil
}

// notify sends notifications of the pending writes of a table.
func (c *call) notify(ctx context.Context) error {
	in, err := c.flags.partitions()
	if err != nil {
		return err
	}
	acc, err := c.open()
	if err != nil {
		return err
	}
	if err := c.willWrite("notify the workers of store " + c.flags.store); err != nil {
		return err
	}
	store := aztablekit.Open(acc, c.flags.store, nil)
	aztablekit.Table[table.Row](store, c.args[0], nil, nil)
	report := func(p table.Progress) {
		c.notes.progress("%d notifications of %d partitions", p.Changed, p.Counts["partitions"])
	}
	done, err := store.NotifyPending(ctx, c.args[0], c.flags.grace, &table.Pass{Partitions: in, Progress: report})
	if err != nil {
		c.notes.line("%d notifications were sent", done.Changed)
		return err
	}
	c.out.columns("notifications")
	c.outcome(done.Changed, "%s sent to %s-writes", counted(done.Changed, "notification"), c.flags.store)
	return nil
}

// showJobs lists the jobs of a table, or cancels one.
func showJobs(ctx context.Context, c *call) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	name := c.args[0]
	store := aztablekit.Open(acc, "azt", nil)
	if len(c.args) > 1 {
		if len(c.args) != 4 || c.args[1] != "cancel" {
			return usage("jobs: want TABLE, or TABLE cancel KIND NAME")
		}
		if err := c.willWrite("cancel the job"); err != nil {
			return err
		}
		if err := jobs.Cancel(ctx, store, name, c.args[2], c.args[3]); err != nil {
			return err
		}
	}
	names := []string{"kind", "job", "state", "began", "done %", "left", "rows", "changed", "faults", "ranges", "open", "failing"}
	if c.out.json {
		names = append(names, "failures")
	}
	c.out.columns(names...)
	var failures []string
	n := 0
	for s, err := range jobs.List(ctx, store, name) {
		if errors.Is(err, table.ErrNotCreated) {
			break // no job was ever started
		}
		if err != nil {
			return err
		}
		if len(c.args) > 1 && (s.Kind != c.args[2] || s.Name != c.args[3]) {
			continue
		}
		n++
		cells := []any{key(s.Kind), key(s.Name), string(s.State), s.Began, 100 * s.Part, s.Left, s.Rows, s.Changed, s.Faults, s.Ranges, s.Open, len(s.Failures)}
		if c.out.json {
			cells = append(cells, s.Failures)
		}
		c.out.add(cells...)
		failures = append(failures, failuresOf(&s)...)
	}
	for _, f := range failures {
		c.out.say("%s", f)
	}
	if n == 0 {
		c.out.say("no jobs")
	}
	return nil
}

// failuresOf returns a line for each range of a job that has failed.
func failuresOf(s *jobs.Status) (lines []string) {
	for _, f := range s.Failures {
		at := shown(f.From)
		if f.Within != "" {
			at = shown(f.Within) + " " + at
		}
		last := f.Time.UTC().Format(time.DateTime)
		line := fmt.Sprintf("%s %s, from %s: %d attempts, the last at %s: %s",
			shown(s.Kind), shown(s.Name), at, f.Attempts, last, plain(f.Error))
		lines = append(lines, line)
	}
	return lines
}

// due finds commit records whose effects are due, and rows that a write over several partitions has
// prepared.
func due() *query.Cond {
	return &query.Cond{Op: "or", Conds: []query.Cond{
		{Op: "eq", Name: stateProperty, Value: operand(commit.Pending.String())},
		{Op: "gt", Name: reserved.Mark, Value: operand("")},
	}}
}

// kindsOf returns the kinds of the effects of a commit record.
func kindsOf(r *commit.Record) string {
	var kinds []string
	for _, e := range r.Effects {
		kind := shown(e.Kind)
		if e.Kind == reserved.Prepared {
			kind = "(end of a write over several partitions)"
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, " ")
}
