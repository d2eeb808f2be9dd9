package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// An entity with an end is over when the service answers, by its own clock, at that time or later
// with the entity's row. For readers it is then not there. Lists leave it out, and say nothing of
// it. A program that is about to say that a certain entity is not there deletes it first, by the
// ETag of the row that was read: without that, a renewal that is applied late would revive what a
// reader has called over. So does an insert, whose key or unique value it has.

// Ends is in the mode of handles whose entities may have an end. A handle of rows elsewhere has the
// zero Ends: a copy may be older than its entity, so of one that is over it shows only whose it is.
type Ends struct {
	plainFeature
	Definition string // by which entities get their ends
	At         func(value any) (time.Time, error)

	// Notes, if not nil, get a note before an entity gets an end in another hour than the one that
	// it has.
	Notes EndNotes

	// Types are handles of the types of a table, for a handle that reads rows of all of them. nil
	// for a handle of one type.
	Types []*Table
}

// EndNotes know the partitions in which entities end.
type EndNotes interface {
	Note(ctx context.Context, partition string, end time.Time) error
}

// never is the end in the row of an entity that had one and has none any more: a merge cannot take
// a property away.
var never = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// EndAt returns an end as it is stored: in whole seconds, and not earlier than at. The zero time is
// none, and so is the last second of the year 9999.
func EndAt(at time.Time) (end time.Time, has bool) {
	first := time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC) // of the service
	switch {
	case at.IsZero(), !at.Before(never):
		return time.Time{}, false
	case at.Before(first):
		at = first
	}
	whole := at.UTC().Truncate(time.Second)
	if whole.Before(at) {
		whole = whole.Add(time.Second)
	}
	return whole, whole.Before(never)
}

var (
	errNoDate = &errs.DecodeError{Field: reserved.End, Reason: "needs the time of the response, and the response has no header Date; let proxies pass it on"}
	errOver   = errors.New("its end has passed")

	// ErrNotOver: the entity of an EndOp is not over.
	ErrNotOver = errors.New("the entity is not over")
)

// overAt reports whether a row with this end was over at the time of the response that carried it.
func overAt(end edm.Value, date time.Time) (bool, error) {
	switch {
	case end.Kind == edm.Absent:
		return false, nil
	case end.Kind == edm.String: // of a program that loses the types of JSON
		t, err := time.Parse(time.RFC3339, end.S)
		if err != nil {
			return false, &errs.DecodeError{Field: reserved.End, Reason: "is no time"}
		}
		end.T = t
	case end.Kind != edm.DateTime:
		return false, &errs.DecodeError{Field: reserved.End, Reason: "is no time"}
	}
	if date.IsZero() {
		return false, errNoDate
	}
	return !date.Before(end.T), nil
}

func (e *Ends) definition() string       { return e.Definition }
func (e *Ends) property() (string, bool) { return reserved.End, e.At != nil }

// read says that a row is outlived whose end has passed. Of a copy elsewhere, it shows only whose
// it is.
func (e *Ends) read(_ *Table, r received) (received, finding, error) {
	end, err := r.Property(reserved.End)
	if err != nil {
		return r, given, err
	}
	over, err := overAt(end, r.Date)
	switch {
	case err != nil || !over:
		return r, given, err
	case e.elsewhere():
		r, err = pointerIn(r)
		return r, given, err
	}
	return r, outlived, nil
}

// Ends returns the ends of the entities of the handle, nil if they have none, or the handle also
// reads what is over.
func (m *Mode) Ends() *Ends {
	for _, f := range m.Chain {
		if ends, is := f.(*Ends); is {
			return ends
		}
	}
	return nil
}

// SetEnds replaces the ends, nil for none.
func (m *Mode) SetEnds(ends *Ends) {
	m.Chain = slices.DeleteFunc(slices.Clone(m.Chain), func(f Feature) bool {
		_, is := f.(*Ends)
		return is
	})
	if ends != nil {
		m.Chain = append(m.Chain, ends)
	}
}

// overIn reports whether the entity of a row is over.
func (t *Table) overIn(columns []edm.Column, date time.Time) (bool, error) {
	if t.Mode.Ends() == nil {
		return false, nil
	}
	return overAt(stored.Find(columns, reserved.End), date)
}

