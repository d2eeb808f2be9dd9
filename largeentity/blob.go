package largeentity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Blob is a field of an entity for a value of any size. The Blob of a large value contains the
// name, the length and the hash of a blob. The Blob of a small value, of at most Options.InlineUpTo
// bytes, contains the value. [Values.Upload] returns a Blob, and [Values.Open] reads its value. The
// zero Blob is no value.
//
// A Blob does no input or output, and never changes. It may be copied, compared by ==, and stored
// again by a repeated [table.Table.Update]. Two Blobs are equal if they are from the same upload,
// or have the same small content.
//
// A field Photo is stored in these properties, all of them or none:
//
//	Photo        Edm.Binary   the small content, else empty
//	PhotoBlob    Edm.String   the name of the blob in its container, else empty
//	PhotoSize    Edm.Int64    the length in bytes
//	PhotoSHA256  Edm.String   the hash of a blob, 64 hexadecimal digits, else empty
//	PhotoType    Edm.String   the content type
//
// A row with the first of them alone is read, too: a field of type []byte can become a Blob.
type Blob struct {
	_           edm.OnlyField
	set         bool
	data        string // of a small value
	name        string // "" for a small value
	size        int64
	sum         string // in hexadecimal digits; "" for a small value
	contentType string
}

var _ table.Composite = (*Blob)(nil)

// IsZero reports whether there is no value.
func (b Blob) IsZero() bool { return b == Blob{} }

// Size returns the length of the content in bytes.
func (b Blob) Size() int64 { return b.size }

// ContentType returns the content type that the value was uploaded with.
func (b Blob) ContentType() string { return b.contentType }

// Name returns the name of the blob in the container of its store, "" for a value in the entity
// itself.
func (b Blob) Name() string { return b.name }

// SHA256 returns the hash of the content in hexadecimal digits.
func (b Blob) SHA256() string {
	if b.name == "" && b.set {
		sum := sha256.Sum256([]byte(b.data))
		return hex.EncodeToString(sum[:])
	}
	return b.sum
}

// String returns a description without the content.
func (b Blob) String() string {
	switch {
	case !b.set:
		return "no value"
	case b.name == "":
		return fmt.Sprintf("%d bytes", b.size)
	}
	return fmt.Sprintf("blob %s, %d bytes", b.name, b.size)
}

// MarshalJSON returns the name of the blob, the size and the content type, for the response of a
// server, such as
// {"name":"staff/Sales/01KAJ5ZVW0ABCDEFGHJKMNPQRS","size":81344,"type":"image/png"}. The name is
// left out of a small value, and null is no value. The content is not in it, so that UnmarshalJSON
// fails, and a type that the library stores as JSON cannot contain a Blob: a field with the option
// json, the payload of an effect, the argument of a job, a record of a log in blobs. A Blob in an
// interface value of such a type is not noticed: do not put one there.
func (b Blob) MarshalJSON() ([]byte, error) {
	if !b.set {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		Name string `json:"name,omitempty"`
		Size int64  `json:"size"`
		Type string `json:"type,omitempty"`
	}{b.name, b.size, b.contentType})
}

var errJSON = errors.New("a largeentity.Blob cannot be read from JSON, which does not contain its content: " +
	"read the entity from its table")

// UnmarshalJSON fails for anything but null, since [Blob.MarshalJSON] returns no content.
func (b *Blob) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	return errJSON
}

// PropertySuffixes implements [table.Composite].
func (*Blob) PropertySuffixes() []string { return []string{"", suffixBlob, "Size", "SHA256", "Type"} }

// suffixBlob ends the name of the property that contains the name of a blob.
const suffixBlob = "Blob"

// PropertyValues implements [table.Composite]. A value has all properties, so that a merge leaves
// none of an earlier value.
func (b *Blob) PropertyValues() ([]any, error) {
	if !b.set {
		return nil, nil
	}
	return []any{[]byte(b.data), b.name, b.size, b.sum, b.contentType}, nil
}

