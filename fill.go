package aztablekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// FillOptions are the options of [Store.Fill].
type FillOptions struct {
	// Pass is how Fill goes through each table; Skip is refused.
	//
	// Partitions is a range of partitions of Table. Fill then only adds the rows of its entities,
	// and the definitions stay building: several programs can fill a large table, a range each. A
	// last Fill without a range compares the whole table, and makes them readable.
	//
	// DryRun finds out what Fill would do: Counts has a verify.Missing for each row to add, and a
	// verify.DuplicateValue for each entity that has no right to a unique value. Programs need not
	// have the release yet; only Ensure.
	//
	// The Token of an earlier Progress is of the same Table and Partitions: the work goes on behind
	// the partitions that were finished, unless another program has changed the state meanwhile.
	//
	// Progress is called when a State changes, which is building or readable, and from time to time
	// while rows are written. Wait is how long Fill waits until no program goes by an earlier
	// state.
	table.Pass

	// Table is the only table whose definitions Fill fills; "" means all.
	Table string

	// Workers makes the workers of the store fill, all that run: for a table that outgrows one
	// program. Fill starts jobs, and waits for them. Then it compares what is elsewhere itself. Each
	// table with definitions to fill needs a jobs.Repair among its definitions.
	//
	// The workers compare entities with what these record, and not with the rows in the partition.
	// Fault is called for rows elsewhere alone. Token and Concurrency are refused.
	Workers bool

	// Fault is called for each fault. No two calls of it and of Progress overlap.
	Fault func(verify.Fault)
}

// ErrUnfilled is the error of [Store.Fill] if some rows could not be written, such as those of two
// entities with one unique value. The definition stays building.
var ErrUnfilled = errors.New("some rows could not be written")

// Fill makes the definitions readable that are not filled: those that a release has added to a
// table that exists, and the definitions of a table from before its catalogue. Call it when all
// programs have the release, workers too, once, from one program or a command of yours: a worker
// without a definition leaves its rows to others, so that look-ups miss them until one runs that
// has it. It
//
//   - refuses from then on the writes of programs that lack a definition ([table.ErrNotDeclared]),
//     within Options.CatalogueAge,
//   - waits one and a half times as long as Options.CatalogueAge, 99 s by default, until no program
//     goes by what it has read before,
//   - adds the rows of all entities that lack them, while programs write, and compares the whole
//     table; see [verify.Repair],
//   - lets look-ups begin.
//
// It fills the definitions of all tables together, so that it waits once. If it is interrupted,
// call it again: it goes on with what is building, and waits again. Two calls at once do no harm.
// Without definitions to fill, it does nothing.
//
// Errors:
//   - the mistakes of the declarations;
//   - [ErrUnfilled], counted in the Progress: mend the entities, and call Fill again;
//   - an error of the catalogue: another program has changed a state meanwhile, the table has no
//     catalogue, or the program must not write the table;
//   - one for each definition that Fill has left out, after it has filled the others:
//     table.ErrNotReadable if it is being retired, table.ErrNotRecorded if its form is another one
//     until Ensure;
//   - *table.ValueError: options that cannot be used together; *keys.KeyError: an invalid range;
//   - the errors of verify.Repair.
//
// Requests:
//   - 1 for each table, and 3 more for one with definitions to fill;
//   - those of verify.Repair;
//   - with definitions elsewhere or views, before that those of a run with RecordsOnly, so that a
//     token resumes;
//   - with transfer.Snapshots, a scan of the table;
//   - twice those if concurrent writers changed what was read.
func (s *Store) Fill(ctx context.Context, o *FillOptions) (all table.Progress, err error) {
	if err := s.begin(); err != nil {
		return all, err
	}
	f := &filler{attempts: cmp.Or(s.opt.Worker.Attempts, 10)}
	if o != nil {
		f.opt = *o
	}
	if err := f.opt.check(); err != nil {
		return all, err
	}
	ctx = engine.Enduring(ctx)
	only := s.host.TableName(f.opt.Table)
	tables := s.catalogued()
	if f.opt.Table != "" {
		tables = slices.DeleteFunc(tables, func(t *tableToFill) bool { return !strings.EqualFold(t.name, only) })
		if len(tables) == 0 {
			return all, &table.ValueError{Field: "FillOptions.Table", Reason: fmt.Sprintf("is %q, which the store does not declare", f.opt.Table)}
		}
	}
	var leftOut error
	for _, t := range tables {
		without, err := f.begin(ctx, t)
		if err != nil {
			return all, t.named(err)
		}
		leftOut = errors.Join(leftOut, without)
	}
	tables = slices.DeleteFunc(tables, func(t *tableToFill) bool { return len(t.building) == 0 })
	if err := f.wait(ctx, tables); err != nil {
		return all, err
	}
	for _, t := range tables {
		report, err := f.fill(ctx, t)
		tabledoor.AddProgress(&all, report)
		if err != nil {
			return all, t.named(err)
		}
	}
	return all, leftOut
}

