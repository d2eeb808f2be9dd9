package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Op is one write as data. Each plan encodes it once, with the operation ID. Nothing changes it
// once it is made: steps that change it do so with a copy.
type Op struct {
	Table  *Table
	Method string // that made the operation, for errors
	Kind   aztables.TransactionType
	Key    keys.Key
	Match  azcore.ETag // "" for an insert or upsert
	Body   edm.Body    // the columns that are written
	Err    error       // what is wrong with the operation

	Found
	StoresID      bool // the operation ID is written, too
	needsPlanning bool // the row is read first, or maintainers derive rows from it

	// Counterpart is, of a move, the key under which the other operation inserts or deletes the
	// entity; nil of any other operation.
	Counterpart *keys.Key

	Target Target // is told what becomes of the operation; may be nil

	// Absent is the error if there is no such row, in place of the service's; nil for that one. An
	// operation with it guards the others of its transaction, and is none of bulk work.
	Absent error

	// Current, if set, gets the row as it was read after a concurrent writer made the service
	// refuse the operation; nil if it was not read, or is gone.
	Current **stored.Row

	Keeps Keeps // what stays as it is; "" of an operation that changes the row

	// Remake makes the operation again, of the row as it is now, if it is still wanted; nil for an
	// operation that is not repeated.
	Remake func(context.Context) (op *Op, wanted bool, err error)
}

// Keeps is what an operation of a transaction over several partitions keeps as it is until the
// transaction has ended.
type Keeps string

// The values of Keeps.
const (
	KeepsRow    Keeps = "row"     // the row has its ETag
	KeepsAbsent Keeps = "absence" // there is no row
)

// Found is what the caller of an operation knows of the row.
type Found struct {
	Before   edm.Stored  // its content, zero if it is not known
	Copied   *stored.Row // the copy that the entity was read from, nil if it was not read from a copy
	Known    bool        // Before is what is stored, or there is no row: the row need not be read first
	Upgraded bool        // Before is of a newer version than the stored row
	Edited   bool        // Before is not what is stored

	// Head is the stored head of a wide entity of which some parts were read. A merge and a
	// deletion then need to read no more, unless there are maintainers.
	Head *stored.Row
}

// Target is what an operation was made of: an entity.
type Target interface {
	// Usable returns an error if the operation must not be sent, because of what became of the
	// target since the operation was made.
	Usable() error
	// Applied updates the target with the stored ETag and content, which is zero if it is not
	// known.
	Applied(azcore.ETag, edm.Stored)
	// SetInDoubt notes whether the outcome of a write is unknown.
	SetInDoubt(bool)
}

// Usable returns what is wrong with the operation now.
func (op *Op) Usable() error {
	if op.Table != nil {
		if err := cmp.Or(op.Table.Fault, op.Table.readOnly()); err != nil {
			return err
		}
	}
	if op.Err != nil || op.Target == nil {
		return op.Err
	}
	return op.Target.Usable()
}

// Check returns what is wrong with the operation, as its method reports it.
func (op *Op) Check() error {
	if op.Table == nil {
		return errNoTable
	}
	return op.Table.OpError(op.Method, op.Key, op.Usable())
}

// Inserts reports whether the operation inserts a row that must not exist.
func (op *Op) Inserts() bool { return op.inserts() }

// reads reports whether the row is read first.
func (op *Op) reads() bool { return op.needsPlanning && !op.Known }

// adds reports whether maintainers may add rows.
func (op *Op) adds() bool { return op.needsPlanning && len(op.Table.Mode.Maintainers) > 0 }

func (op *Op) deletes() bool { return op.Kind == aztables.TransactionTypeDelete }

func (op *Op) inserts() bool { return op.Kind == aztables.TransactionTypeAdd }

func (op *Op) upserts() bool {
	return op.Kind == aztables.TransactionTypeInsertMerge || op.Kind == aztables.TransactionTypeInsertReplace
}

// merges reports whether the operation is a merge into a row that exists.
func (op *Op) merges() bool { return op.Kind == aztables.TransactionTypeUpdateMerge }

