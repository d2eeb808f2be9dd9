package aztablekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/internal/work"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Account is the storage account of a store: an *account.Account, or a *storagetest.Service for
// tests.
type Account = host.Account

// Options are the options of [Open]. The zero value of each field is its default.
type Options struct {
	// Prefix stands before the names of all tables, queues and containers of the store: letters and
	// digits, a letter first. It is for tests, and for several environments in one account.
	Prefix string

	// Common bounds the requests of the store and of what is declared in it. An option of what is
	// declared takes the place of the store's, field by field.
	table.Common

	// Now is the clock of the store and of what is declared in it, time.Now by default. NewID
	// returns 16 random characters of 0-9 and A-Z, from a source of 80 random bits by default.
	// Other ones are for tests.
	Now   func() time.Time
	NewID func() string

	// Worker are the options of the worker of [Store.Run] and [Store.Drain]. Zero fields of its
	// Common are those of the store's.
	Worker eventual.WorkerOptions

	// NotHandled are the kinds of effects that this program does not handle: the workers of other
	// programs execute them. Run and Drain fail if another effect of a declaration has no handler.
	NotHandled []string

	// CatalogueAge is how old the catalogue of a table may be by which a program of the store goes:
	// see [Store.Fill], which waits half as long again. The Ensure that makes the catalogue stores
	// it there, and all programs go by that. 66 s by default, so that a program reads a catalogue
	// once a minute; for tests, less.
	CatalogueAge time.Duration

	// Daily is how often the processes of the store do the work of [Store.RunDaily], together: one
	// of those in which Run runs does it when it is due, also if it is overdue when Run begins.
	// Defaults to 24 h; negative means that the program calls RunDaily itself.
	Daily time.Duration
}

// Store is the tables of a program, with everything that follows from their entities. Make it with
// [Open]; declare its tables with [Table]; then it is safe for concurrent use.
type Store struct {
	hosted
	host     host.Host
	name     string
	opt      Options
	outbox   bareworker.Outbox
	work     *work.Table
	declared registry
	tables   engine.Kin // that Table has declared

	mu           sync.Mutex
	declarations []*declaration
	owners       map[any]string // the table of each definition
	worker       bareworker.Worker
	running      atomic.Int32 // calls of Run
}

// hosted makes a Store one for the constructors of what belongs to a store, such as txn.Run.
type hosted = host.Hosted

// Open returns a store in an account. It sends nothing: [Store.Ensure] creates what does not exist.
//
// The name is that of the store's queues, NAME-writes and NAME-poison: letters in lower case,
// digits and hyphens, at most 56 with the prefix. Without its hyphens, it is also that of a small
// table, NAMEwork, which contains what must outlive the processes of the store: when the work of a
// day is due, and in which partitions commit records wait to be deleted. All programs that open a
// store of one name in one account declare the same. Errors are returned by the methods of the
// store and of all that is declared in it: *table.ValueError for an account that is nil, and for a
// name, a prefix or an option that cannot be used.
func Open(acc Account, name string, o *Options) *Store {
	s := &Store{name: name, owners: map[any]string{}, declared: newRegistry()}
	s.hosted = host.In(&s.host)
	if o != nil {
		s.opt = *o
	}
	if err := s.open(acc); err != nil {
		s.host = host.Host{Invalid: fmt.Errorf("store %s: %w", name, err)}
	}
	return s
}

