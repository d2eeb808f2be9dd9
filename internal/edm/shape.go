package edm

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// shape contains the members that the reader has seen, in their order. Most entities of a page have
// the same members in the same order, so that the next one is found without reading its name, and
// is looked up once.
type shape struct {
	all    []seen
	next   int     // where the next member is expected
	shared bool    // all is of the Shapes, and must not be changed
	of     *Shapes // that learn from the reader; may be nil
	taught int     // so many members they have learned
}

// Shapes keeps what the readers of a table have learned of its members, so that the next reader
// knows them. It is safe for concurrent use.
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
	codec *Codec // of which the property is
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

// add adds a member where it was not expected, and returns its position, or notSeen if there are
// too many.
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

// teach adds the shapes that the reader has learned to the Shapes. If these are too many, because
// the members differ from entity to entity, they learn from the beginning again.
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
		m.raw, m.name, m.text = own(m.raw), own(m.name), string(m.name)
		if m.typ != nil {
			m.typ = own(m.typ)
		}
	}
	s.of.all.Store(&all)
}

// mostSeen is the greatest length of a shape, more than an entity has properties.
const mostSeen = 300

// find returns the member that b begins with, nil if it is none that is expected. It skips members
// that the entity does not have, as in a page with entities of several types.
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

// Reader returns a reader of the response b, from which the next reader learns.
func (s *Shapes) Reader(b []byte) *Reader {
	r, _ := s.readers.Get().(*Reader)
	if r == nil {
		r = new(Reader)
	}
	r.start(b)
	r.shape.of = s
	if all := s.all.Load(); all != nil {
		r.shape.all, r.shape.shared, r.shape.taught = *all, true, len(*all)
	}
	return r
}

// Release gives the reader back to its Shapes. The caller must not use it afterwards, but may keep
// what it has decoded. For other readers, Release does nothing.
func (r *Reader) Release() {
	if s := r.shape.of; s != nil {
		*r = Reader{}
		s.readers.Put(r)
	}
}

// scalar describes how a Go type is stored in one property.
type scalar struct {
	kind   Kind
	int    bool                                      // an integer of more than 32 bits
	direct bool                                      // see direct
	get    func(v reflect.Value, x *Value) error     // v is addressable, and x absent
	set    func(v reflect.Value, x *Value) (ok bool) // ok is false if x does not fit the Go type
	fail   func(v reflect.Value, x *Value) error     // the error of the Go type for x; the func is nil if the type returns no errors

	plain    *scalar // of values in their own type, if they are stored as text by the option text
	declared bool    // the option names the type, so that a stored number of another type does not keep its own
	wants    string  // what a value of the kind must be; "" if the type takes each
}

var (
	timeType        = reflect.TypeFor[time.Time]()
	byteType        = reflect.TypeFor[byte]()
	marshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// scalarOf returns the scalar of t. Its order of precedence is documented at table.Table: time,
// UUID, binary and the types of the SDK come before TextMarshaler, which they also implement, and
// TextMarshaler comes before the kind.
func scalarOf(t reflect.Type) (scalar, bool) {
	switch {
	case t == timeType:
		return timeScalar, true
	case t == sdkDateTime:
		return sdkTimeScalar, true
	case t == sdkGUID:
		return sdkGUIDScalar, true
	case t == sdkInt64:
		return intScalar(Int64), true
	case t.Kind() == reflect.Array && t.Len() == 16 && t.Elem() == byteType:
		return guidScalar, true
	case t.Kind() == reflect.Slice && t.Elem() == byteType:
		return binaryScalar, true
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshalerType) && reflect.PointerTo(t).Implements(unmarshalerType):
		return textScalar, true
	}
	switch t.Kind() {
	case reflect.String:
		return stringScalar, true
	case reflect.Bool:
		return boolScalar, true
	case reflect.Float32, reflect.Float64:
		return floatScalar, true
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return intScalar(Int32), true
	case reflect.Int, reflect.Int64:
		return intScalar(Int64), true
	case reflect.Uint8, reflect.Uint16:
		return uintScalar(Int32), true
	case reflect.Uint, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintScalar(Int64), t.Kind() != reflect.Uintptr
	case reflect.Pointer:
		if t.Elem().Kind() != reflect.Pointer {
			if s, ok := scalarOf(t.Elem()); ok {
				return pointerTo(t, s), true
			}
		}
	}
	return scalar{}, false
}

var timeScalar = scalar{
	kind: DateTime, direct: true,
	get: func(v reflect.Value, x *Value) error { *x = timeValue(*v.Addr().Interface().(*time.Time)); return nil },
	set: func(v reflect.Value, x *Value) bool {
		*v.Addr().Interface().(*time.Time) = x.T
		return x.Kind == DateTime
	},
}

var guidScalar = scalar{
	kind: Guid, direct: true,
	get: func(v reflect.Value, x *Value) error {
		x.Kind = Guid
		copy(x.G[:], v.Bytes())
		return nil
	},
	set: func(v reflect.Value, x *Value) bool {
		copy(v.Bytes(), x.G[:])
		return x.Kind == Guid
	},
}

var binaryScalar = scalar{
	kind: Binary, direct: true,
	get: func(v reflect.Value, x *Value) error {
		if x.B = v.Bytes(); x.B != nil {
			x.Kind = Binary
		}
		return nil
	},
	set: func(v reflect.Value, x *Value) bool { v.SetBytes(x.B); return x.Kind == Binary },
}

var stringScalar = scalar{
	kind: String, direct: true,
	get: func(v reflect.Value, x *Value) error { x.Kind, x.S = String, v.String(); return nil },
	set: func(v reflect.Value, x *Value) bool { v.SetString(x.S); return x.Kind == String },
}

