package verify

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// partition is a partition that is being verified.
type partition struct {
	*run // with its recorder (count, noteFault, …) and its pacer

	pk           string
	entitiesRead int
	requestErr   error // the cause of an errRequest
	snapshots    []*snapshot
	summaries    []derived.PerGroup
	rowsKept     int    // in the snapshots
	sieve        *sieve // instead of the snapshots, of more rows than are kept
	again        *group // of the entities, which are compared again

	candidates map[string][]candidate // by the RowKey of the entity
	excluded   map[string]bool        // RowKeys of entities that cannot be read, or are of another type
	miscounted []Fault                // entities whose recorded contribution to a summary is not what it should be
	additions  []addition
	firstOwner map[candidate]string // unique rows that do not exist, with the first entity that should have each
	ownerless  []candidate          // rows that name no entity, and should name one
	foreign    map[string]bool      // RowKeys of foreign rows in the ranges of the definitions

	entitiesWritten atomic.Bool // summaries may have changed
}

// snapshot is the rows of a definition as they were read.
type snapshot struct {
	maintainer derived.PerEntity
	digests    map[rowEntity]uint64 // of the content of rows, for each entity that a row names
	owners     map[string]string    // of unique rows
	texts      texts                // of the keys
	copies     copies
}

// copies says what the rows of a definition contain.
type copies struct {
	is           bool // the rows are copies
	whole        bool // of all properties
	properties   []string
	projectionID string
}

// texts keeps copies of texts, many in one piece of memory.
type texts struct{ piece strings.Builder }

// keep returns a copy of s, which does not hold the page that s may be a part of.
func (t *texts) keep(s string) string {
	const size = 4 << 10
	if t.piece.Cap()-t.piece.Len() < len(s) {
		t.piece = strings.Builder{}
		t.piece.Grow(max(size, len(s)))
	}
	from := t.piece.Len()
	t.piece.WriteString(s)
	return t.piece.String()[from:]
}

// rowEntity is a row and an entity that it names, by their RowKeys.
type rowEntity struct{ row, entity string }

// candidate is a row that may have a fault.
type candidate struct {
	snapshot int
	row      string // its RowKey, or stateOnly
}

// stateOnly is the row of a candidate that is the maintainer state of an entity, and no row.
const stateOnly = ""

// addition is an entity that lacks rows, with the faults that a write of it repairs.
type addition struct {
	entity tabledoor.Entity
	faults []Fault
}

func newPartition(r *run, pk string) *partition {
	return &partition{
		run:        r,
		pk:         pk,
		foreign:    map[string]bool{},
		candidates: map[string][]candidate{},
		excluded:   map[string]bool{},
		firstOwner: map[candidate]string{},
	}
}

func (p *partition) addCandidates(entity string, all ...candidate) {
	for _, c := range all {
		// Rows without an entity are distinct, and may be too many to search.
		if entity == derived.NoEntity || !slices.Contains(p.candidates[entity], c) {
			p.candidates[entity] = append(p.candidates[entity], c)
		}
	}
}

