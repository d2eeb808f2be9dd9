package engine

// Effect is commit.Effect.
type Effect struct {
	Kind    string
	Version int
	RowKey  string
	Payload []byte
}
