package storagetest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The service's limits.
const (
	maxKey        = 512    // UTF-16 units, 1 KiB
	maxName       = 255    // UTF-16 units
	maxProperties = 252    // besides the keys and the Timestamp
	maxText       = 32_768 // UTF-16 units
	maxBinary     = 64 << 10
	maxEntity     = 1 << 20
)

// entity is a stored row. It is never changed, only replaced.
type entity struct {
	pk, rk string
	stamp  time.Time
	props  []Property
}

// etag is made of the Timestamp, so that each tells the other.
func (e *entity) etag() string {
	return `W/"datetime'` + strings.ReplaceAll(formatTime(e.stamp), ":", "%3A") + `'"`
}

// checkKey tells what is wrong with a PartitionKey or RowKey.
func checkKey(k string) *failure {
	if units(k) > maxKey {
		return errKeySize
	}
	for _, r := range k {
		if r < 0x20 || r >= 0x7F && r <= 0x9F || strings.ContainsRune(`/\#?`, r) {
			return errRange
		}
	}
	return nil
}

var identifier = regexp.MustCompile(`^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}\p{Cf}]*$`)

// check holds an entity against the limits.
func (e *entity) check() *failure {
	if len(e.props) > maxProperties {
		return errMany
	}
	size := 4 + 2*(units(e.pk)+units(e.rk))
	for _, p := range e.props {
		switch {
		case units(p.Name) > maxName:
			return errNameLong
		case !identifier.MatchString(p.Name):
			return errName
		}
		switch v := p.Value.(type) {
		case string:
			if units(v) > maxText {
				return errValueSize
			}
		case []byte:
			if len(v) > maxBinary {
				return errValueSize
			}
		}
		size += p.size()
	}
	if size > maxEntity {
		return errSize
	}
	return nil
}

// sorted puts the properties into the order in which the service returns them after an update: by name, upper case first.
func (e *entity) sorted() {
	slices.SortFunc(e.props, func(a, b Property) int { return cmp.Compare(a.Name, b.Name) })
}

// merged is e over an older version.
func (e *entity) merged(old *entity) {
	for _, p := range old.props {
		if !slices.ContainsFunc(e.props, func(n Property) bool { return n.Name == p.Name }) {
			e.props = append(e.props, p)
		}
	}
}

// get returns a property, the keys and the Timestamp among them.
func (e *entity) get(name string) (Property, bool) {
	switch name {
	case "PartitionKey":
		return Property{name, String, e.pk}, true
	case "RowKey":
		return Property{name, String, e.rk}, true
	case "Timestamp":
		return Property{name, DateTime, e.stamp}, true
	}
	for _, p := range e.props {
		if p.Name == name {
			return p, true
		}
	}
	return Property{}, false
}

// write appends the entity as an answer carries it: as a list's element, or alone, with the address of its kind.
func (e *entity) write(w *writer, c *call, table string, selected []string, alone bool) {
	w.WriteByte('{')
	w.more = false
	if c.level != none {
		if alone {
			w.member("odata.metadata", c.base+"/$metadata#"+table+"/@Element"+selection(selected))
		}
		if c.level == full {
			id := table + address(e.pk, e.rk)
			w.member("odata.type", c.account+"."+table)
			w.member("odata.id", c.base+"/"+id)
			w.member("odata.etag", e.etag())
			w.member("odata.editLink", id)
		} else {
			w.member("odata.etag", e.etag())
		}
	}
	if selected == nil {
		w.member("PartitionKey", e.pk)
		w.member("RowKey", e.rk)
		stamp := Property{"Timestamp", DateTime, e.stamp}
		if c.level == full {
			w.property(stamp, full)
		} else {
			w.property(stamp, none) // its type goes without saying
		}
		for _, p := range e.props {
			w.property(p, c.level)
		}
	}
	for _, name := range selected {
		p, ok := e.get(name)
		switch {
		case !ok:
			w.key(name)
			w.WriteString("null")
		case name == "Timestamp" && c.level != full:
			w.property(p, none)
		default:
			w.property(p, c.level)
		}
	}
	w.WriteByte('}')
	w.more = true
}

// selection is what an answer's address says of a projection.
func selection(names []string) string {
	if names == nil {
		return ""
	}
	return "&$select=" + strings.Join(names, ",")
}
