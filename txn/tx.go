package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrUnprotected: the function has gone by what it did not find, in a way that cannot be kept until
// the commit, and has written. Nothing was written. Read the key with [Get], which keeps it absent;
// or let the row be one that the transaction writes, as a counter of what a list contains.
var ErrUnprotected = errors.New("the transaction goes by what it did not find, which nothing protects")

// errConflict is an error of a call of the function that has read two versions of one row.
var errConflict = errors.New("a row has changed since the transaction has read it")

// errOldCopy: a look-up has found a copy, in another partition, that no worker has changed yet.
var errOldCopy = errors.New("the copy that was found is older than its entity")

// Tx is a call of the function of [Run]. It may be used by several goroutines of the function, and
// not after the function has returned.
type Tx struct {
	run *run

	mu          sync.Mutex
	reads       map[place]*read
	writes      map[place]*engine.Op
	order       []place // of what was read or written first
	last        place   // what was read last
	reading     int     // the reads that are under way
	overlapped  bool    // two reads were under way at the same time, so that the last one may have been before another
	first       *engine.Table
	firstKey    keys.Key
	unprotected error // why the transaction may not write
	failed      error // the mistake of an operation
	refused     bool  // the service has refused the commit, which counts like a read behind all others
	again       error // a read has found that the function must be called again
	ended       bool
}

// place is where a row is.
type place struct {
	table string // in lower case
	key   keys.Key
}

func placeOf(t *engine.Table, k keys.Key) place { return place{strings.ToLower(t.Name), k} }

// samePartition reports whether two rows are in one partition.
func (p place) samePartition(other place) bool {
	return p.table == other.table && p.key.PartitionKey() == other.key.PartitionKey()
}

// read is what the function has read of a row.
type read struct {
	etag   azcore.ETag // "" if there is no row
	entity any         // the *table.Entity; nil if there is no row
	keep   func() *engine.Op
	again  func(ctx context.Context) (azcore.ETag, error)
}

// Get reads an entity by its key, as [table.Table.Get] does. If others change it before the commit,
// or insert what was absent, nothing is written, and the function of [Run] is called again. A
// second Get of one key returns the same entity, and sends nothing.
//
// Errors: table.ErrNotFound; *table.ValueError for a row that the function has written, and for a
// table of another store; those of a read (see package table). 1 request.
func Get[T any](tx *Tx, t *table.Table[T], k keys.Key) (*table.Entity[T], error) {
	e, err := tx.tableOf(t)
	if err != nil {
		return nil, fmt.Errorf("txn: Get: %w", err)
	}
	at := placeOf(e, k)
	known, err := tx.known(at)
	if err != nil {
		return nil, fmt.Errorf("txn: Get %s%v: %w", e.Name, k, err)
	}
	if known != nil {
		if known.etag == "" {
			return nil, e.OpError("Get", k, errs.ErrNotFound)
		}
		if found, is := known.entity.(*table.Entity[T]); is {
			return found, nil
		}
	}
	tx.begin()
	found, err := t.Get(tx.run.spanned, k)
	return found, cmp.Or(note(tx, e, t, k, found, err), tx.repeats(err))
}

// Find looks an entity up by a function that calls a unique index, and reads it if the function has
// found a copy. The entity is then as one that [Get] has read, and so it has the value.
//
//	jones, err := txn.Find(tx, staff, func(ctx context.Context) (*table.Entity[Employee], error) { return byMail.Get(ctx, staff, mail) })
//
// Only the entity that was found is kept, and nothing keeps others from coming beside it: find no
// first or least of a list. If the function finds nothing, nothing keeps it so either: the
// transaction may then return, but not write (see [ErrUnprotected]), and what it returns goes by a
// look-up of some moment. To insert what must not exist twice, insert an entity with a unique
// value. Errors: those of the function and of [Get]; table.ErrContended if the copy was older than
// its entity, at each of 3 attempts. Requests: those of the function, and 1 for a copy.
func Find[T any](tx *Tx, t *table.Table[T], find func(ctx context.Context) (*table.Entity[T], error)) (*table.Entity[T], error) {
	h, err := tx.tableOf(t)
	if err == nil && find == nil {
		err = &table.ValueError{Field: "find", Reason: "is nil; give the function that looks the entity up"}
	}
	if err != nil {
		return nil, fmt.Errorf("txn: Find: %w", err)
	}
	for range 3 {
		tx.begin()
		found, err := find(tx.run.spanned)
		if err == nil && found != nil && isCopy(t, found) {
			copied := found
			if found, err = t.Get(tx.run.spanned, copied.Key); errors.Is(err, errs.ErrNotFound) || err == nil && !sameWrite(copied, found) {
				tx.end()
				continue
			}
		}
		switch {
		case errors.Is(err, errs.ErrNotFound):
			tx.end()
			tx.leave(fmt.Errorf("txn: Find in table %s: %w", h.Name, ErrUnprotected))
			return nil, err
		case err != nil:
			tx.end()
			return nil, tx.repeats(err)
		case found == nil:
			tx.end()
			return nil, &table.ValueError{Field: "find", Reason: "has returned no entity, and no error"}
		}
		known, err := tx.known(placeOf(h, found.Key))
		if err = cmp.Or(note(tx, h, t, found.Key, found, nil), err); err != nil {
			return nil, err
		}
		if known != nil {
			if before, is := known.entity.(*table.Entity[T]); is {
				return before, nil
			}
		}
		return found, nil
	}
	return nil, fmt.Errorf("txn: Find in table %s: %w", h.Name, errs.With(errs.ErrContended, errOldCopy))
}

