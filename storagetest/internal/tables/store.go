package tables

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// tick is the minimum time between two versions of an entity.
const tick = time.Millisecond

// store holds the tables, and the changes that can be rolled back.
type store struct {
	tables  map[string]*table   // by name in lower case
	deleted map[string]deletion // by name in lower case
	changes []change
}

// table is a table.
type table struct {
	name           string // as created; addresses may use other cases
	partitions     sorted[*partition]
	lastDeletedRow time.Time // the latest Timestamp of a deleted entity
	policies       access.Policies
}

type partition struct {
	key      string
	entities sorted[*entity]
}

func (p *partition) sortKey() string { return p.key }

// deletion is a deleted table.
type deletion struct{ at, lastTimestamp time.Time }

// change is an entity and its table as they were before a write.
type change struct {
	table          *table
	pk, rk         string
	before         *entity
	lastDeletedRow time.Time
}

func newStore() store {
	return store{tables: map[string]*table{}, deleted: map[string]deletion{}}
}

// table returns a table, or nil if no table has the name.
func (s *store) table(name string) *table { return s.tables[strings.ToLower(name)] }

// createTable creates a table. Its entities get later Timestamps than the entities of a deleted
// table with the same name.
func (s *store) createTable(name string) {
	key := strings.ToLower(name)
	s.tables[key] = &table{name: name, lastDeletedRow: s.deleted[key].lastTimestamp}
	delete(s.deleted, key)
}

// deleteTable deletes a table.
func (s *store) deleteTable(t *table, now time.Time) {
	key := strings.ToLower(t.name)
	delete(s.tables, key)
	s.deleted[key] = deletion{now, t.lastTimestamp()}
}

// reserved reports whether a table with the name was deleted less than delay ago.
func (s *store) reserved(name string, now time.Time, delay time.Duration) bool {
	d, deleted := s.deleted[strings.ToLower(name)]
	return deleted && delay > 0 && now.Sub(d.at) < delay
}

// put stores an entity. If e is nil, put deletes the entity.
func (s *store) put(t *table, pk, rk string, e *entity) {
	before := t.get(pk, rk)
	s.changes = append(s.changes, change{t, pk, rk, before, t.lastDeletedRow})
	if e == nil && before != nil && before.timestamp.After(t.lastDeletedRow) {
		t.lastDeletedRow = before.timestamp
	}
	t.set(pk, rk, e)
}

// commit makes the changes permanent.
func (s *store) commit() { s.changes = s.changes[:0] }

// rollback undoes the changes since the last commit.
func (s *store) rollback() {
	for _, c := range slices.Backward(s.changes) {
		c.table.set(c.pk, c.rk, c.before)
		c.table.lastDeletedRow = c.lastDeletedRow
	}
	s.commit()
}

// get returns an entity, or nil if the table does not contain it.
func (t *table) get(pk, rk string) *entity {
	p, ok := t.partitions.get(pk)
	if !ok {
		return nil
	}
	e, _ := p.entities.get(rk)
	return e
}

// set replaces the entity with a key. If e is nil, set removes the entity.
func (t *table) set(pk, rk string, e *entity) {
	p, ok := t.partitions.get(pk)
	if !ok {
		if e == nil {
			return
		}
		p = &partition{key: pk}
		t.partitions.put(p)
	}
	if e != nil {
		p.entities.put(e)
		return
	}
	if p.entities.remove(rk); p.entities.empty() {
		t.partitions.remove(pk)
	}
}

// nextTimestamp returns the Timestamp of a write over old, which may be nil. A new entity gets a
// later Timestamp than every deleted entity, because otherwise the ETag of a deleted entity could
// match the new entity.
func (t *table) nextTimestamp(now time.Time, old *entity) time.Time {
	last := t.lastDeletedRow
	if old != nil {
		last = old.timestamp
	}
	if least := last.Add(tick); now.Before(least) {
		now = least
	}
	return now.UTC().Truncate(100 * time.Nanosecond)
}

// lastTimestamp returns the latest Timestamp that the table has issued.
func (t *table) lastTimestamp() time.Time {
	last := t.lastDeletedRow
	for p := range t.partitions.startingAt("") {
		for e := range p.entities.startingAt("") {
			if e.timestamp.After(last) {
				last = e.timestamp
			}
		}
	}
	return last
}

// scan visits in order the entities in two ranges of keys, until visit returns false. The scan
// starts at start, if start is in the ranges.
func (t *table) scan(pks, rks odata.KeyRange, start position, visit func(*entity) bool) {
	if start.pk != nil && odata.CompareText(*start.pk, pks.From) > 0 {
		pks.From = *start.pk
	}
	for p := range t.partitions.startingAt(pks.From) {
		if !pks.Contains(p.key) {
			return
		}
		from := rks.From
		if start.rk != nil && p.key == *start.pk && odata.CompareText(*start.rk, from) > 0 {
			from = *start.rk
		}
		for e := range p.entities.startingAt(from) {
			if !rks.Contains(e.rk) {
				break
			}
			if !visit(e) {
				return
			}
		}
	}
}

// position is a place in a table's order, as a continuation token names it. A row key needs a
// partition key.
type position struct{ pk, rk *string }

// maxBlock is the most items in a block of a sorted list.
const maxBlock = 512

// sorted is a list of items in the service's order of their keys. Reads and changes of one item
// take about the same time in long and in short lists. The zero value is an empty list.
type sorted[T keyed] struct {
	blocks [][]T // none is empty
}

type keyed interface{ sortKey() string }

func compareKey[T keyed](item T, key string) int { return odata.CompareText(item.sortKey(), key) }

// place returns the block and the index of an item, or where to insert it.
func (l *sorted[T]) place(key string) (block, i int, found bool) {
	block, found = slices.BinarySearchFunc(l.blocks, key, func(b []T, key string) int { return compareKey(b[0], key) })
	if found || block == 0 {
		return block, 0, found
	}
	block--
	i, found = slices.BinarySearchFunc(l.blocks[block], key, compareKey[T])
	return block, i, found
}

// get returns an item.
func (l *sorted[T]) get(key string) (item T, found bool) {
	b, i, found := l.place(key)
	if found {
		item = l.blocks[b][i]
	}
	return item, found
}

// put inserts an item, or replaces the item with the same key.
func (l *sorted[T]) put(item T) {
	b, i, found := l.place(item.sortKey())
	switch {
	case found:
		l.blocks[b][i] = item
		return
	case len(l.blocks) == 0:
		l.blocks = [][]T{{item}}
		return
	}
	l.blocks[b] = slices.Insert(l.blocks[b], i, item)
	if block := l.blocks[b]; len(block) > maxBlock {
		half := len(block) / 2
		l.blocks = slices.Insert(l.blocks, b+1, slices.Clone(block[half:]))
		clear(block[half:])
		l.blocks[b] = block[:half:half]
	}
}

// remove removes an item.
func (l *sorted[T]) remove(key string) {
	b, i, found := l.place(key)
	if !found {
		return
	}
	if l.blocks[b] = slices.Delete(l.blocks[b], i, i+1); len(l.blocks[b]) == 0 {
		l.blocks = slices.Delete(l.blocks, b, b+1)
	}
}

// startingAt returns the items whose keys are not below a key.
func (l *sorted[T]) startingAt(key string) iter.Seq[T] {
	return func(yield func(T) bool) {
		b, i, _ := l.place(key)
		for ; b < len(l.blocks); b, i = b+1, 0 {
			for _, item := range l.blocks[b][i:] {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// empty reports whether the list has no items.
func (l *sorted[T]) empty() bool { return len(l.blocks) == 0 }
