package verify

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// errRequest says that compareEntity failed because of a request, whose error is in requestErr, and
// not because of the entity.
var errRequest = errors.New("request")

// readEntities reads the entities of the partition and compares them with the snapshots.
func (p *partition) readEntities(ctx context.Context) error {
	for row, err := range tabledoor.Complete(p.table, p.scanned(ctx, p.rows(), true)) {
		if err != nil {
			return err
		}
		if !p.again.contains(row.Key.RowKey()) {
			continue
		}
		e, err := p.entityOf(row)
		if derived.IsForeign(err) {
			p.excluded[strings.Clone(row.Key.RowKey())] = true // its rows are verified with the table of its type
			continue
		}
		if err == nil {
			if err = row.Key.Err(); err == nil { // the service accepts keys that this library does not
				err = p.compareEntity(ctx, e, row)
			}
		}
		if err == errRequest {
			return p.requestErr
		} else if err != nil {
			p.excluded[strings.Clone(row.Key.RowKey())] = true
			if p.again == nil {
				p.noteFault(Fault{Kind: Unreadable, Entity: row.Key, Err: err})
			}
		}
		if p.again == nil {
			p.countEntity()
		}
		if p.entitiesRead++; p.entitiesRead%1000 == 0 {
			p.noteProgress()
		}
	}
	return p.writeAdditions(ctx)
}

// comparison is what the comparison of an entity with the snapshots finds.
type entityComparison struct {
	faults     []Fault
	candidates []candidate // one for each fault

	// unsure says that a fault must be confirmed, because the row may have changed since the
	// snapshot. Without it, the entity alone shows all faults: it wants rows that its maintainer
	// state does not record, or records rows that it does not want.
	unsure bool
}

func (c *entityComparison) add(f Fault, of candidate) {
	c.faults = append(c.faults, f)
	c.candidates = append(c.candidates, of)
}

// compareEntity compares an entity with the snapshots, and deletes from them what it has compared.
// An error is one of the definitions' functions, or errRequest.
func (p *partition) compareEntity(ctx context.Context, e tabledoor.Entity, row *engine.Scanned) error {
	wanted, groups, err := p.wantedOf(e)
	if err != nil {
		return err
	}
	state, corrupt := row.State()
	var c entityComparison
	for i, s := range p.snapshots {
		digest, err := p.wantedDigest(s, row)
		if err != nil {
			return err
		}
		recorded, _ := stored.SplitState(state[s.maintainer.Name()])
		if p.sieve != nil {
			p.siftRows(i, e, digest, recorded, wanted[i])
			continue
		}
		p.compareRows(&c, i, e, digest, recorded, wanted[i])
	}
	var miscounted []Fault
	for i, sum := range p.summaries {
		recorded := groupOf(state[sum.Name()])
		if !slices.Equal(groups[i], recorded) {
			group := append(slices.Clone(groups[i]), recorded...)[0]
			miscounted = append(miscounted, Fault{Definition: sum.Name(), Kind: StateMismatch, Row: keys.Raw(p.pk, group), Entity: tabledoor.KeyOf(e)})
		}
	}
	_, isCopy := row.System().Primary()
	damaged := isCopy || corrupt != nil
	if p.sieve != nil {
		if damaged || len(miscounted) > 0 {
			p.sieve.recheck(tabledoor.KeyOf(e).RowKey())
		}
		return nil
	}
	if damaged && (c.unsure || len(c.faults)+len(miscounted) == 0) {
		name := p.maintainers[0].Name()
		if len(p.snapshots) > 0 {
			name = p.snapshots[0].maintainer.Name() // of the candidate
		}
		c.add(Fault{Definition: name, Kind: StateMismatch, Entity: tabledoor.KeyOf(e)}, candidate{row: stateOnly})
	}
	return p.noteComparison(ctx, e, &c, miscounted)
}