// Context returns the context of the call of [Run].
func (tx *Tx) Context() context.Context { return tx.run.ctx }

// Do adds operations on entities, which are applied when the function has returned: inserts, and
// what goes by the ETag of an entity that the function has read. Indexes, unique values and
// everything else that follows from the entities are written with them.
//
//	tx.Do(accounts.ReplaceOp(from), ledger.InsertOp(&line))
//
// A mistake of an operation is an error of Run. A call after the function has returned does
// nothing. No requests.
func (tx *Tx) Do(ops ...table.Op) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return
	}
	for _, op := range ops {
		op := door.Op(op)
		if err := tx.do(op); err != nil && tx.failed == nil {
			if op.Table != nil {
				err = op.Table.OpError(op.Method, op.Key, err)
			}
			tx.failed = err
		}
	}
}

// do adds an operation. The caller holds the lock.
func (tx *Tx) do(op *engine.Op) error {
	if op.Table == nil {
		return op.Check()
	}
	if err := op.Usable(); err != nil {
		return err
	}
	switch {
	case op.Table.Service != tx.run.host.Tables:
		return errOtherStore
	case op.Key.Err() != nil:
		return op.Key.Err()
	case op.Table.Mode.Completes != nil:
		return &table.ValueError{Field: "operation", Reason: "completes effects of a commit record, which a transaction cannot: write it by table.Transact"}
	case !op.Inserts() && (op.Match == "" || op.Match == azcore.ETagAny):
		return &table.ValueError{Field: "operation", Reason: "goes by no ETag: a transaction inserts, or changes what it has read; get the entity, and give InsertOp, ReplaceOp, MergeOp, TouchOp or DeleteOp of it"}
	}
	at := placeOf(op.Table, op.Key)
	switch was := tx.reads[at]; {
	case tx.writes[at] != nil:
		return errs.ErrDuplicateRow
	case op.Keeps == engine.KeepsRow && was != nil && was.etag == op.Match: // it is pinned anyway
		return nil
	case op.Inserts() && was != nil && was.etag != "":
		return errs.ErrExists
	}
	tx.add(op.Table, at)
	tx.writes[at] = op
	return nil
}

var (
	errEnded      = &table.ValueError{Field: "tx", Reason: "is of a call of the function that has ended; use it only in the function"}
	errOtherStore = &table.ValueError{Field: "table", Reason: "is no table of the store; give one that aztablekit.Table has declared in it"}
)

// close ends the use of a call.
func (tx *Tx) close() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.ended = true
}

// use notes the first table that the function uses: its options bound Run. The caller holds the
// lock.
func (tx *Tx) use(t *engine.Table) {
	if tx.first == nil {
		tx.first = t
	}
	if tx.run.conflicts == nil {
		c := t.Options.NewConflicts()
		tx.run.conflicts = &c
		tx.run.spanned, tx.run.end = t.Span(tx.run.ctx, "Run")
	}
}

// add notes a row that was read or written. The caller holds the lock.
func (tx *Tx) add(t *engine.Table, at place) {
	tx.use(t)
	if tx.firstKey == (keys.Key{}) {
		tx.firstKey = at.key
	}
	if tx.reads[at] == nil && tx.writes[at] == nil {
		tx.order = append(tx.order, at)
	}
}

// begin begins a read, and end ends it.
func (tx *Tx) begin() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.reading++
	if !tx.ended && tx.reading > 1 {
		tx.overlapped = true
	}
}

func (tx *Tx) end() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.reading--
}

// known returns what was read of a row, nil if it was not read.
func (tx *Tx) known(at place) (*read, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	switch {
	case tx.ended:
		return nil, errEnded
	case tx.writes[at] != nil:
		return nil, &table.ValueError{Field: "key", Reason: "is of a row that the transaction writes; use what it writes"}
	}
	return tx.reads[at], nil
}

// repeats notes an error of a read after which the function is called again, and returns it.
func (tx *Tx) repeats(err error) error {
	if errors.Is(err, errConflict) || errors.Is(err, errs.ErrGivenUp) { // the read has ended another transaction, and was given up
		tx.mu.Lock()
		defer tx.mu.Unlock()
		if !tx.ended {
			tx.again = err
		}
	}
	return err
}

// leave notes why the transaction may not write.
func (tx *Tx) leave(err error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if !tx.ended {
		tx.unprotected = err
	}
}
