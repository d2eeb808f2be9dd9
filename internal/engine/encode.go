package engine

import (
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// withID sets the operation ID of steps, which is stored in the rows that have one.
func withID(steps []step, id string) {
	var end *edm.Ending
	for i := range steps {
		s := &steps[i]
		if s.id = nil; !s.StoresID {
			continue
		}
		if end == nil {
			end = idEnding(id)
		}
		s.id = end
	}
}

// encoded returns the JSON of the step's row.
func (s *step) encoded() []byte { return s.sent().JSON(s.id) }

// encodedForSDK returns what the SDK makes the step's part of a transaction of. It addresses the row by the keys of the JSON, and does
// not double the quotes in them. The keys in the row's JSON are then wrong, but the service goes by the address.
func (s *step) encodedForSDK() []byte {
	body := *s.sent()
	switch {
	case s.inserts():
		return s.encoded()
	case s.deletes():
		body = noProperties(s.Key)
	}
	if pk, rk := wire.Doubled(body.PartitionKey), wire.Doubled(body.RowKey); pk != body.PartitionKey || rk != body.RowKey {
		body = body.WithKeys(pk, rk)
	}
	return body.Append(make([]byte, 0, body.Length+8), s.id)
}

// noProperties returns an entity without properties.
func noProperties(k keys.Key) edm.Body {
	body, _ := edm.NewWriter(k.PartitionKey(), k.RowKey(), 0).Finish() // there is no limit to exceed
	return body
}
