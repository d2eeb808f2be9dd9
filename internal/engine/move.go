package engine

// Move says that the writes of a handle move entities between the table and another place.
type Move struct {
	Away     bool   // deletes: the entity is stored in the other place
	Restored string // inserts: the incarnation that comes back from the other place
	Renewed  string // updates: the incarnation in whose place the entity gets a new one
}
