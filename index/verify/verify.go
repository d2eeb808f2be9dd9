package verify

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Run compares derived rows with the entities of a table, and repairs them if Options.Repair is set: rows that other programs have
// written or deleted, rows of an earlier key function, and the missing rows of a new definition. It is safe beside concurrent
// writers: Run confirms each suspected fault by another consistent read, and repairs by a write of the entity by its ETag, or of
// the row by its own. Sound entities and rows are not written, except summaries whose bounds Repair makes exact.
//
//	report, err := verify.Run(ctx, staff, &verify.Options{Repair: true}, byEmail)
//
// t must be a handle that the definitions are attached to. Without definitions, all that are attached to t are verified. For each
// partition, Run reads the derived rows, and keeps about 150 bytes of each in memory. Then it reads the entities. For each summary,
// it reads the entities again. It can be interrupted and resumed between partitions; an unfinished partition is begun again, and
// repairs stay. Rows of other types, definitions and programs are left as they are. If such a row has the key of a missing row,
// that fault cannot be repaired, and its Err is [table.ErrForeignRow].
//
// Errors: *index.DefinitionError for a definition that is not attached; *table.ValueError for wrong options, and if there are no
// definitions; *table.TokenError for a damaged Options.Token; those of reading; [table.ErrRanged] if the client's signature is for a range of keys, because Run would see a part
// of the table only. The report counts what was done, also beside an error.
//
// Requests: those of [table.Table.Partitions], and for each partition:
//
//   - 1 for each 1,000 rows of each definition, and for each 1,000 entities; more if Rate is below 1,000.
//   - For details, 1 for each 1,000 rows of the partition.
//   - For a summary, its rows twice and the entities once. With Repair, the same again if an entity was written or the summary is
//     wrong, until it is right.
//   - To confirm the faults of an entity, 2, and 1 for each row in question, or 2 for each row if the entity is gone. A row that
//     names no entity takes 1. If a row names another entity, that entity is confirmed, too.
//   - For a repair, 1 to 3, and 1 for each unique row of the entity. If the table has a unique index of full copies that is not
//     verified with the others, each written entity costs 1 more.
//
// Definitions with rows elsewhere (index.Elsewhere) follow after all partitions, as one part that begins again if it is interrupted: 1
// request for each 1,000 of their rows, of which about 200 bytes each stay in memory, and 1 for each 1,000 entities. To confirm an
// entity, 3, and 2 for each row. A row that a worker is still to change is no fault (Report.Pending). A repair takes 3 for a row, and 6
// more to write the entity if it does not record the row. The table of the rows must exist; see index.Ensure.
//
// An entity needs no confirmation if its own maintainer state shows the fault: it lacks the rows of a new definition, or records
// rows of an earlier key function. Such entities are written together, as many as a transaction holds. If concurrent writers change
// what is read, the confirmation, repair or summary begins again after a pause, Retry.ConflictAttempts times at most.
func Run[T any](ctx context.Context, t *table.Table[T], o *Options, definitions ...index.Definition[T]) (Report, error) {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return Report{}, fmt.Errorf("verify: Run: %w", err)
	}
	r := newRun(t, o)
	ctx, end := t.Engine().Span(ctx, "Verify")
	err := r.verifyTable(ctx, definitions)
	end(err)
	if err != nil {
		return r.recorder.report, fmt.Errorf("verify: Run %s: %w", t.Name(), err)
	}
	return r.recorder.report, nil
}

func (r *run[T]) verifyTable(ctx context.Context, definitions []index.Definition[T]) error {
	if err := r.choose(definitions); err != nil {
		return err
	}
	after, err := r.opt.check()
	if err != nil {
		return err
	}
	if err := r.finishPrepared(ctx); err != nil {
		return err
	}
	if len(r.maintainers) > 0 {
		if err := r.verifyPartitions(ctx, after); err != nil {
			return err
		}
	}
	if len(r.elsewhere) > 0 {
		return newElsewhere(r).verify(ctx)
	}
	return nil
}

