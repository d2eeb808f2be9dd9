package verify

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"sync"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of [Check] and [Repair]. The zero value has the whole table.
type Options struct {
	// Pass has the Partitions to verify, all by default, the Rate of the rows that are read and
	// written, repairs included, the Token of an earlier call with the same Partitions and
	// RecordsOnly, the Concurrency, which is the number of partitions that are verified at the same
	// time, 1 by default, DryRun, with which Repair is Check, and Progress, which is called after
	// each 1,000 entities of a partition and after each partition. Skip is refused. With
	// Partitions, rows elsewhere and views are read by the keys that the entities record, and not
	// as a whole: those that no entity records are not found.
	table.Pass

	// Rows is the range of RowKeys of the entities to verify, of one partition and with
	// RecordsOnly: a part of a large partition. A definition with a summary or a view has no such
	// parts.
	Rows keys.RowRange

	// RecordsOnly compares the entities only with what they record of their derived rows (_ix), and
	// reads no such rows. It finds the entities that lack the rows of a new definition, or have
	// those of an earlier key function, and nothing that other programs have done to the rows.
	// Summaries are compared as always, and so are views, by the keys of their derived entities,
	// unless the entity records these.
	RecordsOnly bool

	// MostRows is how many derived rows of a partition, and of all rows elsewhere, are kept in
	// memory, of about 150 bytes each, 200 elsewhere. If there are more, all are read again to
	// compare what may have faults, once for each MostRows rows of that. Rows that name no entity
	// stay in memory besides. Repair then takes a row elsewhere that its entity does not record for
	// Missing, and not for a StateMismatch. Defaults to 500,000.
	MostRows int

	// CommitOrphans and RollBackOrphans say what Repair does with what a write over several
	// partitions has prepared more than a day ago, if its commit record cannot be read: as if the
	// write had committed, so that no moved entity is lost, or as if it had been given up, so that
	// forged rows are removed. By default it is reported as Unreadable; both are refused.
	CommitOrphans, RollBackOrphans bool

	// LeavePrepared leaves the writes over several partitions whose programs have crashed to
	// another run. They are read as their commit records say. It saves Repair a scan of the table.
	LeavePrepared bool

	// Fault is called for each fault. No two calls of it and of Progress overlap.
	Fault func(Fault)
}

// check fails for options that are wrong. It returns the PartitionKey in the token, nil if there is
// no token.
func (o *Options) check() (after *string, err error) {
	err = door.CheckPass(&o.Pass, "Partitions", "Token", "Rate", "Concurrency", "DryRun")
	if err != nil {
		return nil, err
	}
	switch {
	case o.CommitOrphans && o.RollBackOrphans:
		return nil, &table.ValueError{Field: "Options.RollBackOrphans", Reason: "is set together with CommitOrphans: leave one out"}
	case o.MostRows < 0:
		return nil, &table.ValueError{Field: "Options.MostRows", Reason: "is negative; 0 means 500,000"}
	case o.Partitions.Err() != nil:
		return nil, o.Partitions.Err()
	case o.Rows.Err() != nil:
		return nil, o.Rows.Err()
	case o.Rows.IsSet() && !(o.RecordsOnly && o.Partitions.IsPoint() && o.Token == ""):
		return nil, &table.ValueError{Field: "Options.Rows", Reason: "are of one partition, with RecordsOnly, and without a Token: rows of other entities would seem to be wrong"}
	case o.Token == "":
		return nil, nil
	}
	if start := len(o.tokenOf("")); len(o.Token) >= start {
		if pk := o.Token[start:]; o.tokenOf(pk) == o.Token {
			return &pk, nil
		}
	}
	return nil, &table.ValueError{Field: "token", Reason: "is damaged, was made by something else, or is of another range or another RecordsOnly; use that of the Progress of an earlier call"}
}

// tokenOf returns the token behind a partition: a version, a checksum that is also of what is
// verified, and the PartitionKey.
func (o *Options) tokenOf(partitionKey string) string {
	of := partitionKey
	if o.Partitions.IsSet() || o.RecordsOnly {
		of += fmt.Sprintf("|%v|%v", o.Partitions, o.RecordsOnly)
	}
	return fmt.Sprintf("2:%08x:%s", crc32.ChecksumIEEE([]byte(of)), partitionKey)
}

