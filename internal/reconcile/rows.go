package reconcile

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
)

// Rows are the rows elsewhere that a write of an entity may change, by the name of their definition.
type Rows map[string][]keys.Key

// payloadVersion is the version of the form in which an effect contains Rows.
const payloadVersion = 1

// payload is that form.
type payload struct {
	Rows map[string][][2]string `json:"rows"` // PartitionKey and RowKey
}

// Plan lets the write that p plans have an effect for rows of a definition: those that the entity had, and those that it should
// have. All definitions of a kind have one effect for each entity.
func Plan(p *maintain.Plan, kind, definition string, rows ...keys.Key) {
	p.JoinEffect(kind, payloadVersion, func(b []byte) []byte {
		all, _ := decode(b) // what encode has made
		if all == nil {
			all = Rows{}
		}
		all[definition] = append(all[definition], rows...)
		return all.encode()
	})
}

func (r Rows) encode() []byte {
	var p payload
	p.Rows = map[string][][2]string{}
	for name, all := range r {
		for _, k := range all {
			if is := [2]string{k.PartitionKey(), k.RowKey()}; !slices.Contains(p.Rows[name], is) {
				p.Rows[name] = append(p.Rows[name], is)
			}
		}
	}
	b, _ := json.Marshal(p) // all fields can be encoded
	return b
}

var errPayload = errors.New("the payload does not name rows of definitions")

// decode returns the rows in a payload, which is not trusted.
func decode(b []byte) (Rows, error) {
	var p payload
	if json.Unmarshal(b, &p) != nil || len(p.Rows) == 0 {
		return nil, errPayload
	}
	all := Rows{}
	for name, rows := range p.Rows {
		for _, k := range rows {
			at := keys.Stored(k[0], k[1])
			if at.Err() != nil {
				return nil, errPayload
			}
			all[name] = append(all[name], at)
		}
	}
	return all, nil
}

// names returns the names of the definitions, in order.
func (r Rows) names() []string { return slices.Sorted(maps.Keys(r)) }