// verifyPartition verifies one partition. If it has more rows than may be kept in memory, it is
// read again to compare what the sieve has left.
func (r *run) verifyPartition(ctx context.Context, pk string) error {
	p := newPartition(r, pk)
	if err := p.readDerivedRows(ctx); err != nil {
		return err
	}
	uncounted, err := p.addAllUncounted(ctx)
	if err != nil {
		return err
	}
	if err := p.readEntities(ctx); err != nil {
		return err
	}
	if p.sieve != nil {
		for _, g := range p.sieve.groups(r.mostRows) {
			if err := p.compareAgain(ctx, g); err != nil {
				return err
			}
		}
	}
	if err := p.confirmFaults(ctx); err != nil {
		return err
	}
	if uncounted || p.entitiesWritten.Load() {
		for _, sum := range p.summaries {
			if err := p.verifyGroups(ctx, sum, p.opt.DryRun); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareAgain reads the partition again, and compares the entities of some buckets of the sieve
// row by row. The rows that name no entity are those that were read first: each is left until all
// entities are compared.
func (p *partition) compareAgain(ctx context.Context, g *group) error {
	again := newPartition(p.run, p.pk)
	again.again, again.firstOwner = g, p.firstOwner
	if err := again.readDerivedRows(ctx); err != nil {
		return err
	}
	for i, s := range p.snapshots {
		maps.Copy(again.snapshots[i].digests, s.digests)
	}
	if err := again.readEntities(ctx); err != nil {
		return err
	}
	for i, s := range again.snapshots {
		maps.DeleteFunc(p.snapshots[i].digests, func(r rowEntity, _ uint64) bool { _, left := s.digests[r]; return !left })
		maps.DeleteFunc(s.digests, func(r rowEntity, _ uint64) bool { return r.entity == derived.NoEntity })
	}
	if err := again.confirmFaults(ctx); err != nil {
		return err
	}
	if again.entitiesWritten.Load() {
		p.entitiesWritten.Store(true)
	}
	return nil
}

// confirmFaults confirms what may be faults.
func (p *partition) confirmFaults(ctx context.Context) error {
	for _, candidates := range p.passes() {
		if err := p.confirmAll(ctx, candidates); err != nil {
			return err
		}
	}
	for _, f := range p.miscounted {
		if err := p.repairMiscounted(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// readDerivedRows takes the snapshots of the definitions whose rows name entities. Summaries are
// read later.
func (p *partition) readDerivedRows(ctx context.Context) error {
	for _, d := range p.maintainers {
		switch d := d.(type) {
		case derived.PerEntity:
			if err := p.takeSnapshot(ctx, d); err != nil {
				return err
			}
		case derived.PerGroup:
			p.summaries = append(p.summaries, d)
		}
	}
	return nil
}

// countRead adds to the report what is read for the first time.
func (p *partition) countRead(name string, n int) {
	if p.again == nil {
		p.count(name, n)
	}
}

// addAllUncounted is addUncounted for all summaries, with Repair. open reports whether the
// summaries must be compared.
func (p *partition) addAllUncounted(ctx context.Context) (open bool, err error) {
	if p.opt.DryRun {
		return true, nil
	}
	for _, sum := range p.summaries {
		left, err := p.addUncounted(ctx, sum)
		if err != nil {
			return true, err
		}
		open = open || left
	}
	return open, nil
}

// passes returns the candidates in the order in which they are confirmed: first the rows that
// should not exist, since they may hold a unique value that another entity must get.
func (p *partition) passes() []map[string][]candidate {
	fromEntities := p.candidates
	p.candidates = map[string][]candidate{}
	// The digests that are left are of rows whose entity was not read, or neither should have the
	// row nor records it.
	for i, s := range p.snapshots {
		for l := range s.digests {
			if !p.excluded[l.entity] {
				p.addCandidates(l.entity, candidate{i, l.row})
			}
		}
	}
	passes := []map[string][]candidate{p.candidates, fromEntities}
	if !p.opt.DryRun && len(p.ownerless) > 0 {
		// The entity that an ownerless row should name may have been deleted meanwhile.
		passes = append(passes, map[string][]candidate{derived.NoEntity: p.ownerless})
	}
	return passes
}

// leastAge is how long ago a write began that is taken to be one of a crashed program.
const leastAge = 10 * time.Minute

var (
	// errChanging: no consistent read was possible.
	errChanging = errors.New("gave up: concurrent writers changed the entity or its rows at each of Retry.ConflictAttempts attempts")
	// errForeign: the row of the entity is of another type. Only a table of that type can verify
	// its rows.
	errForeign = errors.New("the row belongs to another type")
)

// unreadableError is an error of an entity, and not of the service.
type unreadableError struct {
	definition string // whose function failed, "" if the entity cannot be decoded
	error
}

func (e *unreadableError) Unwrap() error { return e.error }

// query is the query of a range of the partition.
func (p *partition) query(r keys.RowRange) table.Query[table.Row] {
	return table.Query[table.Row]{Partition: keys.Raw(p.pk, "").Partition(), Rows: r, PageSize: p.pacer.PageSize()}
}

// scan yields the rows of a range of the partition.
func (p *partition) scan(ctx context.Context, r keys.RowRange) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for row, err := range p.table.Rows(ctx, p.query(r)) {
			if err == nil {
				err = p.pacer.Spend(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// scanned is scan without decoding the rows. Entities says that they are entities.
func (p *partition) scanned(ctx context.Context, r keys.RowRange, entities bool) iter.Seq2[*engine.Scanned, error] {
	return func(yield func(*engine.Scanned, error) bool) {
		q := p.query(r)
		err := door.Scan(ctx, p.table, &q, entities, stored.NewHasher(p.seed), func(s *engine.Scanned) bool {
			err := p.pacer.Spend(ctx, 1)
			return yield(s, err) && err == nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// entityOf returns the entity of a row.
func (p *partition) entityOf(s *engine.Scanned) (tabledoor.Entity, error) {
	if e := s.Entity(); e != nil {
		return e, nil
	}
	row, err := wholeRow(s)
	if err != nil {
		return nil, err
	}
	return p.table.Entity(derived.AsEntity(row))
}

// wholeRow returns a row with all its properties.
func wholeRow(s *engine.Scanned) (*table.Row, error) {
	row, err := s.Row()
	return (*table.Row)(row), err
}

// getEntity reads an entity. The error is an *unreadableError if the entity cannot be decoded, and
// errForeign if it is of another type. The entity is nil if the RowKey is not in the range of the
// entities.
func (p *partition) getEntity(ctx context.Context, rowKey string) (tabledoor.Entity, *table.Row, error) {
	if !p.schema.Rows().Contains(rowKey) {
		return nil, nil, nil
	}
	row, err := p.getRow(ctx, rowKey)
	if err != nil || row == nil {
		return nil, nil, err
	}
	e, err := p.table.Entity(derived.AsEntity(row))
	switch {
	case derived.IsForeign(err):
		return nil, row, errForeign
	case err != nil:
		return nil, row, &unreadableError{error: err}
	}
	return e, row, nil
}

// getRow reads a row. The row is nil if it does not exist, or if no row can have the RowKey.
func (p *partition) getRow(ctx context.Context, rowKey string) (*table.Row, error) {
	k := keys.Raw(p.pk, rowKey)
	if rowKey == derived.NoEntity || k.Err() != nil {
		return nil, nil
	}
	if err := p.pacer.Spend(ctx, 1); err != nil {
		return nil, err
	}
	return tabledoor.FindRow(ctx, p.table, k)
}

func (p *partition) getRows(ctx context.Context, candidates []candidate) (rows []*table.Row, err error) {
	for _, c := range candidates {
		row, err := p.getRow(ctx, c.row)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
