package verify

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of [Run]. The zero value compares the whole table and changes nothing.
type Options struct {
	// Partitions is the range of partitions to verify; that of one partition is its Point. Unset means all. Rows elsewhere and views are
	// then read by the keys that the entities of the range record, and not as a whole: those that no entity records are not found.
	Partitions keys.PartitionRange

	// Rows is the range of RowKeys of the entities to verify, of one partition and with RecordsOnly: a part of a large partition. A definition with a
	// summary or a view has no such parts.
	Rows keys.RowRange

	// RecordsOnly compares the entities only with what they record of their derived rows (_ix), and reads no such rows. It finds the
	// entities that lack the rows of a new definition, or have those of an earlier key function, and nothing that other programs have
	// done to the rows. Summaries are compared as always, and so are views, by the keys of their derived entities, unless the entity records
	// these.
	RecordsOnly bool

	// MostRows is how many derived rows of a partition, and of all rows elsewhere, are kept in memory, of about 150 bytes each, 200 elsewhere. If
	// there are more, all are read again to compare what may have faults, once for each MostRows rows of that. Rows that name no entity stay in
	// memory besides. With Repair, a row elsewhere is then Missing, and not a StateMismatch, if its entity does not record it. Defaults to 500,000.
	MostRows int

	// Concurrency is the number of partitions that are verified at the same time. Defaults to 1.
	Concurrency int

	// Repair repairs faults, and deletes old tombstones. Without it, Run only reports faults.
	Repair bool

	// Orphans says what Repair does with what a write over several partitions has prepared more than a day ago, if its commit record
	// cannot be read. By default Run reports it, with Repair, as Unreadable.
	Orphans commit.Orphans

	// LeavePrepared leaves the writes over several partitions whose programs have crashed to another run. They are read as their commit records say. It
	// saves a scan of the table before a run with Repair.
	LeavePrepared bool

	// Token is the token of an earlier Report, of the same Partitions and RecordsOnly. Run resumes behind the partitions that were finished.
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
	return nil, &table.ValueError{Field: "token", Reason: "is damaged, was made by something else, or is of another range or another RecordsOnly; use Report.Token of an earlier call"}
}

// tokenOf returns the token behind a partition: a version, a checksum that is also of what is verified, and the PartitionKey.
func (o *Options) tokenOf(partitionKey string) string {
	of := partitionKey
	if o.Partitions.IsSet() || o.RecordsOnly {
		of += fmt.Sprintf("|%v|%v", o.Partitions, o.RecordsOnly)
	}
	return fmt.Sprintf("2:%08x:%s", crc32.ChecksumIEEE([]byte(of)), partitionKey)
}

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults. The rows of an Unreadable entity are not compared. If the commit record of a write over several partitions
// cannot be read, the fault has the row that the write has prepared, and no entity; see Options.Orphans.
const (
	Missing        FaultKind = iota + 1 // a row that should exist does not, or the blob of a link
	Dangling                            // a row or blob exists that should not
	Stale                               // a row has other content than it should
	StateMismatch                       // what records the entity's rows (_ix) or the link to its blob (~b) is lost, or says something else
	DuplicateValue                      // two entities have one unique value, one place for details, or one derived entity; not repaired
	Unreadable                          // the entity, or the commit record of a prepared row, cannot be read, or a function of the definition fails
)

