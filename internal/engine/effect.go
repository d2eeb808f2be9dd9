package engine

// Effect is table.Effect.
type Effect struct {
	Kind    string
	Version int
	RowKey  string
	Payload []byte
}
