// Package stored holds what rows are made of, for the engine, for package table and for
// definitions:
//
//   - row.go: Row, functions of its properties, and the owner of a derived row (property _sys)
//   - state.go: the maintainer state of an entity (_ix)
//   - mark.go: the mark of a row that a write over several partitions has prepared (_tx)
//   - hash.go: numbers of properties, by which verify compares rows without keeping them
//
// table.Row has Row as its underlying type, so that *table.Row and *Row convert without a copy.
// Clone makes a row that does not share edits.
package stored

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Row is a row of any type, as it was read or as it is to be.
type Row struct {
	Key       keys.Key
	ETag      azcore.ETag
	Timestamp time.Time

	content
}

// content is hidden, so that table.Row, which has Row as its underlying type, shows none of it to
// users.
type content struct {
	columns []edm.Column // shared with copies of the row: they are never changed, but replaced
	json    edm.JSON     // as it was read
	edited  bool         // since it was read
	copied  *copied      // the last copy of the row; most copies of a row have the same columns
}

// copied is the columns of a copy, and their owner.
type copied struct {
	owner   string
	columns []edm.Column
}

// New returns a row that no service has stored.
func New(k keys.Key, columns []edm.Column) *Row {
	return &Row{Key: k, content: content{columns: columns}}
}

