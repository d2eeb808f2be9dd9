package materialized

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Verify compares views with the entities of a table, and repairs them if VerifyOptions.Repair is set: it fills a new view of a
// table in use, follows a changed function, and repairs what other programs have written or deleted. It is safe beside concurrent
// writers and workers, and a second run does no harm. t is a handle of [Attach]; without views, all that are attached to t are
// verified.
//
//	report, err := materialized.Verify(ctx, staff, &materialized.VerifyOptions{Repair: true})
//
// A fault that Verify reports existed, and no worker was about to repair it: Verify reads note, derived entity, entity and pending
// commit records between two reads of an unchanged note. Commit records that have been pending for more than 10 minutes do not
// excuse a fault, because their notifications may be lost; eventual.Outbox.NotifyPending sends those again.
//
// Verify keeps about 200 bytes of each derived entity in memory. Requests: 1 for each 1,000 entities, derived entities and notes; 5
// to confirm a fault, and 3 to repair it. An entity that no handle with the view has written needs no confirmation. Errors:
// *DefinitionError for a view that is not attached; those of reading; table.ErrRanged if the signature of a client is for a range
// of keys. The report counts what was done, also beside an error.
func Verify[T any](ctx context.Context, t *table.Table[T], o *VerifyOptions, views ...Definition[T]) (report Report, err error) {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return Report{}, fmt.Errorf("materialized: Verify: %w", err)
	}
	if o == nil {
		o = &VerifyOptions{}
	}
	r := &run{options: *o, pace: pace.New(o.Rate), report: Report{Faults: map[FaultKind]int{}}}
	fail := func(err error) (Report, error) {
		return r.report, fmt.Errorf("materialized: Verify %s: %w", t.Name(), err)
	}
	if o.Rate < 0 {
		return fail(&table.ValueError{Field: "VerifyOptions.Rate", Reason: "is negative; 0 means no limit"})
	}
	ctx, end := t.Engine().Span(ctx, "Verify")
	defer func() { end(err) }()
	chosen, err := choose(t, views)
	if err != nil {
		return fail(err)
	}
	var all []comparison[T]
	for _, v := range chosen {
		c, err := v.compare(ctx, t, r)
		if err != nil {
			return fail(err)
		}
		all = append(all, c)
	}
	if err := eachEntity(ctx, t, o.Partition, func(row *table.Row) error {
		if err := r.pace.Spend(ctx, 1); err != nil {
			return err
		}
		return compareEntity(ctx, r, t, row, all)
	}); err != nil {
		return fail(err)
	}
	for _, c := range all {
		if err := c.rest(ctx); err != nil {
			return fail(err)
		}
	}
	return r.report, nil
}

// choose returns the views of a handle that are to be verified.
func choose[T any](t *table.Table[T], views []Definition[T]) (chosen []attached[T], err error) {
	if len(views) == 0 {
		if chosen = viewsOf(t); len(chosen) == 0 {
			return nil, &DefinitionError{Field: "table", Reason: "has no views; give a handle that Attach has returned"}
		}
		return chosen, nil
	}
	for _, v := range views {
		if isNil(v) {
			return nil, &table.ValueError{Field: "views", Reason: "contain nil or a zero View; use one of materialized.New"}
		}
		found := false
		for _, a := range viewsOf(t) {
			if a.is(v) {
				chosen, found = append(chosen, a), true
			}
		}
		if !found {
			return nil, &DefinitionError{View: v.Name(), Field: "view", Reason: "is not attached to the table's handle"}
		}
	}
	return chosen, nil
}

// width is how many entities are confirmed and repaired at a time.
const width = 10