// WithoutEnds returns a handle that also reads what is over.
func (t *Table) WithoutEnds() *Table {
	if t.Mode.Ends() == nil {
		return t
	}
	m := t.Mode
	m.SetEnds(nil)
	return t.WithMode(m)
}

// end deletes the entity of a row that is over, with what follows from it, unless a concurrent
// writer has changed it. gone is false if the row must be read again. For a client that may not
// delete it, the error is an *overError. Requests: 1, and those of its maintainers; for a copy, 1
// more.
func (t *Table) end(ctx context.Context, row *stored.Row) (gone bool, err error) {
	if entity, isCopy := row.Primary(); isCopy {
		return t.endOwner(ctx, entity)
	}
	op := t.endOp(row.Key)
	op.Match, op.Before, op.Known = row.ETag, row.Stored(), !t.wide()
	if t.Mode.Ends().Types != nil {
		op.Table = t.ender(row)
	}
	op.DecidePlanning()
	err = op.Send(ctx)
	var ce *errs.CatalogueError
	switch {
	case err == nil:
		return true, nil
	case mayNotWrite(err), errors.As(err, &ce), errors.Is(err, errs.ErrUnknownMaintainer):
		return false, &overError{errs.Cause(err)}
	case errors.Is(err, errs.ErrNotFound), errors.Is(err, errs.ErrChanged), isUnknown(err):
		return false, nil
	}
	return false, errs.Cause(err)
}

// overError: an entity is over, and this client may not delete it. For a reader, it is not there
// all the same, which a late renewal may change. A writer cannot take its place.
type overError struct{ err error }

func (e *overError) Error() string {
	return errOver.Error() + ", and this client may not delete it: " + e.err.Error()
}
func (e *overError) Unwrap() error { return e.err }

// forReader returns what end returns as a reader takes it.
func forReader(gone bool, err error) (bool, error) {
	if errors.As(err, new(*overError)) {
		return true, nil
	}
	return gone, err
}

// endOwner is end for a copy, whose entity is over if the copy is.
func (t *Table) endOwner(ctx context.Context, entity keys.Key) (gone bool, err error) {
	f, err := t.WithoutEnds().readEntity(ctx, entity)
	if err != nil {
		return false, err
	}
	if f.row == nil {
		return true, nil
	}
	over, err := t.overIn(f.row.Columns(), f.date)
	if _, isCopy := f.row.Primary(); err != nil || !over || isCopy {
		return false, err
	}
	return t.end(ctx, f.row)
}

// endOp is the operation that deletes an entity which is over.
func (t *Table) endOp(k keys.Key) *Op {
	m := t.Mode
	m.SetEnds(nil)
	m.Ending = true
	return &Op{Table: t.WithMode(m), Method: "End", Kind: aztables.TransactionTypeDelete, Key: k, Match: azcore.ETagAny}
}

// EndOp returns an operation that deletes an entity if it is over. Errors of the operation:
// ErrNotOver; those of a delete.
func (t *Table) EndOp(k keys.Key) *Op {
	op := t.endOp(k)
	op.DecidePlanning()
	op.needsPlanning = true
	return op
}

// ifOver reports whether an operation is an EndOp, which no reader has found to be over.
func (op *Op) ifOver() bool { return op.Table.Mode.Ending && op.Match == azcore.ETagAny }

// ender returns the handle of the type of a row, in the mode of endOp.
func (t *Table) ender(row *stored.Row) *Table {
	for _, of := range t.Mode.Ends().Types {
		if of.Mode.Schema.Mine(row) {
			return of.endOp(row.Key).Table
		}
	}
	return t.endOp(row.Key).Table
}

// elsewhere reports whether the handle is of rows elsewhere.
func (e *Ends) elsewhere() bool { return e.At == nil && e.Types == nil }

// pointerIn returns a copy in a response without what it copies: its look-up then reads the entity.
func pointerIn(r received) (received, error) {
	columns := r.Entity.Columns
	if r.Reader != nil {
		var err error
		if columns, err = r.Reader.Columns(); err != nil {
			return r, err
		}
	}
	in := r.Entity
	in.JSON, in.Columns = edm.JSON{}, stored.Pointer(columns)
	return received{edm.ReadColumns(in, in.Columns), in}, nil
}