func (s *Store) open(acc Account) error {
	s.host.Common = options.Within(s.opt.Common, options.Sources{Now: s.opt.Now, NewID: s.opt.NewID})
	s.host.Prefix = s.opt.Prefix
	s.opt.Worker.Common = s.host.Options(s.opt.Worker.Common)
	if s.opt.Daily == 0 {
		s.opt.Daily = 24 * time.Hour
	}
	switch {
	case wire.IsNil(acc):
		return &table.ValueError{Field: "acc", Reason: "is nil; give one that a function of package account has returned"}
	case catalogue.CheckLease(s.opt.CatalogueAge) != nil:
		return catalogue.CheckLease(s.opt.CatalogueAge)
	case !isPrefix(s.opt.Prefix):
		return &table.ValueError{Field: "Options.Prefix", Reason: fmt.Sprintf("is %.80q; it must be letters and digits, a letter first", s.opt.Prefix)}
	case !engine.IsName(s.host.LowerName(s.name + "-writes")):
		return &table.ValueError{Field: "name", Reason: fmt.Sprintf("is %.80q; it must be letters in lower case, digits and single hyphens "+
			"between them, at most 56 with the prefix, since the names of the store's queues begin with it: NAME-writes", s.name)}
	}
	s.host.Account, s.host.Tables, s.host.Registry = acc, acc.Tables(), &s.declared
	if _, err := s.newWorker(nil); err != nil { // which checks its options and queues
		return err
	}
	var err error
	s.work, err = work.New(s.host.Tables, s.workTable(), engine.WithDefaults(s.host.Common))
	if err != nil {
		return err
	}
	s.declared.notes = s.work
	if err := s.declared.own("the store's own work", host.Parts{Tables: []string{s.work.Name()}}); err != nil {
		return err
	}
	s.outbox, err = bareworker.NewOutbox(s.queue("writes"), &s.host.Common)
	s.host.Outbox = s.outbox
	return err
}

