package tables

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// The service's limits.
const (
	maxKey        = 512    // UTF-16 units, 1 KiB
	maxName       = 255    // UTF-16 units
	maxProperties = 252    // without the keys and the Timestamp
	maxText       = 32_768 // UTF-16 units
	maxBinary     = 64 << 10
	maxEntity     = 1 << 20
)

// entity is a stored entity. An entity is replaced and never modified.
type entity struct {
	pk, rk     string
	timestamp  time.Time
	etag       string // which the service makes of the timestamp
	properties []odata.Property
}

// setTimestamp sets the Timestamp and the ETag.
func (e *entity) setTimestamp(t time.Time) {
	e.timestamp = t
	b := make([]byte, 0, 64)
	b = append(b, `W/"datetime'`...)
	b = odata.AppendTime(b, t, "%3A")
	e.etag = string(append(b, `'"`...))
}

// Property implements odata.Row.
func (e *entity) Property(name string) (odata.Property, bool) {
	switch name {
	case "PartitionKey":
		return odata.Property{Name: name, Type: odata.String, Value: e.pk}, true
	case "RowKey":
		return odata.Property{Name: name, Type: odata.String, Value: e.rk}, true
	case "Timestamp":
		return odata.Property{Name: name, Type: odata.DateTime, Value: e.timestamp}, true
	}
	for _, p := range e.properties {
		if p.Name == name {
			return p, true
		}
	}
	return odata.Property{}, false
}

func (e *entity) sortKey() string { return e.rk }

// checkKeys checks a PartitionKey and a RowKey against the limits.
func (o *Options) checkKeys(pk, rk string) *odata.Failure {
	for _, key := range []string{pk, rk} {
		if odata.Units(key) > maxKey && !o.Lenient {
			return errKeyTooLarge
		}
		for _, r := range key {
			if r < 0x20 || r >= 0x7F && r <= 0x9F || strings.ContainsRune(`/\#?`, r) {
				return odata.OutOfRange
			}
		}
	}
	return nil
}

// check checks the entity against the limits.
func (e *entity) check() *odata.Failure {
	if len(e.properties) > maxProperties {
		return errTooManyProperties
	}
	size := 4 + 2*(odata.Units(e.pk)+odata.Units(e.rk))
	for _, p := range e.properties {
		switch {
		case odata.Units(p.Name) > maxName:
			return errNameTooLong
		case !odata.IsIdentifier(p.Name):
			return errNameInvalid
		}
		switch v := p.Value.(type) {
		case string:
			if odata.Units(v) > maxText {
				return errValueTooLarge
			}
		case []byte:
			if len(v) > maxBinary {
				return errValueTooLarge
			}
		}
		size += propertySize(p)
	}
	if size > maxEntity {
		return errEntityTooLarge
	}
	return nil
}

// propertySize returns the bytes that a property adds to the size of an entity, by the documented formula.
func propertySize(p odata.Property) int {
	n := 8 + 2*odata.Units(p.Name)
	switch v := p.Value.(type) {
	case string:
		if p.Type == odata.GUID {
			return n + 16
		}
		return n + 2*odata.Units(v) + 4
	case []byte:
		return n + len(v) + 4
	case int32:
		return n + 4
	case bool:
		return n + 1
	}
	return n + 8
}

// sort sorts the properties as the service returns them after an update: by name, upper case first.
func (e *entity) sort() {
	slices.SortFunc(e.properties, func(a, b odata.Property) int { return cmp.Compare(a.Name, b.Name) })
}

// merge adds the properties of old that e does not have.
func (e *entity) merge(old *entity) {
	for _, p := range old.properties {
		if !slices.ContainsFunc(e.properties, func(n odata.Property) bool { return n.Name == p.Name }) {
			e.properties = append(e.properties, p)
		}
	}
}