// openAlive is openRow for readers: a row that is over is deleted, and not there. If reads is
// false, it is for a writer, who gets an *overError of end.
func (t *Table) openAlive(ctx context.Context, k keys.Key, reads bool) (*edm.Reader, edm.Entity, readResult, error) {
	last := ""
	for range mostResolutions {
		r, in, f, err := t.openRow(ctx, k)
		if err != nil || r == nil {
			return r, in, f, err
		}
		if len(t.Mode.Chain) == 0 {
			return r, in, f, nil
		}
		row, v, err := t.filtered(received{r, in})
		switch {
		case err != nil:
			return nil, in, f, err
		case v == given:
			return row.Reader, row.Entity, f, nil
		case v == absent:
			r.Release()
			return nil, in, readResult{gone: errAbsent}, nil
		}
		columns, err := r.Columns()
		if err != nil {
			return nil, in, f, err
		}
		over := stored.Of(in, columns)
		if ofOther := t.Mode.Ends().Types == nil && !t.Mode.Schema.Mine(over); ofOther || over.IsCopy() && in.ETag == last { // its entity is not over
			return r, in, f, nil
		}
		last = in.ETag
		gone, err := t.end(ctx, over)
		r.Release()
		if reads {
			gone, err = forReader(gone, err)
		}
		if err != nil || gone {
			return nil, in, readResult{gone: errs.With(errs.ErrNotFound, errOver)}, err
		}
	}
	return nil, edm.Entity{}, readResult{}, errs.With(errs.ErrContended, errOver)
}

// StillThere is for a method whose query has left out the row under a key because it is over, and
// that is about to say so. It reports whether the entity is there after all. Requests: 1, and those
// of end.
func (t *Table) StillThere(ctx context.Context, method string, k keys.Key) (bool, error) {
	f, err := t.aliveEntity(ctx, k)
	return f.row != nil, t.OpError(method, k, err)
}

// Version returns the ETag of an entity for a method, "" if there is none. Requests: 1, and those
// of end.
func (t *Table) Version(ctx context.Context, method string, k keys.Key) (azcore.ETag, error) {
	f, err := t.aliveEntity(ctx, k)
	return f.etag(), t.OpError(method, k, err)
}

// aliveEntity is readEntity for readers: an entity that is over is deleted, and not there.
func (t *Table) aliveEntity(ctx context.Context, k keys.Key) (readResult, error) {
	if t.Mode.Parts == 0 {
		r, in, f, err := t.openAlive(ctx, k, true)
		if err != nil || r == nil {
			return f, err
		}
		return wholeRow(k, r, in)
	}
	for range mostResolutions {
		f, err := t.readEntity(ctx, k)
		if err != nil || f.row == nil {
			return f, err
		}
		gone, again, err := t.goneFor(ctx, f)
		switch {
		case err != nil || gone == nil && !again:
			return f, err
		case gone != nil:
			return readResult{gone: gone}, nil
		}
	}
	return readResult{}, errs.With(errs.ErrContended, errOver)
}

// goneFor returns why there is no such entity for a reader, nil if there is one, and whether it
// must be read again. An outlived one is deleted.
func (t *Table) goneFor(ctx context.Context, f readResult) (gone error, again bool, err error) {
	switch v, err := t.filteredRow(f); {
	case err != nil || v == given:
		return nil, false, err
	case v == absent:
		return errAbsent, false, nil
	}
	deleted, err := forReader(t.end(ctx, f.row))
	if err != nil || !deleted {
		return nil, err == nil, err
	}
	return errs.With(errs.ErrNotFound, errOver), false, nil
}

