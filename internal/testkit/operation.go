package testkit

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"github.com/aztablekit/aztablekit/internal/commit"
)

// OperationID returns the value of a property _op, a GUID or its text, as an operation ID, and "" for nil.
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
	bits := new(big.Int).SetBytes(b[:])
	id := make([]byte, commit.IDLength)
	for i := range id {
		shift := uint(5 * (commit.IDLength - 1 - i))
		id[i] = commit.Digits[new(big.Int).Rsh(bits, shift).Uint64()&31]
	}
	return string(id)
}