// wantedOf returns the rows that an entity should have, for each snapshot, and its maintainer
// state, for each summary.
func (p *partition) wantedOf(e tabledoor.Entity) (rows, groups [][]string, err error) {
	rows, groups = make([][]string, len(p.snapshots)), make([][]string, len(p.summaries))
	for i, s := range p.snapshots {
		if rows[i], err = s.maintainer.WantedRows(e); err != nil {
			return nil, nil, err
		}
	}
	for i, sum := range p.summaries {
		if groups[i], err = sum.StateOf(e); err != nil {
			return nil, nil, err
		}
	}
	return rows, groups, nil
}

// noteComparison notes the faults of an entity, or leaves them to a confirmation or repair.
// miscounted are the faults of its groups.
func (p *partition) noteComparison(
	ctx context.Context, e tabledoor.Entity, c *entityComparison, miscounted []Fault,
) error {
	switch {
	case len(c.faults)+len(miscounted) == 0:
	case c.unsure && !p.opt.DryRun:
		p.miscounted = append(p.miscounted, miscounted...)
		p.addCandidates(tabledoor.KeyOf(e).RowKey(), c.candidates...)
	case c.unsure:
		p.noteFaults(miscounted)
		p.addCandidates(tabledoor.KeyOf(e).RowKey(), c.candidates...)
	case !p.opt.DryRun:
		p.additions = append(p.additions, addition{e, append(c.faults, miscounted...)})
		if len(p.additions) < 1000 {
			return nil
		}
		p.requestErr = p.writeAdditions(ctx)
		if p.requestErr != nil {
			return errRequest
		}
	default:
		for i, f := range c.faults {
			c.faults[i] = p.predictDuplicate(f, c.candidates[i])
		}
		p.noteFaults(append(c.faults, miscounted...))
	}
	return nil
}

// wantedDigest returns the digest of what the rows of an entity should contain.
func (p *partition) wantedDigest(s *snapshot, row *engine.Scanned) (uint64, error) {
	if c := &s.copies; c.is {
		return row.SumOfCopy(c.whole, c.properties, c.projectionID), nil
	}
	whole, err := wholeRow(row)
	if err != nil {
		return 0, err
	}
	return p.digest(s.maintainer.WantedContent(whole)), nil
}

// siftRows is compareRows for rows that are not kept in memory: rows that the entity does not
// record are compared when the partition is read again.
func (p *partition) siftRows(i int, e tabledoor.Entity, want uint64, recorded, wanted []string) {
	rk := tabledoor.KeyOf(e).RowKey()
	for _, row := range wanted {
		p.sieve.addWanted(pair{i, row, rk, want})
		if !slices.Contains(recorded, row) {
			p.sieve.recheck(rk)
		}
	}
	for _, row := range recorded {
		if !slices.Contains(wanted, row) {
			p.sieve.recheck(rk)
		}
	}
}

// compareRows compares the rows of an entity with a snapshot: the wanted rows, which should have a
// digest, and the recorded rows.
func (p *partition) compareRows(
	c *entityComparison, i int, e tabledoor.Entity, want uint64, recorded, wanted []string,
) {
	s := p.snapshots[i]
	d := s.maintainer
	for _, rk := range wanted {
		pair, of := rowEntity{rk, tabledoor.KeyOf(e).RowKey()}, candidate{i, rk}
		got, exists := s.digests[pair]
		delete(s.digests, pair)
		if p.opt.RecordsOnly && slices.Contains(recorded, rk) {
			continue
		}
		if exists && got == want && slices.Contains(recorded, rk) {
			continue
		}
		c.unsure = c.unsure || exists || slices.Contains(recorded, rk) || d.Unique() && (s.owners[rk] != "" || p.again != nil)
		kind := StateMismatch
		if !exists {
			kind = Missing
			ownerless := rowEntity{rk, derived.NoEntity}
			if _, is := s.digests[ownerless]; is { // the row of no entity becomes the row of this one
				delete(s.digests, ownerless)
				p.ownerless = append(p.ownerless, of)
			}
			if d.Unique() && p.firstOwner[of] == "" {
				p.firstOwner[of] = tabledoor.KeyOf(e).RowKey()
			}
		}
		c.add(Fault{Definition: d.Name(), Kind: kind, Row: keys.Raw(p.pk, rk), Entity: tabledoor.KeyOf(e)}, of)
	}
	for _, rk := range recorded {
		if slices.Contains(wanted, rk) {
			continue
		}
		pair := rowEntity{rk, tabledoor.KeyOf(e).RowKey()}
		kind := StateMismatch
		if _, exists := s.digests[pair]; exists {
			kind = Dangling
		}
		delete(s.digests, pair)
		c.add(Fault{Definition: d.Name(), Kind: kind, Row: keys.Raw(p.pk, rk), Entity: tabledoor.KeyOf(e)}, candidate{i, rk})
	}
}

