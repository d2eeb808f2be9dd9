package materialized

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// viewComparison compares entities with the derived entities of a view, as they were read at its
// beginning.
type viewComparison struct {
	*maintainer
	session derived.Session

	mu      sync.Mutex
	notes   map[keys.Key]note   // of the view, by the derived entity; without those that an entity has
	digests map[keys.Key]string // of the stored derived entities; without those that a note names
}

// Definition implements derived.Comparer.
func (m *maintainer) Definition() any { return m.definition }

// Form implements internal/derived.Maintainer's method for a view.
func (m *maintainer) Form() string {
	return "view, in table " + strings.TrimPrefix(m.to.Name(), door.Table(m.to).Prefix)
}

// FormerForm implements internal/derived.Maintainer's method for a view.
func (m *maintainer) FormerForm() string { return "" }

// Compare implements derived.Comparer. It reads the notes before the derived entities. Whatever
// changes meanwhile is read again before it counts as a fault.
func (m *maintainer) Compare(ctx context.Context, s derived.Session) (derived.Comparison, error) {
	c := &viewComparison{maintainer: m, session: s, notes: map[keys.Key]note{}, digests: map[keys.Key]string{}}
	if !s.Whole() {
		return c, nil
	}
	if err := c.readNotes(ctx); err != nil {
		return nil, err
	}
	if err := c.readDerived(ctx); err != nil {
		return nil, err
	}
	return c, c.ranged()
}

// ranged returns an error if the signature of the client shows a part of the view only.
func (c *viewComparison) ranged() error {
	if door.Table(c.to).Ranged() {
		return table.ErrRanged
	}
	return nil
}

// pay pays for a row of the view that was read.
func (c *viewComparison) pay(ctx context.Context) error {
	if err := c.ranged(); err != nil {
		return err
	}
	return c.session.Spend(ctx, 1)
}