// contentAfter returns the content of the row once the operation is applied, with this operation
// ID; zero if it is not known, or there is no row. Errors: *LimitError if the row would be too
// large; *DecodeError if the stored row cannot be read.
func (op *Op) contentAfter(id *edm.Ending) (edm.Stored, error) {
	if !op.StoresID {
		id = nil
	}
	switch op.Kind {
	case aztables.TransactionTypeDelete, aztables.TransactionTypeInsertMerge:
		return edm.Stored{}, nil
	case aztables.TransactionTypeUpdateMerge:
		if !op.Before.Known() {
			return edm.Stored{}, nil
		}
		if id == nil {
			return op.Before.Overlay(op.Key.PartitionKey(), op.Key.RowKey(), op.Body.Columns(), edm.Column{})
		}
		set := append(slices.Clip(op.Body.Columns()), id.Column)
		return op.Before.Overlay(op.Key.PartitionKey(), op.Key.RowKey(), set, edm.Column{})
	}
	return op.Body.Stored(id), nil
}

// applied gives the target its stored row.
func (op *Op) applied(etag azcore.ETag, id *edm.Ending) {
	if op.Target == nil {
		return
	}
	after, _ := op.contentAfter(id) // planning has seen it
	op.Target.Applied(etag, after)
}

// size is the number of bytes of the rows that the operation holds.
func (op *Op) size() int {
	n := op.Body.Length + op.Before.JSON.Len()
	for i := range op.Before.Columns {
		n += len(op.Before.Columns[i].Name) + 16
	}
	return n
}

// The limits of an entity group transaction ('Performing entity group transactions').
const (
	maxOperations  = 100
	maxTransaction = 4 << 20
)

// MaxDerived is how many rows all maintainers of an entity may touch: the entity's own row, under
// two keys if it is rekeyed, and the commit record take the others of a transaction.
const MaxDerived = maxOperations - 3

// DecidePlanning decides whether an operation needs a plan: its table's maintainers derive rows
// from it, and its row is read first unless it is known or the table writes blindly.
func (op *Op) DecidePlanning() {
	op.Known = op.Known && op.Copied == nil && !op.Edited
	m := &op.Table.Mode
	op.needsPlanning = len(m.Maintainers) > 0 || m.Parts > 0 || m.keepsProperty() || !op.Known && !m.BlindWrites
	if op.needsPlanning || op.Err != nil {
		return
	}
	switch {
	case op.Copied != nil:
		op.Err = errs.With(errs.ErrNoETag, errCopy)
	case !op.Before.Known():
	case stored.HasState(op.Before, op.Key):
		op.Err = errs.ErrUnknownMaintainer
	case hasParts(op.Before):
		op.Err = errs.ErrUnknownParts
	}
}

// newID returns 80 random bits.
func newID() string {
	b := make([]byte, commit.RandomLength)
	rand.Read(b) // it never fails
	for i := range b {
		b[i] = commit.Digits[b[i]&31]
	}
	return string(b)
}

// idEnding returns an operation ID as the ending of rows.
func idEnding(id string) *edm.Ending { return stored.IDColumn(id).Ending() }

var unassignedEnding = stored.UnassignedID.Ending()

// mostAge is the greatest age of an operation ID with which a write is still sent: twice the time
// of the write, and no more than half the retention of abort records.
func (t *Table) mostAge() time.Duration {
	if most := 2 * t.writeTimeout(); most > 0 {
		return min(most, commit.Retention/2)
	}
	return commit.Retention / 2
}

// stale reports whether the operation ID of a write with a commit record is too old to be sent, or
// lies in the future, by the wall clock. Contexts end by another clock, which stands still while a
// machine is suspended. Without this check, a write that continues after the retention could commit
// although its abort record was stored and swept. A clock that was set looks the same; it costs a
// new operation ID.
//
// If the wall clock of the machine stands still as well, the writer cannot find out how much time
// has passed. The service then refuses requests that are signed with the account's key, but not
// requests with a shared access signature or a token.
//
// The same holds for a plan that a maintainer has bounded; see Plan.NotAfter.
func (w *write) stale() bool {
	if late := w.currentTransaction.late; !late.IsZero() && w.table.Options.Now().After(late) {
		return true
	}
	if !w.currentTransaction.record {
		return false
	}
	began, err := commit.TimeOf(w.id)
	age, most := w.table.Options.Now().Sub(began), w.table.mostAge()
	return err != nil || age > most || age < -most
}

