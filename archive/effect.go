package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// payload is the payload of a mover's effects. It names an incarnation to be moved or, if Discard is set, a restored incarnation to
// be deleted from the destination.
type payload struct {
	Incarnation string `json:"life"`
	Discard     bool   `json:"forget,omitempty"`
}

// addEffect adds an effect to the write that p plans.
func addEffect(p *maintain.Plan, kind string, of payload) error {
	b, err := json.Marshal(of)
	if err != nil {
		return err
	}
	p.Effect(kind, 1, b)
	return nil
}

// decodeEffect returns the ID and the payload of a job's effect. The effect is not trusted: it may name only rows of entities, and
// only well-formed incarnations.
func decodeEffect(j eventual.Job) (id ID, p payload, err error) {
	pk, err := j.Partition.Result()
	if err != nil {
		return id, p, err
	}
	if err := json.Unmarshal(j.Effect.Payload, &p); err != nil {
		return id, p, fmt.Errorf("archive: the payload of effect %q is not a mover's", j.Effect.Kind)
	}
	id = ID{keys.Stored(pk, j.Effect.RowKey), p.Incarnation}
	if strings.HasPrefix(j.Effect.RowKey, reserved.First) {
		return id, p, fmt.Errorf("archive: %w", &table.ValueError{Field: "Effect.RowKey", Reason: "begins with ~; such rows belong to the library"})
	}
	if err := id.Err(); err != nil {
		return id, p, fmt.Errorf("archive: %w", err)
	}
	return id, p, nil
}
