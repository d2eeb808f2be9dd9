package commit

import (
	"fmt"
	"log/slog"
)

// Effect is work that is due outside the partition once a write is committed.
type Effect struct {
	Kind    string // of handler
	Version int    // of the payload's form
	RowKey  string // of the entity whose change it follows from
	Payload []byte

	// Table and Partition are the entity's, if it is in another partition than the commit record, as after table.Table.Move.
	// Otherwise they are empty.
	Table, Partition string
}

// String returns the kind, the version, the RowKey and the length of the payload, for programs that print an effect. The payload
// itself may be private.
func (e Effect) String() string {
	return fmt.Sprintf("%s version %d of %s, %d bytes", e.Kind, e.Version, e.RowKey, len(e.Payload))
}

// LogValue returns the attributes that String prints, for slog.
func (e Effect) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", e.Kind), slog.Int("version", e.Version), slog.String("row", e.RowKey), slog.Int("bytes", len(e.Payload)))
}