// verifyPartitions verifies the definitions whose rows are in the partitions of their entities, from behind a PartitionKey, unless
// that is nil.
func (r *run[T]) verifyPartitions(ctx context.Context, after *string) error {
	if r.opt.Partition.IsSet() {
		pk, err := r.opt.Partition.Result()
		if err != nil {
			return err
		}
		r.begin(pk)
		return r.verifyAndFinish(ctx, pk)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(r.opt.Concurrency, 1))
	position := keys.Enc{}
	if after != nil {
		position = keys.Stored(*after, "").Partition()
	}
	for pk, err := range r.table.PartitionsAfter(ctx, position) {
		if err != nil {
			return cmp.Or(g.Wait(), err) // a failed partition cancels ctx, and so this list
		}
		if r.table.Engine().Ranged() {
			return cmp.Or(g.Wait(), table.ErrRanged)
		}
		s := pk.String()
		r.begin(s)
		g.Go(func() error { return r.verifyAndFinish(ctx, s) })
	}
	if r.table.Engine().Ranged() { // also if the list was empty
		return cmp.Or(g.Wait(), table.ErrRanged)
	}
	return g.Wait()
}

func (r *run[T]) verifyAndFinish(ctx context.Context, pk string) error {
	if err := r.verifyPartition(ctx, pk); err != nil {
		return err
	}
	r.finish(ctx, pk)
	r.noteProgress()
	return nil
}

// choose sets the maintainers of the definitions, or of all definitions if there are none.
func (r *run[T]) choose(definitions []index.Definition[T]) error {
	attached := derived.MaintainersOf[derived.Maintainer[T]](r.table.Engine())
	if len(definitions) == 0 {
		if len(attached) == 0 {
			return &table.ValueError{Field: "definitions", Reason: "are empty, and the table has none; give the handle that index.Attach has returned"}
		}
		for _, m := range attached {
			r.add(m)
		}
		return nil
	}
	for _, d := range definitions {
		m, err := maintainerOf(attached, d)
		if err != nil {
			return err
		}
		r.add(m)
	}
	return nil
}

// add adds the maintainer of a definition to those that are verified.
func (r *run[T]) add(m derived.Maintainer[T]) {
	switch e, is := m.(derived.Elsewhere[T]); {
	case !is && !r.verifies(m.Name()):
		r.maintainers = append(r.maintainers, m)
	case is && !slices.Contains(r.elsewhere, e):
		r.elsewhere = append(r.elsewhere, e)
	}
}

// maintainerOf returns the maintainer of a definition.
func maintainerOf[T any](attached []derived.Maintainer[T], d index.Definition[T]) (derived.Maintainer[T], error) {
	e := &index.DefinitionError{Field: "table", Reason: "does not have the definition attached: use the handle that index.Attach has returned, and the same definition"}
	if x := reflect.ValueOf(d); d == nil || x.Kind() == reflect.Pointer && (x.IsNil() || x.Elem().IsZero()) {
		e.Field, e.Reason = "definitions", "contain nil or a zero definition"
		return nil, e
	}
	for _, m := range attached {
		if m.Definition() == any(d) {
			return m, nil
		}
	}
	e.Definition = d.Name()
	return nil, e
}

// Options are the options of [Run]. The zero value compares the whole table and changes nothing.
type Options struct {
	// Partition is the only partition to verify. Unset means all.
	Partition keys.Enc

	// Concurrency is the number of partitions that are verified at the same time. Defaults to 1.
	Concurrency int

	// Repair repairs faults. Without it, Run only reports them.
	Repair bool

	// Orphans says what Repair does with what a write over several partitions has prepared more than a day ago, if its commit record
	// cannot be read; see extend.Records.FinishPrepared. By default Run reports it, with Repair, as Orphaned.
	Orphans extend.Orphans

	// Token is the token of an earlier Report. Run resumes behind the partitions that were finished.
	Token string

	// Rate is the most rows that are read and written in a second, repairs included; 0 means no limit.
	Rate int

	// Fault is called for each fault. Progress is called after each 1,000 entities of a partition and after each partition. No two of
	// these calls overlap.
	Fault    func(Fault)
	Progress func(Report)
}

