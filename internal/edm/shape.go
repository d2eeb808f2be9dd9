package edm

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
)

// shape contains the members that the reader has seen, in their order. Most entities of a page have the same members in the same
// order, so that the next one is found without reading its name, and is looked up once.
type shape struct {
	all    []seen
	next   int     // where the next member is expected
	shared bool    // all is of the Shapes, and must not be changed
	of     *Shapes // that learn from the reader; may be nil
	taught int     // so many members they have learned
}

// Shapes keeps what the readers of a table have learned of its members, so that the next reader knows them. It is safe for concurrent
// use.
type Shapes struct {
	all     atomic.Pointer[[]seen]
	readers sync.Pool
}

// seen is a member with its annotation in front of it.
type seen struct {
	raw  []byte // the JSON in front of the value
	name []byte
	typ  []byte // the annotation, or nil
	role role
	kind Kind // of the annotation

	text  string // the name, once it was asked for
	plan  *Plan  // of which the property is
	of    propertyOf
	known bool
}

// notSeen is the position of a member that is not in the shape.
const notSeen = -1

// role says what a member is.
type role uint8

const (
	property role = iota
	partitionKey
	rowKey
	etag
	timestamp
	metadata // of the service
	typeOf   // the annotation of a property
)

func roleOf(name []byte) role {
	switch string(name) {
	case PartitionKey:
		return partitionKey
	case RowKey:
		return rowKey
	case "odata.etag":
		return etag
	case Timestamp:
		return timestamp
	}
	if bytes.HasPrefix(name, []byte("odata.")) {
		return metadata
	}
	return property
}

// add adds a member where it was not expected, and returns its position, or notSeen if there are too many.
func (s *shape) add(m seen) int16 {
	if len(s.all) == mostSeen {
		return notSeen
	}
	if s.shared {
		s.all, s.shared = slices.Clone(s.all), false
	}
	s.all = slices.Insert(s.all, s.next, m)
	s.next++
	return int16(s.next - 1)
}

// teach tells the Shapes what the reader has learned. If that is too much, because the members differ from entity to entity, they
// learn from the beginning again.
func (s *shape) teach() {
	if s.of == nil || s.shared || len(s.all) == s.taught {
		return
	}
	if s.taught = len(s.all); s.taught == mostSeen {
		s.of.all.Store(nil)
		return
	}
	size := 0
	for _, m := range s.all {
		size += len(m.raw) + len(m.name) + len(m.typ)
	}
	buffer, all := make([]byte, 0, size), slices.Clone(s.all)
	own := func(b []byte) []byte {
		from := len(buffer)
		buffer = append(buffer, b...)
		return buffer[from:len(buffer):len(buffer)]
	}
	for i := range all {
		m := &all[i]
		if m.raw, m.name, m.text = own(m.raw), own(m.name), string(m.name); m.typ != nil {
			m.typ = own(m.typ)
		}
	}
	s.of.all.Store(&all)
}

// mostSeen is the greatest length of a shape, more than an entity has properties.
const mostSeen = 300

// find returns the member that b begins with, nil if it is none that is expected. It skips members that the entity does not have, as in
// a page with entities of several types.
func (s *shape) find(b []byte) *seen {
	const ahead = 24
	for i := s.next; i < min(s.next+ahead, len(s.all)); i++ {
		if bytes.HasPrefix(b, s.all[i].raw) {
			s.next = i + 1
			return &s.all[i]
		}
	}
	return nil
}
