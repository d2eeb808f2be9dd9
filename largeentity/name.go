package largeentity

import (
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// name is the name of a blob: staff/Sales/01KAJ5ZVW0ABCDEFGHJKMNPQRS. It consists of the table, the PartitionKey of the entity, and an
// ID, which begins with the time of the upload. The blobs of a partition are listed in the order of their IDs, and so are their
// rows, so that a sweep merges the two lists.
type name struct{ table, partition, id string }

func (n name) String() string { return n.table + "/" + escape(n.partition) + "/" + n.id }

// uploaded returns the time at which the upload began, by the clock of its program.
func (n name) uploaded() time.Time {
	t, _ := engine.TimeOf(n.id) // parseName has checked the ID
	return t
}

// maxName is the most characters of the name of a blob ('Naming and referencing containers, blobs, and metadata').
const maxName = 1024

// parseName returns the name of a blob. ok reports whether the text is a name that String returns.
func parseName(text string) (n name, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || len(text) > maxName {
		return name{}, false
	}
	n = name{table: parts[0], id: parts[2]}
	if n.partition, ok = unescape(parts[1]); !ok || n.table != strings.ToLower(n.table) || engine.CheckTableName(n.table) != nil || n.String() != text {
		return name{}, false
	}
	_, err := engine.TimeOf(n.id)
	return n, err == nil
}

// newName returns a name for a blob that is uploaded now.
func (o *Options) newName(tableName, partition string) (name, error) {
	id := o.NewID()
	if !engine.IsID(id) {
		return name{}, &table.ValueError{Field: "Common.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}
	}
	n := name{tableName, partition, engine.IDTime(o.Now()) + id}
	if l := len(n.String()); l > maxName {
		return name{}, &table.LimitError{Field: "PartitionKey", Limit: "characters of the name of a blob, with the table and the ID", Got: l, Max: maxName}
	}
	return n, nil
}

// linkable returns the time until which a blob can be stored in an entity, and unlinkable the time from which on no request that stores
// it can arrive any more.
func (o *Options) linkable(n name) time.Time   { return n.uploaded().Add(o.Grace / 2) }
func (o *Options) unlinkable(n name) time.Time { return n.uploaded().Add(o.Grace) }

const escapeMark = '~'

// plain reports whether a byte of a PartitionKey stays as it is in the name of a blob.
func plain(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("@-_=.,+", c) >= 0
}

// escape returns a PartitionKey as a segment of a path: letters, digits and @ - _ = . , + are unchanged, and each other byte becomes
// ~ and two digits. So does a dot at an end, since . and .. have a meaning in paths. The empty key becomes ~.
func escape(key string) string {
	if key == "" {
		return string(escapeMark)
	}
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; plain(c) && (c != '.' || i > 0 && i < len(key)-1) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%c%02X", escapeMark, c)
		}
	}
	return b.String()
}

// unescape returns the PartitionKey of a segment. It may accept more segments than escape returns.
func unescape(segment string) (key string, ok bool) {
	if segment == string(escapeMark) {
		return "", true
	}
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == escapeMark {
			if i+2 >= len(segment) {
				return "", false
			}
			if _, err := fmt.Sscanf(segment[i+1:i+3], "%02X", &c); err != nil {
				return "", false
			}
			i += 2
		}
		b.WriteByte(c)
	}
	return b.String(), segment != ""
}