// check fails for options that are wrong. It returns the PartitionKey in the token, nil if there is no token.
func (o *Options) check() (after *string, err error) {
	switch {
	case o.Rate < 0:
		return nil, &table.ValueError{Field: "Options.Rate", Reason: "is negative; 0 means no limit"}
	case o.Concurrency < 0:
		return nil, &table.ValueError{Field: "Options.Concurrency", Reason: "is negative; 0 means 1"}
	case o.Partition.IsSet() && o.Token != "":
		return nil, &table.ValueError{Field: "Options.Token", Reason: "is set together with Options.Partition, but resumes with all later partitions; leave one of the two out"}
	case o.Token == "":
		return nil, nil
	}
	if start := len(tokenOf("")); len(o.Token) >= start {
		if pk := o.Token[start:]; tokenOf(pk) == o.Token {
			return &pk, nil
		}
	}
	return nil, &table.TokenError{Reason: "is damaged or was made by something else; use Report.Token of an earlier call"}
}

// tokenOf returns the token behind a partition: a version, a checksum, and the PartitionKey.
func tokenOf(partitionKey string) string {
	return fmt.Sprintf("2:%08x:%s", crc32.ChecksumIEEE([]byte(partitionKey)), partitionKey)
}

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults.
const (
	Missing        FaultKind = iota + 1 // a row that should exist does not
	Dangling                            // a row exists that should not
	Stale                               // a row has other content than it should
	StateMismatch                       // the entity's maintainer state (_ix) is lost, or lists other rows than the entity has
	DuplicateValue                      // two entities have one unique value, or one place for details; not repaired
	Unreadable                          // the entity cannot be read, or no key can be made of it; its rows are not compared
	Orphaned                            // a write over several partitions has prepared rows, and its commit record cannot be read; see Options.Orphans
)

