package stored

import (
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Mark is the property of a row that a write over several partitions has prepared. What the row is
// depends on the commit record of that write, until the write is finished or rolled back.
type Mark struct {
	ID    string       // the operation ID of the write
	Home  commit.Place // of its commit record
	Fate  Fate
	Image int         // of a row that is replaced: the number of the row that contains its new content
	ETag  azcore.ETag // of the row before the mark; "" for a row that is inserted
}

// Fate is what becomes of a row if the write commits.
type Fate string

const (
	FateInsert  Fate = "insert"  // the row did not exist
	FatePart    Fate = "part"    // it did not exist, and is part of a wide entity: it has no mark
	FateReplace Fate = "replace" // it gets a new content
	FateDelete  Fate = "delete"
	FatePin     Fate = "pin"     // it stays as it is
	FateReserve Fate = "reserve" // it did not exist, and will not
)

// Column returns the mark as it is stored. Keys and names of tables contain no slash.
func (m Mark) Column() edm.Column {
	text := strings.Join([]string{m.ID, m.Home.Table, m.Home.Partition, string(m.Fate), strconv.Itoa(m.Image), string(m.ETag)}, "/")
	return edm.Column{Name: reserved.Mark, Value: edm.Value{Kind: edm.String, S: text}}
}

// MarkIn returns the mark of a row's columns. An empty or unreadable mark is none: another program
// has written it.
func MarkIn(columns []edm.Column) (Mark, bool) { return MarkOf(Find(columns, reserved.Mark)) }

// MarkOf is MarkIn for the value of the property _tx.
func MarkOf(v edm.Value) (m Mark, isMarked bool) {
	if v.Kind != edm.String {
		return Mark{}, false
	}
	fields := strings.SplitN(v.S, "/", 6)
	if len(fields) != 6 {
		return Mark{}, false
	}
	m = Mark{ID: fields[0], Home: commit.Place{Table: fields[1], Partition: fields[2]}, Fate: Fate(fields[3]), ETag: azcore.ETag(fields[5])}
	var err error
	if m.Image, err = strconv.Atoi(fields[4]); err != nil || m.Home.Check() != nil {
		return Mark{}, false
	}
	switch m.Fate {
	case FateInsert, FateReplace, FateDelete, FatePin, FateReserve:
	default:
		return Mark{}, false
	}
	_, err = commit.TimeOf(m.ID)
	return m, err == nil
}

// HasMark reports whether columns have a mark, also one that cannot be read. An empty one is none.
func HasMark(columns []edm.Column) bool {
	v := Find(columns, reserved.Mark)
	return v.Kind != edm.Absent && (v.Kind != edm.String || v.S != "")
}

// isEmptyMark reports whether a property is the mark of a write that has ended: a row that is
// large, or not wholly known, keeps an empty one. It is no content.
func isEmptyMark(name string, v *edm.Value) bool {
	return name == reserved.Mark && v.Kind == edm.String && v.S == ""
}

// Content returns columns without an empty mark.
func Content(columns []edm.Column) []edm.Column {
	for i := range columns {
		if isEmptyMark(columns[i].Name, &columns[i].Value) {
			return Unmarked(columns)
		}
	}
	return columns
}

// Existed reports whether the row existed before the mark.
func (m Mark) Existed() bool { return m.Fate != FateInsert && m.Fate != FateReserve }

// Stays reports whether the row exists if the write commits.
func (m Mark) Stays() bool { return m.Fate != FateDelete && m.Fate != FateReserve }

// Unmarked returns columns without a mark.
func Unmarked(columns []edm.Column) []edm.Column { return Without(columns, reserved.Mark) }

// UnknownETag stands for the ETag of a version that was overwritten before it became known, and of
// a row that is shown as a write over several partitions has committed it, before the write is
// finished. It fits no row.
const UnknownETag = azcore.ETag(`W/"datetime'1601-01-01T00%3A00%3A00Z'"`)

// SameVersion reports whether two reads are known to have found the same version of a row, or no
// row.
func SameVersion(before, after *Row) bool {
	if before == nil || after == nil {
		return before == nil && after == nil
	}
	return before.ETag == after.ETag && after.ETag != UnknownETag
}
