package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Scanned is a row of a scan. It is decoded as far as its methods need, and valid until the next row. Its texts are parts of larger
// ones: clone those that are kept.
type Scanned struct {
	Key       keys.Key
	ETag      azcore.ETag
	Timestamp time.Time

	schema Schema
	hasher *Hasher
	reader *edm.Reader
	in     edm.Entity

	part   Row      // with the system properties
	names  []string // of all properties
	hashes []uint64 // of all properties
	within bool     // all properties are within the limits of the service
}

// Row returns the whole row.
func (s *Scanned) Row() (*Row, error) {
	columns, err := s.reader.Columns()
	return &Row{Key: s.Key, ETag: s.ETag, Timestamp: s.Timestamp, Columns: columns}, err
}

// System returns the row with its system properties alone. It is valid until the next row, too.
func (s *Scanned) System() *Row { return &s.part }

// State returns the row's maintainer state.
func (s *Scanned) State() (map[string][]string, error) {
	return StateIn(Find(s.part.Columns, reserved.MaintainerState), s.Key.RowKey())
}

// Sum returns Hasher.Sum of the row.
func (s *Scanned) Sum() (sum uint64) {
	for _, n := range s.hashes {
		sum += n
	}
	return sum
}

// SumOfCopy returns Hasher.Sum of a copy of the row in its partition: of a full copy, without the system properties of an entity, if
// whole is set, and otherwise of a copy of some properties (Row.Project).
func (s *Scanned) SumOfCopy(whole bool, properties []string, projectionID string) (sum uint64) {
	for i, name := range s.names {
		system := strings.HasPrefix(name, "_")
		if whole && !(system && slices.Contains(entityProperties, name)) ||
			!whole && (slices.Contains(properties, name) && name != reserved.Owner || system && slices.Contains(projectedProperties, name)) {
			sum += s.hashes[i]
		}
	}
	return s.hasher.SumOfCopy(sum, s.Key.RowKey(), projectionID)
}

// The limits within which a row is decoded without a look at the limits of the service.
const (
	smallJSON     = 16 << 10 // bytes
	fewProperties = 200
)

// Entity returns the *table.Entity[T] of the row, of the table's schema. It returns nil for a row that needs a closer look, as
// table.Table.Entity takes: a copy, a row that is no entity of T, or one that may exceed a limit.
func (s *Scanned) Entity() any {
	if _, isCopy := s.part.Primary(); isCopy || !s.within || len(s.names) > fewProperties || s.in.JSON.Len() == 0 || s.in.JSON.Len() > smallJSON {
		return nil
	}
	e, _, err := s.schema.Read(s.reader, s.in)
	if err != nil {
		return nil
	}
	return e
}

// Scan gives the rows of a query to yield, whatever their type, until yield returns false. h makes the numbers of their properties. If
// Query.WithoutJSON is set, Scanned.Entity returns nil.
func (t *Table) Scan(ctx context.Context, q Query, h *Hasher, yield func(*Scanned) bool) error {
	l := &scanLister{yield: yield}
	l.row.schema, l.row.hasher, l.add = t.Mode.Schema, h, l.property
	return t.List(ctx, "Rows", q, l)
}

// scanLister is the Lister of a scan.
type scanLister struct {
	row   Scanned
	add   func(name string, v *edm.Value)
	yield func(*Scanned) bool
}

func (l *scanLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	s := &l.row
	s.Key, s.ETag, s.Timestamp = keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp
	s.reader, s.in, s.within = r, in, true
	s.part = Row{Key: s.Key, ETag: s.ETag, Timestamp: s.Timestamp, Columns: s.part.Columns[:0]}
	s.names, s.hashes = s.names[:0], s.hashes[:0]
	return true, r.Each(l.add)
}

func (l *scanLister) property(name string, v *edm.Value) {
	s := &l.row
	s.names, s.hashes = append(s.names, name), append(s.hashes, s.hasher.of(name, v))
	if edm.IsSystem(name) {
		s.part.Columns = append(s.part.Columns, edm.Column{Name: name, Value: *v})
	}
	s.within = s.within && edm.CheckValue(name, v) == nil
}

func (l *scanLister) Yield() bool { return l.yield(&l.row) }