// String returns the kind in words.
func (k FaultKind) String() string {
	if names := [...]string{"no fault", "missing", "dangling", "stale", "state mismatch", "duplicate value", "unreadable", "orphaned"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault is a fault of a derived row, or of an entity.
type Fault struct {
	Definition string
	Kind       FaultKind
	Row        keys.Key // the derived row; zero if the entity, or its maintainer state, cannot be read
	Entity     keys.Key // the entity of the row; zero if the row of a summary has a wrong total
	Owner      keys.Key // of a duplicate value, the other entity, which has the row
	Repaired   bool
	Err        error // why the fault could not be repaired
}

// Report counts the work of Run so far.
type Report struct {
	Partitions int // partitions that are finished
	Entities   int // entities that were read
	Rows       int // derived rows that were read
	Faults     map[FaultKind]int
	Repaired   int
	Failed     int // faults that could not be repaired, without duplicate values

	// Unconfirmed counts the entities, and the groups of summaries, of which a suspected fault could not be confirmed, or a fault of a
	// contribution not repaired, because concurrent writers changed the rows at every attempt.
	Unconfirmed int

	// Pending counts the entities whose rows elsewhere (index.Elsewhere) are not compared, because a worker is still to change them: a
	// commit record with their effect is pending. Notified counts the notifications that Run has sent again with Options.Repair, for
	// such commit records that are older than 10 minutes: the queue may have lost the first one.
	Pending, Notified int

	// Finished counts the writes over several partitions, such as table.Table.Move, that Run has ended with Options.Repair: their
	// programs have crashed, and their messages were lost. They began more than 10 minutes ago.
	Finished int

	// Token is the position behind the last finished partition, for Options.Token.
	Token string
}

// Sound reports whether all faults are repaired, and no entity or group is unconfirmed.
func (r *Report) Sound() bool {
	n := r.Unconfirmed
	for _, of := range r.Faults {
		n += of
	}
	return n == r.Repaired
}

// texts keeps copies of texts, many in one piece of memory.
type texts struct{ piece strings.Builder }

// keep returns a copy of s, which does not hold the page that s may be a part of.
func (t *texts) keep(s string) string {
	const size = 4 << 10
	if t.piece.Cap()-t.piece.Len() < len(s) {
		t.piece = strings.Builder{}
		t.piece.Grow(max(size, len(s)))
	}
	from := t.piece.Len()
	t.piece.WriteString(s)
	return t.piece.String()[from:]
}

// run is a call of Run in progress.
type run[T any] struct {
	*recorder
	pacer       *pace.Limit
	table       *table.Table[T]
	schema      engine.Schema // of the table
	opt         Options
	maintainers []derived.Maintainer[T] // of the definitions that are verified
	elsewhere   []derived.Elsewhere[T]  // of those whose rows are elsewhere
	seed        maphash.Seed
}

func newRun[T any](t *table.Table[T], o *Options) *run[T] {
	if o == nil {
		o = &Options{}
	}
	return &run[T]{
		recorder: newRecorder(o, t.Engine().Log("verify.Run", keys.Key{})),
		pacer:    pace.New(o.Rate),
		table:    t.InMode(func(m *engine.Mode) { m.IgnoreCorruptState = true }),
		schema:   t.Engine().Mode.Schema,
		opt:      *o,
		seed:     maphash.MakeSeed(),
	}
}

// verifies reports whether a definition is one of those that are verified.
func (r *run[T]) verifies(definition string) bool {
	return slices.ContainsFunc(r.maintainers, func(d derived.Maintainer[T]) bool { return d.Name() == definition })
}

// rowsPerWrite returns how many derived rows each write of an entity writes, whatever is repaired.
func (r *run[T]) rowsPerWrite() (n int) {
	for _, d := range derived.MaintainersOf[derived.Maintainer[T]](r.table.Engine()) {
		n += d.RowsPerWrite()
	}
	return n
}

// unverifiedUnique reports whether each write of an entity writes unique rows that are not verified, and so not known.
func (r *run[T]) unverifiedUnique() bool {
	return slices.ContainsFunc(derived.MaintainersOf[derived.PerEntity[T]](r.table.Engine()), func(d derived.PerEntity[T]) bool {
		return d.RowsPerWrite() > 0 && d.Unique() && !r.verifies(d.Name())
	})
}

// recorder writes the report, and calls the functions of the options.
type recorder struct {
	fault    func(Fault)
	progress func(Report)
	log      engine.Log

	mu       sync.Mutex
	report   Report
	pending  []string        // PartitionKeys in order, from the first that is not finished
	finished map[string]bool // of these
	repaired map[string]int  // faults, by the PartitionKeys of partitions that are not finished
}

func newRecorder(o *Options, log engine.Log) *recorder {
	return &recorder{
		log:      log,
		fault:    o.Fault,
		progress: o.Progress,
		report:   Report{Faults: map[FaultKind]int{}, Token: o.Token},
		finished: map[string]bool{},
		repaired: map[string]int{},
	}
}

// begin notes that a partition is begun. Partitions are begun in order.
func (r *recorder) begin(partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, partitionKey)
}

// finish notes that a partition is finished, and logs how many rows were repaired. The token is behind the partition only if all
// partitions before it are finished, too.
func (r *recorder) finish(ctx context.Context, partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.repaired[partitionKey]; n > 0 {
		log := r.log
		log.Partition = partitionKey
		log.Repaired(ctx, n)
		delete(r.repaired, partitionKey)
	}
	for r.finished[partitionKey] = true; len(r.pending) > 0 && r.finished[r.pending[0]]; r.pending = r.pending[1:] {
		r.report.Token = tokenOf(r.pending[0])
		delete(r.finished, r.pending[0])
	}
}

// count adds to the numbers of the report.
func (r *recorder) count(partitions, entities, rows int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Partitions += partitions
	r.report.Entities += entities
	r.report.Rows += rows
}

func (r *recorder) noteUnconfirmed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Unconfirmed++
}

func (r *recorder) notePending() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Pending++
}

func (r *recorder) noteFinished(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Finished += n
}

func (r *recorder) noteNotified() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Notified++
}

func (r *recorder) noteFault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Faults[f.Kind]++
	switch {
	case f.Repaired:
		r.report.Repaired++
		r.repaired[cmp.Or(f.Row.PartitionKey(), f.Entity.PartitionKey())]++
	case f.Err != nil:
		r.report.Failed++
	}
	if r.fault != nil {
		r.fault(f)
	}
}

func (r *recorder) noteFaults(all []Fault) {
	for _, f := range all {
		r.noteFault(f)
	}
}

func (r *recorder) noteProgress() {
	if r.progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Faults = maps.Clone(report.Faults)
	r.progress(report)
}
