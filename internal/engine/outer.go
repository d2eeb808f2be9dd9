package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// outer is rows of the library in other partitions or tables that are stored before a transaction
// and deleted after one, such as pointers. A row belongs to one write: its key ends with an ID in
// the form of operation IDs. So there may be too many rows for a while, and never too few.
type outer struct {
	store, drop []outerRow
	record      bool // the transaction needs a commit record: a late duplicate must not bring back what it has inserted
}

// outerRow is such a row. A row that is only deleted has no body.
type outerRow struct {
	table *Table
	key   keys.Key
	body  edm.Body
	own   bool // it is of this write, and of no earlier one
}

// outerRows are those rows of a write.
type outerRows struct {
	outerStored []outerRow // or perhaps stored
	outerID     string     // in the keys of these rows
}

// is reports whether two are one row.
func (r outerRow) is(other outerRow) bool { return r.key == other.key && r.table.Same(other.table) }

// among reports whether a row is among others.
func (r outerRow) among(all []outerRow) bool { return slices.ContainsFunc(all, r.is) }

// join returns the rows of two plans.
func (o outer) join(other outer) outer {
	return outer{slices.Concat(o.store, other.store), slices.Concat(o.drop, other.drop), o.record || other.record}
}

// outerSeparator stands before the operation ID in the key of such a row. It sorts before all other
// characters, so that rows of entities stand in the order of the entities.
const outerSeparator = " "

// OuterKey returns the key of such a row of this write, for what the key begins with.
func (p *Plan) OuterKey(base keys.Key) keys.Key {
	return keys.Raw(base.PartitionKey(), base.RowKey()+outerSeparator+p.root.outerID)
}

// BaseOf returns what the key of such a row begins with. is reports whether the key has the form.
func BaseOf(row keys.Key) (base keys.Key, is bool) {
	text := row.RowKey()
	n := len(text) - commit.IDLength
	if n < len(outerSeparator) || !strings.HasSuffix(text[:n], outerSeparator) {
		return keys.Key{}, false
	}
	if _, err := commit.TimeOf(text[n:]); err != nil {
		return keys.Key{}, false
	}
	return keys.Raw(row.PartitionKey(), text[:n-len(outerSeparator)]), true
}

// StoreBefore plans a row under an OuterKey of this write, or of the one that the entity names,
// which is stored before the transaction is sent. inserts reports that the entity which names the
// row does not exist yet.
func (p *Plan) StoreBefore(t *Table, r *stored.Row, inserts bool) error {
	if p.preview != nil {
		return nil
	}
	began, err := commit.TimeOf(p.root.outerID)
	if err != nil {
		return err
	}
	p.NotAfter(began.Add(min(p.root.table.mostAge(), outerSent)))
	body, _, err := r.Body(false, false, false)
	p.outer = p.outer.join(outer{store: []outerRow{{t, r.Key, body, strings.HasSuffix(r.Key.RowKey(), p.root.outerID)}}, record: inserts})
	return err
}

// DropAfter plans the deletion of such a row once the transaction is applied.
func (p *Plan) DropAfter(t *Table, k keys.Key) {
	if p.preview == nil {
		p.outer = p.outer.join(outer{drop: []outerRow{{table: t, key: k}}})
	}
}

// storeOuter returns the work that stores the rows of the next transaction which this write has not
// stored yet: those of one partition together.
func (w *write) storeOuter() (all []namedWork) {
	missing := slices.DeleteFunc(slices.Clone(w.nextTransaction.outer.store), func(r outerRow) bool { return r.among(w.outerStored) })
	w.outerStored = append(w.outerStored, missing...) // from now on: a request whose response is lost may have stored them
	for _, rows := range together(missing) {
		all = append(all, namedWork{"rows elsewhere", func(ctx context.Context) error { return w.storeRows(ctx, rows) }})
	}
	return all
}

// renewOuter gives the rows of the next attempt another ID, and leaves those of the last one,
// unless that has a commit record, which proves that it was not applied. Otherwise it may have been
// applied unseen, and changed again: another program may be about to delete a row that it has
// named, or still name it.
func (w *write) renewOuter() (err error) {
	if last := &w.currentTransaction; last.record || len(last.outer.store) == 0 {
		return nil
	}
	w.outerStored = nil
	w.outerID, err = w.table.Options.newOperationID()
	return err
}

// storeRows stores rows of a partition, again until the outcome is known. If it is unknown, the
// write is not sent, so that its own outcome is known.
func (w *write) storeRows(ctx context.Context, rows []outerRow) error {
	err := Retry(w.table.Options.Retry).Repeat(ctx, w.log(), func() (again bool, err error) {
		verdict, err := sendOuter(ctx, rows, aztables.TransactionTypeInsertReplace)
		return verdict != wire.Refused, err
	})
	var be *errs.BatchError
	switch {
	case isUnknown(err):
		return errs.With(errs.ErrGivenUp, errs.Cause(err))
	case errors.As(err, &be): // its index is none of the caller's operations
		return be.Err
	}
	return err
}

