package engine

import (
	"encoding/json"

	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Effect is commit.Effect.
type Effect struct {
	Kind    string
	Version int
	RowKey  string
	Payload []byte

	// Of the entity, if it is not in the partition of the commit record; "" otherwise.
	Table, Partition string
}

// RemoteEffect is the kind of the effect of a write over several partitions, whose payload names its remotes: a worker finishes there
// what the write has left.
const RemoteEffect = reserved.Prepared

// RemoteWork is the payload of a RemoteEffect.
type RemoteWork struct {
	Remotes []Remote `json:"remotes"`
}

// remoteEffect is the effect of a write with remotes, for the workers.
func remoteEffect(remotes []Remote) (Effect, error) {
	b, err := json.Marshal(RemoteWork{remotes})
	return Effect{Kind: RemoteEffect, Version: 1, Payload: b}, err
}
