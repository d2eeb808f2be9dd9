package largeentity

import (
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// name is the name of a blob: staff/Sales/01KAJ5ZVW0ABCDEFGHJKMNPQRS. It consists of the table, the PartitionKey of the entity, and an
// ID, which begins with the time of the upload. The blobs of a partition are listed in the order of their IDs, and so are their
// rows, so that a sweep merges the two lists.
type name struct{ table, partition, id string }

func (n name) String() string { return n.table + "/" + blobs.Escape(n.partition) + "/" + n.id }

// uploaded returns the time at which the upload began, by the clock of its program.
func (n name) uploaded() time.Time {
	t, _ := engine.TimeOf(n.id) // parseName has checked the ID
	return t
}

// parseName returns the name of a blob. ok reports whether the text is a name that String returns.
func parseName(text string) (n name, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || blobs.NameLength(text) > blobs.MaxName {
		return name{}, false
	}
	n = name{table: parts[0], id: parts[2]}
	if n.partition, ok = blobs.Unescape(parts[1]); !ok || n.table != strings.ToLower(n.table) || engine.CheckTableName(n.table) != nil || n.String() != text {
		return name{}, false
	}
	_, err := engine.TimeOf(n.id)
	return n, err == nil
}

// newName returns a name for a blob that is uploaded now.
func (o *Options) newName(tableName, partition string) (name, error) {
	id := o.NewID()
	if !engine.IsID(id) {
		return name{}, &table.ValueError{Field: "Common.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}
	}
	n := name{tableName, partition, engine.IDTime(o.Now()) + id}
	if l := blobs.NameLength(n.String()); l > blobs.MaxName {
		return name{}, &table.LimitError{Field: "PartitionKey", Limit: "characters of the name of a blob, with the table and the ID", Got: l, Max: blobs.MaxName}
	}
	return n, nil
}

// linkable returns the time until which a blob can be stored in an entity, and unlinkable the time from which on no request that stores
// it can arrive any more.
func (o *Options) linkable(n name) time.Time   { return n.uploaded().Add(o.Grace / 2) }
func (o *Options) unlinkable(n name) time.Time { return n.uploaded().Add(o.Grace) }