// dropRefused deletes the rows of a write that never commits. Without a commit record, that is not
// certain: the write may have been applied unseen, and another one have kept what it names.
func (w *write) dropRefused(ctx context.Context) {
	if w.state == stateAborted && w.currentTransaction.record {
		w.dropOuter(ctx, outer{})
	}
}

// dropOuter deletes what the write has left behind: what its entities do not name any more and, of
// its own rows, all that its transaction does not name. It makes one attempt: nothing counts such a
// row.
func (w *write) dropOuter(ctx context.Context, applied outer) {
	var left []outerRow
	for _, r := range slices.Concat(applied.drop, w.outerStored) {
		if !r.among(applied.store) && (r.own || r.among(applied.drop)) {
			left = append(left, r)
		}
	}
	w.outerStored = nil
	if len(left) == 0 {
		return
	}
	ctx, cancel := Bound(ctx, w.table.Options.Retry.AttemptTimeout)
	defer cancel()
	InOrder(ctx, together(left), func(ctx context.Context, rows []outerRow) (struct{}, error) {
		_, err := sendOuter(ctx, rows, aztables.TransactionTypeDelete)
		if errors.Is(err, errs.ErrNotFound) && len(rows) > 1 { // one is gone, so none was deleted
			for i := range rows {
				_, _ = sendOuter(ctx, rows[i:i+1], aztables.TransactionTypeDelete)
			}
		}
		return struct{}{}, nil
	}, func(struct{}, error) bool { return true })
}

// together returns rows by their tables and partitions, as many as fit into a transaction.
func together(all []outerRow) (groups [][]outerRow) {
	for _, r := range all {
		i := slices.IndexFunc(groups, func(g []outerRow) bool {
			return len(g) < maxOperations && g[0].key.PartitionKey() == r.key.PartitionKey() && g[0].table.Same(r.table)
		})
		if i < 0 {
			groups = append(groups, []outerRow{r})
		} else if !r.among(groups[i]) {
			groups[i] = append(groups[i], r)
		}
	}
	return groups
}

// sendOuter stores or deletes rows of a partition, once.
func sendOuter(ctx context.Context, rows []outerRow, kind aztables.TransactionType) (verdict wire.Outcome, err error) {
	t := rows[0].table
	steps := make([]step, len(rows))
	for i, r := range rows {
		steps[i] = step{Op: &Op{Table: t, Kind: kind, Key: r.key, Body: r.body}, opIndex: -1}
		if kind == aztables.TransactionTypeDelete {
			steps[i].Match = azcore.ETagAny
		}
	}
	if len(steps) == 1 {
		_, verdict, err = steps[0].sendAlone(ctx)
	} else {
		_, _, verdict, err = t.transact(ctx, steps)
	}
	return verdict, err
}

// outerSent is the time from the beginning of a write until its transaction is sent, at most,
// whatever its WriteTimeout. outerAge is how old a row is that no write can name any more: no
// request arrives later than the retention, and half an hour is for clocks.
const (
	outerSent = 30 * time.Minute
	outerAge  = commit.Retention + 2*outerSent
)

// mayBeNamed reports whether a write that names a row may still be on its way.
func mayBeNamed(stored, now time.Time) bool { return stored.IsZero() || now.Sub(stored) < outerAge }

// MayBeNamed reports by the clock of the program whether a write that names a row may still be on
// its way.
func (t *Table) MayBeNamed(stored time.Time) bool { return mayBeNamed(stored, t.Options.Now()) }

var (
	errMayBeNamed = errors.New("a write may still name the row, by the service's clock")
	errHidden     = errors.New("the signature does not show whether an entity names the row")
)

// DropOld deletes a row that DropAfter or a failed write has left, by its ETag, if it is old by the
// service's clock, and if the entity in table of does not name it: the row as it is stored, of any
// type, also if it is over. The entity is read behind the look at the age. Requests: 3.
func (t *Table) DropOld(ctx context.Context, k keys.Key, of *Table, entity keys.Key, names func(*stored.Row) bool) error {
	f, err := t.readStored(ctx, k)
	switch {
	case err != nil || f.row == nil:
		return err
	case mayBeNamed(f.row.Timestamp, f.date):
		return errMayBeNamed
	}
	e, err := of.LibraryHandle().readRow(ctx, entity)
	switch {
	case err != nil:
		return err
	case e.hidden, of.Ranged():
		return errHidden
	case e.row != nil && names(e.row):
		return nil
	}
	s, err := libraryStep(t, aztables.TransactionTypeDelete, k, f.row.ETag, nil)
	if err == nil {
		_, _, err = s.sendAlone(ctx)
	}
	if errors.Is(err, errs.ErrNotFound) {
		return nil
	}
	return err
}
