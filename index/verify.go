package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults.
const (
	Missing       FaultKind = iota + 1 // a row that should be there is not
	Dangling                           // a row exists that should not
	Stale                              // a row has other content than it should
	StateMismatch                      // the rows are right, and the entity's maintainer state lacks them
	Conflict                           // two entities have one unique value; not repaired, since either may be right
	Unreadable                         // the entity cannot be read, or no key can be made of it; its rows are not looked at
)

// String returns the kind in a word.
func (k FaultKind) String() string {
	if names := [...]string{"no fault", "missing", "dangling", "stale", "forgotten", "conflict", "unreadable"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault is a fault of a derived row, or of an entity.
type Fault struct {
	Definition string
	Kind       FaultKind
	Row        keys.Key // the derived row; zero if the entity, or its maintainer state, cannot be read
	Entity     keys.Key // the entity of the row; zero for summaries
	Owner      keys.Key // of a conflict, the other entity, which has the row
	Repaired   bool
	Err        error // why it could not be repaired
}

// Report is what Verify has done so far.
type Report struct {
	Partitions  int // partitions that were looked at
	Entities    int // entities that were read
	Rows        int // derived rows that were read
	Faults      map[FaultKind]int
	Repaired    int
	Failed      int // faults that could not be repaired, without conflicts
	Unconfirmed int // suspected faults that concurrent writers kept changing, so that none was confirmed

	// Token is the position: behind the last partition that is done.
	Token string
}

// Sound reports whether all faults are repaired, and nothing is undecided.
func (r *Report) Sound() bool {
	n := r.Unconfirmed
	for _, of := range r.Faults {
		n += of
	}
	return n == r.Repaired
}

// VerifyOptions are the options of [Verify]. The zero value looks at the whole table and changes nothing.
type VerifyOptions struct {
	// Partition is the only partition to look at. Unset means all.
	Partition keys.Enc

	// Width is how many partitions are verified at the same time. Defaults to 1.
	Width int

	// Repair repairs faults. Without it, Verify only reports them.
	Repair bool

	// Token is the token of an earlier Report, to resume behind the partitions that were done.
	Token string

	// Rate is the most rows that are read and written in a second, with repairs; 0 means no limit.
	Rate int

	// Fault is called for each fault, and Progress after each 1,000 entities of a partition and after each partition. They are never
	// called at the same time.
	Fault    func(Fault)
	Progress func(Report)
}

// Verify compares derived rows with the entities of a table, and repairs them if VerifyOptions.Repair is set: rows that other programs
// have written or deleted, rows of an earlier key function, and the missing rows of a new definition. It is safe beside concurrent
// writers: Verify confirms each suspected fault by another consistent read, and repairs by a write of the entity by its ETag, or of
// the row by its own. Sound entities and rows are not written, except summaries whose bounds Repair makes exact.
//
// t must be a handle that the definitions are attached to. Without definitions, all that are attached to t are verified. For each
// partition Verify reads the derived rows, of which it keeps about 150 bytes each in memory, and then the entities, once more for each
// summary. It can be interrupted and resumed between partitions; an unfinished partition is begun again, and repairs stay. Rows of
// other types, definitions and programs are left as they are. If such a row has the key of a missing row, that fault cannot be
// repaired, and its Err is [ErrForeignRow].
//
// Errors: *DefinitionError for a definition that is not attached; *table.ValueError for a damaged token, for other options, and for no
// definitions; those of reading; ErrRanged if the client's signature is for a range of keys, because Verify would see a part of the
// table only. The report says what was done, also beside an error.
//
// Requests: ⌈rows / 1,000⌉ for each definition and ⌈entities / 1,000⌉ of each partition, more if Rate is below 1,000, and those of
// [table.Table.Partitions]. Details take a scan of the whole partition. A summary takes its rows twice and the entities once more,
// with Repair once more if something was written, and again, 8 times at most, if the summary is wrong. To confirm the faults of an
// entity takes 2, and 1 for each row; of rows without an entity, 2 for each. A repair takes 1 to 3, and 1 more for each unique row of
// the entity. If the table has a unique index of full copies that is not verified with the others, each written entity costs 1 more.
// Entities without maintainer state, entities with rows of an earlier key function, and entities that lists lack need no confirmation;
// they are written together, as many as a transaction holds.
func Verify[T any](ctx context.Context, t *table.Table[T], o *VerifyOptions, definitions ...Definition[T]) (Report, error) {
	if t == nil {
		return Report{}, fmt.Errorf("index: Verify: %w", &table.ValueError{Field: "table", Reason: "is nil"})
	}
	v := &run[T]{table: t.IgnoreCorruptState(), seed: maphash.MakeSeed(), report: Report{Faults: map[FaultKind]int{}}}
	if o != nil {
		v.opt = *o
	}
	v.report.Token = v.opt.Token
	if err := v.verifyTable(ctx, definitions); err != nil {
		return v.report, fmt.Errorf("index: Verify %s: %w", t.Name(), err)
	}
	return v.report, nil
}

// verifier is a Verify under way.
type run[T any] struct {
	table       *table.Table[T]
	opt         VerifyOptions
	maintainers []maintainer[T]
	seed        maphash.Seed
	next        time.Time // when more rows may be read or written

	mu     sync.Mutex
	report Report
}

func (v *run[T]) verifyTable(ctx context.Context, definitions []Definition[T]) error {
	for _, m := range v.table.Maintainers() {
		if m, is := m.(maintainer[T]); is && len(definitions) == 0 {
			v.maintainers = append(v.maintainers, m)
		}
	}
	if len(definitions)+len(v.maintainers) == 0 {
		return &table.ValueError{Field: "definitions", Reason: "there are none"}
	}
	for _, d := range definitions {
		i := -1
		if !isNil(d) {
			i = slices.IndexFunc(v.table.Maintainers(), func(m table.Maintainer[T]) bool { is, ok := m.(maintainer[T]); return ok && is.is(d) })
		}
		if i < 0 {
			return errNotAttached(nameOf(d))
		}
		if m := v.table.Maintainers()[i].(maintainer[T]); !slices.ContainsFunc(v.maintainers, func(d maintainer[T]) bool { return d.Name() == m.Name() }) {
			v.maintainers = append(v.maintainers, m)
		}
	}
	switch o := v.opt; {
	case o.Rate < 0:
		return &table.ValueError{Field: "VerifyOptions.Rate", Reason: "is negative"}
	case o.Width < 0:
		return &table.ValueError{Field: "VerifyOptions.Width", Reason: "is negative"}
	case o.Partition.IsSet() && o.Token != "":
		return &table.ValueError{Field: "VerifyOptions.Token", Reason: "is set, but it continues with all partitions, and Partition is set, too; leave one of them out"}
	}
	after, err := parseToken(v.opt.Token)
	if err != nil {
		return err
	}
	if v.opt.Partition.IsSet() {
		pk, err := v.opt.Partition.Result()
		if err != nil {
			return err
		}
		if err := v.verifyPartition(ctx, pk); err != nil {
			return err
		}
		v.report.Token = tokenOf(pk)
		v.progress()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(v.opt.Width, 1))
	var underway []string // in order, with those that are done behind one that is not
	done := map[string]bool{}
	begin := keys.Enc{}
	if after != nil {
		begin = keys.Stored(*after, "").Partition()
	}
	for pk, err := range v.table.PartitionsAfter(ctx, begin) {
		if err != nil {
			return cmp.Or(g.Wait(), err) // whose failure has ended the list, if one has
		}
		if v.table.Ranged() {
			return cmp.Or(g.Wait(), ErrRanged)
		}
		s := pk.String()
		v.mu.Lock()
		underway = append(underway, s)
		v.mu.Unlock()
		g.Go(func() error {
			if err := v.verifyPartition(ctx, s); err != nil {
				return err
			}
			v.mu.Lock()
			for done[s] = true; len(underway) > 0 && done[underway[0]]; underway = underway[1:] {
				v.report.Token = tokenOf(underway[0])
				delete(done, underway[0])
			}
			v.mu.Unlock()
			v.progress()
			return nil
		})
	}
	if v.table.Ranged() {
		return cmp.Or(g.Wait(), ErrRanged) // and of nothing
	}
	return g.Wait()
}

func nameOf[T any](d Definition[T]) string {
	if isNil(d) {
		return ""
	}
	return d.Name()
}

// A token is a PartitionKey, with a sign before it that says of which form it is.
func tokenOf(pk string) string { return "1:" + pk }

func parseToken(s string) (*string, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) < 2 || s[:2] != "1:" {
		return nil, &table.ValueError{Field: "VerifyOptions.Token", Reason: "is not from Verify; use Report.Token of a call before"}
	}
	s = s[2:]
	return &s, nil
}

func (v *run[T]) progress() {
	if v.opt.Progress == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.report
	r.Faults = maps.Clone(r.Faults)
	v.opt.Progress(r)
}

// tally counts what was read.
func (v *run[T]) count(partitions, entities, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Partitions += partitions
	v.report.Entities += entities
	v.report.Rows += rows
}

// undecided notes that nobody knows.
func (v *run[T]) noteUnconfirmed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Unconfirmed++
}

