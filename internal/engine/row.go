package engine

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Row is a row of any type, as it was read or as it is to be. Rows share their columns: they are never changed, but replaced.
type Row struct {
	Key       keys.Key
	ETag      azcore.ETag
	Timestamp time.Time
	Columns   []edm.Column
	JSON      edm.JSON // as it was read

	copied *copied // the last copy of the row; most copies of a row have the same columns
}

// copied is the columns of a copy, and their owner.
type copied struct {
	owner   string
	columns []edm.Column
}

// Stored returns the row's content.
func (r *Row) Stored() edm.Stored { return edm.Stored{JSON: r.JSON, Columns: r.Columns} }

// Find returns the value of a property, absent if there is none.
func Find(columns []edm.Column, name string) edm.Value {
	for i := range columns {
		if columns[i].Name == name {
			return columns[i].Value
		}
	}
	return edm.Value{}
}

// Has reports whether the row has a property.
func (r *Row) Has(name string) bool { return Find(r.Columns, name).Kind != edm.Absent }

// Put returns columns with a property of this value.
func Put(columns []edm.Column, name string, v edm.Value) []edm.Column {
	columns = append(make([]edm.Column, 0, len(columns)+1), columns...)
	for i := range columns {
		if columns[i].Name == name {
			columns[i] = edm.Column{Name: name, Value: v, Part: columns[i].Part}
			return slices.Clip(columns)
		}
	}
	return append(columns, edm.Column{Name: name, Value: v})
}

// Without returns columns without some properties.
func Without(columns []edm.Column, names ...string) []edm.Column {
	if !slices.ContainsFunc(columns, func(c edm.Column) bool { return slices.Contains(names, c.Name) }) {
		return columns
	}
	left := make([]edm.Column, 0, len(columns))
	for _, c := range columns {
		if !slices.Contains(names, c.Name) {
			left = append(left, c)
		}
	}
	return left
}

// Only returns some of the properties of columns.
func Only(columns []edm.Column, names ...string) []edm.Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c edm.Column) bool { return !slices.Contains(names, c.Name) })
}

// SameColumns reports whether two rows have the same properties, apart from their operation IDs.
func SameColumns(a, b []edm.Column) bool {
	n := 0
	for _, c := range a {
		if c.Name == reserved.OperationID {
			continue
		}
		n++
		if !slices.ContainsFunc(b, c.Same) {
			return false
		}
	}
	for _, c := range b {
		if c.Name != reserved.OperationID {
			n--
		}
	}
	return n == 0
}

// The property _sys names the owner of a derived row. It is one of
//
//	empid_000223          of a copy: the RowKey of the entity
//	empid_000223/P4x1     and the projection ID
//	empid_000223//Sales   and the PartitionKey of the entity, of a copy in another partition
//	/byname/byage         the tags of a row that contains something of these maintainers
//	//byname:empid_       the owner of a row that several entities share
const ownerMark = "//"

func ownerOf(columns []edm.Column) string {
	v := Find(columns, reserved.Owner)
	if v.Kind != edm.String {
		return ""
	}
	return v.S
}

func putOwner(columns []edm.Column, text string) []edm.Column {
	return Put(columns, reserved.Owner, edm.Value{Kind: edm.String, S: text})
}

// copyOf returns the columns of a copy of a row in a partition. It keeps them in r for the next copy.
func copyOf(r *Row, partition, projectionID string) []edm.Column {
	owner := copyOwner(r.Key.RowKey(), projectionID)
	if partition != r.Key.PartitionKey() {
		if projectionID == "" {
			owner += "/"
		}
		owner += "/" + r.Key.PartitionKey()
	}
	if r.copied == nil || r.copied.owner != owner {
		r.copied = &copied{owner, putOwner(r.Columns, owner)}
	}
	return r.copied.columns
}

// copyOwner is what a copy in the partition of its entity contains as its owner.
func copyOwner(rowKey, projectionID string) string {
	if projectionID == "" {
		return rowKey
	}
	return rowKey + "/" + projectionID // no key contains a /
}

// Copied returns the RowKey of the entity that columns are a copy of, the projection ID, and the entity's PartitionKey unless it is
// that of the copy; "" if they are no copy.
func Copied(columns []edm.Column) (rowKey, projectionID, partition string) {
	return CopiedBy(Find(columns, reserved.Owner))
}

