package blobarchive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// content is the content of a blob.
type content struct {
	Format       int        `json:"format"`
	PartitionKey string     `json:"partitionKey"`
	RowKey       string     `json:"rowKey"`
	Incarnation  string     `json:"incarnation"`
	Kind         string     `json:"kind"`
	Moves        []string   `json:"moves"`
	Time         time.Time  `json:"time"`
	Put          string     `json:"put"` // the ID of the Put that has stored the blob
	Row          *table.Row `json:"row"` // null: the blob is a tombstone
}

// format is the version of the form of blobs.
const format = 1

// maxContent is the most bytes of a blob that is read as a row. A row has at most 1 MiB, and JSON
// takes at most six bytes for one.
const maxContent = 16 << 20

// encode returns the content of the blob for a row.
func encode(r *archive.ArchivedRow, put string) ([]byte, error) {
	c := content{
		Format: format, PartitionKey: r.Key.PartitionKey(), RowKey: r.Key.RowKey(), Incarnation: r.Incarnation,
		Kind: r.Kind, Moves: r.Moves, Time: r.Time.UTC(), Put: put,
	}
	for field, text := range map[string]string{"PartitionKey": c.PartitionKey, "RowKey": c.RowKey, "Kind": c.Kind, "Moves": strings.Join(c.Moves, " ")} {
		if !utf8.ValidString(text) {
			return nil, &table.ValueError{Field: field, Reason: "is not valid UTF-8"}
		}
	}
	if r.Row != nil {
		c.Row = withoutSystemProperties(r.Row, r.Key)
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(c); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// withoutSystemProperties returns a row without its incarnation, maintainer state and tags. A
// restored row gets new ones.
func withoutSystemProperties(r *table.Row, k keys.Key) *table.Row {
	row := (*table.Row)((*stored.Row)(r).WithoutSystemProperties())
	row.Key, row.ETag, row.Timestamp = k, "", time.Time{}
	return row
}

// decode returns the row of a blob with an ID. Errors: table.ErrForeignRow.
func decode(b []byte, id archive.ID) (*archive.ArchivedRow, string, error) {
	var c content
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, "", foreign(id, "its content is not that of an archived row")
	}
	switch {
	case c.Format != format:
		return nil, "", foreign(id, fmt.Sprintf("its content has format %d; this release reads format %d", c.Format, format))
	case keys.Raw(c.PartitionKey, c.RowKey) != id.Key || c.Incarnation != id.Incarnation,
		c.Row != nil && c.Row.Key != id.Key:
		return nil, "", foreign(id, "its content belongs to another name")
	}
	r := &archive.ArchivedRow{ID: id, Kind: c.Kind, Moves: c.Moves, Time: c.Time}
	if c.Row != nil {
		r.Row = withoutSystemProperties(c.Row, id.Key)
	}
	return r, c.Put, nil
}

// foreign returns the error for a blob that no destination has stored.
func foreign(id archive.ID, reason string) error {
	return fmt.Errorf("%w: blob %q: %s", table.ErrForeignRow, nameOf(id), reason)
}

// extension ends the names of blobs.
const extension = ".json"

// nameOf returns the name of the blob for an ID.
func nameOf(id archive.ID) string {
	return prefixOfKey(id.Key) + id.Incarnation + extension
}

// prefixOfKey begins the names of the blobs for a key.
func prefixOfKey(k keys.Key) string {
	return prefixOfPartition(k.PartitionKey()) + blobs.Escape(k.RowKey()) + "/"
}

// prefixOfPartition begins the names of the blobs for the keys of a partition.
func prefixOfPartition(partitionKey string) string {
	return blobs.Escape(partitionKey) + "/"
}

// parseName returns the ID of a blob. ok is false for a name that nameOf does not return.
func parseName(name string) (id archive.ID, ok bool) {
	parts := strings.Split(strings.TrimSuffix(name, extension), "/")
	if len(parts) != 3 {
		return id, false
	}
	partitionKey, ok1 := blobs.Unescape(parts[0])
	rowKey, ok2 := blobs.Unescape(parts[1])
	id = archive.ID{Key: keys.Raw(partitionKey, rowKey), Incarnation: parts[2]}
	return id, ok1 && ok2 && id.Err() == nil && nameOf(id) == name
}

// checkName returns an error for an ID whose name is too long.
func checkName(id archive.ID) error {
	if n := blobs.NameLength(nameOf(id)); n > blobs.MaxName {
		return &table.LimitError{Field: "Key", Limit: "characters of the name of a blob", Got: n, Max: blobs.MaxName}
	}
	return nil
}
