package testkit

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
)

// OperationID returns the value of a property _op, a GUID or its text, as an operation ID, and ""
// for nil.
func OperationID(guid any) string {
	if guid == nil {
		return ""
	}
	b, is := guid.([16]byte)
	if !is {
		text := strings.ReplaceAll(fmt.Sprint(guid), "-", "")
		if n, err := hex.Decode(b[:], []byte(text)); err != nil || n != len(b) {
			return text
		}
	}
	const digits, length = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26
	bits := new(big.Int).SetBytes(b[:])
	id := make([]byte, length)
	for i := range id {
		shift := uint(5 * (length - 1 - i))
		id[i] = digits[new(big.Int).Rsh(bits, shift).Uint64()&31]
	}
	return string(id)
}