// CopiedBy is Copied of columns with this value of the property _sys.
func CopiedBy(owner edm.Value) (rowKey, projectionID, partition string) {
	if owner.Kind != edm.String {
		return "", "", ""
	}
	rowKey, rest, _ := strings.Cut(owner.S, "/")
	if rowKey == "" {
		return "", "", ""
	}
	projectionID, partition, _ = strings.Cut(rest, "/")
	return rowKey, projectionID, partition
}

// Own returns columns with an owner.
func Own(columns []edm.Column, owner string) []edm.Column { return putOwner(columns, ownerMark+owner) }

// Owner returns the owner of columns, "" for none.
func Owner(columns []edm.Column) string {
	owner, is := strings.CutPrefix(ownerOf(columns), ownerMark)
	if !is {
		return ""
	}
	return owner
}

// Tags returns the tags of columns.
func Tags(columns []edm.Column) []string {
	if s := ownerOf(columns); strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ownerMark) {
		return strings.Split(s[1:], "/")
	}
	return nil
}

// Tag returns columns with a tag, or without it if off is set.
func Tag(columns []edm.Column, tag string, off bool) []edm.Column {
	tags := slices.DeleteFunc(Tags(columns), func(s string) bool { return s == tag })
	if !off {
		tags = append(tags, tag)
	}
	if len(tags) == 0 {
		return Without(columns, reserved.Owner)
	}
	return putOwner(columns, "/"+strings.Join(tags, "/"))
}

// with returns the row with other columns. It is inlined, as Copy and Project are, so that a row in between costs no allocation.
func (r *Row) with(columns []edm.Column) *Row {
	return &Row{Key: r.Key, ETag: r.ETag, Timestamp: r.Timestamp, Columns: columns}
}

// Copy returns a copy of the row under another key; see table.Row.Copy. It is not for concurrent use of the row.
func (r *Row) Copy(k keys.Key, projectionID string) *Row {
	return &Row{Key: k, Columns: copyOf(r, k.PartitionKey(), projectionID)}
}

// ProjectionID returns the projection ID that Copy gave a copy, "" for none.
func (r *Row) ProjectionID() string {
	_, id, _ := Copied(r.Columns)
	return id
}

// Project returns the row with some of its properties, and with its type and version. It has no operation ID, because it is not all
// that the write has written.
func (r *Row) Project(properties ...string) *Row {
	return &Row{Key: r.Key, Columns: projected(r.Columns, properties)}
}

func projected(columns []edm.Column, properties []string) []edm.Column {
	return Only(columns, slices.Concat(properties, projectedProperties, []string{reserved.Owner})...)
}

// projectedProperties are the system properties that a copy of some properties contains, besides its own.
var projectedProperties = []string{reserved.Type, reserved.Version}

// WithoutSystemProperties returns the row without the system properties of an entity (_life, _ix, tags), as a full copy of it has
// them.
func (r *Row) WithoutSystemProperties() *Row {
	return r.with(ownProperties(r.Columns))
}

func ownProperties(columns []edm.Column) []edm.Column {
	return Without(columns, entityProperties...)
}

// entityProperties are the system properties of an entity that a copy does not contain.
var entityProperties = []string{reserved.Incarnation, reserved.MaintainerState, reserved.Owner, reserved.Parts}

// Same reports whether two rows have the same properties, apart from their operation IDs.
func (r *Row) Same(other *Row) bool { return SameColumns(r.Columns, other.Columns) }

// Own returns the row with an owner, any text that is not empty, in place of all its tags.
func (r *Row) Own(owner string) *Row {
	return r.with(Own(r.Columns, owner))
}

// Owner returns the owner of a derived row, "" for none.
func (r *Row) Owner() string { return Owner(r.Columns) }

// Tag returns the row with a tag of a maintainer that has something in it, or without it if off is set. The tag stays when the
// row's own writers change it, unless they write the row without having read it.
func (r *Row) Tag(tag string, off bool) *Row {
	return r.with(Tag(r.Columns, tag, off))
}

// Tags returns the tags of a row; see Tag.
func (r *Row) Tags() []string { return Tags(r.Columns) }

// StateCorrupt reports whether the row's maintainer state cannot be read; see Mode.IgnoreCorruptState.
func (r *Row) StateCorrupt() bool {
	_, err := StateIn(Find(r.Columns, reserved.MaintainerState), r.Key.RowKey())
	return err != nil
}