// groupOf returns the texts of the maintainer state for a summary, nil if they record no group.
func groupOf(texts []string) []string {
	if derived.IsUnknownGroup(texts) {
		return nil
	}
	return texts
}

// stateDamaged reports whether another program has damaged the properties of an entity that its
// rows depend on, so that the entity must be written again.
func stateDamaged(row *table.Row) bool {
	_, isCopy := (*stored.Row)(row).Primary()
	return isCopy || (*stored.Row)(row).StateCorrupt()
}

// predictDuplicate returns a fault of a run without repair as a repair would report it: of two
// entities that lack the same unique row, only the first gets it.
func (p *partition) predictDuplicate(f Fault, c candidate) Fault {
	if first := p.firstOwner[c]; f.Kind == Missing && first != "" && first != f.Entity.RowKey() {
		f.Kind, f.Owner = DuplicateValue, keys.Raw(p.pk, first)
	}
	return f
}

// takeSnapshot reads the rows of a definition.
func (p *partition) takeSnapshot(ctx context.Context, d derived.PerEntity) error {
	s := &snapshot{maintainer: d, digests: map[rowEntity]uint64{}, owners: map[string]string{}}
	p.snapshots = append(p.snapshots, s)
	if p.opt.RecordsOnly {
		return nil
	}
	if c, is := d.(derived.Copying); is {
		return p.takeCopies(ctx, s, c)
	}
	all := p.derivedRows(ctx, d, true)
	if d, is := d.(derived.Searched); is {
		all = p.search(ctx, d.Condition())
	}
	for row, err := range all {
		if err != nil {
			return err
		}
		p.countRead(derived.Rows, 1)
		p.add(len(p.snapshots)-1, row.Key.RowKey(), d.EntitiesIn(row), p.digest(d.Content(row)))
	}
	return nil
}

// takeCopies reads the rows of a definition that are copies. It decodes only those with maintainer
// state.
func (p *partition) takeCopies(ctx context.Context, s *snapshot, c derived.Copying) error {
	s.copies.is = true
	s.copies.whole, s.copies.properties, s.copies.projectionID = c.Copied()
	for _, r := range s.maintainer.Ranges() {
		for scanned, err := range p.scanned(ctx, r, false) {
			if err != nil {
				return err
			}
			row, digest := (*table.Row)(scanned.System().Clone()), scanned.Sum()
			entities := s.maintainer.EntitiesIn(row)
			if len(entities) == 0 {
				p.foreign[strings.Clone(row.Key.RowKey())] = true
				continue
			}
			if hasState(row) {
				if row, err = wholeRow(scanned); err == nil {
					row, err = p.removeState(ctx, s.maintainer, row)
				}
				if err != nil {
					return err
				}
				if row == nil {
					continue // deleted meanwhile
				}
				entities, digest = s.maintainer.EntitiesIn(row), p.digest(s.maintainer.Content(row))
			}
			p.countRead(derived.Rows, 1)
			p.add(len(p.snapshots)-1, row.Key.RowKey(), entities, digest)
		}
	}
	return nil
}