// eachEntity calls f for the rows of a table's entities, with their parts, several at a time.
func eachEntity[T any](ctx context.Context, t *table.Table[T], partition keys.Enc, f func(*table.Row) error) error {
	q := table.Query[table.Row]{Partition: partition, Rows: t.Engine().Mode.Schema.Rows(), TableScan: partition == keys.Enc{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	var listed error
	for e, err := range table.RowsOf(t.Engine(), true).List(ctx, q) {
		if err == nil && t.Engine().Ranged() {
			err = table.ErrRanged
		}
		listed = err
		if err != nil || ctx.Err() != nil {
			break
		}
		g.Go(func() error { return f(&e.Value) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if listed == nil && t.Engine().Ranged() { // also if the list was empty
		return table.ErrRanged
	}
	return listed
}

// compareEntity compares an entity with all views.
func compareEntity[T any](ctx context.Context, r *run, t *table.Table[T], row *table.Row, all []comparison[T]) error {
	if !t.Engine().Mode.Schema.Mine(row.Engine()) {
		return nil
	}
	e, err := t.Entity(row)
	if isForeign(err) {
		return nil
	}
	r.note(func(report *Report) { report.Entities++ })
	for _, c := range all {
		if err != nil {
			c.unreadable(row, err)
		} else if err := c.entity(ctx, e, row); err != nil {
			return err
		}
	}
	return nil
}

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults.
const (
	Missing       FaultKind = iota + 1 // an entity is not in the view
	Dangling                           // a derived entity has no entity any more
	Stale                              // a derived entity has other content than derive returns
	StateMismatch                      // the entity was written by a release whose derive returned another key
	Taken                              // two entities have one derived entity; not repaired
	Unreadable                         // the entity cannot be read, or derive fails
)

// String returns the kind in words.
func (k FaultKind) String() string {
	if names := [...]string{"no fault", "missing", "dangling", "stale", "state mismatch", "taken", "unreadable"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault is a fault of a view.
type Fault struct {
	View     string
	Kind     FaultKind
	Entity   keys.Key
	Derived  keys.Key // zero if the entity cannot be read
	Repaired bool
	Err      error // why the fault could not be repaired
}

// Report counts what [Verify] has done.
type Report struct {
	Entities int // entities that were read
	Derived  int // derived entities that were read
	Faults   map[FaultKind]int
	Repaired int

	// Pending counts the suspected faults of entities whose latest write is not yet executed by a worker.
	Pending int

	// Unconfirmed counts the suspected faults that could not be confirmed, because concurrent writers changed the rows each time.
	Unconfirmed int

	// Unowned counts the rows in the range of a view's table that the view has not written. Verify leaves them as they are.
	Unowned int

	// Tombstones counts the notes of deleted derived entities that were old enough and that Verify has deleted.
	Tombstones int
}

// Sound reports whether all faults are repaired, and none is unconfirmed.
func (r *Report) Sound() bool {
	n := r.Unconfirmed
	for _, of := range r.Faults {
		n += of
	}
	return n == r.Repaired
}

// VerifyOptions are the options of [Verify]. The zero value compares everything and changes nothing.
type VerifyOptions struct {
	// Partition is the only partition of entities to verify. Unset means all.
	Partition keys.Enc

	// Repair repairs faults, and deletes old tombstones. Without it, Verify only reports faults.
	Repair bool

	// Rate is the most rows that are read and written in a second, repairs included; 0 means no limit.
	Rate int

	// Fault is called for each fault. No two calls overlap.
	Fault func(Fault)
}

// run is one call of Verify.
type run struct {
	options VerifyOptions
	pace    *pace.Limit

	mu     sync.Mutex
	report Report
}

// note counts something in the report.
func (r *run) note(count func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count(&r.report)
}

// fault counts and reports a fault.
func (r *run) fault(f Fault) {
	r.note(func(report *Report) {
		report.Faults[f.Kind]++
		if f.Repaired {
			report.Repaired++
		}
		if r.options.Fault != nil {
			r.options.Fault(f)
		}
	})
}

// viewComparison compares entities with the derived entities of a view, as they were read at its beginning.
type viewComparison[T, V any] struct {
	*maintainer[T, V]
	handle *table.Table[T] // for repairs
	run    *run

	mu      sync.Mutex
	notes   map[keys.Key]note   // of the view, by the derived entity; without those that an entity has
	digests map[keys.Key]string // of the stored derived entities; without those that a note names
}

func (m *maintainer[T, V]) is(d Definition[T]) bool { return d == Definition[T](m.View) }

// compare reads the notes before the derived entities. Whatever changes meanwhile is read again before it counts as a fault.
func (m *maintainer[T, V]) compare(ctx context.Context, t *table.Table[T], r *run) (comparison[T], error) {
	c := &viewComparison[T, V]{maintainer: m, handle: t, run: r, notes: map[keys.Key]note{}, digests: map[keys.Key]string{}}
	ranged := func() error {
		if m.to.Engine().Ranged() {
			return table.ErrRanged
		}
		return nil
	}
	q := table.Query[table.Row]{Rows: keys.StoredBetween(reserved.View, reserved.View[:len(reserved.View)-1]+"}"), TableScan: true}
	for e, err := range notes(m.to.Engine()).List(ctx, q) {
		if err == nil {
			err = ranged()
		}
		if err == nil {
			err = r.pace.Spend(ctx, 1)
		}
		if err != nil {
			return nil, err
		}
		k := keys.Stored(e.Key.PartitionKey(), e.Key.RowKey()[len(reserved.View):])
		n, mine, err := noteIn(&e.Value, m.owner())
		switch {
		case err != nil:
			return nil, err
		case !mine || k.Err() != nil:
		case n.gone:
			if err := c.sweep(ctx, k, &e.Value); err != nil {
				return nil, err
			}
		default:
			c.notes[k] = n
		}
	}
	for row, err := range m.plain.Rows(ctx, table.Query[V]{Rows: m.to.Engine().Mode.Schema.Rows(), TableScan: true}) {
		if err == nil {
			err = ranged()
		}
		if err == nil {
			err = r.pace.Spend(ctx, 1)
		}
		if err != nil {
			return nil, err
		}
		if m.to.Engine().Mode.Schema.Mine(row.Engine()) {
			c.digests[row.Key] = digestOf(contentOf(row.Engine().Columns))
			r.note(func(report *Report) { report.Derived++ })
		}
	}
	return c, ranged()
}

// sweep deletes an old tombstone.
func (c *viewComparison[T, V]) sweep(ctx context.Context, k keys.Key, row *table.Row) error {
	before := c.from.Engine().Options.Now().Add(-extend.Retention - time.Hour)
	if !c.run.options.Repair || !row.Timestamp.Before(before) {
		return nil
	}
	t := &target[T, V]{maintainer: c.maintainer, key: k, stored: row}
	switch err := t.Sweep(ctx, before); {
	case errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrNotFound):
		return nil // it is no old tombstone any more
	case err != nil:
		return err
	}
	c.run.note(func(r *Report) { r.Tombstones++ })
	return nil
}

func (c *viewComparison[T, V]) unreadable(row *table.Row, err error) {
	c.run.fault(Fault{View: c.name, Kind: Unreadable, Entity: row.Key, Err: err})
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, n := range c.notes { // the derived entity stays until the entity can be read
		if n.entity == row.Key {
			c.take(k)
		}
	}
}

// take removes a derived entity from those that no entity has. c.mu is locked.
func (c *viewComparison[T, V]) take(k keys.Key) {
	delete(c.notes, k)
	delete(c.digests, k)
}

// entity compares an entity.
func (c *viewComparison[T, V]) entity(ctx context.Context, e *table.Entity[T], row *table.Row) error {
	d, err := c.of(&e.Value, e.Key)
	if err != nil {
		c.unreadable(row, err)
		return nil
	}
	has, _ := recorded(c.stateIn(row.Engine()))
	if has == (keys.Key{}) && d.value == nil {
		return nil
	}
	if d.value != nil && (has == (keys.Key{}) || has == d.key) {
		c.mu.Lock()
		n, digest := c.notes[d.key], c.digests[d.key]
		sound := n.entity == e.Key && digest == d.digest
		if n.entity == e.Key || n.entity == (keys.Key{}) {
			c.take(d.key)
		}
		c.mu.Unlock()
		if sound {
			return nil
		}
		if never := has == (keys.Key{}) && n.entity == (keys.Key{}); never && c.run.options.Repair {
			return c.repair(ctx, Fault{View: c.name, Kind: Missing, Entity: e.Key, Derived: d.key})
		}
		return c.confirm(ctx, e.Key, d.key)
	}
	return c.confirm(ctx, e.Key, has)
}

// rest confirms the derived entities whose entity does not have them any more.
func (c *viewComparison[T, V]) rest(ctx context.Context) error {
	for k, n := range c.notes {
		if pk, err := c.run.options.Partition.Result(); (err != nil || c.run.options.Partition == keys.Enc{} || pk == n.entity.PartitionKey()) && n.entity.Err() == nil {
			if err := c.confirm(ctx, n.entity, k); err != nil {
				return err
			}
		}
		delete(c.digests, k)
	}
	c.run.note(func(r *Report) { r.Unowned += len(c.digests) })
	return nil
}

// mostConfirmations is how often a suspected fault is read that concurrent writers change during each read.
const mostConfirmations = 5

// overdue is how long a write may be pending before its notification counts as lost.
const overdue = 10 * time.Minute

// confirm reads an entity and a derived entity, and reports the fault that it finds.
func (c *viewComparison[T, V]) confirm(ctx context.Context, entity, k keys.Key) error {
	for range mostConfirmations {
		if err := c.run.pace.Spend(ctx, 5); err != nil { // the entity, the derived entity, its note twice, and commit records
			return err
		}
		t := &target[T, V]{maintainer: c.maintainer, entity: entity, key: k}
		if err := t.Read(ctx); err != nil {
			return err
		}
		first := t.stored
		kind, err := c.faultOf(ctx, t)
		if err != nil {
			return err
		}
		if kind == 0 {
			return nil
		}
		pending, err := c.isPending(ctx, entity)
		if err == nil && !pending && first != nil { // table.Table.Move stores its effects in the partition that the entity leaves
			n, mine, damaged := noteIn(first, c.owner())
			if damaged == nil && mine && n.entity != entity && n.entity.Err() == nil {
				pending, err = c.isPending(ctx, n.entity)
			}
		}
		if err != nil {
			return err
		}
		if err := t.Read(ctx); err != nil {
			return err
		}
		switch {
		case (first == nil) != (t.stored == nil) || first != nil && first.ETag != t.stored.ETag:
			continue
		case pending:
			c.run.note(func(r *Report) { r.Pending++ })
			return nil
		}
		return c.repair(ctx, Fault{View: c.name, Kind: kind, Entity: entity, Derived: k})
	}
	c.run.note(func(r *Report) { r.Unconfirmed++ })
	return nil
}

// faultOf returns the fault of a derived entity whose note was read, 0 for none. 2 requests.
func (c *viewComparison[T, V]) faultOf(ctx context.Context, t *target[T, V]) (FaultKind, error) {
	stored, err := c.plain.GetRow(ctx, t.key)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return 0, err
	}
	digest := ""
	if stored != nil {
		digest = digestOf(contentOf(stored.Engine().Columns))
	}
	var n note
	mine := false
	if t.stored != nil {
		if n, mine, err = noteIn(t.stored, c.owner()); err != nil {
			return 0, err
		}
	}
	has := mine && !n.gone && n.entity == t.entity
	row, err := table.RowsOf(c.from.Engine(), true).GetRow(ctx, t.entity)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return 0, err
	}
	want, err := c.wanted(row, t.key)
	var ve *table.VersionError
	switch {
	case errors.As(err, &ve) && ve.Got > ve.Want:
		return StateMismatch, nil
	case err != nil:
		return Unreadable, nil
	case want.value == nil && has:
		return Dangling, nil
	case want.value == nil:
		return 0, nil
	case mine && !n.gone && !has:
		if taken, err := t.isWanted(ctx, n.entity); err != nil || taken {
			return Taken, err
		}
		return Missing, nil
	case !has || stored == nil:
		return Missing, nil
	case digest != want.digest:
		return Stale, nil
	}
	return 0, nil
}

// isPending reports whether a worker is about to execute a write of an entity.
func (c *viewComparison[T, V]) isPending(ctx context.Context, entity keys.Key) (bool, error) {
	now := c.from.Engine().Options.Now()
	records := extend.RecordsOf(c.from)
	for id, err := range records.Pending(ctx, entity.Partition(), "", now.Add(2*extend.Retention)) {
		if err != nil {
			return false, err
		}
		record, err := records.Get(ctx, entity.Partition(), id)
		var ve *table.VersionError
		var de *table.DecodeError
		switch {
		case errors.As(err, &ve), errors.As(err, &de), errors.Is(err, table.ErrNotFound):
			continue
		case err != nil:
			return false, err
		case record.State != extend.Pending || record.Time().Before(now.Add(-overdue)):
			continue
		}
		for _, e := range record.Effects {
			if e.Kind == kindOf(c.from) && e.RowKey == entity.RowKey() {
				return true, nil
			}
		}
	}
	return false, nil
}

// repair repairs a fault, if that is asked for, and reports it.
func (c *viewComparison[T, V]) repair(ctx context.Context, f Fault) error {
	if f.Kind == Unreadable || f.Kind == Taken || !c.run.options.Repair {
		c.run.fault(f)
		return nil
	}
	if err := c.run.pace.Spend(ctx, 4); err != nil {
		return err
	}
	f.Err = c.reconcile(ctx, f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.Repaired = f.Err == nil
	c.run.fault(f)
	return nil
}

// reconcile executes what an effect for a derived entity would.
func (c *viewComparison[T, V]) reconcile(ctx context.Context, f Fault) error {
	all := []reconcile.Target{&target[T, V]{maintainer: c.maintainer, entity: f.Entity, key: f.Derived}}
	if f.Kind == StateMismatch {
		e, err := c.handle.Get(ctx, f.Entity)
		if err == nil {
			err = c.handle.Touch(ctx, e) // records what derive returns now
		}
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		if e != nil {
			d, err := c.of(&e.Value, e.Key)
			if err != nil {
				return err
			}
			if d.value != nil && d.key != f.Derived {
				all = append(all, &target[T, V]{maintainer: c.maintainer, entity: f.Entity, key: d.key})
			}
		}
	}
	return reconcile.Reconcile(ctx, c.from, f.Entity, all...)
}

// contentOf returns the properties of a derived entity that follow from the entity: not those that a write or a maintainer adds.
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