// MaintainerState returns a maintainer's part of the row's maintainer state, none if the state is corrupt.
func (r *Row) MaintainerState(maintainer string) []string {
	was, err := StateIn(Find(r.Columns, reserved.MaintainerState), r.Key.RowKey())
	if err != nil {
		return nil
	}
	return was[maintainer]
}

// Primary returns the key of the entity that the row is a copy of.
func (r *Row) Primary() (k keys.Key, isCopy bool) {
	rowKey, _, partition := Copied(r.Columns)
	if rowKey == "" {
		return keys.Key{}, false
	}
	return keys.Stored(cmp.Or(partition, r.Key.PartitionKey()), rowKey), true
}

func (r *Row) isCopy() bool { _, is := r.Primary(); return is }

// sameOwner reports whether two rows are copies of one entity.
func sameOwner(a, b *Row) bool {
	is, isCopy := a.Primary()
	want, wanted := b.Primary()
	return isCopy && wanted && is == want
}

// body returns the row as it is to be sent as a derived row. The operation ID, the incarnation, the maintainer state and the
// directory of parts belong to the entity, so they are left out. A row that was loaded keeps its incarnation and its directory. named
// reports that the row gets the operation ID of the write: a copy of a row that gets it, or a row that keeps one.
func (r *Row) body(keepsID, keepsIncarnation, keepsParts bool) (body edm.Body, named bool, err error) {
	w := edm.NewCopyWriter(r.Key.PartitionKey(), r.Key.RowKey(), r.Columns)
	named = keepsID
	for _, c := range r.Columns {
		c.Part = 0
		switch c.Name {
		case reserved.OperationID:
			named = named || c.Value.S == UnassignedID.Value.S
		case reserved.MaintainerState:
		case reserved.Parts:
			if keepsParts {
				w.PutColumn(c)
			}
		case reserved.Incarnation:
			if keepsIncarnation {
				w.PutColumn(c)
			}
		default:
			w.PutColumn(c)
		}
	}
	if named {
		w.Reserve(UnassignedID)
	}
	body, err = w.Finish()
	return body, named, err
}

// readResult is a row as it was read.
type readResult struct {
	row    *Row  // nil if there is none
	gone   error // the service's response, if there is none
	hidden bool  // there may be a row that the client's signature does not show
}

// etag returns the ETag of the row, "" if there is none.
func (f readResult) etag() azcore.ETag {
	if f.row == nil {
		return ""
	}
	return f.row.ETag
}

// Hasher makes numbers of properties. The sum of the numbers of a row does not depend on the order of its properties, and differs from
// that of a row with other properties, except by a chance of 1 in 2^64. Its methods may not be called at the same time.
type Hasher struct {
	seed maphash.Seed
	room []byte
}

// NewHasher returns a Hasher. Hashers with the same seed make the same numbers.
func NewHasher(seed maphash.Seed) *Hasher { return &Hasher{seed: seed} }

// Sum returns the number of a row, 0 for nil.
func (h *Hasher) Sum(row *Row) (sum uint64) {
	if row == nil {
		return 0
	}
	for i := range row.Columns {
		sum += h.of(row.Columns[i].Name, &row.Columns[i].Value)
	}
	return sum
}

// SumOfCopy returns the number of a copy of an entity (Row.Copy), in the entity's partition, from the numbers of the properties that
// the copy contains.
func (h *Hasher) SumOfCopy(properties uint64, rowKey, projectionID string) uint64 {
	return properties + h.of(reserved.Owner, &edm.Value{Kind: edm.String, S: copyOwner(rowKey, projectionID)})
}

// of returns the number of a property, by its name, its type and its value.
func (h *Hasher) of(name string, v *edm.Value) uint64 {
	b := append(append(h.room[:0], name...), 0, byte(v.Kind))
	switch v.Kind {
	case edm.String:
		b = append(b, v.S...)
	case edm.Binary:
		b = append(b, v.B...)
	case edm.Double:
		f := v.F
		if f != f {
			f = math.NaN() // all alike
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	case edm.DateTime:
		b = binary.LittleEndian.AppendUint64(b, uint64(v.T.Unix()))
		b = binary.LittleEndian.AppendUint32(b, uint32(v.T.Nanosecond()))
	case edm.Guid:
		b = append(b, v.G[:]...)
	default:
		b = binary.LittleEndian.AppendUint64(b, uint64(v.I))
	}
	h.room = b
	return maphash.Bytes(h.seed, b)
}