// aliveFor is what an operation finds of the row that was read for it: a row that is over is
// deleted, and not there. In a write that goes by the ETag, a response without a Date does no harm.
func (s *step) aliveFor(ctx context.Context, p *Plan, f readResult) (readResult, error) {
	t := s.Table
	switch {
	case f.row == nil:
		return f, nil
	case s.ifOver():
		over, err := overAt(stored.Find(f.row.Columns(), reserved.End), f.date)
		if err == nil && !over {
			err = ErrNotOver
		}
		return f, err
	case f.date.IsZero():
		return f, nil
	}
	for range mostResolutions {
		v, err := t.filteredRow(f)
		switch {
		case err != nil || v != outlived:
			return f, err
		case p.preview != nil:
			return f, errPreview
		}
		gone, err := t.end(ctx, f.row)
		if err == nil && !gone {
			f, err = t.readEntity(ctx, s.Key)
			gone = f.row == nil
		}
		if err != nil {
			p.readErr = err
			return f, err
		}
		if gone {
			return readResult{gone: errs.With(errs.ErrNotFound, errOver)}, nil
		}
	}
	return f, errs.With(errs.ErrContended, errOver)
}

// mostAfterNote is how long after its note an entity may be stored. A sweep leaves a note alone for
// twice as long, by the service's clock.
const mostAfterNote = 5 * time.Minute

// store returns the end of an entity, and has its hour noted.
func (e *Ends) store(s *step, p *Plan, c *Change, had edm.Value, keeps bool) (end edm.Value, err error) {
	if keeps {
		at, err := e.At(c.New)
		if err != nil {
			return end, &errs.DerivedError{Maintainer: e.Definition, Err: err}
		}
		if t, has := EndAt(at); has {
			end = edm.Value{Kind: edm.DateTime, T: t}
		}
	}
	switch {
	case end.Kind != edm.Absent:
		e.note(s, p, end.T, had.T)
	case s.merges() && had.Kind != edm.Absent:
		end = edm.Value{Kind: edm.DateTime, T: never}
	}
	return end, nil
}

// note has the hour of an end noted before the write, unless the entity ended in that hour before.
func (e *Ends) note(s *step, p *Plan, end, had time.Time) {
	if e.Notes == nil || end.Truncate(time.Hour).Equal(had.Truncate(time.Hour)) {
		return
	}
	partition := s.Key.PartitionKey()
	p.NotAfter(s.Table.Options.Now().Add(mostAfterNote))
	p.Before(partition+"/"+end.Format(time.RFC3339), func(ctx context.Context) error { return e.Notes.Note(ctx, partition, end) })
}

// freed reports whether an entity that stands in the way of a write is gone, and whether this call
// has deleted it because it is over. Requests: 1 unless the write has just read it, and those of
// end.
func (w *write) freed(ctx context.Context, t *Table, k keys.Key) (gone, ended bool, err error) {
	if seen := w.seen; seen.key == k && seen.row != nil && !seen.row.IsCopy() {
		w.seen = seenRow{}
		over, err := t.overIn(seen.row.Columns(), seen.date)
		if err != nil || !over {
			return false, false, err
		}
		gone, err = t.end(ctx, seen.row)
		switch {
		case errors.As(err, new(*overError)):
			return false, false, nil
		case err != nil || gone:
			return gone, gone, err
		}
	}
	err = Retry(w.table.Options.Retry).RepeatRead(ctx, w.log(), func(ctx context.Context) error {
		r, _, f, err := t.openAlive(ctx, k, false)
		releaseReader(r)
		gone = err == nil && r == nil && !f.hidden
		ended = gone && errors.Is(f.gone, errOver)
		return err
	})
	if errors.As(err, new(*overError)) {
		err = nil
	}
	return gone, ended, err
}

// ownerOver reports whether a unique value is free that another entity had, which is over. The row
// of the value has the ETag was. Requests: 1, those of end, and 1 if the entity is gone already.
func (w *write) ownerOver(ctx context.Context, d *derivedRow, owner keys.Key, was azcore.ETag) (free bool, err error) {
	t := w.tableOfOwner(d)
	if t.Mode.Ends() == nil {
		return false, nil
	}
	gone, ended, err := w.freed(ctx, t, owner)
	if err != nil || !gone || ended {
		return ended, err
	}
	f, err := w.readRow(ctx, d.key)
	if err != nil || f.etag() == was { // a row without its entity stays taken
		return false, err
	}
	w.note(d, f)
	return true, nil
}

// tableOfOwner returns the handle by which the entity is written that a derived row follows from.
// The rows of one definition follow from one type.
func (w *write) tableOfOwner(d *derivedRow) *Table {
	if w.home != nil {
		return w.home.opAt(d.op).Table
	}
	return w.opAt(d.op).Table
}