var boolScalar = scalar{
	kind: Bool, direct: true,
	get: func(v reflect.Value, x *Value) error {
		x.Kind, x.I = Bool, 0
		if v.Bool() {
			x.I = 1
		}
		return nil
	},
	set: func(v reflect.Value, x *Value) bool { v.SetBool(x.I != 0); return x.Kind == Bool },
}

// floatScalar also reads a number without its decimal point, since emulators store 3.0 as 3, and a
// special value without its annotation.
var floatScalar = scalar{
	kind: Double, direct: true,
	get: func(v reflect.Value, x *Value) error { x.Kind, x.F = Double, v.Float(); return nil },
	set: func(v reflect.Value, x *Value) bool {
		switch x.Kind {
		case Int32, Int64:
			if x.F = float64(x.I); int64(x.F) != x.I || x.I == math.MaxInt64 {
				return false
			}
		case String:
			f, ok := parseDouble([]byte(x.S))
			if !ok || !math.IsNaN(f) && !math.IsInf(f, 0) {
				return false
			}
			x.F = f
		case Double:
		default:
			return false
		}
		v.SetFloat(x.F)
		return x.F != x.F || v.Float() == x.F
	},
}

func intScalar(k Kind) scalar {
	return scalar{
		kind: k, int: k == Int64, direct: true,
		get: func(v reflect.Value, x *Value) error { x.Kind, x.I = k, v.Int(); return nil },
		set: func(v reflect.Value, x *Value) bool {
			if x.Kind != Int32 && x.Kind != Int64 || v.OverflowInt(x.I) {
				return false
			}
			v.SetInt(x.I)
			return true
		},
	}
}

func uintScalar(k Kind) scalar {
	return scalar{
		kind: k, int: k == Int64,
		get: func(v reflect.Value, x *Value) error {
			if v.Uint() > math.MaxInt64 {
				return fmt.Errorf("the number %d exceeds %d, the largest Int64", v.Uint(), int64(math.MaxInt64))
			}
			x.Kind, x.I = k, int64(v.Uint())
			return nil
		},
		set: func(v reflect.Value, x *Value) bool {
			if x.Kind != Int32 && x.Kind != Int64 || x.I < 0 || v.OverflowUint(uint64(x.I)) {
				return false
			}
			v.SetUint(uint64(x.I))
			return true
		},
	}
}

// textScalar is the scalar of types that implement encoding.TextMarshaler and TextUnmarshaler.
var textScalar = scalar{
	kind: String,
	get: func(v reflect.Value, x *Value) error {
		b, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
		x.Kind, x.S = String, string(b)
		return err
	},
	set: func(v reflect.Value, x *Value) bool {
		return x.Kind == String && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(x.S)) == nil
	},
	fail: func(v reflect.Value, x *Value) error {
		if x.Kind != String {
			return nil
		}
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(x.S))
	},
}

// jsonScalar stores any type as JSON in a string, for the option json.
var jsonScalar = scalar{
	kind: String,
	get: func(v reflect.Value, x *Value) error {
		switch v.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
			if v.IsNil() {
				return nil
			}
		}
		b, err := json.Marshal(v.Addr().Interface())
		x.Kind, x.S = String, string(b)
		return err
	},
	set: func(v reflect.Value, x *Value) bool {
		return x.Kind == String && json.Unmarshal([]byte(x.S), v.Addr().Interface()) == nil
	},
	fail: func(v reflect.Value, x *Value) error {
		if x.Kind != String {
			return nil
		}
		return json.Unmarshal([]byte(x.S), v.Addr().Interface())
	},
}

// pointerTo returns the scalar of a pointer type: nil is an absent property.
func pointerTo(t reflect.Type, s scalar) scalar {
	return scalar{
		kind: s.kind, int: s.int,
		get: func(v reflect.Value, x *Value) error {
			if v.IsNil() {
				return nil
			}
			return s.get(v.Elem(), x)
		},
		set: func(v reflect.Value, x *Value) bool {
			p := reflect.New(t.Elem())
			if !s.set(p.Elem(), x) {
				return false
			}
			v.Set(p)
			return true
		},
	}
}

// The types of the SDK for values that JSON does not distinguish. binaryScalar serves EDMBinary.
var (
	sdkInt64    = reflect.TypeFor[aztables.EDMInt64]()
	sdkDateTime = reflect.TypeFor[aztables.EDMDateTime]()
	sdkGUID     = reflect.TypeFor[aztables.EDMGUID]()
	sdkEntity   = reflect.TypeFor[aztables.Entity]()
)

var sdkTimeScalar = scalar{
	kind: DateTime,
	get: func(v reflect.Value, x *Value) error {
		*x = timeValue(time.Time(*v.Addr().Interface().(*aztables.EDMDateTime)))
		return nil
	},
	set: func(v reflect.Value, x *Value) bool {
		*v.Addr().Interface().(*aztables.EDMDateTime) = aztables.EDMDateTime(x.T)
		return x.Kind == DateTime
	},
}

// sdkGUIDScalar stores a text as a Guid. The empty text is absent.
var sdkGUIDScalar = scalar{
	kind: Guid,
	get:  func(v reflect.Value, x *Value) (err error) { *x, err = GUIDValue(v.String()); return err },
	set: func(v reflect.Value, x *Value) bool {
		v.SetString(string(appendGUID(nil, x.G)))
		return x.Kind == Guid
	},
}

func (f *field) storedKind() Kind {
	if f.narrow {
		return Int32
	}
	return f.scalar.kind
}
