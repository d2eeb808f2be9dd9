package txn

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// Run calls f, and applies the operations that f has given to [Tx.Do], all or none of them, if
// everything that f has read is still as it was read. Otherwise it calls f again. The example of
// the package is a transfer between two accounts.
//
// The tables are of the store, and f may read and write any partitions of them, up to 10. f reads
// by tx alone, does nothing that cannot be undone, and keeps nothing of an earlier call: it may be
// called several times. What it has read may be of several moments until Run has looked: so an
// error of f is returned only if what f has read was true at one moment, but for a [Find] that has
// found nothing. When Run returns nil, the entities of f are as they are stored, as after the
// methods of their table.
//
// After table.ErrUnknownOutcome, all operations may have been applied, or none: the
// *table.UnknownError can be resolved. After any other error, none was applied:
//   - that of f, or of an operation, unchanged; or only its text, with the error because of which
//     Run could not look again;
//   - table.ErrContended: others have changed what f reads, again and again, until
//     Retry.ConflictAttempts or Common.WriteTimeout, which counts from the first read, was used up
//     between two calls; also a value that is taken and unique in one partition
//     (index.Options.Unique), if f has read rows of others and the partition must be the home: it has
//     changes of a wide entity, or so many changes that they do not fit elsewhere;
//   - table.ErrGivenUp: the last attempt did not reach the service, or another program has ended
//     it;
//   - table.ErrExists, table.ErrChanged, table.ErrNotFound: an operation goes by something else
//     than f has read; table.ErrTaken; [ErrUnprotected];
//   - *table.LimitError: more than 10 partitions, or more rows in a partition than the service
//     takes;
//   - *table.ValueError: an operation without an ETag, tables of different stores, a nil f;
//   - the other errors of a write (see package table).
//
// Requests: those of f, and for P partitions 2P − 1 transactions and 3 more; for 1 partition, 1
// transaction. See the doc of the package for reservations, and for what a function costs that
// writes nothing. Not idempotent: let f insert an entity with the key that the caller gives, and
// read it first, as the recipe money does.
func Run(ctx context.Context, s extend.Store, f func(tx *Tx) error) error {
	h := host.Of(s)
	switch {
	case h.Invalid != nil:
		return h.Invalid
	case f == nil:
		return fmt.Errorf("txn: Run: %w", &table.ValueError{Field: "f", Reason: "is nil; give the function that reads and writes"})
	}
	r := run{ctx: ctx, spanned: ctx, host: h, call: f}
	err := r.run()
	if r.end != nil {
		r.end(err)
	}
	return err
}

// run is a call of Run.
type run struct {
	ctx       context.Context
	host      *host.Host
	call      func(*Tx) error
	wary      bool // an insert was refused because there is a row: from then on, inserts read first
	conflicts *engine.Conflicts

	// refusedIn is the partition of a derived row that was refused. Other partitions that were
	// prepared have other ETags since, and what was read there cannot be confirmed. So the next call
	// prepares this partition first.
	refusedIn commit.Place

	// spanned is ctx with the span of Run, from the first table on that the function uses: what is
	// refused, and tried again, is no failure.
	spanned context.Context
	end     func(error)
}

// run calls the function until its reads and writes are of one moment.
func (r *run) run() error {
	for {
		tx := &Tx{run: r, reads: map[place]*read{}, writes: map[place]*engine.Op{}}
		conflict, err := tx.attempt()
		if conflict == nil {
			return err
		}
		if again, ended := r.wait(tx, conflict); !again {
			return errors.Join(gaveUp(conflict), ended)
		}
	}
}

// gaveUp returns the error of a transaction that is not tried again. The last attempt may have met
// no other writer: the network was down, or a reader has ended it. Then the error says so.
func gaveUp(conflict error) error {
	if errors.Is(conflict, errs.ErrGivenUp) && !errors.Is(conflict, errs.ErrContended) {
		return conflict
	}
	return errs.With(errs.ErrContended, conflict)
}

