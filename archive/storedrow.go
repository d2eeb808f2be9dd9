package archive

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// separator stands between the RowKey and the incarnation of a stored row. No key of package keys contains it.
const separator = reserved.First

// storedKey returns the key under which a table stores an archived row.
func (id ID) storedKey() keys.Key {
	return keys.Stored(id.Key.PartitionKey(), id.Key.RowKey()+separator+id.Incarnation)
}

// The projection ID of a stored row consists of one of these words, the kind, the time, and the operation IDs of the moves.
const (
	wordRow       = "row"
	wordTombstone = "gone"
)

// encode returns the row that a table stores for an archived row.
func (r *ArchivedRow) encode() *table.Row {
	word, row := wordRow, r.Row
	if row == nil {
		word, row = wordTombstone, &table.Row{}
	}
	words := append([]string{word, url.QueryEscape(r.Kind), r.Time.UTC().Format(time.RFC3339Nano)}, r.Moves...)
	from := row.Engine().WithoutSystemProperties()
	from.Key = r.Key
	return table.RowOf(from.Copy(r.storedKey(), strings.Join(words, " ")))
}

// decodeArchivedRow returns the archived row that a table stores as row. All incarnations have the same length, so a stored key
// belongs to one entity and one incarnation only. Errors: table.ErrForeignRow; *table.DecodeError for a row that another program has
// stored again with other types.
func decodeArchivedRow(row *table.Row) (*ArchivedRow, error) {
	if _, err := stored.Text(row, reserved.Owner); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	primary, isCopy := row.Engine().Primary()
	incarnation, ok := strings.CutPrefix(row.Key.RowKey(), primary.RowKey()+separator)
	id := ID{primary, incarnation}
	words := strings.Split(row.Engine().ProjectionID(), " ")
	if !isCopy || !ok || id.Err() != nil || len(words) < 3 || words[0] != wordRow && words[0] != wordTombstone {
		return nil, fmt.Errorf("destination: %w: %v", table.ErrForeignRow, row.Key)
	}
	kind, kindErr := url.QueryUnescape(words[1])
	at, timeErr := time.Parse(time.RFC3339Nano, words[2])
	if kindErr != nil || timeErr != nil {
		return nil, fmt.Errorf("destination: %w: %v", table.ErrForeignRow, row.Key)
	}
	r := &ArchivedRow{ID: id, Kind: kind, Moves: words[3:], Version: string(row.ETag), Time: at}
	if words[0] == wordRow {
		r.Row = table.RowOf(row.Engine().WithoutSystemProperties())
		r.Row.Key, r.Row.ETag = primary, ""
	}
	return r, nil
}

// tombstoneProperty of a tombstone record contains the RowKey of the tombstone.
const tombstoneProperty = "Gone"

// tombstoneRecord returns the row by which Sweep finds a tombstone.
func tombstoneRecord(id ID) (*table.Row, error) {
	record := &table.Row{Key: keys.Stored(id.Key.PartitionKey(), reserved.Tombstone+id.Incarnation)}
	return record, record.Set(tombstoneProperty, id.storedKey().RowKey())
}

// decodeTombstoneRecord returns the key of the tombstone that a record names. ok reports whether the record can be that of an
// archived row of an entity; otherwise another program wrote it.
func decodeTombstoneRecord(record *table.Row) (tombstone keys.Key, ok bool) {
	rowKey, err := stored.Text(record, tombstoneProperty)
	primary, ok := strings.CutSuffix(rowKey, separator+strings.TrimPrefix(record.Key.RowKey(), reserved.Tombstone))
	ok = ok && err == nil && primary != "" && !strings.HasPrefix(primary, separator)
	return keys.Stored(record.Key.PartitionKey(), rowKey), ok
}

// rowsWithPrefix yields the rows of a partition whose RowKeys begin with a prefix.
func rowsWithPrefix(ctx context.Context, t *table.Table[table.Row], partition keys.Enc, prefix string) iter.Seq2[*table.Row, error] {
	return t.Rows(ctx, table.Query[table.Row]{Partition: partition, Rows: keys.StoredBetween(prefix, prefix+"\x7f")})
}