// check refuses options that cannot be used together.
func (o *FillOptions) check() error {
	refuse := func(field, reason string) error {
		return &table.ValueError{Field: "FillOptions." + field, Reason: reason}
	}
	switch {
	case o.Partitions.IsSet() && o.Table == "":
		return refuse("Partitions", "is set without FillOptions.Table, the table of the partitions")
	case o.Workers && o.DryRun:
		return refuse("DryRun", "is set together with Workers, who fill: leave one out")
	case o.Workers && o.Token != "":
		return refuse("Token", "is set together with Workers: Fill finds their jobs without it")
	case o.Workers && o.Concurrency != 0:
		return refuse("Concurrency", "is set together with Workers, who have that of their own options (Options.Worker)")
	}
	return cmp.Or(door.CheckPass(&o.Pass, "Partitions", "Token", "Rate", "Concurrency", "DryRun"), o.Partitions.Err())
}

// tableToFill is a table of a store with all its types.
type tableToFill struct {
	name      string
	catalogue *catalogue.Catalogue
	types     []*declaration
	building  []catalogue.Definition
}

// catalogued returns the tables of the store.
func (s *Store) catalogued() (all []*tableToFill) {
	for _, d := range s.declarations {
		i := slices.IndexFunc(all, func(t *tableToFill) bool { return t.catalogue == d.catalogue })
		if i < 0 {
			all = append(all, &tableToFill{name: d.name, catalogue: d.catalogue})
			i = len(all) - 1
		}
		all[i].types = append(all[i].types, d)
	}
	return all
}

// catalogueOf returns the catalogue of a table that another type of it has, nil for none.
func (s *Store) catalogueOf(d *declaration) *catalogue.Catalogue {
	for _, other := range s.declarations {
		if other.id() == d.id() {
			return other.catalogue
		}
	}
	return nil
}

// declared returns what the catalogue says of a type.
func declared(d *declaration) (catalogue.Type, []catalogue.Declared) {
	t := door.Table(d.handle)
	var all []catalogue.Declared
	for _, m := range t.Mode.Maintainers {
		if m, is := m.Typed().(interface {
			Name() string
			Form() string
			FormerForm() string
		}); is {
			all = append(all, catalogue.Declared{Name: m.Name(), Form: m.Form(), Former: m.FormerForm()})
		}
	}
	if name := t.Mode.Stamps(); name != "" {
		all = append(all, catalogue.Declared{Name: name, Form: catalogue.Stamps})
	}
	schema := t.Mode.Schema
	_, name := schema.Type()
	from, to, closed := schema.Rows().Bounds()
	of := catalogue.Type{
		Scope: schema.Scope(), Name: name, Go: d.of.String(), Partitions: schema.Partitions().String(),
		From: from, To: to, Closed: closed,
	}
	of.PartitionLayout, of.RowLayout = schema.Layouts()
	return of, all
}

// definition returns the definition of a maintainer, as the program has it.
func (d *declaration) definition(maintainer string) verify.Definition {
	m := door.Table(d.handle).Mode.Maintainer(maintainer)
	if m == nil {
		return nil
	}
	of, is := m.Typed().(interface{ Definition() any })
	if !is {
		return nil
	}
	definition, _ := of.Definition().(verify.Definition)
	return definition
}

// confirm compares the rows of definitions again that were filled a day ago: a request that was
// late then has arrived by now. It warns of those that are not readable.
func (t *tableToFill) confirm(ctx context.Context) error {
	all, err := t.catalogue.In(ctx, catalogue.Readable, catalogue.Unfilled, catalogue.Building,
		catalogue.Retiring, catalogue.Retired)
	if catalogue.IsHidden(err) || errors.Is(err, table.ErrNotRecorded) {
		return nil // there is nothing that this program could confirm
	}
	if err != nil {
		return err
	}
	before := door.Table(t.types[0].handle).Options.Now().Add(-commit.Retention)
	t.building = slices.DeleteFunc(all, func(d catalogue.Definition) bool {
		if d.State != catalogue.Readable {
			warnUnreadable(ctx, t.types[0].handle, d)
			return true
		}
		return d.Confirmed || d.Since.After(before)
	})
	if len(t.building) == 0 {
		return nil
	}
	f := &filler{}
	for _, d := range t.types {
		if _, err := f.fillType(ctx, t, d); err != nil {
			return fmt.Errorf("definitions %v, compared again a day after Fill: %w", namesOf(t.building), err)
		}
	}
	return t.catalogue.Confirm(ctx, t.building)
}