// wait waits before the next call of the function.
func (r *run) wait(tx *Tx, conflict error) (again bool, err error) {
	return r.conflicts.Wait(r.ctx, tx.first.Log("Run", tx.firstKey), conflict)
}

// attempt calls the function once. conflict is not nil if it may be called again: others have
// changed what it has read.
func (tx *Tx) attempt() (conflict, err error) {
	err = tx.run.call(tx)
	tx.close()
	if tx.again != nil {
		return tx.again, tx.again
	}
	if err == nil && tx.failed != nil {
		err = tx.failed
	}
	switch {
	case err != nil, len(tx.writes) == 0:
		return tx.confirm(err)
	case tx.unprotected != nil:
		return nil, tx.unprotected
	}
	if tx.run.wary {
		if err := tx.readInserts(); err != nil {
			return tx.confirm(err)
		}
	}
	return tx.commit()
}

// commit applies the operations, if all rows that were read are as they were.
func (tx *Tx) commit() (conflict, err error) {
	var refusedIn commit.Place
	ops, err := tx.operations()
	if err == nil {
		all := engine.Together{Method: "Run", Ops: ops, Exact: true, First: tx.run.refusedIn}
		_, refusedIn, err = engine.Commit(tx.run.spanned, all)
	}
	var derived *errs.DerivedError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &derived) && !isConflict(err) && !errors.Is(err, errs.ErrUnknownOutcome): // such as a unique value that is taken
		tx.refused, tx.run.refusedIn = true, refusedIn
		return tx.confirm(err)
	case !isConflict(err):
		return nil, err
	}
	switch {
	case tx.stale():
		return nil, err
	case !errors.Is(err, errs.ErrExists) || errors.Is(err, errs.ErrGivenUp):
		return err, err
	case !tx.leavesVersions():
		tx.run.wary = true
		return err, err
	}
	tx.refused = true
	return tx.confirm(err)
}

// leavesVersions reports whether ETags show, after a refusal, that what was read is still so. A row
// that was absent has none, and a partition that is prepared and rolled back gets others.
func (tx *Tx) leavesVersions() bool {
	for _, at := range tx.order {
		if r := tx.reads[at]; r != nil && r.etag == "" || !at.samePartition(tx.order[0]) {
			return false
		}
	}
	return true
}

// isConflict reports whether an error says that others have changed what the transaction has read,
// and that nothing was written.
func isConflict(err error) bool {
	if errors.As(err, new(*errs.DerivedError)) || errors.Is(err, errs.ErrUnknownOutcome) || errors.Is(err, errs.ErrTableNotFound) {
		return errors.Is(err, errs.ErrContended)
	}
	for _, of := range []error{errs.ErrChanged, errs.ErrNotFound, errs.ErrExists, errs.ErrContended, errs.ErrGivenUp} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// stale reports whether an operation goes by an ETag that the function has not read in this call:
// another call would fail, too.
func (tx *Tx) stale() bool {
	for at, op := range tx.writes {
		if op.Match == "" {
			continue
		}
		if was := tx.reads[at]; was == nil || was.etag != op.Match {
			return true
		}
	}
	return false
}

// operations returns the operations of the function, and those that keep what it has read and not
// written as it is.
func (tx *Tx) operations() (ops []*engine.Op, err error) {
	for _, at := range tx.order {
		op, r := tx.writes[at], tx.reads[at]
		switch {
		case op == nil && r == nil: // it was dropped
			continue
		case op == nil:
			op = r.keep()
		}
		if err := op.Check(); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// tableOf returns the handle of a table, if it is one of the store.
func (tx *Tx) tableOf(t table.Handle) (*engine.Table, error) {
	if tx == nil || tx.run == nil {
		return nil, &table.ValueError{Field: "tx", Reason: "is nil or zero; use the one that the function of Run gets"}
	}
	e := door.Table(t)
	tx.mu.Lock()
	defer tx.mu.Unlock()
	switch err := engine.CheckHandle("t", e); {
	case tx.ended:
		return nil, errEnded
	case err != nil:
		return nil, err
	case e.Service != tx.run.host.Tables:
		return nil, errOtherStore
	}
	tx.use(e)
	return e, nil
}