// Of returns a row of a response.
func Of(in edm.Entity, columns []edm.Column) *Row {
	return &Row{Key: keys.Raw(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, content: content{columns: columns}}
}

// With returns the row with other columns. It is inlined, as Copy and Project are, so that a row in
// between costs no allocation.
func (r *Row) With(columns []edm.Column) *Row {
	return &Row{Key: r.Key, ETag: r.ETag, Timestamp: r.Timestamp, content: content{columns: columns}}
}

// Clone returns a row that can be edited without a change of r, nil for nil. It does not keep the
// JSON.
func (r *Row) Clone() *Row {
	if r == nil {
		return nil
	}
	return &Row{Key: r.Key, ETag: r.ETag, Timestamp: r.Timestamp, content: content{columns: r.columns, edited: r.edited}}
}

// Columns returns the properties. They are shared, and must not be changed.
func (r *Row) Columns() []edm.Column { return r.columns }

// SetColumns gives the row other properties, of a row that its caller has made.
func (r *Row) SetColumns(columns []edm.Column) { r.columns = columns }

// Edit gives the row other properties than those that were read.
func (r *Row) Edit(columns []edm.Column) { r.columns, r.edited = columns, true }

// Edited reports whether Edit has changed the row.
func (r *Row) Edited() bool { return r.edited }

// JSON returns the row as it was read, empty if it is not known.
func (r *Row) JSON() edm.JSON { return r.json }

// SetJSON keeps the row as it was read.
func (r *Row) SetJSON(json edm.JSON) { r.json = json }

// Open returns the row as a reader of a response returns it.
func (r *Row) Open() (*edm.Reader, edm.Entity) {
	in := edm.Entity{PartitionKey: r.Key.PartitionKey(), RowKey: r.Key.RowKey(), ETag: string(r.ETag), Timestamp: r.Timestamp, Columns: r.columns}
	return edm.ReadColumns(in, in.Columns), in
}

// Stored returns the row's content.
func (r *Row) Stored() edm.Stored { return edm.Stored{JSON: r.json, Columns: r.columns} }

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
func (r *Row) Has(name string) bool { return Find(r.columns, name).Kind != edm.Absent }

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

// Same reports whether two rows have the same properties, apart from their operation IDs and empty
// marks.
func Same(a, b []edm.Column) bool {
	a, b = Content(a), Content(b)
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

// copyOf returns the columns of a copy of a row in a partition. It keeps them in r for the next
// copy.
func copyOf(r *Row, partition, projectionID string) []edm.Column {
	owner := copyOwner(r.Key.RowKey(), projectionID)
	if partition != r.Key.PartitionKey() {
		if projectionID == "" {
			owner += "/"
		}
		owner += "/" + r.Key.PartitionKey()
	}
	if r.copied == nil || r.copied.owner != owner {
		r.copied = &copied{owner, putOwner(r.columns, owner)}
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

// Copied returns the RowKey of the entity that columns are a copy of, the projection ID, and the
// entity's PartitionKey unless it is that of the copy; "" if they are no copy.
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

// Pointer returns the columns of a copy without what it copies.
func Pointer(columns []edm.Column) []edm.Column {
	rowKey, _, partition := Copied(columns)
	if partition != "" {
		rowKey += ownerMark + partition
	}
	return putOwner(nil, rowKey)
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

// Copy returns a copy of the row under another key; see table.Row.Copy. It is not for concurrent
// use of the row.
func (r *Row) Copy(k keys.Key, projectionID string) *Row {
	return New(k, copyOf(r, k.PartitionKey(), projectionID))
}

// ProjectionID returns the projection ID that Copy gave a copy, "" for none.
func (r *Row) ProjectionID() string {
	_, id, _ := Copied(r.columns)
	return id
}

// Project returns the row with some of its properties, and with its type and version. It has no
// operation ID, because it is not all that the write has written.
func (r *Row) Project(properties ...string) *Row {
	return New(r.Key, projected(r.columns, properties))
}

func projected(columns []edm.Column, properties []string) []edm.Column {
	if len(properties) == 0 { // a pointer, behind which the entity itself is read
		return Only(columns, reserved.Type, reserved.Version, reserved.Owner)
	}
	return Only(columns, slices.Concat(properties, projectedProperties, []string{reserved.Owner})...)
}

// projectedProperties are the system properties that a copy of some properties contains, besides
// its own. A pointer does not contain the end.
var projectedProperties = []string{reserved.Type, reserved.Version, reserved.End}

// WithoutSystemProperties returns the row without the system properties of an entity (_life, _ix,
// tags), as a full copy of it has them.
func (r *Row) WithoutSystemProperties() *Row {
	return r.With(OwnProperties(r.columns))
}

// OwnProperties returns columns without the system properties of an entity.
func OwnProperties(columns []edm.Column) []edm.Column {
	return Without(columns, entityProperties...)
}

// entityProperties are the system properties of an entity that a copy does not contain.
var entityProperties = []string{reserved.Incarnation, reserved.MaintainerState, reserved.Owner, reserved.Parts}

// InCopy reports whether a copy contains a system property of its entity: a full copy, or one of
// some properties, or a pointer, which has none.
func InCopy(name string, whole bool, properties []string) bool {
	if whole {
		return !slices.Contains(entityProperties, name)
	}
	if len(properties) == 0 && name == reserved.End {
		return false
	}
	return slices.Contains(projectedProperties, name)
}

// Same reports whether two rows have the same properties, apart from their operation IDs.
func (r *Row) Same(other *Row) bool { return Same(r.columns, other.columns) }

// Own returns the row with an owner, any text that is not empty, in place of all its tags.
func (r *Row) Own(owner string) *Row {
	return r.With(Own(r.columns, owner))
}

// Owner returns the owner of a derived row, "" for none.
func (r *Row) Owner() string { return Owner(r.columns) }

// Tag returns the row with a tag of a maintainer that has something in it, or without it if off is
// set. The tag stays when the row's own writers change it, unless they write the row without having
// read it.
func (r *Row) Tag(tag string, off bool) *Row {
	return r.With(Tag(r.columns, tag, off))
}

// Tags returns the tags of a row; see Tag.
func (r *Row) Tags() []string { return Tags(r.columns) }

// Primary returns the key of the entity that the row is a copy of.
func (r *Row) Primary() (k keys.Key, isCopy bool) {
	rowKey, _, partition := Copied(r.columns)
	if rowKey == "" {
		return keys.Key{}, false
	}
	return keys.Raw(cmp.Or(partition, r.Key.PartitionKey()), rowKey), true
}

// IsCopy reports whether the row is a copy of an entity.
func (r *Row) IsCopy() bool { _, is := r.Primary(); return is }

// SameOwner reports whether two rows are copies of one entity.
func SameOwner(a, b *Row) bool {
	is, isCopy := a.Primary()
	want, wanted := b.Primary()
	return isCopy && wanted && is == want
}

// IDColumn is the column with an operation ID.
func IDColumn(id string) edm.Column {
	return edm.Column{Name: reserved.OperationID, Value: edm.Value{Kind: edm.Guid, G: commit.GUID(id)}}
}

// SameID reports whether rows with these columns contain the same operation ID, or none.
func SameID(a, b []edm.Column) bool {
	id, is := operationID(a)
	other, has := operationID(b)
	return is == has && id == other
}

// OperationID returns the operation ID that the row contains, and whether there is one.
func (r *Row) OperationID() (id [16]byte, is bool) { return operationID(r.columns) }

// operationID also reads an operation ID of a program that loses the types of JSON: a text.
func operationID(columns []edm.Column) (id [16]byte, is bool) {
	v := Find(columns, reserved.OperationID)
	if v.Kind == edm.String {
		v, _ = edm.GUIDValue(v.S) // absent for another text
	}
	return v.G, v.Kind == edm.Guid
}

// UnassignedID stands for the operation ID in the columns of a row that has not been written yet.
var UnassignedID = IDColumn(strings.Repeat("Z", commit.IDLength)).Encoded() // of a time that has no ID

// Body returns the row as it is to be sent as a derived row. The operation ID, the incarnation, the
// maintainer state and the directory of parts belong to the entity, so they are left out. A row
// that was loaded keeps its incarnation and its directory. named reports that the row gets the
// operation ID of the write: a copy of a row that gets it, or a row that keeps one.
func (r *Row) Body(keepsID, keepsIncarnation, keepsParts bool) (body edm.Body, named bool, err error) {
	w := edm.NewCopyWriter(r.Key.PartitionKey(), r.Key.RowKey(), r.columns)
	named = keepsID
	for _, c := range r.columns {
		c.Part = 0
		switch c.Name {
		case reserved.OperationID:
			named = named || c.Value.G == UnassignedID.Value.G
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

// PartKey returns the key of a part of an entity.
func PartKey(k keys.Key, number uint8) keys.Key {
	return keys.Raw(k.PartitionKey(), fmt.Sprintf("%s%s%02d", k.RowKey(), reserved.PartMark, number))
}

// PartOf returns the number of a part of an entity by its RowKey, 0 if it is none.
func PartOf(entity, rowKey string) uint8 {
	digits, is := strings.CutPrefix(rowKey, entity+reserved.PartMark)
	if !is || len(digits) != 2 || digits[0] < '0' || digits[0] > '9' || digits[1] < '0' || digits[1] > '9' {
		return 0
	}
	return (digits[0]-'0')*10 + digits[1] - '0'
}