// filler is a call of Fill in progress.
type filler struct {
	opt      FillOptions
	attempts int // of a worker, before a message is poison
}

func (f *filler) tell(t *tableToFill, state catalogue.State, p table.Progress) {
	if f.opt.Progress == nil {
		return
	}
	p.Table, p.State = t.name, string(state)
	f.opt.Progress(p)
}

func namesOf(all []catalogue.Definition) (names []string) {
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// begin makes the definitions of a table building that are not filled. leftOut names those that
// cannot be.
func (f *filler) begin(ctx context.Context, t *tableToFill) (leftOut, err error) {
	all, leftOut, err := t.catalogue.ToFill(ctx)
	if err != nil {
		return nil, err
	}
	var unfilled []catalogue.Definition
	for _, d := range all {
		if d.State == catalogue.Building {
			t.building = append(t.building, d)
		} else {
			unfilled = append(unfilled, d)
		}
	}
	if f.opt.DryRun {
		t.building = all
		return leftOut, nil
	}
	if len(unfilled) > 0 {
		unfilled, err = t.catalogue.Set(ctx, unfilled, catalogue.Building)
		t.building = append(t.building, unfilled...)
	}
	return leftOut, err
}

// wait waits until no program goes by an earlier state.
func (f *filler) wait(ctx context.Context, tables []*tableToFill) error {
	if f.opt.DryRun {
		return nil
	}
	var pause time.Duration
	for _, t := range tables {
		pause = max(pause, t.catalogue.Pause())
	}
	for _, t := range tables {
		f.tell(t, catalogue.Building, table.Progress{Wait: pause})
	}
	return pace.Sleep(ctx, pause)
}

// mostPasses is how often a table is compared with its entities until no suspected fault is left
// that concurrent writers kept from being confirmed.
const mostPasses = 3

// fill fills the definitions of a table after the wait, and makes them readable.
func (f *filler) fill(ctx context.Context, t *tableToFill) (all table.Progress, err error) {
	if err := f.still(ctx, t); err != nil {
		return all, err
	}
	for _, d := range t.types {
		report, err := f.fillType(ctx, t, d)
		tabledoor.AddProgress(&all, report)
		if err != nil {
			return all, err
		}
	}
	if err := f.endUnstamped(ctx, t); err != nil {
		return all, err
	}
	if f.opt.DryRun || f.opt.Partitions.IsSet() {
		return all, nil
	}
	readable, err := t.catalogue.Set(ctx, t.building, catalogue.Readable)
	if err != nil {
		return all, err
	}
	t.building = readable
	f.tell(t, catalogue.Readable, all)
	return all, nil
}

// endUnstamped ends the writes over several partitions that began before all programs stored
// stamps: a program that finishes one later would store none.
func (f *filler) endUnstamped(ctx context.Context, t *tableToFill) error {
	if f.opt.DryRun || !slices.ContainsFunc(t.building, func(d catalogue.Definition) bool { return d.Form == catalogue.Stamps }) {
		return nil
	}
	e := door.Table(t.types[0].handle)
	before := e.Options.Now().Add(-t.catalogue.Pause() / 3) // the last lease from before has ended by then
	_, left, err := e.FinishPrepared(ctx, f.opt.Partitions, before, commit.LeaveOrphans)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%w: a write over several partitions cannot be ended; call verify.Repair with CommitOrphans or "+
			"RollBackOrphans: %w", ErrUnfilled, left[0])
	}
	return err
}

// still makes certain that no other program has changed a state while Fill waited.
func (f *filler) still(ctx context.Context, t *tableToFill) error {
	if f.opt.DryRun {
		return nil
	}
	return t.catalogue.Still(ctx, t.building)
}

