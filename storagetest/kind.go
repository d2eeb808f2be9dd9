package storagetest

import (
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/queues"
	"github.com/aztablekit/aztablekit/storagetest/internal/tables"
)

// Kinds returns the kinds of requests, which are the values of [Request].Kind and the arguments of [OfKind].
func Kinds() []string {
	return append(append(tables.Kinds(), queues.Kinds()...), protocol.KindOther)
}
