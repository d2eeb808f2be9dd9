package engine

// Move says that the writes of a handle move entities between the table and another place.
type Move struct {
	Away     bool   // deletes: the entity is stored in the other place
	Restored string // inserts: the incarnation that comes back from the other place
}

// Moved reports whether the entity is deleted because it is stored in another place now.
func (c *Change) Moved() bool { return c.move.Away && c.New == nil }

// Restored returns the incarnation that the inserted entity had in another place, "" if it does not come from there.
func (c *Change) Restored() string {
	if c.Old != nil {
		return ""
	}
	return c.move.Restored
}