// found notes a fault.
func (v *run[T]) noteFault(f Fault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Faults[f.Kind]++
	switch {
	case f.Repaired:
		v.report.Repaired++
	case f.Err != nil:
		v.report.Failed++
	}
	if v.opt.Fault != nil {
		v.opt.Fault(f)
	}
}

// pace pays for n rows, before they are written, and as they are read: it waits until all that was paid for before is over, and then
// as long as these take.
func (v *run[T]) pace(ctx context.Context, n int) error {
	if v.opt.Rate <= 0 {
		return ctx.Err()
	}
	v.mu.Lock()
	now := time.Now()
	if v.next.Before(now) {
		v.next = now
	}
	v.next = v.next.Add(time.Duration(n) * time.Second / time.Duration(v.opt.Rate))
	wait := v.next.Sub(now)
	v.mu.Unlock()
	if wait < time.Millisecond {
		return ctx.Err() // what a timer does not measure is waited for with what follows
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alongside is how many rows are written with an entity whatever is wrong with it: full copies, which are of each of its versions.
func (v *run[T]) rowsPerWrite() (n int) {
	for _, m := range v.table.Maintainers() {
		if c, is := m.(interface{ full() bool }); is && c.full() {
			n += m.MaxRows() / 2
		}
	}
	return n
}

// repairing is what a write is told that makes rows of some definitions anew.
func (v *run[T]) repairing(anew ...string) repairMode {
	r := repairMode{anew: anew, owners: true, verified: map[string]bool{}}
	for _, d := range v.maintainers {
		r.verified[d.Name()] = true
		if c, is := d.(perGroup[T]); is {
			r.counts = append(r.counts, c.Name())
		}
	}
	return r
}

// lookedAt tells whether all unique rows that each write of an entity writes are of definitions that are verified.
func (v *run[T]) uniqueRowsVerified() bool {
	return !slices.ContainsFunc(v.table.Maintainers(), func(m table.Maintainer[T]) bool {
		c, is := m.(interface {
			full() bool
			Unique() bool
		})
		return is && c.full() && c.Unique() && !slices.ContainsFunc(v.maintainers, func(d maintainer[T]) bool { return d.Name() == m.Name() })
	})
}

// pageSize is how many rows come at a time: not more than may come in a second.
func (v *run[T]) pageSize() int {
	if v.opt.Rate <= 0 {
		return 0
	}
	return min(v.opt.Rate, 1000)
}

// rounds is how often a fault is looked at that others change meanwhile.
const rounds = 8

var errChanging = errors.New("others change it all the time")
