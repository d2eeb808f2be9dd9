package azt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// ownProgram says how to get the commands that need the declarations of a program.
const ownProgram = `This command needs the definitions of your program, whose functions make the keys of derived rows. Make an azt of your own:

	package main

	import "github.com/aztablekit/aztablekit/azt"

	func main() {
		azt.Main(&azt.Program{Open: company.Open}) // func(*account.Account) *aztablekit.Store
	}
`

// declared opens the account and the store of the program.
func (c *call) declared() (*aztablekit.Store, error) {
	if c.program.Open == nil {
		c.notes.text(ownProgram)
		return nil, usage("%s is a command of your own azt", c.command.name)
	}
	acc, err := c.open()
	if err != nil {
		return nil, err
	}
	return c.store(acc)
}

func (c *call) store(acc *account.Account) (*aztablekit.Store, error) {
	s := c.program.Open(acc)
	if s == nil {
		return nil, errors.New("Program.Open has returned no store")
	}
	return s, s.Err()
}

// checkDefinitions compares the derived rows of all tables with their entities, and repairs them
// with --repair.
func checkDefinitions(ctx context.Context, c *call) error {
	s, err := c.declared()
	if err != nil {
		return err
	}
	if c.flags.write && !c.flags.repair {
		return usage("verify --write repairs with --repair only; add it")
	}
	if c.flags.repair {
		if err := c.willWrite("repair faults"); err != nil {
			return err
		}
	}
	c.faults()
	o := &verify.Options{RecordsOnly: c.flags.recordsOnly, Fault: c.fault}
	o.Pass = table.Pass{DryRun: !c.flags.repair, Rate: c.flags.rate, Concurrency: c.flags.concurrency}
	o.Progress = func(r table.Progress) {
		c.notes.progress("%d entities and %d derived rows of %d partitions", r.Rows, r.Counts["derived rows"], r.Counts["partitions"])
	}
	report, err := s.Repair(ctx, o)
	if err != nil {
		c.notes.line("not finished: %d entities and %d derived rows were compared, and %d faults repaired", report.Rows, report.Counts["derived rows"], report.Changed)
		return err
	}
	c.verified(report)
	if report.Faults > 0 {
		return errFound
	}
	return nil
}

// faults begins a table of faults.
func (c *call) faults() {
	c.out.columns("fault", "table", "definition", "row partition", "row", "entity partition", "entity", "repaired", "error")
}

func (c *call) fault(f verify.Fault) {
	text := ""
	if f.Err != nil {
		text = f.Err.Error()
	}
	if f.Blob != "" {
		text = strings.TrimSpace("blob " + f.Blob + " " + text)
	}
	c.out.add(f.Kind, key(f.Table), f.Definition, key(f.Row.PartitionKey()), key(f.Row.RowKey()), key(f.Entity.PartitionKey()), key(f.Entity.RowKey()), f.Repaired, text)
}

// verified prints the numbers of a report.
func (c *call) verified(r table.Progress) {
	found := r.Faults + r.Changed - r.Counts["unconfirmed"]
	c.out.columns("entities", "derived rows", "faults", "repaired", "failed", "unconfirmed", "pending")
	c.out.add(r.Rows, r.Counts["derived rows"], found, r.Changed, r.Counts["failed"], r.Counts["unconfirmed"], r.Counts["pending"])
	switch {
	case r.Faults == 0 && found == 0:
		c.out.say("sound")
	case r.Faults == 0:
		c.out.say("sound: all faults are repaired")
	case r.Counts["unconfirmed"] > 0:
		c.out.say("not sound; what is unconfirmed changed at every attempt: verify again at a quiet time")
	default:
		c.out.say("not sound; azt verify --repair --write repairs what it can")
	}
}

// fill makes the definitions readable that a release has added.
func fill(ctx context.Context, c *call) error {
	s, err := c.declared()
	if err != nil {
		return err
	}
	if !c.flags.dryRun {
		if err := c.willWrite("fill the new definitions (first see what --dry-run finds)"); err != nil {
			return err
		}
	}
	c.faults()
	report, err := s.Fill(ctx, &aztablekit.FillOptions{
		Pass:  table.Pass{DryRun: c.flags.dryRun, Rate: c.flags.rate, Concurrency: c.flags.concurrency, Progress: c.filling},
		Table: c.flags.table, Workers: c.flags.workers, Fault: c.fault,
	})
	if errors.Is(err, aztablekit.ErrUnfilled) {
		c.verified(report)
		c.out.say("some entities cannot have their rows: change them, and fill again")
		return errFound
	}
	if err != nil {
		return err
	}
	c.verified(report)
	if c.flags.dryRun && report.Faults > 0 {
		return errFound
	}
	return nil
}

// filling shows how far Fill or Retire has come.
func (c *call) filling(p table.Progress) {
	switch {
	case p.Wait > 0:
		c.notes.progress("table %s: %s; waiting %v until all programs go by it", p.Table, p.State, p.Wait)
	case p.Changed > 0:
		c.notes.progress("table %s: %s; %d rows swept", p.Table, p.State, p.Changed)
	default:
		c.notes.progress("table %s: %s; %d entities", p.Table, p.State, p.Rows)
	}
}

// retire takes a definition out of use, and deletes its rows.
func retire(ctx context.Context, c *call) error {
	s, err := c.declared()
	if err != nil {
		return err
	}
	if err := c.willWrite("take definition " + c.args[1] + " of table " + c.args[0] + " out of use, and delete its rows"); err != nil {
		return err
	}
	if err := s.Retire(ctx, c.args[0], c.args[1], &table.Pass{Rate: c.flags.rate, Progress: c.filling}); err != nil {
		return err
	}
	c.done("definition %s of table %s is out of use; its rows are deleted", shown(c.args[1]), shown(c.args[0]))
	return nil
}

// sweep does the work of a day now.
func sweep(ctx context.Context, c *call) error {
	s, err := c.declared()
	if err != nil {
		return err
	}
	if err := c.willWrite("delete blobs without entities, notify workers of what is due, and do the other work of a day"); err != nil {
		return err
	}
	if err := s.RunDaily(ctx); err != nil {
		return err
	}
	c.done("the work of a day is done")
	return nil
}

// done says that a command has done its work.
func (c *call) done(format string, args ...any) {
	if c.out.json {
		c.out.columns("done")
		c.out.add(fmt.Sprintf(format, args...))
		return
	}
	c.out.say(format, args...)
}