// fillType fills the definitions of one type.
func (f *filler) fillType(ctx context.Context, t *tableToFill, d *declaration) (all table.Progress, err error) {
	var of, near, far []verify.Definition // all, those with rows in the partitions of their entities, and others
	scope := door.Table(d.handle).Mode.Schema.Scope()
	for _, is := range t.building {
		if is.Scope == scope && is.Form != catalogue.Stamps { // no rows follow from the entities
			definition, into := d.definition(is.Name), &near
			if isElsewhere(door.Table(d.handle).Mode.Maintainer(is.Name).Typed()) {
				into = &far
			}
			of, *into = append(of, definition), append(*into, definition)
		}
	}
	if len(of) == 0 {
		return all, nil
	}
	if f.opt.Workers {
		return f.byWorkers(ctx, t, d, near, far)
	}
	prefix := tokenPrefix(t, scope, f.opt.Partitions)
	o := &verify.Options{Pass: f.opt.Pass, Fault: f.opt.Fault}
	o.Token = ""
	records := prefix + "records/"
	token, resumed := strings.CutPrefix(f.opt.Token, prefix) // else it is of another type, or of an earlier state
	inRecords := strings.HasPrefix(f.opt.Token, records)
	if resumed && !inRecords {
		o.Token = token
	} else if len(far) > 0 && (!f.opt.DryRun || o.Partitions.IsSet()) {
		if all, err = f.fillRecords(ctx, t, d, *o, records, far); err != nil {
			return all, err
		}
	}
	if o.Partitions.IsSet() {
		of = near
	}
	if len(of) == 0 {
		return all, nil
	}
	o.Progress = f.progress(t, prefix)
	report, err := f.compare(ctx, d, o, of)
	tabledoor.AddProgress(&all, report)
	return all, err
}

// compare compares definitions of one type with the entities, and repairs them, until nothing is
// unconfirmed.
func (f *filler) compare(ctx context.Context, d *declaration, o *verify.Options, of []verify.Definition) (all table.Progress, err error) {
	for range mostPasses {
		report, err := d.fill(ctx, o, of...)
		tabledoor.AddProgress(&all, report)
		if err != nil || f.opt.DryRun {
			return all, err
		}
		if unrepaired(report) {
			return all, fmt.Errorf("%w: %s", ErrUnfilled, reasonOf(report))
		}
		if report.Counts[derived.Unconfirmed] == 0 {
			return all, nil
		}
		o.Token = ""
	}
	return all, fmt.Errorf("%w: concurrent writers changed %d of them each time; call Fill again", ErrUnfilled, all.Counts[derived.Unconfirmed])
}

// fillRecords fills what the entities show to be missing, partition by partition. The rows in other
// partitions and tables are not read, so that the work resumes at a token.
func (f *filler) fillRecords(ctx context.Context, t *tableToFill, d *declaration, o verify.Options, prefix string, of []verify.Definition) (table.Progress, error) {
	o.RecordsOnly = true
	o.Token, _ = strings.CutPrefix(f.opt.Token, prefix)
	if o.Token == f.opt.Token {
		o.Token = ""
	}
	o.Progress = f.progress(t, prefix)
	report, err := d.fill(ctx, &o, of...)
	if err == nil && unrepaired(report) && !f.opt.DryRun {
		err = fmt.Errorf("%w: %s", ErrUnfilled, reasonOf(report))
	}
	return report, err
}

// progress returns a function that tells how far a run has come.
func (f *filler) progress(t *tableToFill, prefix string) func(table.Progress) {
	return func(r table.Progress) {
		token := ""
		if !unrepaired(r) && r.Counts[derived.Unconfirmed] == 0 && r.Token != "" {
			token = prefix + r.Token // else nothing may be passed over
		}
		r.Token = token
		f.tell(t, catalogue.Building, r)
	}
}

// isElsewhere reports whether the rows of a maintainer are in other partitions or tables.
func isElsewhere(m any) bool {
	_, is := m.(interface {
		RowsTable() (string, func(context.Context) error)
	})
	_, isView := m.(view)
	return is || isView
}

// tokenPrefix names the table, the type, the states and the range that a token is of.
func tokenPrefix(t *tableToFill, scope string, in keys.PartitionRange) string {
	h := fnv.New32a()
	if in.IsSet() {
		fmt.Fprintf(h, "%v ", in)
	}
	for _, d := range t.building {
		fmt.Fprintf(h, "%q %q %q ", d.Scope, d.Name, d.ID)
	}
	return fmt.Sprintf("%s/%08x/%s/", strings.ToLower(t.name), h.Sum32(), scope)
}

// unrepaired reports whether faults are left.
func unrepaired(r table.Progress) bool {
	return r.Counts[derived.Failed] > 0 || r.Counts[verify.DuplicateValue] > 0
}

func reasonOf(r table.Progress) string {
	if n := r.Counts[verify.DuplicateValue]; n > 0 {
		return fmt.Sprintf("%d entities have a unique value that another entity has, or a place of its own; Store.Verify lists them", n)
	}
	return fmt.Sprintf("%d faults cannot be repaired; Store.Verify lists them", r.Counts[derived.Failed])
}

// named adds the name of the table to an error that does not contain it.
func (t *tableToFill) named(err error) error {
	if err == nil || errors.As(err, new(*errs.CatalogueError)) {
		return err
	}
	return fmt.Errorf("table %s: %w", t.name, err)
}
