package largeentity

import (
	"errors"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The state of a blob, in its row. A blob has a row in the partition of its entity from the write on that stores the link.
const (
	live      = "live"      // an entity links it
	unlinked  = "unlinked"  // it was replaced, or its entity was deleted
	moved     = "moved"     // its entity is in the destination of package archive
	condemned = "condemned" // Sweep has found it without a row
)

// blobRow is the row of a blob. The rows of unlinked and condemned blobs are tombstones: they stay until no request arrives that would
// link the blob again.
type blobRow struct {
	name
	state       string
	entity      string    // the RowKey of the entity that links it or has linked it
	incarnation string    // of a moved entity
	since       time.Time // when a sweep has condemned the blob, by its clock; else zero
}

const (
	propertyState       = "State"
	propertyEntity      = "Entity"
	propertyIncarnation = "Incarnation"
	propertySince       = "Since"
)

// key returns the key of the row of a blob.
func (n name) key() keys.Key { return keys.Stored(n.partition, reserved.Blob+n.id) }

// row returns the row as it is stored.
func (b blobRow) row() (*table.Row, error) {
	r := &table.Row{Key: b.key()}
	err := errors.Join(r.Set(propertyState, b.state), r.Set(propertyEntity, b.entity))
	if b.incarnation != "" {
		err = errors.Join(err, r.Set(propertyIncarnation, b.incarnation))
	}
	if !b.since.IsZero() {
		err = errors.Join(err, r.Set(propertySince, b.since))
	}
	return r, err
}

// decodeRow returns the row of a blob of a table. ok is false for a row that this library has not written, or that another program has
// stored again with other types: such a row keeps its blob.
func decodeRow(r *table.Row, tableName string) (b blobRow, ok bool) {
	readable := true
	text := func(property string) string {
		s, err := stored.Text(r, property)
		readable = readable && err == nil
		return s
	}
	id, ok := strings.CutPrefix(r.Key.RowKey(), reserved.Blob)
	n, valid := parseName(name{tableName, r.Key.PartitionKey(), id}.String())
	since, err := stored.Time(r, propertySince)
	b = blobRow{n, text(propertyState), text(propertyEntity), text(propertyIncarnation), since}
	return b, ok && valid && readable && err == nil
}

// isTombstone reports whether nothing refers to the blob, and never will.
func (b blobRow) isTombstone() bool { return b.state == unlinked || b.state == condemned }

// entityKey returns the key of the entity that links the blob or has linked it, zero for an orphan.
func (b blobRow) entityKey() keys.Key {
	if b.entity == "" {
		return keys.Key{}
	}
	return keys.Stored(b.partition, b.entity)
}