// add adds a row to a snapshot, with the entities that it names. If there are too many rows, all go
// into a sieve.
func (p *partition) add(i int, row string, entities []string, digest uint64) {
	if p.sieve == nil && p.again == nil && p.rowsKept >= p.mostRows {
		p.sieve = newSieve(p.seed)
		for i, s := range p.snapshots {
			all := s.digests
			s.digests, s.owners, s.texts = map[rowEntity]uint64{}, map[string]string{}, texts{}
			for r, digest := range all {
				p.add(i, r.row, []string{r.entity}, digest)
			}
		}
	}
	var kept []string
	for _, entity := range entities {
		switch {
		case p.sieve != nil && entity != derived.NoEntity:
			p.sieve.addStored(pair{i, row, entity, digest})
		case p.again == nil || entity != derived.NoEntity && p.again.contains(entity):
			kept = append(kept, entity)
		}
	}
	p.rowsKept += len(kept)
	p.snapshots[i].add(row, kept, digest)
}

// add adds a row with the entities that it names.
func (s *snapshot) add(row string, entities []string, digest uint64) {
	if len(entities) == 0 {
		return
	}
	row = s.texts.keep(row)
	for _, entity := range entities {
		if strings.HasSuffix(row, entity) {
			entity = row[len(row)-len(entity):]
		} else {
			entity = s.texts.keep(entity)
		}
		if s.digests[rowEntity{row, entity}] = digest; s.maintainer.Unique() {
			s.owners[row] = entity
		}
	}
}

// derivedRows yields the rows of a definition. On the first pass over the definition it also
// reports rows that contain maintainer state, as no derived row should: no writer could write them.
func (p *partition) derivedRows(ctx context.Context, d derived.Maintainer, first bool) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for _, r := range d.Ranges() {
			for row, err := range p.scan(ctx, r) {
				if err == nil && !d.Owns(row) {
					p.foreign[row.Key.RowKey()] = true
					continue
				}
				if err == nil && first && hasState(row) {
					row, err = p.removeState(ctx, d, row)
				}
				if err == nil && row == nil {
					continue // deleted meanwhile
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// search yields the rows of the partition that meet a condition.
func (p *partition) search(ctx context.Context, where table.Cond[table.Row]) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		q := table.Query[table.Row]{Partition: keys.Raw(p.pk, "").Partition(), Where: where, PageSize: p.pacer.PageSize()}
		for e, err := range door.Rows[table.Table[table.Row]](door.Table(p.table), false).List(ctx, q) {
			var row *table.Row
			if err == nil {
				row, err = &e.Value, p.pacer.Spend(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func hasState(row *table.Row) bool { return row.Type(reserved.MaintainerState) != "" }

// removeState removes maintainer state from a derived row, and returns the row without it.
func (p *partition) removeState(ctx context.Context, d derived.Maintainer, row *table.Row) (*table.Row, error) {
	f := Fault{Definition: d.Name(), Kind: Stale, Row: row.Key, Err: errChanging}
	for a := range p.attempts(ctx, row.Key.RowKey()) {
		clean := derived.WithoutSystemProperties(row)
		if entity, is := (*stored.Row)(row).Primary(); is {
			clean = derived.Copy(clean.At(entity), row.Key, (*stored.Row)(row).ProjectionID())
			clean.ETag = row.ETag
		} else {
			derived.Own(clean, (*stored.Row)(row).Owner())
		}
		if p.again != nil { // it is noted already
			return clean, nil
		}
		if p.opt.DryRun {
			f.Err = nil
			p.noteFault(f)
			return clean, nil
		}
		err := p.writeRow(ctx, clean, clean)
		if err == nil && row.Type(reserved.OperationID) != "" {
			return withoutOperationID(clean), nil // makes a full copy stale, so that it is repaired with its entity
		}
		if !mustReread(err) {
			f.Err, f.Repaired = err, err == nil
			p.noteFault(f)
			return clean, ctx.Err()
		}
		a.conflict = err
		if row, err = p.getRow(ctx, row.Key.RowKey()); err != nil || row == nil || !hasState(row) {
			return row, err
		}
	}
	p.noteFault(f)
	return row, ctx.Err()
}

func withoutOperationID(row *table.Row) *table.Row {
	var names []string
	for name := range row.All() {
		if name != reserved.OperationID {
			names = append(names, name)
		}
	}
	return derived.Project(row, names...)
}