// readNotes reads the notes of the view. With Repair, it deletes old tombstones.
func (c *viewComparison) readNotes(ctx context.Context) error {
	for e, err := range c.allNotes(ctx) {
		if err == nil {
			err = c.pay(ctx)
		}
		if err == nil {
			err = c.addNote(ctx, &e.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allNotes yields the notes of all views in the table of the derived entities.
func (m *maintainer) allNotes(ctx context.Context) iter.Seq2[*table.Entity[table.Row], error] {
	q := table.Query[table.Row]{Rows: keyrange.Stored(reserved.View, reserved.View[:len(reserved.View)-1]+"}"), TableScan: true}
	return notes(door.Table(m.to)).List(ctx, q)
}

// Drop deletes the derived entities of a retired view, which no entity has any more, and lets each
// be deleted by a call of each. aztablekit.Store.Retire calls it.
func (m *maintainer) Drop(ctx context.Context, each func(context.Context, func(context.Context) error) error) error {
	for e, err := range m.allNotes(ctx) {
		if err != nil {
			return err
		}
		row := &e.Value
		n, mine, err := noteIn(row, m.owner())
		if mine && err != nil {
			return err
		}
		if !mine || n.gone {
			continue
		}
		k := keys.Raw(row.Key.PartitionKey(), row.Key.RowKey()[len(reserved.View):])
		of := &target{maintainer: m, entity: n.entity, key: k}
		if err := each(ctx, func(ctx context.Context) error { return reconcile.Reconcile(ctx, m.from, n.entity, of) }); err != nil {
			return err
		}
	}
	return nil
}

// addNote adds a note, or deletes an old tombstone.
func (c *viewComparison) addNote(ctx context.Context, row *table.Row) error {
	k := keys.Raw(row.Key.PartitionKey(), row.Key.RowKey()[len(reserved.View):])
	n, mine, err := noteIn(row, c.owner())
	switch {
	case err != nil:
		return err
	case !mine || k.Err() != nil:
	case n.gone:
		return c.sweep(ctx, k, row)
	default:
		c.notes[k] = n
	}
	return nil
}

// readDerived reads the derived entities.
func (c *viewComparison) readDerived(ctx context.Context) error {
	schema := door.Table(c.to).Mode.Schema
	for row, err := range c.base.Rows(ctx, table.Query[table.Row]{Rows: schema.Rows(), TableScan: true}) {
		if err == nil {
			err = c.pay(ctx)
		}
		if err != nil {
			return err
		}
		if schema.Mine((*stored.Row)(row)) {
			c.digests[row.Key] = digestOf(contentOf((*stored.Row)(row).Columns()))
			c.session.Count(derived.Rows, 1)
		}
	}
	return nil
}

// sweep deletes an old tombstone.
func (c *viewComparison) sweep(ctx context.Context, k keys.Key, row *table.Row) error {
	before := door.Table(c.from).Options.Now().Add(-commit.Retention - time.Hour)
	if !c.session.Repair() || !row.Timestamp.Before(before) {
		return nil
	}
	t := &target{maintainer: c.maintainer, key: k, stored: row}
	switch err := t.Sweep(ctx, before); {
	case errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrNotFound):
		return nil // it is no old tombstone any more
	case err != nil:
		return err
	}
	c.session.Count(derived.Tombstones, 1)
	return nil
}

// Unreadable implements derived.Comparison: the derived entity stays until the entity can be read.
func (c *viewComparison) Unreadable(entity keys.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, n := range c.notes {
		if n.entity == entity {
			c.take(k)
		}
	}
}

// take removes a derived entity from those that no entity has. c.mu is locked.
func (c *viewComparison) take(k keys.Key) {
	delete(c.notes, k)
	delete(c.digests, k)
}

// Entity implements derived.Comparison.
func (c *viewComparison) Entity(ctx context.Context, entity tabledoor.Entity, row *table.Row) error {
	key := tabledoor.KeyOf(entity)
	d, err := c.deriveTwice(tabledoor.ValueOf(entity), key)
	if err != nil {
		c.session.Fault(derived.Fault{Definition: c.name, Kind: derived.Unreadable, Entity: row.Key, Err: err})
		c.Unreadable(row.Key)
		return nil
	}
	has, _ := recorded(c.stateIn((*stored.Row)(row)))
	if has == (keys.Key{}) && d.value == nil {
		return nil
	}
	if d.value != nil && (has == (keys.Key{}) || has == d.key) {
		if has == d.key && c.session.RecordsOnly() {
			return nil
		}
		n, digest, err := c.storedUnder(ctx, d.key, key)
		if err != nil || n.entity == key && digest == d.digest {
			return err
		}
		if never := has == (keys.Key{}) && n.entity == (keys.Key{}); never && c.session.Repair() {
			return c.repair(ctx, derived.Fault{Definition: c.name, Kind: derived.Missing, Entity: key, Row: d.key})
		}
		return c.confirm(ctx, key, d.key)
	}
	return c.confirm(ctx, key, has)
}

// storedUnder returns the note and the digest of a derived entity that an entity should have: those
// that were read at the beginning, or reads them, 2 requests. Unless they are another entity's,
// they are taken from those that no entity has.
func (c *viewComparison) storedUnder(ctx context.Context, k, entity keys.Key) (n note, digest string, err error) {
	if c.session.Whole() {
		c.mu.Lock()
		defer c.mu.Unlock()
		n, digest = c.notes[k], c.digests[k]
		if n.entity == entity || n.entity == (keys.Key{}) {
			c.take(k)
		}
		return n, digest, nil
	}
	if err := c.session.Spend(ctx, 2); err != nil {
		return n, "", err
	}
	t := &target{maintainer: c.maintainer, entity: entity, key: k}
	if err := t.Read(ctx); err != nil || t.stored == nil {
		return n, "", err
	}
	n, mine, err := noteIn(t.stored, c.owner())
	if err != nil || !mine || n.gone {
		return note{}, "", err
	}
	row, err := tabledoor.GetRow(ctx, c.base, k)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return n, "", nil
	case err != nil:
		return n, "", err
	}
	c.session.Count(derived.Rows, 1)
	return n, digestOf(contentOf((*stored.Row)(row).Columns())), c.ranged()
}

// Rest implements derived.Comparison: it confirms the derived entities whose entity does not have
// them any more.
func (c *viewComparison) Rest(ctx context.Context) error {
	for k, n := range c.notes {
		if c.session.Contains(n.entity) && n.entity.Err() == nil {
			if err := c.confirm(ctx, n.entity, k); err != nil {
				return err
			}
		}
		delete(c.digests, k)
	}
	c.session.Count(derived.Unowned, len(c.digests))
	return nil
}

// mostConfirmations is how often a suspected fault is read that concurrent writers change during
// each read.
const mostConfirmations = 5

// confirm reads an entity and a derived entity, and reports the fault that it finds.
func (c *viewComparison) confirm(ctx context.Context, entity, k keys.Key) error {
	return c.session.Confirm(ctx, mostConfirmations, func() (changed bool, err error) { return c.confirmOnce(ctx, entity, k) })
}

// confirmOnce is one attempt of confirm. changed reports that a concurrent writer has changed the
// note of the derived entity meanwhile.
func (c *viewComparison) confirmOnce(ctx context.Context, entity, k keys.Key) (changed bool, err error) {
	if err := c.session.Spend(ctx, 5); err != nil { // the entity, the derived entity, its note twice, and commit records
		return false, err
	}
	t := &target{maintainer: c.maintainer, entity: entity, key: k}
	if err := t.Read(ctx); err != nil {
		return false, err
	}
	first := t.stored
	f, err := c.faultOf(ctx, t)
	if err != nil || f.Kind == "" {
		return false, err
	}
	pending, err := c.isPending(ctx, entity)
	if err == nil && !pending && first != nil { // table.Table.Move stores its effects in the partition that the entity leaves
		n, mine, damaged := noteIn(first, c.owner())
		if damaged == nil && mine && n.entity != entity && n.entity.Err() == nil {
			pending, err = c.isPending(ctx, n.entity)
		}
	}
	if err != nil {
		return false, err
	}
	if err := t.Read(ctx); err != nil {
		return false, err
	}
	switch {
	case (first == nil) != (t.stored == nil) || first != nil && first.ETag != t.stored.ETag:
		return true, nil
	case pending:
		c.session.Count(derived.Pending, 1)
		return false, nil
	}
	return false, c.repair(ctx, f)
}

// faultOf returns the fault of a derived entity whose note was read, one without a kind for none. 2
// requests.
func (c *viewComparison) faultOf(ctx context.Context, t *target) (f derived.Fault, err error) {
	f = derived.Fault{Definition: c.name, Entity: t.entity, Row: t.key}
	derivedRow, err := tabledoor.GetRow(ctx, c.base, t.key)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return f, err
	}
	digest := ""
	if derivedRow != nil {
		digest = digestOf(contentOf((*stored.Row)(derivedRow).Columns()))
	}
	var n note
	mine := false
	if t.stored != nil {
		if n, mine, err = noteIn(t.stored, c.owner()); err != nil {
			return f, err
		}
	}
	has := mine && !n.gone && n.entity == t.entity
	row, err := tabledoor.GetRow(ctx, door.Rows[table.Table[table.Row]](door.Table(c.from), true), t.entity)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return f, err
	}
	want, err := c.wanted(ctx, row, t.key)
	var ve *table.VersionError
	switch {
	case errors.As(err, &ve) && ve.Got > ve.Want:
		f.Kind = derived.StateMismatch
	case err != nil:
		f.Kind, f.Err = derived.Unreadable, err
	case want.value == nil && has:
		f.Kind = derived.Dangling
	case want.value == nil:
	case mine && !n.gone && !has:
		taken, err := t.isWanted(ctx, n.entity)
		if err != nil {
			return f, err
		}
		f.Kind = derived.Missing
		if taken {
			f.Kind, f.Owner = derived.DuplicateValue, n.entity
		}
	case !has || derivedRow == nil:
		f.Kind = derived.Missing
	case digest != want.digest:
		f.Kind = derived.Stale
	}
	return f, nil
}