// SetPropertyValues implements [table.Composite]. Errors: *table.ValueError for properties that no
// Blob has.
func (b *Blob) SetPropertyValues(values []any) error {
	bad := func(suffix, reason string) error {
		return &table.ValueError{Field: suffix, Reason: reason + "; it is not a Blob of this library"}
	}
	if n := len(b.PropertySuffixes()); len(values) != n {
		return &table.ValueError{Field: "values", Reason: fmt.Sprintf("has %d values; give one for each of the %d properties of a Blob", len(values), n)}
	}
	read := Blob{set: true}
	data, hasData := values[0].([]byte)
	read.data = string(data)
	if values[0] != nil && !hasData {
		return bad(`""`, "is not Edm.Binary")
	}
	for i, to := range map[int]*string{1: &read.name, 3: &read.sum, 4: &read.contentType} {
		text, is := values[i].(string)
		if *to = text; values[i] != nil && !is {
			return bad(b.PropertySuffixes()[i], "is not Edm.String")
		}
	}
	read.size = int64(len(data))
	if values[2] != nil {
		size, err := edm.ValueOf(values[2])
		n, whole := size.Whole()
		if err != nil || !whole {
			return bad("Size", "is not a whole number")
		}
		read.size = n
	}
	if read.name == "" {
		if !hasData || read.size != int64(len(data)) || read.sum != "" {
			return bad("Size", "does not fit the content")
		}
		*b = read
		return nil
	}
	sum, err := hex.DecodeString(read.sum)
	switch _, ok := parseName(read.name); {
	case !ok:
		return bad("Blob", "is not the name of a blob")
	case len(data) > 0 || values[2] == nil || read.size < 0:
		return bad("Size", "does not fit a blob")
	case err != nil || len(sum) != sha256.Size || read.sum != strings.ToLower(read.sum):
		return bad("SHA256", "is not a hash")
	}
	*b = read
	return nil
}

// name is the name of a blob: staff/Sales/01KAJ5ZVW0ABCDEFGHJKMNPQRS. It consists of the table, the
// PartitionKey of the entity, and an ID, which begins with the time of the upload. The blobs of a
// partition are listed in the order of their IDs, and so are their rows, so that a sweep merges the
// two lists.
type name struct{ table, partition, id string }

func (n name) String() string { return blobs.Join(n.table, n.partition, n.id) }

// uploaded returns the time at which the upload began, by the clock of its program.
func (n name) uploaded() time.Time {
	t, _ := commit.TimeOf(n.id) // parseName has checked the ID
	return t
}

// parseName returns the name of a blob. ok reports whether the text is a name that String returns.
func parseName(text string) (n name, ok bool) {
	n.table, n.partition, n.id, ok = blobs.Split(text)
	return n, ok
}

// newName returns a name for a blob that is uploaded now.
func (s *store) newName(partition string) (name, error) {
	id := s.client.opt.NewID()
	if !commit.IsID(id) {
		return name{}, &table.ValueError{Field: "Options.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}
	}
	n := name{s.table, partition, commit.IDTime(s.client.opt.Now()) + id}
	if l := blobs.NameLength(n.String()); l > blobs.MaxName {
		return name{}, &table.LimitError{Field: "PartitionKey", Limit: "characters of the name of a blob, with the table and the ID", Got: l, Max: blobs.MaxName}
	}
	return n, nil
}

// linkable returns the time until which a blob can be stored in an entity, and unlinkable the time
// from which on no request that stores it can arrive any more.
func (o *Options) linkable(n name) time.Time   { return n.uploaded().Add(o.Grace / 2) }
func (o *Options) unlinkable(n name) time.Time { return n.uploaded().Add(o.Grace) }

// The state of a blob, in its row. A blob has a row in the partition of its entity from the write
// on that stores the link.
const (
	live      = "live"      // an entity links it
	unlinked  = "unlinked"  // it was replaced, or its entity was deleted
	moved     = "moved"     // its entity is in the destination of package archive
	condemned = "condemned" // Sweep has found it without a row
)

// blobRow is the row of a blob. The rows of unlinked and condemned blobs are tombstones: they stay
// until no request arrives that would link the blob again.
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
func (n name) key() keys.Key { return keys.Raw(n.partition, reserved.Blob+n.id) }

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

// decodeRow returns the row of a blob of a table. ok is false for a row that this library has not
// written, or that another program has stored again with other types: such a row keeps its blob.
func decodeRow(r *table.Row, tableName string) (b blobRow, ok bool) {
	readable := true
	text := func(name string) string {
		s, err := property.Text(r, name)
		readable = readable && err == nil
		return s
	}
	id, ok := strings.CutPrefix(r.Key.RowKey(), reserved.Blob)
	n, valid := parseName(name{tableName, r.Key.PartitionKey(), id}.String())
	since, err := property.Time(r, propertySince)
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
	return keys.Raw(b.partition, b.entity)
}
