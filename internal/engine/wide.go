package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// A wide entity is stored in several rows of its partition: the head, under the entity's key, and parts, under that key with a !
// and the number of the part. The head contains a directory of the parts. A part contains a tag, which changes with each write of
// the part, and the directory contains the tags. So a reader that finds every part of the directory with its tag has read all rows
// of one version. The head is written by its ETag and the parts in the same transaction, so that the head's version is that of the
// whole entity.

// partTag is an entry of a directory.
type partTag struct {
	number uint8
	tag    string
}

// directory lists the parts of an entity in the order of their numbers. It is stored as a text, 10 characters for each part.
type directory []partTag

const tagLength = 8

func (d directory) String() string {
	var b strings.Builder
	for _, part := range d {
		fmt.Fprintf(&b, "%02d%s", part.number, part.tag)
	}
	return b.String()
}

var errDirectory = &DecodeError{Field: reserved.Parts, Reason: "is no directory of parts"}

// directoryIn returns the directory of a head.
func directoryIn(columns []edm.Column) (directory, error) {
	v := Find(columns, reserved.Parts)
	if v.Kind == edm.Absent {
		return nil, nil
	}
	const entry = 2 + tagLength
	if v.Kind != edm.String || len(v.S)%entry != 0 {
		return nil, errDirectory
	}
	var d directory
	for s := v.S; s != ""; s = s[entry:] {
		number, err := strconv.ParseUint(s[:2], 10, 8)
		if err != nil || number < 1 || number > edm.MaxPart || len(d) > 0 && uint8(number) <= d[len(d)-1].number {
			return nil, errDirectory
		}
		d = append(d, partTag{uint8(number), s[2:entry]})
	}
	return d, nil
}

// tag returns the tag of a part, "" if the directory has no such part.
func (d directory) tag(number uint8) string {
	for _, part := range d {
		if part.number == number {
			return part.tag
		}
	}
	return ""
}

// with returns the directory with a tag of a part, or without the part if the tag is "".
func (d directory) with(number uint8, tag string) directory {
	d = slices.DeleteFunc(slices.Clone(d), func(p partTag) bool { return p.number == number })
	if tag == "" {
		return d
	}
	i, _ := slices.BinarySearchFunc(d, number, func(p partTag, n uint8) int { return int(p.number) - int(n) })
	return slices.Insert(d, i, partTag{number, tag})
}

// partKey returns the key of a part of an entity.
func partKey(k keys.Key, number uint8) keys.Key {
	return keys.Stored(k.PartitionKey(), fmt.Sprintf("%s%s%02d", k.RowKey(), reserved.PartMark, number))
}

// Entity returns the key of the entity that the row is a part of, and the row's own key if it is none.
func (r *Row) Entity() keys.Key {
	i := strings.LastIndex(r.Key.RowKey(), reserved.PartMark)
	if i < 0 || !r.Has(reserved.Part) || partOf(r.Key.RowKey()[:i], r.Key.RowKey()) == 0 {
		return r.Key
	}
	return keys.Stored(r.Key.PartitionKey(), r.Key.RowKey()[:i])
}

// partOf returns the number of a part of an entity by its RowKey, 0 if it is none.
func partOf(entity, rowKey string) uint8 {
	digits, is := strings.CutPrefix(rowKey, entity+reserved.PartMark)
	if !is || len(digits) != 2 || digits[0] < '0' || digits[0] > '9' || digits[1] < '0' || digits[1] > '9' {
		return 0
	}
	return (digits[0]-'0')*10 + digits[1] - '0'
}

// assembly puts a wide entity together from its rows.
type assembly struct {
	head      edm.Entity
	columns   []edm.Column    // of the head and of the parts so far
	names     map[string]bool // of the columns, once there is a part
	directory directory
	found     []uint8 // the parts of the directory that have come
	err       error   // what is wrong with the rows
}

// assemble begins with the head.
func assemble(head edm.Entity, columns []edm.Column) *assembly {
	a := &assembly{head: head, columns: columns}
	a.head.JSON = edm.JSON{} // it is only for the time of the page
	a.directory, a.err = directoryIn(columns)
	return a
}

// add adds a row if it is a part of the entity. A part that the directory does not list is a remnant of another entity.
func (a *assembly) add(rowKey string, columns []edm.Column) (isPart bool) {
	number := partOf(a.head.RowKey, rowKey)
	tag := Find(columns, reserved.Part)
	if number == 0 || tag.Kind == edm.Absent {
		return false
	}
	want := a.directory.tag(number)
	switch {
	case want == "":
		return true
	case tag.S != want:
		a.fail(fmt.Sprintf("part %d is not of the version of the head", number))
		return true
	}
	a.found = append(a.found, number)
	if a.names == nil {
		a.names = make(map[string]bool, len(a.columns)+len(columns))
		for i := range a.columns {
			a.names[a.columns[i].Name] = true
		}
	}
	for _, c := range columns {
		if c.Name == reserved.Part || c.Name == reserved.OperationID {
			continue
		}
		taken := a.names[c.Name]
		if edm.IsSystem(c.Name) || taken {
			a.fail(fmt.Sprintf("part %d contains the property %s, which belongs into another row", number, c.Name))
			return true
		}
		a.names[c.Name] = true
		c.Part = number
		a.columns = append(a.columns, c)
	}
	return true
}

func (a *assembly) fail(reason string) {
	if a.err == nil {
		a.err = &DecodeError{Field: reserved.Parts, Reason: reason}
	}
}

// whole returns an error if the rows are not all of one version.
func (a *assembly) whole() error {
	if missing := len(a.directory) - len(a.found); a.err == nil && missing > 0 {
		return &DecodeError{Field: reserved.Parts, Reason: fmt.Sprintf("lists %d parts of the entity, of which %d are missing", len(a.directory), missing)}
	}
	return a.err
}

// entity returns the entity with all columns, for a reader.
func (a *assembly) entity() edm.Entity {
	in := a.head
	in.Columns = a.columns
	return in
}

// row returns the entity as a row.
func (a *assembly) row() *Row {
	in := &a.head
	return &Row{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, Columns: a.columns}
}
