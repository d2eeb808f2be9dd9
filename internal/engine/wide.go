package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		number := int(s[0]-'0')*10 + int(s[1]-'0')
		if number < 1 || number > edm.MaxPart || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' || len(d) > 0 && number <= int(d[len(d)-1].number) {
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
	columns   []edm.Column // of the head and of the parts so far
	directory directory
	found     []uint8 // the parts of the directory that have come
	err       error   // what is wrong with the rows
}

// assemble begins with the head.
func assemble(head edm.Entity, columns []edm.Column) *assembly {
	a := &assembly{head: head, columns: columns}
	a.head.Raw = nil // it is only for the time of the page
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
	for _, c := range columns {
		if c.Name == reserved.Part || c.Name == reserved.OperationID {
			continue
		}
		if edm.IsSystem(c.Name) || slices.ContainsFunc(a.columns, func(other edm.Column) bool { return other.Part != number && other.Name == c.Name }) {
			a.fail(fmt.Sprintf("part %d contains the property %s, which belongs into another row", number, c.Name))
			return true
		}
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

// mostTornReads is how often an entity is read whose rows are not of one version, before that is an error.
const mostTornReads = 5

// readEntity reads an entity, with its parts if it is wide. An entity that is not there is no error. 1 request, and 1 more for each
// time that a concurrent writer has changed it meanwhile.
func (t *Table) readEntity(ctx context.Context, k keys.Key) (readResult, error) {
	if t.Mode.Parts == 0 {
		return t.readRow(ctx, k)
	}
	var found readResult
	err := t.tornReads().Repeat(ctx, t.Log("Get", k), func() (again bool, err error) {
		var a *assembly
		if a, err = t.readRows(ctx, k, edm.MaxPart); err != nil {
			return false, err
		}
		if a == nil {
			found = readResult{gone: &Condition{ErrNotFound, errNoRow}, hidden: t.RangedRows()}
			return false, nil
		}
		found = readResult{row: a.row()}
		return true, a.whole()
	})
	return found, err
}

var errNoRow = errors.New("the query for the entity and its parts returned no row")

// tornReads is the policy of reads that find rows of several versions.
func (t *Table) tornReads() Retry {
	r := t.Options.Retry.OfConflicts()
	r.Attempts = mostTornReads
	return r
}

// readRows reads the head of an entity and its parts up to a number by one query, nil if there is no head.
func (t *Table) readRows(ctx context.Context, k keys.Key, last uint8) (a *assembly, err error) {
	err = t.eachPhysical(ctx, rowsFilter(k.PartitionKey(), k.RowKey(), partKey(k, last).RowKey()), "", func(in edm.Entity, columns []edm.Column) bool {
		switch {
		case in.RowKey == k.RowKey():
			a = assemble(in, columns)
		case a != nil:
			a.add(in.RowKey, columns)
		}
		return true
	})
	return a, err
}

// eachEntity is each for entities: parts come with their heads.
func (t *Table) eachEntity(ctx context.Context, filter string, f func(*Row) bool) error {
	if t.Mode.Parts == 0 {
		return t.each(ctx, filter, "", f)
	}
	var pending *assembly
	var bad error
	flush := func() (more bool) {
		a := pending
		if pending = nil; a == nil {
			return true
		}
		if a.whole() == nil {
			return f(a.row())
		}
		again, err := t.readEntity(ctx, a.row().Key)
		if bad = err; err != nil || again.row == nil {
			return err == nil
		}
		return f(again.row)
	}
	stopped := false
	err := t.eachPhysical(ctx, filter, "", func(in edm.Entity, columns []edm.Column) bool {
		if pending != nil && pending.head.PartitionKey == in.PartitionKey && pending.add(in.RowKey, columns) || Find(columns, reserved.Part).Kind != edm.Absent {
			return true
		}
		stopped = !flush()
		pending = assemble(in, columns)
		return !stopped
	})
	if err == nil && !stopped {
		flush()
	}
	return firstError(bad, err)
}

// GetParts reads some parts of an entity, with its head. whole reports that these are all of its parts. Requests: 1 if the parts are
// the head, or begin with part 1; otherwise 2 at the same time. A torn read is repeated as by Get.
func (t *Table) GetParts(ctx context.Context, k keys.Key, parts []uint8) (row *Row, whole bool, err error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(n uint8) bool { return n == 0 })
	var gone error
	err = t.tornReads().Repeat(ctx, t.Log("GetFields", k), func() (again bool, err error) {
		var a *assembly
		switch {
		case len(parts) == 0:
			a, gone, err = t.readHead(ctx, k)
		case parts[0] == 1:
			if a, err = t.readRows(ctx, k, parts[len(parts)-1]); a == nil {
				gone = &Condition{ErrNotFound, errNoRow}
			}
		default:
			a, gone, err = t.readHeadAndParts(ctx, k, parts[0], parts[len(parts)-1])
		}
		if err != nil || a == nil {
			return false, err
		}
		gone, whole = nil, true
		for _, part := range a.directory {
			if !slices.Contains(parts, part.number) {
				whole = false
			} else if !slices.Contains(a.found, part.number) {
				a.fail(fmt.Sprintf("lists part %d, which is missing", part.number))
			}
		}
		a.columns = slices.DeleteFunc(a.columns, func(c edm.Column) bool { return c.Part > 0 && !slices.Contains(parts, c.Part) })
		row = a.row()
		return true, a.err
	})
	if err == nil && gone != nil {
		err = gone
	}
	return row, whole, err
}

// readHead reads the head of an entity alone, nil if there is none.
func (t *Table) readHead(ctx context.Context, k keys.Key) (a *assembly, gone, err error) {
	f, err := t.readRow(ctx, k)
	if err != nil || f.row == nil {
		return nil, f.gone, err
	}
	in := edm.Entity{PartitionKey: k.PartitionKey(), RowKey: k.RowKey(), ETag: string(f.row.ETag), Timestamp: f.row.Timestamp}
	return assemble(in, f.row.Columns), nil, nil
}

// readHeadAndParts reads the head of an entity, and parts behind it, at the same time.
func (t *Table) readHeadAndParts(ctx context.Context, k keys.Key, first, last uint8) (a *assembly, gone, err error) {
	type partRow struct {
		rowKey  string
		columns []edm.Column
	}
	var rows []partRow
	reads := []func(context.Context) error{
		func(ctx context.Context) (err error) {
			a, gone, err = t.readHead(ctx, k)
			return err
		},
		func(ctx context.Context) error {
			return t.eachPhysical(ctx, rowsFilter(k.PartitionKey(), partKey(k, first).RowKey(), partKey(k, last).RowKey()), "", func(in edm.Entity, columns []edm.Column) bool {
				rows = append(rows, partRow{in.RowKey, columns})
				return true
			})
		},
	}
	InOrder(ctx, reads, func(ctx context.Context, read func(context.Context) error) (struct{}, error) {
		return struct{}{}, read(ctx)
	}, func(_ struct{}, rerr error) bool {
		err = firstError(err, rerr)
		return err == nil
	})
	if err != nil || a == nil {
		return nil, gone, err
	}
	for _, row := range rows {
		a.add(row.rowKey, row.columns)
	}
	return a, nil, nil
}

// rowsFilter is the filter for the rows of a partition between two keys, both included.
func rowsFilter(partition, from, to string) string {
	var f filter
	f.key(edm.PartitionKey, "eq", partition)
	f.key(edm.RowKey, "ge", from)
	f.key(edm.RowKey, "le", to)
	return f.b.String()
}
