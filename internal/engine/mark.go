package engine

import (
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

const markProperty = reserved.Mark

// mark is the property of a row that a write over several partitions has prepared. What the row is depends on the commit record of
// that write, until the write is finished or rolled back.
type mark struct {
	id    string // the operation ID of the write
	home  Remote // of its commit record
	what  fate
	image int         // of a row that is replaced: the number of the row that contains its new content
	etag  azcore.ETag // of the row before the mark; "" for a row that is inserted
}

// fate is what becomes of a row if the write commits.
type fate string

const (
	fateInsert  fate = "insert"  // the row did not exist
	fatePart    fate = "part"    // it did not exist, and is part of a wide entity: it has no mark
	fateReplace fate = "replace" // it gets a new content
	fateDelete  fate = "delete"
)

// column returns the mark as it is stored. Keys and names of tables contain no slash.
func (m mark) column() edm.Column {
	text := strings.Join([]string{m.id, m.home.Table, m.home.Partition, string(m.what), strconv.Itoa(m.image), string(m.etag)}, "/")
	return edm.Column{Name: reserved.Mark, Value: edm.Value{Kind: edm.String, S: text}}
}

// markIn returns the mark of a row's columns. An empty or unreadable mark is none: another program has written it.
func markIn(columns []edm.Column) (mark, bool) { return markOf(Find(columns, markProperty)) }

func markOf(v edm.Value) (m mark, marked bool) {
	if v.Kind != edm.String {
		return mark{}, false
	}
	parts := strings.SplitN(v.S, "/", 6)
	if len(parts) != 6 {
		return mark{}, false
	}
	m = mark{id: parts[0], home: Remote{parts[1], parts[2]}, what: fate(parts[3]), etag: azcore.ETag(parts[5])}
	var err error
	if m.image, err = strconv.Atoi(parts[4]); err != nil || checkRemote(m.home) != nil {
		return mark{}, false
	}
	if m.what != fateInsert && m.what != fateReplace && m.what != fateDelete {
		return mark{}, false
	}
	_, err = TimeOf(m.id)
	return m, err == nil
}

// checkRemote returns the error of a place that no row can have.
func checkRemote(r Remote) error {
	if err := CheckTableName(r.Table); err != nil {
		return err
	}
	return keys.Stored(r.Partition, "r").Err()
}

// existed reports whether the row existed before the mark.
func (m mark) existed() bool { return m.what != fateInsert }

// unmarked returns columns without a mark.
func unmarked(columns []edm.Column) []edm.Column { return Without(columns, reserved.Mark) }

// superseded stands for the ETag of a version that was overwritten before it became known. It fits no row.
const superseded = azcore.ETag(`W/"datetime'1601-01-01T00%3A00%3A00Z'"`)