// whyStale returns why the write is not sent.
func (w *write) whyStale() error {
	if w.stale() {
		return errStale
	}
	return errLateLease
}

var errStale = errors.New("its operation ID is too old, or lies in the future: the machine was suspended, or its clock was set")

// entityState is what the row of an entity contains for its maintainers.
type entityState struct {
	incarnation string
	tags        string // of other maintainers
	before      map[string][]string
	after       map[string][]string

	newIncarnation bool // the incarnation was created by this write
	isNew          bool // there is no row yet
	stored         bool // the row has the property
	corrupt        bool // the property cannot be read

	kept []kept // of the features, as they are to be
}

// keptAs returns what a feature keeps in a property, nil if no feature does.
func (s *entityState) keptAs(name string) *kept {
	i := slices.IndexFunc(s.kept, func(k kept) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &s.kept[i]
}

// stateOf reads the state from a row. If only the maintainer state is corrupt, the rest comes with
// the error.
func stateOf(old edm.Stored, k keys.Key) (*entityState, error) {
	s := &entityState{before: map[string][]string{}, after: map[string][]string{}}
	if !old.Known() {
		s.isNew = true
		return s, nil
	}
	r, _, err := old.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	incarnation, err1 := r.Property(reserved.Incarnation)
	ix, err2 := r.Property(reserved.MaintainerState)
	tags, err3 := r.Property(reserved.Owner)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	s.stored = ix.Kind != edm.Absent
	if commit.IsID(incarnation.S) {
		s.incarnation = incarnation.S
	}
	if strings.HasPrefix(tags.S, "/") {
		s.tags = tags.S
	}
	before, err := stored.StateIn(ix, k.RowKey())
	if err != nil {
		s.corrupt = true
		return s, err
	}
	s.before = before
	return s, nil
}

// write writes the maintainer state. Without derived rows, the property is stored empty, so that
// "no rows" differs from "state lost". The empty property has no header, because a header contains
// the RowKey, and other programs may copy the row to another key. A row whose state is lost stays
// without the property: its derived rows may still exist.
func (s *entityState) write(w *edm.Writer, rowKey string, merge, maintained bool) error {
	b := []byte{}
	if len(s.after) > 0 {
		b = stored.EncodeState(s.after, rowKey)
	}
	if len(b) > stored.MaxState {
		return &errs.LimitError{Property: true, Field: reserved.MaintainerState, Limit: "bytes of maintainer state of an entity", Got: len(b), Max: stored.MaxState}
	}
	if len(s.after) > 0 || s.stored && (merge || maintained) || s.isNew && maintained {
		w.Put(reserved.MaintainerState, edm.Value{Kind: edm.Binary, B: b})
	}
	return nil
}

// put adds the state to an operation that stores the row, or merges into it. maintained reports
// that the handle has maintainers.
func (s *entityState) put(op *Op, maintained bool) (err error) {
	merge := op.merges()
	maps.DeleteFunc(s.after, func(_ string, texts []string) bool { return len(texts) == 0 })
	same := !s.corrupt && maps.EqualFunc(s.before, s.after, slices.Equal)
	changes := slices.ContainsFunc(s.kept, kept.changes)
	if merge && same && !s.newIncarnation && !changes {
		return nil
	}
	w := edm.NewWriter(op.Key.PartitionKey(), op.Key.RowKey(), len(op.Body.Columns())+4)
	for _, c := range op.Body.Columns() {
		switch c.Name {
		case reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner:
		default:
			if s.keptAs(c.Name) == nil {
				w.PutColumn(c)
			}
		}
	}
	if s.tags != "" {
		w.Put(reserved.Owner, edm.Value{Kind: edm.String, S: s.tags})
	}
	if s.incarnation != "" {
		w.Put(reserved.Incarnation, edm.Value{Kind: edm.String, S: s.incarnation})
	}
	for _, k := range s.kept {
		if k.want.Kind != edm.Absent && (!merge || k.changes()) {
			w.Put(k.name, k.want)
		}
	}
	if !merge || !same {
		if err := s.write(w, op.Key.RowKey(), merge, maintained); err != nil {
			return err
		}
	}
	if op.StoresID {
		w.Reserve(stored.UnassignedID)
	}
	op.Body, err = w.Finish()
	return err
}