// The kinds of faults. The rows of an Unreadable entity are not compared. If the commit record of a
// write over several partitions cannot be read, the fault has the row that the write has prepared,
// and no entity; see Options.CommitOrphans.
const (
	// Missing: a row that should exist does not, or the blob of a link.
	Missing = derived.Missing
	// Dangling: a row or blob exists that should not.
	Dangling = derived.Dangling
	// Stale: a row has other content than it should.
	Stale = derived.Stale
	// StateMismatch: what records the entity's rows (_ix) or the link to its blob (~b) is lost, or
	// says something else.
	StateMismatch = derived.StateMismatch
	// DuplicateValue: two entities have one unique value, one place for details, or one derived
	// entity. It is not repaired.
	DuplicateValue = derived.DuplicateValue
	// Unreadable: the entity, or the commit record of a prepared row, cannot be read, or a function
	// of the definition fails.
	Unreadable = derived.Unreadable
)

// Fault is a fault of a derived row, of an entity, or of a link to a blob.
type Fault struct {
	Table      string // of the entities
	Definition string // its name; "" if the entity cannot be read, and for a blob
	Kind       string
	Row        keys.Key // the derived row or derived entity; zero if the entity, or its maintainer state, cannot be read
	Entity     keys.Key // the entity of the row; zero if the row of a summary has a wrong total
	Owner      keys.Key // of a duplicate value, the other entity, which has the row
	Blob       string   // the name of the blob, of a fault of Values.Sweep of package largeentity
	Repaired   bool
	Err        error // why the fault cannot be repaired; of an Unreadable fault, why the row cannot be read
}

// orphans returns what becomes of what cannot be ended.
func (o *Options) orphans() commit.Orphans {
	switch {
	case o.CommitOrphans:
		return commit.CommitOrphans
	case o.RollBackOrphans:
		return commit.RollBackOrphans
	}
	return commit.LeaveOrphans
}

// recorder writes the report, and calls the functions of the options.
type recorder struct {
	opt *Options
	log engine.Log

	partitions engine.Finished[string] // by their keys

	mu       sync.Mutex
	done     table.Progress // without Faults
	repaired map[string]int // faults, by the PartitionKeys of partitions that are not finished
}

func newRecorder(o *Options, log engine.Log) *recorder {
	opt := *o
	return &recorder{
		log:      log,
		opt:      &opt,
		done:     table.Progress{Counts: map[string]int{}, Token: o.Token},
		repaired: map[string]int{},
	}
}

// begin notes that a partition is begun. Partitions are begun in order.
func (r *recorder) begin(partitionKey string) { r.partitions.Begin(partitionKey) }

// finish notes that a partition is finished, and logs how many rows were repaired. The token is
// behind the partition only if all partitions before it are finished, too.
func (r *recorder) finish(ctx context.Context, partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.repaired[partitionKey]; n > 0 {
		log := r.log
		log.Partition = partitionKey
		log.Repaired(ctx, n)
		delete(r.repaired, partitionKey)
	}
	r.partitions.Finish(partitionKey)
	if through, any := r.partitions.Through(); any {
		r.done.Token = r.opt.tokenOf(through)
		r.done.Through = keys.Raw(through, "")
	}
}

// count adds to what is counted under a name.
func (r *recorder) count(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n != 0 {
		r.done.Counts[name] += n
	}
}

// countEntity counts an entity that was read: for the rows in the partition, the rows elsewhere and
// the views, all of them each time.
func (r *recorder) countEntity() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done.Rows++
}

// progress returns the work so far.
func (r *recorder) progress() table.Progress {
	p := r.done
	p.Counts = maps.Clone(p.Counts)
	p.Faults = p.Counts[derived.Unconfirmed] - p.Changed
	for _, n := range derived.Kinds(p) {
		p.Faults += n
	}
	return p
}

func (r *recorder) noteFault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Table = r.log.Table
	r.done.Counts[f.Kind]++
	switch {
	case f.Repaired:
		r.done.Changed++
		r.repaired[cmp.Or(f.Row.PartitionKey(), f.Entity.PartitionKey())]++
	case f.Err != nil:
		r.done.Counts[derived.Failed]++
	}
	if r.opt.Fault != nil {
		r.opt.Fault(f)
	}
}

func (r *recorder) noteFaults(all []Fault) {
	for _, f := range all {
		r.noteFault(f)
	}
}

func (r *recorder) noteProgress() {
	if r.opt.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opt.Progress(r.progress())
}