// isPending reports whether a worker is about to execute a write of an entity: its notification is
// not overdue. Commit records that cannot be read do not count.
func (c *viewComparison) isPending(ctx context.Context, entity keys.Key) (bool, error) {
	for effect, err := range reconcile.PendingEffects(ctx, c.from, entity, []string{kindOf(c.from)}) {
		var ve *table.VersionError
		var de *table.DecodeError
		switch {
		case effect.OperationID != "" && (errors.As(err, &ve) || errors.As(err, &de)):
		case err != nil:
			return false, err
		case !effect.Overdue:
			return true, nil
		}
	}
	return false, nil
}

// repair repairs a fault, if that is asked for, and reports it.
func (c *viewComparison) repair(ctx context.Context, f derived.Fault) error {
	if f.Kind == derived.Unreadable || f.Kind == derived.DuplicateValue || !c.session.Repair() {
		c.session.Fault(f)
		return nil
	}
	if err := c.session.Spend(ctx, 4); err != nil {
		return err
	}
	f.Err = c.reconcile(ctx, f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.Repaired = f.Err == nil
	c.session.Fault(f)
	return nil
}

// reconcile executes what an effect for a derived entity would.
func (c *viewComparison) reconcile(ctx context.Context, f derived.Fault) error {
	all := []reconcile.Target{&target{maintainer: c.maintainer, entity: f.Entity, key: f.Row}}
	if f.Kind == derived.StateMismatch {
		e, err := c.session.Table().Get(ctx, f.Entity)
		if err == nil {
			err = c.session.Table().Touch(ctx, e) // records what derive returns now
		}
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		if e != nil {
			d, err := c.deriveTwice(tabledoor.ValueOf(e), tabledoor.KeyOf(e))
			if err != nil {
				return err
			}
			if d.value != nil && d.key != f.Row {
				all = append(all, &target{maintainer: c.maintainer, entity: f.Entity, key: d.key})
			}
		}
	}
	return reconcile.Reconcile(ctx, c.from, f.Entity, all...)
}

// contentOf returns the properties of a derived entity that follow from the entity: not those that
// a write or a maintainer adds.
func contentOf(columns []edm.Column) []edm.Column {
	own := slices.Clone(columns)
	return slices.DeleteFunc(own, func(c edm.Column) bool {
		return slices.Contains([]string{reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner}, c.Name) || c.Value.Kind == edm.Absent
	})
}

// digestOf returns a digest of properties, which does not depend on their order.
func digestOf(columns []edm.Column) string {
	sorted := slices.SortedFunc(slices.Values(columns), func(a, b edm.Column) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, c := range sorted {
		v := c.Value.Any()
		if t, is := v.(time.Time); is {
			v = t.UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(h, "%q %d %q\n", c.Name, c.Value.Kind, fmt.Sprint(v))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
