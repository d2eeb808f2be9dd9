package engine

import (
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// step is an operation of a transaction.
type step struct {
	*Op                     // shared with other steps and the caller's Op, until own
	opIndex     int         // the caller's operation that the step is, or follows from; -1 for none
	derived     *derivedRow // nil for an operation of the caller's
	replannable bool        // the row was read for the operation, so that it may be planned again after a conflict
	head        *edm.Body   // of a wide entity, what is sent of Body in the head; nil if that is all of it
	id          *edm.Ending // of the write; nil if the row gets none
}

// own gives the step an operation of its own. Whatever changes the operation calls it first.
func (s *step) own() {
	op := *s.Op
	s.Op = &op
}

// sent returns what is sent in the row of the step.
func (s *step) sent() *edm.Body {
	if s.head != nil {
		return s.head
	}
	return &s.Body
}

// encoded returns the JSON of the step's row.
func (s *step) encoded() []byte { return s.sent().JSON(s.id) }

// encodedForSDK returns the JSON of which the SDK makes an operation of a transaction. It addresses the row by the keys of the JSON, and does
// not double the quotes in them. The keys in the row's JSON are then wrong, but the service goes by the address.
func (s *step) encodedForSDK() []byte {
	body := *s.sent()
	switch {
	case s.inserts():
		return s.encoded()
	case s.deletes():
		body, _ = edm.NewWriter(s.Key.PartitionKey(), s.Key.RowKey(), 0).Finish() // without properties, there is no limit to exceed
	}
	if pk, rk := wire.Doubled(body.PartitionKey), wire.Doubled(body.RowKey); pk != body.PartitionKey || rk != body.RowKey {
		body = body.WithKeys(pk, rk)
	}
	return body.Append(make([]byte, 0, body.Length+8), s.id)
}