func isPrefix(s string) bool {
	for i, c := range s {
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z'; !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// invalid returns why nothing can be declared in the store.
func (s *Store) invalid() error {
	if s == nil || s.owners == nil {
		return errNotOpened
	}
	return s.host.Invalid
}

var errNotOpened = &table.ValueError{Field: "s", Reason: "is nil or a zero Store; give one that Open has returned"}

// Err returns all mistakes of the declarations, nil if there are none. All other methods return
// them, too.
func (s *Store) Err() error {
	if err := s.invalid(); err != nil {
		return err
	}
	return errors.Join(s.declared.allFaults()...)
}

// begin ends the declarations, and makes the worker.
func (s *Store) begin() error {
	if err := s.invalid(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared.end()
	if err := s.Err(); err != nil || s.worker != nil || len(s.declarations) == 0 {
		return err
	}
	handlers, _ := s.handlers()
	w, err := s.newWorker(handlers)
	if err != nil {
		return fmt.Errorf("store %s: %w", s.name, err)
	}
	s.worker = w
	return nil
}

func (s *Store) newWorker(handlers []host.Handler) (bareworker.Worker, error) {
	return bareworker.New(s.queue("writes"), s.queue("poison"), handlers, &s.opt.Worker)
}

// queue returns one of the queues of the store.
func (s *Store) queue(purpose string) *azqueue.QueueClient {
	return s.host.Account.Queues().NewQueueClient(s.host.LowerName(s.name + "-" + purpose))
}

// workTable returns the name of the table of the store's work. The name of a table has no hyphens,
// and a letter first.
func (s *Store) workTable() string {
	name := strings.ReplaceAll(s.name, "-", "") + "work"
	if s.opt.Prefix == "" && name[0] <= '9' {
		name = "store" + name
	}
	return s.host.TableName(name)
}

// handlers returns the handlers of all tables, and the effects without one. A table without effects
// has a handler that ends the writes over several partitions whose programs have crashed.
func (s *Store) handlers() (all, missing []host.Handler) {
	worked := map[string]bool{}
	for _, d := range s.declarations {
		for _, h := range d.parts.Handlers {
			if h.Handle == nil {
				missing = append(missing, h)
				continue
			}
			worked[strings.ToLower(h.Table.Name())] = true
			all = append(all, h)
		}
	}
	for _, d := range s.declarations {
		if !worked[d.id()] {
			worked[d.id()] = true
			all = append(all, bare.Transactions(d.handle))
		}
	}
	return all, missing
}

// ready returns the worker, nil for a store without tables.
func (s *Store) ready() (bareworker.Worker, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	_, missing := s.handlers()
	for _, h := range missing {
		if !slices.Contains(s.opt.NotHandled, h.Kind) {
			return nil, fmt.Errorf("store %s: table %s: definition %s: %w", s.name, h.Table.Name(), h.Kind, &table.ValueError{Field: "do", Reason: "is nil, so that the effect has no handler: give one to eventual.On, or name the kind in Options.NotHandled if another program has it"})
		}
	}
	return s.worker, nil
}

// Ensure returns the mistakes of all declarations, and creates the tables, queues and containers
// that do not exist. Call it when the program starts. It is idempotent.
//
// Ensure logs a warning for each definition that is not readable: look-ups by it fail, and values
// that it makes unique can be stored twice, until [Store.Fill]. It logs another one for each
// definition whose functions return other keys for some stored entities than were stored, and one
// if the effects of some write have waited for 10 minutes or more and no worker has received them.
//
// A table that was dropped must not be made again within one and a half times Options.CatalogueAge,
// 99 s: until then, other programs go by its former catalogue.
//
// Errors:
//   - *table.ValueError, and the errors of the definitions: a mistake; nothing was sent;
//   - table.ErrNotCreated: a table of the name is being deleted;
//   - table.ErrUnreachable;
//   - account.ErrNoEndpoint: what is declared needs queues or blobs, and the account has none;
//   - an error of the catalogue: the form of a definition, or the keys of a type, differ from those
//     in the table's catalogue, or it is damaged; *table.LimitError: it is full.
//
// Requests:
//   - 1 for each table, queue and container, 10 at a time;
//   - for the catalogue of each declared table 1; 2 if it changes, and 3 if it is new;
//   - with a Logger, 1 for 10 entities of each type that has readable definitions, and 1 for the
//     first message of a queue of effects.
func (s *Store) Ensure(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	tasks := s.tasks(func(p *host.Parts) []host.Task { return p.Ensure })
	if s.hasWork() {
		tasks = append(tasks, host.Task{Name: "table " + s.work.Name(), Do: s.work.Ensure})
	}
	if s.worker != nil {
		tasks = append(tasks, host.Task{Name: "queues", Do: s.ensureQueues})
	}
	failed := make([]error, len(tasks))
	var g errgroup.Group
	g.SetLimit(engine.FanOut)
	for i, task := range tasks {
		g.Go(func() error {
			failed[i] = do(ctx, task)
			return nil
		})
	}
	_ = g.Wait() // the errors are in failed
	return errors.Join(failed...)
}

// ensureQueues creates the queues. An account without queues is enough for tables without effects.
func (s *Store) ensureQueues(ctx context.Context) error {
	hasEffects := slices.ContainsFunc(s.declarations, func(d *declaration) bool { return len(d.parts.Handlers) > 0 })
	err := s.worker.Ensure(ctx)
	switch {
	case errors.Is(err, errs.ErrNoEndpoint) && !hasEffects:
		return nil
	case err == nil && hasEffects:
		s.warnPending(ctx)
	}
	return err
}

// warnPending warns of effects that no worker has received for a while. A program that may not read
// the queue is not warned. Requests: 1 with a Logger.
func (s *Store) warnPending(ctx context.Context) {
	log := s.opt.Common.Logger
	if log == nil {
		return
	}
	since, err := s.outbox.Unreceived(ctx)
	if err != nil || since.IsZero() {
		return
	}
	log.WarnContext(ctx, "effects are pending, and no worker has received them: rows in other partitions, views and handlers wait for it; "+
		"if no program runs Store.Run, let one", "store", s.name, "queue", s.host.LowerName(s.name+"-writes"), "since", since.UTC())
}

// tasks returns some tasks of all that is declared, each name once.
func (s *Store) tasks(of func(*host.Parts) []host.Task) (all []host.Task) {
	seen := map[string]bool{}
	add := func(p host.Parts) {
		for _, task := range of(&p) {
			if name := strings.ToLower(task.Name); !seen[name] {
				seen[name] = true
				all = append(all, task)
			}
		}
	}
	for _, d := range s.declarations {
		add(d.parts)
	}
	for _, p := range s.declared.end() {
		add(p)
	}
	return all
}

func do(ctx context.Context, task host.Task) error {
	err := task.Do(ctx)
	if err == nil || errors.As(err, new(*errs.CatalogueError)) { // which names the table itself
		return err
	}
	return fmt.Errorf("%s: %w", task.Name, err)
}

// Run executes the effects of all writes, also those of other programs, and does the work of each
// day, until ctx ends. One program runs it, or all do. It returns nil when ctx has ended and the
// running handlers have returned. What fails in the work of a day is logged
// (Options.Common.Logger). Errors: the mistakes of the declarations; *table.ValueError for an
// effect without a handler; table.ErrNotCreated; *table.ValueError while Run or Drain runs.
//
// Requests:
//   - those of package eventual
//   - 1 when it begins and 1 a day to see whether the work of the day is due
//   - in one process those of RunDaily with 2, 1 for each task and 1 every 3 minutes
func (s *Store) Run(ctx context.Context) error {
	w, err := s.ready()
	if err != nil {
		return err
	}
	s.running.Add(1)
	defer s.running.Add(-1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.runEachDay(ctx); return nil })
	if w != nil {
		g.Go(func() error {
			err := w.Run(ctx)
			return cmp.Or(err, context.Canceled) // which ends the work of each day
		})
	}
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Drain executes the effects that are due, and returns: for tests, and for programs that are
// started from time to time. An effect that failed is due again a moment later, which Drain does
// not wait for. Errors: those of Run, also *table.ValueError while Run runs; the first error of a
// queue; the errors of handlers, joined, also of one that returned eventual.Poison. Requests: those
// of package eventual.
func (s *Store) Drain(ctx context.Context) error {
	w, err := s.ready()
	if w == nil || err != nil {
		return err
	}
	return w.Drain(ctx)
}

// NotifyPending sends a notification for each write of a table whose effects are still due, if the
// write is of an age or older; 0 means 10 minutes, or 4 times WriteTimeout if that is longer. It
// repairs a queue that was deleted, cleared or failed over. RunDaily does it for the partitions in
// which commit records may be. It can run at any time, beside writers and workers: for a redundant
// notification a worker finds nothing to do, and no effect is executed that is not due. Effects
// that wait on purpose are passed over, and so are those of a message that became poison in the
// last 7 days, unless the age is below 0: then a message that is still in the poison queue stays
// there, its effects are tried again, and may become poison once more; replay or drop the message
// first.
//
// Of the pass, NotifyPending uses Partitions, Token, DryRun and Progress. The Progress is valid
// with every error: Changed are the notifications, Counts has the partitions, and Token is where to
// go on.
//
// Errors:
//   - the mistakes of the declarations
//   - *table.ValueError for a name that is no table of the store, and for a Token that is not from
//     this method
//   - table.ErrRanged if the account has a signature for a range of keys, unless the pass is of one
//     partition of which it sees all rows
//   - table.ErrNotCreated, or the *azcore.ResponseError of the queue
//   - the other errors of a read (see package table)
//
// Requests:
//   - 1 for each partition to find it, and 1 more to see that there are no more
//   - 1 for each 1,000 rows of a partition's commit records, at least 1
//   - 1 for each notification, and more during an outage of the queue
func (s *Store) NotifyPending(ctx context.Context, tableName string, age time.Duration, p *table.Pass) (table.Progress, error) {
	if err := s.begin(); err != nil {
		return table.Progress{}, err
	}
	name := s.host.TableName(tableName)
	for _, d := range s.declarations {
		if strings.EqualFold(d.name, name) {
			return s.outbox.NotifyPending(ctx, d.handle, age, p)
		}
	}
	return table.Progress{}, noTable(tableName)
}

// noTable is the error for a name that is no table of the store.
func noTable(name string) error {
	return &table.ValueError{Field: "tableName", Reason: fmt.Sprintf("%.80q is no table of the store", name)}
}

// Ready returns nil if Run executes effects and its queue responds, for readiness probes. Requests:
// none.
func (s *Store) Ready() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.worker != nil:
		return s.worker.Ready()
	case s.running.Load() > 0: // a store without tables has no worker
		return nil
	}
	return eventual.ErrNotRunning
}

// Stats returns the counters of Run and Drain in this program; those of the handlers are there from
// the start. They are zeros for a store without tables, and for one with mistakes. Requests: none.
func (s *Store) Stats() eventual.Stats {
	w := s.workerOrNil()
	if w == nil {
		return eventual.Stats{}
	}
	stats := w.Stats()
	stats.Kinds = w.StatsByKind()
	return stats
}

// Backlog returns the approximate number of messages in the queue of the store, hidden ones
// included, 0 for a store without tables. Errors: the mistakes of the declarations;
// table.ErrNotCreated; *azcore.ResponseError. 1 request.
func (s *Store) Backlog(ctx context.Context) (int, error) {
	w := s.workerOrNil()
	if w == nil {
		return 0, s.Err()
	}
	return w.Backlog(ctx)
}

// Pause stops Run and Drain in this program from receiving messages until [Store.Resume]. What was
// received or requested is still executed.
func (s *Store) Pause() {
	if w := s.workerOrNil(); w != nil {
		w.Pause()
	}
}

// Resume ends a pause.
func (s *Store) Resume() {
	if w := s.workerOrNil(); w != nil {
		w.Resume()
	}
}

// workerOrNil ends the declarations, and returns the worker: nil for a store without tables, and
// for one with mistakes.
func (s *Store) workerOrNil() bareworker.Worker {
	if s.begin() != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker
}

// Poison returns the queue of the messages that no attempt could execute, to list, replay and drop
// them. Errors: the mistakes of the declarations; *table.ValueError for a store without tables,
// which has no queues.
func (s *Store) Poison() (*eventual.PoisonQueue, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	if len(s.declarations) == 0 {
		return nil, &table.ValueError{Field: "s", Reason: "has no tables, and so no effects"}
	}
	return bareworker.NewPoisonQueue(s.queue("writes"), s.queue("poison"), &s.host.Common)
}

// Verify compares the derived rows of all tables with their entities, and changes nothing; see
// [verify.Check]. Options of one table, such as Partitions and Token, are refused with a
// *table.ValueError. The Progress counts all tables; Fault.Table names the table of a fault. The
// first error ends Verify. Requests: those of verify.Check for each table with definitions, one
// table after another.
func (s *Store) Verify(ctx context.Context, o *verify.Options) (table.Progress, error) {
	var opt verify.Options
	if o != nil {
		opt = *o
	}
	opt.DryRun = true
	return s.compare(ctx, &opt)
}

// Repair is [Store.Verify] that repairs the faults; see [verify.Repair], whose requests it sends.
// With DryRun it is Verify.
func (s *Store) Repair(ctx context.Context, o *verify.Options) (table.Progress, error) {
	if o == nil {
		o = &verify.Options{}
	}
	return s.compare(ctx, o)
}

func (s *Store) compare(ctx context.Context, o *verify.Options) (all table.Progress, err error) {
	if err := s.begin(); err != nil {
		return all, err
	}
	if err := door.CheckPass(&o.Pass, "Rate", "Concurrency", "DryRun"); err != nil {
		return all, err
	}
	ctx = engine.Enduring(ctx)
	for _, d := range s.declarations {
		for _, check := range d.checks {
			found, err := check(ctx, o)
			tabledoor.AddProgress(&all, found)
			if err != nil {
				return all, err
			}
		}
	}
	return all, nil
}