// String returns the kind in words.
func (k FaultKind) String() string {
	if names := [...]string{"no fault", "missing", "dangling", "stale", "state mismatch", "duplicate value", "unreadable"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault is a fault of a derived row, of an entity, or of a link to a blob.
type Fault struct {
	Table      string // of the entities
	Definition string // its name; "" if the entity cannot be read, and for a blob
	Kind       FaultKind
	Row        keys.Key // the derived row or derived entity; zero if the entity, or its maintainer state, cannot be read
	Entity     keys.Key // the entity of the row; zero if the row of a summary has a wrong total
	Owner      keys.Key // of a duplicate value, the other entity, which has the row
	Blob       string   // the name of the blob, of a fault of Values.Sweep of package largeentity
	Repaired   bool
	Err        error // why the fault cannot be repaired; of an Unreadable fault, why the row cannot be read
}

// Report counts the work of Run so far.
type Report struct {
	Partitions int // partitions that are finished
	Entities   int // entities that were read; the rows in the partition, the rows elsewhere and the views each read all of them
	Rows       int // derived rows that were read, and derived entities of views
	Faults     map[FaultKind]int
	Repaired   int
	Failed     int // faults with an Err: Unreadable ones, and those that Repair cannot repair, without duplicate values

	// Unconfirmed counts the entities, the groups of summaries and the derived entities of views of which a suspected fault could not be
	// confirmed, or a fault of a contribution not repaired, because concurrent writers changed the rows at every attempt.
	Unconfirmed int

	// Pending counts the entities whose rows elsewhere (index.NewGlobal), or derived entities, are not compared, because a worker is
	// still to change them: a commit record with their effect is pending. Notified counts the notifications that Run has sent again with
	// Options.Repair, for such commit records of rows elsewhere that are older than 10 minutes: the queue may have lost the first one.
	Pending, Notified int

	// Finished counts the writes over several partitions, such as table.Table.Move, that Run has ended with Options.Repair, unless it
	// verifies only views: their programs have crashed, and their messages were lost. They began more than 10 minutes ago.
	Finished int

	// Unowned counts the rows in the range of a view's table that the view has not written. Run leaves them as they are.
	Unowned int

	// Tombstones counts the old tombstones of rows elsewhere and of derived entities that Run has deleted, with Options.Repair.
	Tombstones int

	// Through is the last partition that is finished with all before it; unset if the first is not. Token is the position behind it, for
	// Options.Token.
	Through keys.PartitionKey
	Token   string
}

// Add adds the numbers of another report. Through and Token stay.
func (r *Report) Add(more Report) {
	r.Partitions += more.Partitions
	r.Entities += more.Entities
	r.Rows += more.Rows
	r.Repaired += more.Repaired
	r.Failed += more.Failed
	r.Unconfirmed += more.Unconfirmed
	r.Pending += more.Pending
	r.Notified += more.Notified
	r.Finished += more.Finished
	r.Unowned += more.Unowned
	r.Tombstones += more.Tombstones
	for kind, n := range more.Faults {
		if r.Faults == nil {
			r.Faults = map[FaultKind]int{}
		}
		r.Faults[kind] += n
	}
}

// Sound reports whether all faults are repaired, and nothing is unconfirmed.
func (r *Report) Sound() bool {
	n := r.Unconfirmed
	for _, of := range r.Faults {
		n += of
	}
	return n == r.Repaired
}

// String returns the report in a sentence, with the numbers that are not 0. An example is "not
// sound: 3 faults (2 missing, 1 stale), 1 repaired; 120 entities and 340 rows in 4 partitions".
func (r Report) String() string {
	text := "sound"
	if !r.Sound() {
		text = "not sound"
	}
	faults := 0
	var kinds, rest []string
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		if n := r.Faults[kind]; n > 0 {
			faults += n
			kinds = append(kinds, fmt.Sprintf("%d %v", n, kind))
		}
	}
	switch {
	case faults == 1:
		text += fmt.Sprintf(": 1 fault (%s), %d repaired", kinds[0], r.Repaired)
	case faults > 1:
		text += fmt.Sprintf(": %d faults (%s), %d repaired", faults, strings.Join(kinds, ", "), r.Repaired)
	}
	for _, of := range []struct {
		n    int
		what string
	}{
		{r.Failed, "failed"}, {r.Unconfirmed, "unconfirmed"}, {r.Pending, "pending"}, {r.Notified, "notified"},
		{r.Finished, "writes finished"}, {r.Unowned, "unowned"}, {r.Tombstones, "tombstones deleted"},
	} {
		if of.n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	text += fmt.Sprintf("; %d entities and %d rows in %d partitions", r.Entities, r.Rows, r.Partitions)
	return strings.Join(append([]string{text}, rest...), "; ")
}

// recorder writes the report, and calls the functions of the options.
type recorder struct {
	opt      *Options
	fault    func(Fault)
	progress func(Report)
	log      engine.Log

	partitions engine.Finished[string] // by their keys

	mu       sync.Mutex
	report   Report
	repaired map[string]int // faults, by the PartitionKeys of partitions that are not finished
}

func newRecorder(o *Options, log engine.Log) *recorder {
	return &recorder{
		log:      log,
		opt:      o,
		fault:    o.Fault,
		progress: o.Progress,
		report:   Report{Faults: map[FaultKind]int{}, Token: o.Token},
		repaired: map[string]int{},
	}
}

// begin notes that a partition is begun. Partitions are begun in order.
func (r *recorder) begin(partitionKey string) { r.partitions.Begin(partitionKey) }

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
	r.partitions.Finish(partitionKey)
	if through, any := r.partitions.Through(); any {
		r.report.Token = r.opt.tokenOf(through)
		r.report.Through = keys.Raw(through, "").Partition()
	}
}

// count adds the numbers of more to those of the report.
func (r *recorder) count(more Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Add(more)
}

func (r *recorder) noteFault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Table = r.log.Table
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
