package stored

import (
	"encoding/binary"
	"hash/maphash"
	"math"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Hasher makes numbers of properties. The sum of the numbers of a row does not depend on the order
// of its properties, and differs from that of a row with other properties, except by a chance of 1
// in 2^64. Its methods may not be called at the same time.
type Hasher struct {
	seed maphash.Seed
	room []byte
}

// NewHasher returns a Hasher. Hashers with the same seed make the same numbers.
func NewHasher(seed maphash.Seed) *Hasher { return &Hasher{seed: seed} }

// Sum returns the number of a row, 0 for nil.
func (h *Hasher) Sum(row *Row) (sum uint64) {
	if row == nil {
		return 0
	}
	for i := range row.columns {
		sum += h.Number(row.columns[i].Name, &row.columns[i].Value)
	}
	return sum
}

// SumOfCopy returns the number of a copy of an entity (Row.Copy), in the entity's partition, from
// the numbers of the properties that the copy contains.
func (h *Hasher) SumOfCopy(properties uint64, rowKey, projectionID string) uint64 {
	return properties + h.Number(reserved.Owner, &edm.Value{Kind: edm.String, S: copyOwner(rowKey, projectionID)})
}

// Number returns the number of a property, by its name, its type and its value; 0 for an empty
// mark, which is no content.
func (h *Hasher) Number(name string, v *edm.Value) uint64 {
	if isEmptyMark(name, v) {
		return 0
	}
	b := append(append(h.room[:0], name...), 0, byte(v.Kind))
	switch v.Kind {
	case edm.String:
		b = append(b, v.S...)
	case edm.Binary:
		b = append(b, v.B...)
	case edm.Double:
		f := v.F
		if f != f {
			f = math.NaN() // all alike
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	case edm.DateTime:
		b = binary.LittleEndian.AppendUint64(b, uint64(v.T.Unix()))
		b = binary.LittleEndian.AppendUint32(b, uint32(v.T.Nanosecond()))
	case edm.Guid:
		b = append(b, v.G[:]...)
	default:
		b = binary.LittleEndian.AppendUint64(b, uint64(v.I))
	}
	h.room = b
	return maphash.Bytes(h.seed, b)
}
